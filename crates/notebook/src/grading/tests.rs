//! What is refused in submissions for the assignments of `tests/grading.rs`, and what is not.

use super::assignment::Assignment;
use super::prepare::prepare;
use super::rules::Rules;
use crate::document::notebook::Notebook;
use std::path::{Path, PathBuf};

/// The end of the names of attempts that earn nothing although their cells run; `tests/grading.rs` runs all attempts.
const RUNS: &str = " (runs)";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rules(assignment: &str) -> Rules {
    Rules::of(&Notebook::load(&root().join(assignment)).expect("a notebook"))
}

/// Returns the submissions in a file with the sources of their cells, except those that the assignment replaces.
fn submissions(file: &str) -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(root().join(file)).expect("the submissions");
    let found = text.split("\n== ").skip(1).map(|one| {
        let (name, cells) = one.split_once('\n').expect("a name");
        let cells = format!("-- area\n{cells}");
        let cells = cells.split("\n-- ").filter_map(|cell| {
            let (place, source) = cell.split_once('\n')?;
            (!place.starts_with("area-test")).then(|| source.to_owned())
        });
        (name.to_owned(), cells.collect())
    });
    found.collect()
}

#[test]
fn attempts_to_change_what_the_tests_mean_are_refused() {
    let mut wrong = Vec::new();
    for (assignment, file) in [
        ("packaging/class/areas.ipynb", "tests/grading/attempts.txt"),
        ("tests/grading/shapes.ipynb", "tests/grading/shapes.txt"),
        ("tests/grading/various.ipynb", "tests/grading/various.txt"),
    ] {
        let rules = rules(assignment);
        for (name, cells) in submissions(file) {
            let is_refused = cells.iter().any(|cell| rules.refusal(cell).is_some());
            // The tests' cells are replaced by the assignment's.
            let is_replaced = name.starts_with("the test's cell");
            if is_refused == (name.ends_with(RUNS) || is_replaced) {
                wrong.push(name);
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn ordinary_solutions_are_not_refused() {
    let rules = rules("packaging/class/areas.ipynb");
    for cell in [
        ":dep taper\nuse taper::prelude::*;",
        "fn area(width: f64, height: f64) -> f64 { width * height }",
        "// Names of parameters are free.\npub fn area(w: f64, mut h: f64) -> f64 { h *= w; h }",
        "fn doubled(x: &Tensor) -> Tensor { x + x }",
        "use std::collections::HashMap;\nuse taper::prelude::tensor;\nlet shape = [2]; let x = 1; let values = 2.0;",
        "let process = 3; process + 1",
        "fn helper(v: &[f64]) -> f64 { v.iter().map(|x| x * 2.0).sum() }\nhelper(&[1.0])",
        "#[derive(Debug, Clone, PartialEq)]\nstruct Point { x: f64 }\nimpl Point { fn norm(&self) -> f64 { self.x } }",
        "impl std::fmt::Display for Point { fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result { write!(f, \"{}\", self.x) } }",
        "trait Shape { fn size(&self) -> f64; }\nimpl Shape for f64 { fn size(&self) -> f64 { *self } }",
        "layer! { struct Net(width: usize) { a = Linear::new(width, 1) } }",
        "thread_local! { static SEEN: std::cell::Cell<f64> = const { std::cell::Cell::new(0.0) }; }",
        "for epoch in 0..3 { println!(\"{epoch}\"); }\nlet thread = std::thread::spawn(|| 1);",
        "",
    ] {
        assert_eq!(rules.refusal(cell), None, "{cell}");
    }
}

#[test]
fn the_reason_names_what_to_change() {
    let rules = rules("packaging/class/areas.ipynb");
    for (cell, reason) in [
        (
            "fn area(width: f32, height: f32) -> f32 { 0.0 }",
            "`area` must be `fn(f64, f64) -> f64`, not `fn(f32, f32) -> f32`",
        ),
        (
            "!ls",
            "it contains the command `!ls`, which the assignment does not contain",
        ),
        (
            "unsafe { }",
            "it uses `unsafe`, which the assignment does not use",
        ),
        (
            "fn tensor() {}",
            "it defines `tensor`, and the tests use that name",
        ),
        (
            "println!(\"{}\", { mod own; own::AREA });",
            "it uses `mod` in the arguments of a macro",
        ),
        (
            "cfg_select! { _ => { pub fn area() {} } }",
            "a macro defines `area`, and the tests use that name",
        ),
        ("fn area(", "it is not valid Rust"),
    ] {
        assert_eq!(rules.refusal(cell).as_deref(), Some(reason), "{cell}");
    }
}

/// The assignment, with its solutions, is closed to students; the teacher who grades can read it.
#[test]
fn a_link_to_another_file_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, link) = (
        root().join("packaging/class/areas.ipynb"),
        folder.path().join("areas.ipynb"),
    );
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let assignment = Assignment::load(&file).expect("an assignment");
    let prepared = prepare(&link, &assignment);
    assert_eq!(
        prepared.unreadable.as_deref(),
        Some("the file is a link to another")
    );
    assert_eq!(prepare(&file, &assignment).unreadable, None);
}
