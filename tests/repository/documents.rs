//! The files that documents name must exist.

use super::{read, root};
use std::collections::BTreeSet;

const DOCUMENTS: [&str; 9] = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "book/COVERAGE.md",
    "book/src/from-pytorch.md",
    "book/src/commands.md",
    "book/src/class.md",
    "book/src/how-taper-works.md",
];

/// Folders that builds and tests create.
const CREATED: [&str; 2] = ["book/output", "tests/output"];

#[test]
fn files_that_documents_name_exist() {
    let folders = folders();
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let text = read(document);
        for (number, line) in (1..).zip(text.lines()) {
            let paths = code_spans(line).filter(|path| is_path(path, &folders));
            let absent = paths.filter(|path| !root().join(path).exists());
            missing.extend(absent.map(|path| format!("{document}:{number}: {path}")));
        }
    }
    assert!(missing.is_empty(), "no such file:\n{}", missing.join("\n"));
}

/// Returns the top-level folders of the repository.
fn folders() -> BTreeSet<String> {
    let entries = std::fs::read_dir(root()).expect("the repository").flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Returns the code spans of a line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Returns whether a code span is a path in one of the folders, and not a command or a placeholder.
fn is_path(span: &str, folders: &BTreeSet<String>) -> bool {
    let Some((first, _)) = span.split_once('/') else {
        return false;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    folders.contains(first)
        && span.chars().all(plain)
        && !span.contains("NN-")
        && !CREATED.iter().any(|created| span.starts_with(created))
}

#[test]
fn only_plain_paths_in_the_folders_are_checked() {
    let folders = BTreeSet::from(["src".to_owned(), "tests".to_owned()]);
    let line =
        "`src/text`, `src/{a,b}`, `cargo test`, `tests/output/x.png`, `elsewhere/x`, src/plain";
    let paths: Vec<&str> = code_spans(line)
        .filter(|span| is_path(span, &folders))
        .collect();
    assert_eq!(paths, ["src/text"]);
}

/// The nightly job leaves out the cases that the book names as different with evcxr.
#[test]
fn cases_that_differ_between_the_engines_exist() {
    let page = read("book/src/engines.md");
    let named = page.split('`').filter_map(|span| span.split_once("::"));
    let mut count = 0;
    for (file, case) in named {
        let tests = read(&format!("tests/session/{file}.rs"));
        assert!(
            tests.contains(&format!("\nfn {case}()")),
            "{file}::{case} is not a case"
        );
        count += 1;
    }
    assert!(count > 20, "{count}");
}
