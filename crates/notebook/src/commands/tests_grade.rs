//! `taper test --grade` as a process, with the fake language.

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

/// Grades these submissions by an assignment of two tests and an essay.
fn grade(submissions: &[(&str, &[Value])]) -> Done {
    let folder = Folder::new();
    let essay = json!({"solution": true, "grade": true, "points": 4});
    let tests = [
        test("all", "eprint progress\nprint tested", 2.0),
        test("part", "value 1.5", 3.0),
        marked("essay", "", essay),
    ];
    folder.write("assignment.ipynb", &notebook(&tests));
    for (name, cells) in submissions {
        folder.write(&format!("submitted/{name}/x.ipynb"), &notebook(cells));
    }
    let options = ["--grade", "assignment.ipynb", "--timeout", "1"];
    folder.taper(&[&["test"], &options[..], &["submitted"]].concat())
}

#[test]
fn each_submission_earns_the_points_of_its_tests() {
    let changed = test("all", "print changed by the student", 100.0);
    let skipped = {
        let mut cell = test("part", "", 3.0);
        cell["metadata"]["tags"] = json!(["skip-execution"]);
        cell
    };
    let done = grade(&[
        ("ann", &[solution("// print 1"), changed, skipped]),
        // Neither an error nor an endless cell ends the run or the grading.
        (
            "bob",
            &[
                code("own", "// fail Panic no", json!([])),
                solution("// sleep"),
                test("all", "", 2.0),
            ],
        ),
        ("other", &[code("own", "// print 1", json!([]))]),
    ]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let lines: Vec<&str> = done.out.lines().collect();
    let expected = [
        "submitted/ann/x.ipynb: 3.5 of 5 points",
        "    part: 1.5 of 3",
        "    essay: up to 4, by hand",
        "submitted/bob/x.ipynb: 2 of 5 points",
        "    part: 0 of 3, the cell is missing",
        "    essay: up to 4, by hand",
    ];
    assert_eq!(lines[..6], expected, "{done:?}");
    assert!(
        lines[6].starts_with("submitted/other/x.ipynb: skipped, it has no cell of "),
        "{done:?}"
    );
    assert_eq!(lines[7], "2 notebooks graded");
}

#[test]
fn a_test_with_an_error_earns_nothing_and_says_why() {
    let folder = Folder::new();
    let tests = [
        test("all", "fail Panic left is 1\nvalue 2", 2.0),
        test("nan", "value NaN", 1.0),
        test("much", "value 9", 1.0),
    ];
    folder.write("a.ipynb", &notebook(&tests));
    let done = folder.taper(&["test", "--grade", "a.ipynb", "a.ipynb"]);
    let expected = "a.ipynb: 1 of 4 points\n    all: 0 of 2, Panic: left is 1\n    nan: 0 of 1\n1 notebook graded\n";
    assert_eq!((done.code, &*done.out), (Some(0), expected), "{done:?}");
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
