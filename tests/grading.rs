//! `taper test --grade` on attempts to earn points without solving the assignment, which earn nothing, and on damaged
//! submissions, which earn what is right in them.

mod common;

use common::{Said, root, run_within, taper};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The limit for grading all attempts.
const TO_GRADE: Duration = Duration::from_secs(3600);

/// The attempts whose cells run, and which earn nothing for another reason than that a cell was refused: those that are
/// graded for each change, and not only in nightly runs.
const RUN: [&str; 12] = [
    "an event printed as in the log of an exported program (runs)",
    "a panic without a message (runs)",
    "output that imitates a result (runs)",
    "a thread imitates results endlessly (runs)",
    "a second cell with the test's id (runs)",
    "the test's cell is skipped (runs)",
    "a stack that overflows (runs)",
    "figures shown by a thread while the test runs (runs)",
    "attributes of the crate (runs)",
    "the panic hook panics (runs)",
    "the panic hook says nothing (runs)",
    "assert_eq does nothing, between the solution and its test",
];

/// An assignment, and the submissions that are written for it in a file (`tests/grading/attempts.txt` says how).
struct Course {
    assignment: &'static str,
    submissions: &'static str,
    /// Each submission must earn this.
    earns: &'static str,
}

const ATTEMPTS: [Course; 3] = [
    Course {
        assignment: "packaging/class/areas.ipynb",
        submissions: "tests/grading/attempts.txt",
        earns: ": 0 of 5 points",
    },
    Course {
        assignment: "tests/grading/shapes.ipynb",
        submissions: "tests/grading/shapes.txt",
        earns: ": 0 of 6 points",
    },
    Course {
        assignment: "tests/grading/various.ipynb",
        submissions: "tests/grading/various.txt",
        earns: ": 0 of 11 points",
    },
];
const HONEST: [Course; 3] = [
    Course {
        submissions: "tests/grading/honest-areas.txt",
        earns: ": 5 of 5 points",
        ..ATTEMPTS[0]
    },
    Course {
        submissions: "tests/grading/honest-shapes.txt",
        earns: ": 6 of 6 points",
        ..ATTEMPTS[1]
    },
    Course {
        submissions: "tests/grading/honest-various.txt",
        earns: ": 11 of 11 points",
        ..ATTEMPTS[2]
    },
];

/// Writes a submission: the assignment as students receive it, with these places of cells and their sources.
fn submit(folder: &Path, assignment: &str, name: &str, cells: &[(&str, &str)]) {
    let text = std::fs::read_to_string(root().join(assignment)).expect("the assignment");
    let mut notebook: Value = serde_json::from_str(&text).expect("JSON");
    let all = notebook["cells"].as_array_mut().expect("cells");
    for cell in all.iter_mut() {
        cell["source"] = json!(released(cell["source"].as_str().expect("a source")));
    }
    for (place, source) in cells {
        let words: Vec<&str> = place.split(' ').collect();
        match words[..] {
            ["new", "before", id] => all.insert(find(all, id), cell("new", source)),
            ["new", "named", id] => {
                let mut copy = cell("new", source);
                copy["metadata"] = all[find(all, id)]["metadata"].clone();
                all.push(copy);
            }
            [id, tag] => {
                write(all, id, source);
                let at = find(all, id);
                all[at]["metadata"]["tags"] = json!([tag]);
            }
            _ => write(all, place, source),
        }
    }
    let file = folder.join(format!("{}.ipynb", name.replace(' ', "-")));
    std::fs::write(file, notebook.to_string()).expect("a file");
}

/// Returns a cell without its solutions and hidden tests.
fn released(source: &str) -> String {
    let (mut lines, mut is_hidden) = (Vec::new(), false);
    for line in source.lines() {
        is_hidden |= line.contains("// BEGIN ");
        if !is_hidden {
            lines.push(line);
        } else if line.contains("BEGIN SOLUTION") {
            lines.push("todo!()");
        }
        is_hidden &= !line.contains("// END ");
    }
    lines.join("\n")
}

fn find(cells: &[Value], id: &str) -> usize {
    let found = cells.iter().position(|cell| cell["id"] == id);
    found.unwrap_or_else(|| panic!("no cell {id}"))
}

fn write(cells: &mut [Value], id: &str, source: &str) {
    let at = find(cells, id);
    cells[at]["source"] = json!(source.trim());
}

fn cell(id: &str, source: &str) -> Value {
    json!({"cell_type": "code", "id": id, "metadata": {}, "execution_count": null, "outputs": [],
           "source": source.trim()})
}

/// Returns the submissions in a file, each with its name and the places and sources of its cells.
fn submissions(text: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let found = text.split("\n== ").skip(1).map(|submission| {
        let (name, cells) = submission.split_once('\n').expect("a name");
        let mut parts = cells.split("\n-- ");
        let first = parts.next().unwrap_or_default().trim_start_matches("-- ");
        let area = match cells.starts_with("-- ") {
            true => first.split_once('\n').expect("a place"),
            false => ("area", first),
        };
        let others = parts.map(|part| part.split_once('\n').expect("a place"));
        (name, std::iter::once(area).chain(others).collect())
    });
    found.collect()
}

fn grade(course: &Course, wanted: impl Fn(&str) -> bool) {
    let text = std::fs::read_to_string(root().join(course.submissions));
    let text = text.expect("the submissions");
    let folder = tempfile::tempdir().expect("a folder");
    let mut count = 0;
    for (name, cells) in submissions(&text) {
        if wanted(name) {
            submit(folder.path(), course.assignment, name, &cells);
            count += 1;
        }
    }
    let mut command = taper(&["test", "--timeout", "60", "--grade"]);
    command
        .arg(root().join(course.assignment))
        .arg(folder.path());
    let said = run_within(TO_GRADE, command);
    let points = said.stdout.lines().filter(|line| line.ends_with(" points"));
    let (right, wrong): (Vec<&str>, Vec<&str>) =
        points.partition(|line| line.contains(course.earns));
    assert_eq!(wrong, [""; 0], "{}", said.all());
    assert_eq!(right.len(), count, "{}", said.all());
}

#[test]
fn attempts_whose_cells_run_earn_nothing() {
    grade(&ATTEMPTS[0], |name| RUN.contains(&name));
}

#[test]
#[ignore = "slow: a session for each of more than 230 attempts"]
fn all_attempts_earn_nothing() {
    for course in &ATTEMPTS {
        grade(course, |_| true);
    }
}

#[test]
fn honest_submissions_earn_all_points() {
    for course in &HONEST {
        grade(course, |_| true);
    }
}

/// Grades the submissions of `tests/grading/damaged.py`, whose expected points are beside them.
fn grade_damaged(amount: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = root().join("tests/grading/damaged.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(folder.path()).arg(amount);
    let expected = run_within(TO_GRADE, python);
    assert!(expected.status.success(), "{}", expected.all());
    let expected: Value = serde_json::from_str(&expected.stdout).expect("JSON");
    let mut wrong = Vec::new();
    for (assignment, students) in expected["submissions"].as_object().expect("assignments") {
        let source = format!("source/{assignment}/{assignment}.ipynb");
        let mut command = taper(&[
            "test",
            "--timeout",
            &expected["limit"].to_string(),
            "--grade",
        ]);
        command
            .arg(source)
            .arg("submitted")
            .current_dir(folder.path());
        command.env("TAPER_MEMORY", expected["memory"].as_str().expect("a text"));
        let said = run_within(TO_GRADE, command);
        let students = students.as_object().expect("students");
        for (student, one) in students {
            let file = format!("submitted/{student}/{assignment}/{assignment}.ipynb");
            wrong.extend(differences(&file, one, &said));
        }
        let fails = students.values().any(|one| one["failed"] == true);
        if said.status.code() != Some(i32::from(fails)) {
            wrong.push(format!("{assignment}: {}", said.all()));
        }
        let odd = expected["odd"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let odd: Vec<String> = odd.map(|name| format!("`{name}`")).collect();
        if said.stderr.contains(&odd.join(", ")) != (assignment == "values") {
            wrong.push(said.stderr);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Compares what is printed about a submission with what it should earn and why.
fn differences(file: &str, expected: &Value, said: &Said) -> Vec<String> {
    let mut lines = said
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with(file));
    let first = lines.next().unwrap_or_default();
    let lines: Vec<&str> = lines.take_while(|line| line.starts_with("    ")).collect();
    let mut wrong = Vec::new();
    let tests = expected["points"].as_object().expect("points");
    for (test, points) in tests {
        let wanted = format!("    {test}: {points} of ");
        let found = lines
            .iter()
            .find(|line| line.starts_with(&format!("    {test}: ")));
        if found.is_some_and(|found| !found.starts_with(&wanted)) {
            wrong.push(format!("{file}: {found:?}, expected {points}"));
        }
    }
    let sum: f64 = tests.values().filter_map(Value::as_f64).sum();
    let sum = format!(": {} of ", (sum * 1e6).round() / 1e6);
    if !first.contains(&sum) {
        wrong.push(format!("{file}: {first:?}, expected {sum}; {lines:?}"));
    }
    for part in expected["says"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !lines.iter().any(|line| line.contains(part)) {
            wrong.push(format!("{file}: {part:?} is not in {lines:#?}"));
        }
    }
    let failed = said.stdout.contains(&format!("    failed: {file}\n"));
    if expected["failed"] != failed {
        wrong.push(format!("{file}: failed: {failed}"));
    }
    wrong
}

#[test]
fn damaged_submissions_earn_what_they_should() {
    grade_damaged("quick");
}

#[test]
#[ignore = "slow: endless loops and large outputs"]
fn all_damaged_submissions_earn_what_they_should() {
    grade_damaged("all");
}
