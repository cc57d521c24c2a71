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
const RUN: [&str; 8] = [
    "an event printed as in the log of an exported program",
    "a panic without a message",
    "output that imitates a result",
    "a thread imitates results endlessly",
    "a second cell with the test's id",
    "the test's cell is skipped",
    "a stack that overflows",
    "assert_eq does nothing, between the solution and its test",
];

fn assignment() -> Value {
    let file = root().join("packaging/class/areas.ipynb");
    let text = std::fs::read_to_string(file).expect("the assignment");
    serde_json::from_str(&text).expect("JSON")
}

/// Writes a submission: the assignment with these places of cells and their sources (`tests/grading/attempts.txt`).
fn submit(folder: &Path, name: &str, cells: &[(&str, &str)]) {
    let mut notebook = assignment();
    let all = notebook["cells"].as_array_mut().expect("cells");
    for stub in ["area", "doubled"] {
        let at = find(all, stub);
        let source = all[at]["source"].as_str().expect("a source");
        let (before, _) = source.split_once("// BEGIN SOLUTION").expect("a solution");
        let source = format!("{before}todo!()\n}}");
        write(all, stub, &source);
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

/// Returns the attempts, each with its name and the places and sources of its cells.
fn attempts(text: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let attempts = text.split("\n== ").skip(1).map(|attempt| {
        let (name, cells) = attempt.split_once('\n').expect("a name");
        let mut parts = cells.split("\n-- ");
        let first = parts.next().unwrap_or_default().trim_start_matches("-- ");
        let area = match cells.starts_with("-- ") {
            true => first.split_once('\n').expect("a place"),
            false => ("area", first),
        };
        let others = parts.map(|part| part.split_once('\n').expect("a place"));
        (name, std::iter::once(area).chain(others).collect())
    });
    attempts.collect()
}

fn grade(wanted: impl Fn(&str) -> bool) {
    let text = std::fs::read_to_string(root().join("tests/grading/attempts.txt"));
    let text = text.expect("the attempts");
    let folder = tempfile::tempdir().expect("a folder");
    let mut count = 0;
    for (name, cells) in attempts(&text) {
        if wanted(name) {
            submit(folder.path(), name, &cells);
            count += 1;
        }
    }
    let solved = [
        ("area", "fn area(w: f64, h: f64) -> f64 { w * h }"),
        ("doubled", "fn doubled(x: &Tensor) -> Tensor { x + x }"),
    ];
    submit(folder.path(), "solved", &solved);
    let assignment = root().join("packaging/class/areas.ipynb");
    let mut command = taper(&["test", "--timeout", "60", "--grade"]);
    command.arg(assignment).arg(folder.path());
    let said = run_within(TO_GRADE, command);
    let points = said.stdout.lines().filter(|line| line.ends_with(" points"));
    let (solved, attempts): (Vec<&str>, Vec<&str>) =
        points.partition(|line| line.contains("solved.ipynb"));
    assert!(
        solved.len() == 1 && solved[0].ends_with(": 5 of 5 points"),
        "{}",
        said.all()
    );
    let earned = |line: &&&str| !line.contains(": 0 of 5 points");
    assert_eq!(
        attempts.iter().filter(earned).collect::<Vec<_>>(),
        [&""; 0],
        "{}",
        said.all()
    );
    assert_eq!(attempts.len(), count, "{}", said.all());
}

#[test]
fn attempts_whose_cells_run_earn_nothing() {
    grade(|name| RUN.contains(&name));
}

#[test]
#[ignore = "slow: a session for each of more than 70 attempts"]
fn all_attempts_earn_nothing() {
    grade(|_| true);
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
