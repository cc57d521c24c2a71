//! The sources of the book: the order of its chapters, the spelling, and what scripts have made for it. The built book
//! is tested by `cargo test --test slow`.

#[path = "../common/mod.rs"]
mod common;
mod spelling;

use common::{notebooks, root, run_within};
use std::fs;
use std::process::Command;
use std::time::Duration;

const TO_CHECK: Duration = Duration::from_secs(180);

#[test]
fn every_notebook_is_in_the_book() {
    let summary = fs::read_to_string(root().join("book/src/SUMMARY.md")).expect("the summary");
    for notebook in notebooks(&root().join("notebooks")) {
        let link = format!("(../../notebooks/{})", notebook.display());
        assert!(summary.contains(&link), "book/src/SUMMARY.md lacks {link}");
    }
}

/// JupyterLab lists files by name, so the prefixes determine the order.
#[test]
fn file_names_begin_with_the_number_of_the_chapter() {
    let summary = fs::read_to_string(root().join("book/src/SUMMARY.md")).expect("the summary");
    let files = |folder: &str| -> Vec<&str> {
        let file = |line| str::split_once(line, folder)?.1.strip_suffix(')');
        summary.lines().filter_map(file).collect()
    };
    let is_chapter = |file: &&str| !file.starts_with("solutions/");
    let chapters: Vec<&str> = files("(../../notebooks/")
        .into_iter()
        .filter(is_chapter)
        .collect();
    for (at, file) in chapters.iter().enumerate() {
        let number = at + 1;
        assert!(
            file.starts_with(&format!("{number:02}-")),
            "{file}\nis number {number}: run python3 book/renumber.py"
        );
    }
    let solutions = files("(../../notebooks/solutions/");
    assert!(
        !solutions.is_empty() && chapters.starts_with(&solutions),
        "{solutions:?}"
    );
}

/// The chapters come one after the other: the solutions are an appendix.
#[test]
fn the_next_page_of_a_chapter_is_the_next_chapter() {
    let summary = fs::read_to_string(root().join("book/src/SUMMARY.md")).expect("the summary");
    let links = summary
        .lines()
        .filter_map(|line| line.split_once("](").map(|(_, link)| link));
    let chapters: Vec<&str> = links.take_while(|link| *link != "solutions.md)").collect();
    assert!(chapters.len() > 30, "{chapters:?}");
    assert!(
        !chapters.iter().any(|link| link.contains("solutions")),
        "{chapters:?}"
    );
}

#[test]
fn the_digit_reader_is_the_program_of_its_chapter() {
    passes_its_check("book/digit-reader.py");
}

#[test]
fn the_program_of_published_pages_is_that_of_its_source() {
    passes_its_check("book/model-wasm.py");
}

fn passes_its_check(script: &str) {
    let mut check = Command::new("python3");
    check.args([script, "--check"]).current_dir(root());
    let said = run_within(TO_CHECK, check);
    assert!(said.status.success(), "{}", said.all());
}
