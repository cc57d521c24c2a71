//! `taper test --grade` as a process, with the fake language.

use super::grade::{prepared, scored};
use crate::testing::{Done, Folder, code, notebook};
use serde_json::{Value, json};

fn marked(name: &str, source: &str, mark: Value) -> Value {
    let mut cell = code(name, source, json!([]));
    cell["metadata"]["nbgrader"] = mark;
    cell["metadata"]["nbgrader"]["grade_id"] = json!(name);
    cell
}

fn solution(source: &str) -> Value {
    marked(
        "solution",
        source,
        json!({"solution": true, "grade": false}),
    )
}

fn test(name: &str, source: &str, points: f64) -> Value {
    let mark = json!({"solution": false, "grade": true, "locked": true, "points": points});
    marked(name, source, mark)
}

fn essay(source: &str) -> Value {
    let mark = json!({"grade_id": "essay", "solution": true, "grade": true, "points": 4});
    json!({"cell_type": "markdown", "id": "essay", "metadata": {"nbgrader": mark}, "source": source})
}

/// Grades the folder `submitted` by an assignment of a solution, two tests and an essay.
fn grade(folder: &Folder) -> Done {
    let cells = [
        solution("// BEGIN SOLUTION\n// print 1\n// END SOLUTION"),
        test("all", "eprint progress\nprint tested", 2.0),
        test("part", "value 1.5", 3.0),
        essay("an answer"),
    ];
    folder.write("assignment.ipynb", &notebook(&cells));
    let options = ["--grade", "assignment.ipynb", "--timeout", "1"];
    folder.taper(&[&["test"], &options[..], &["submitted"]].concat())
}

fn submit(folder: &Folder, name: &str, cells: &[Value]) {
    folder.write(&format!("submitted/{name}/x.ipynb"), &notebook(cells));
}

#[test]
fn each_submission_earns_the_points_of_its_tests() {
    let changed = test("all", "print changed by the student", 100.0);
    let skipped = {
        let mut cell = test("part", "", 3.0);
        cell["metadata"]["tags"] = json!(["skip-execution"]);
        cell
    };
    let folder = Folder::new();
    let ann = [solution("// print 1"), changed, skipped, essay("my answer")];
    submit(&folder, "ann", &ann);
    // Neither an error nor an endless cell ends the run or the grading.
    let own = code("own", "// fail Panic no", json!([]));
    let bob = [own, solution("// sleep"), test("all", "", 2.0)];
    submit(&folder, "bob", &bob);
    submit(&folder, "other", &[code("own", "// print 1", json!([]))]);
    let done = grade(&folder);
    assert_eq!(done.code, Some(0), "{done:?}");
    let lines: Vec<&str> = done.out.lines().collect();
    assert!(
        lines[0].starts_with("submitted/other/x.ipynb: skipped, it has no cell of "),
        "{done:?}"
    );
    let expected = [
        "submitted/ann/x.ipynb: 3.5 of 5 points",
        "    part: 1.5 of 3, its value is 1.5",
        "    essay: up to 4, by hand",
        "    `all` differs from the assignment, whose cell is used.",
        "    `part` differs from the assignment, whose cell is used.",
        "submitted/bob/x.ipynb: 3.5 of 5 points",
        "    part: 1.5 of 3, its value is 1.5",
        "    essay: 0 of 4, the cell is as in the assignment",
        "    `all` differs from the assignment, whose cell is used.",
        "    `part` was missing: it was added back.",
        "    `essay` was missing: it was added back.",
        "2 notebooks graded, 1 skipped",
    ];
    assert_eq!(lines[1..], expected, "{done:?}");
}

#[test]
fn cells_that_were_copied_converted_or_moved_count_once() {
    let mut raw = solution("// print 1");
    raw["cell_type"] = json!("raw");
    let notes = test("all", "// my notes", 2.0);
    let given = test("all", "eprint progress\nprint tested", 2.0);
    let folder = Folder::new();
    submit(&folder, "ann", &[essay("mine"), given, raw, notes]);
    let done = grade(&folder);
    let expected = [
        "submitted/ann/x.ipynb: 3.5 of 5 points",
        "    part: 1.5 of 3, its value is 1.5",
        "    essay: up to 4, by hand",
        "    `solution` was a raw cell: it is a code cell again.",
        "    `all` occurs 2 times: it is graded once.",
        "    `part` was missing: it was added back.",
        "1 notebook graded",
    ];
    assert_eq!(done.out.lines().collect::<Vec<_>>(), expected, "{done:?}");
}

#[test]
fn one_damaged_submission_does_not_stop_the_others() {
    let folder = Folder::new();
    let right = [solution("// print 1"), essay("mine")];
    submit(&folder, "ann", &right);
    folder.write_text("submitted/bob/assignment.ipynb", "{\"cells\": [");
    submit(&folder, "carl", &[solution("// die"), essay("mine")]);
    submit(&folder, "dora", &[]);
    let mut python = notebook(&right);
    python["metadata"]["kernelspec"] = json!({"name": "python3", "language": "python"});
    folder.write("submitted/eva/x.ipynb", &python);
    let done = grade(&folder);
    assert_eq!(done.code, Some(1), "{done:?}");
    for line in [
        "submitted/ann/x.ipynb: 3.5 of 5 points",
        "submitted/bob/assignment.ipynb: 0 of 5 points",
        "    all: 0 of 2, Refused: grading does not run this cell: the file is not JSON: EOF while parsing a list at line \
         1 column 11",
        "submitted/carl/x.ipynb: 0 of 5 points",
        "    part: 0 of 3, Refused: grading does not run this cell: its process ended: signal: 6 (SIGABRT) (core dumped)",
        "submitted/dora/x.ipynb: 3.5 of 5 points",
        "    The solution `solution` is missing.",
        "submitted/eva/x.ipynb: 3.5 of 5 points",
        "    The notebook was for the kernel `python3`: it runs with that of the assignment.",
        "3 notebooks graded, 2 failed",
        "    failed: submitted/bob/assignment.ipynb",
        "    failed: submitted/carl/x.ipynb",
    ] {
        let line = line.trim_end_matches(" (core dumped)");
        assert!(
            done.out
                .lines()
                .any(|found| found.trim_end_matches(" (core dumped)") == line),
            "{line}: {done:?}"
        );
    }
}

#[test]
fn a_test_that_fails_or_has_an_odd_value_says_why() {
    let folder = Folder::new();
    let tests = [
        test("all", "fail Panic left is 1\nvalue 2", 2.0),
        test("endless", "sleep", 1.0),
        test("nan", "value NaN", 1.0),
        test("much", "value 9", 1.0),
        test("less", "value -1", 1.0),
        test("text", "value \"1\"", 1.0),
        test("wrong", "value false", 1.0),
        test("tenths", "value 0.1", 0.2),
        test("more-tenths", "value 0.2", 0.2),
    ];
    folder.write("a.ipynb", &notebook(&tests));
    let done = folder.taper(&["test", "--timeout", "1", "--grade", "a.ipynb", "a.ipynb"]);
    let expected = [
        "a.ipynb: 2.3 of 8.4 points",
        "    all: 0 of 2, Panic: left is 1",
        "    endless: 0 of 1, TimeLimit: the cell was stopped after 1 s, the time limit of a cell",
        "    nan: 0 of 1, its value NaN is not between 0 and 1",
        "    much: 1 of 1, its value 9 is not between 0 and 1",
        "    less: 0 of 1, its value -1 is not between 0 and 1",
        "    text: 1 of 1, its value \"1\" is not a number",
        "    wrong: 0 of 1, its value is false",
        "    tenths: 0.1 of 0.2, its value is 0.1",
        "1 notebook graded",
    ];
    assert_eq!(done.out.lines().collect::<Vec<_>>(), expected, "{done:?}");
    assert_eq!(done.code, Some(0));
    assert!(
        done.err
            .contains("the values of `less`, `much`, `nan`, `text` are not between 0"),
        "{done:?}"
    );
}

#[test]
fn a_test_names_the_cell_because_of_which_it_fails() {
    let folder = Folder::new();
    let lost = "fail CompileError cannot find function `mean` in this scope";
    let cells = [solution(""), test("test", lost, 2.0)];
    folder.write("assignment.ipynb", &notebook(&cells));
    let broken = "// fail CompileError no method `summ`\nfn mean() {}";
    let cells = [
        solution(broken),
        code("own", "// fail Panic `mean`", json!([])),
    ];
    submit(&folder, "ann", &cells);
    let done = folder.taper(&["test", "--grade", "assignment.ipynb", "submitted"]);
    let reason = "    test: 0 of 2, CompileError: cannot find function `mean` in this scope; the cell `solution` failed: \
                  CompileError: no method `summ`";
    assert_eq!(done.out.lines().nth(1), Some(reason), "{done:?}");
}

#[test]
fn an_assignment_without_tests_is_refused() {
    let folder = Folder::new();
    folder.write("a.ipynb", &notebook(&[solution("")]));
    let done = folder.taper(&["test", "--grade", "a.ipynb", "a.ipynb"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.err.contains("has no cells that nbgrader grades"),
        "{done:?}"
    );
}

#[test]
fn an_assignment_with_two_tests_of_the_same_id_is_refused() {
    let folder = Folder::new();
    let mut again = test("all", "", 2.0);
    again["id"] = json!("another");
    folder.write("a.ipynb", &notebook(&[test("all", "", 1.0), again]));
    let done = folder.taper(&["test", "--grade", "a.ipynb", "a.ipynb"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.err.contains("several cells have nbgrader's id `all`"),
        "{done:?}"
    );
}

#[test]
fn nbgrader_gets_the_same_points() {
    let folder = Folder::new();
    let cells = [test("all", "", 2.0), test("part", "", 3.0), essay("")];
    let assignment = folder.write("assignment.ipynb", &notebook(&cells));
    let damaged = folder.write_text("damaged.ipynb", "");
    let mut document = prepared(&assignment, &damaged).unwrap();
    assert_eq!(
        document["metadata"]["grading"]["unreadable"],
        "the file is not JSON: EOF while parsing a value at line 1 column 0"
    );
    // The cell with the notes is before the others.
    let ran = json!([{"output_type": "execute_result", "data": {"text/plain": ["1.5"]}}]);
    document["cells"][2]["outputs"] = ran;
    document["cells"][2]["execution_count"] = json!(1);
    document["cells"][2]["source"] = json!("1.5");
    let executed = folder.write("executed.ipynb", &document);
    let points = scored(&assignment, &executed).unwrap();
    assert_eq!(points["part"]["points"], 1.5);
    assert_eq!(points["part"]["text"], "1.5 of 3, its value is 1.5");
    assert_eq!(points["all"]["points"], 0.0);
    assert_eq!(points["essay"]["points"], 0.0);
    document["cells"][2]["outputs"] =
        json!([{"output_type": "error", "ename": "StartError", "evalue": "no rustc"}]);
    folder.write("executed.ipynb", &document);
    let error = scored(&assignment, &executed).unwrap_err();
    assert_eq!(format!("{error:#}"), "the kernel does not start: no rustc");
}
