//! The spelling of all texts.

use super::TO_CHECK;
use super::common::python::python;
use super::common::{notebooks, root, run_within};
use serde_json::Value;
use std::fs;
use std::process::Command;

#[test]
fn words_are_spelled_right() {
    let texts = tempfile::tempdir().expect("a folder");
    for notebook in notebooks(&root().join("notebooks")) {
        let text = fs::read(root().join("notebooks").join(&notebook)).expect("a notebook");
        let name = notebook.to_string_lossy().replace('/', "-");
        fs::write(texts.path().join(name + ".md"), prose(&text)).expect("a text");
    }
    let mut spell = Command::new(python().with_file_name("codespell"));
    spell
        .current_dir(root())
        .args(["--ignore-words", "book/words.txt"])
        .args(texts_of_the_repository())
        .arg(texts.path());
    let said = run_within(TO_CHECK, spell);
    assert!(
        said.status.success(),
        "{}\nCorrect it, or add the word to book/words.txt",
        said.all()
    );
}

/// Returns the files whose text is spell-checked, as git lists them: documents, sources and scripts.
fn texts_of_the_repository() -> Vec<String> {
    let mut list = Command::new("git");
    list.args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .args([
            "*.md",
            "*.rs",
            "*.py",
            "*.toml",
            "*.yml",
            ".ci/*",
            "postBuild",
        ])
        .current_dir(root());
    let listed = run_within(TO_CHECK, list);
    assert!(listed.status.success(), "{}", listed.all());
    let files: Vec<String> = listed.stdout.lines().map(str::to_owned).collect();
    assert!(files.len() > 100, "git lists only {} files", files.len());
    let exists = |file: &String| root().join(file).exists();
    files.into_iter().filter(exists).collect()
}

/// Returns the markdown cells of a notebook.
fn prose(notebook: &[u8]) -> String {
    let notebook: Value = serde_json::from_slice(notebook).expect("a notebook");
    let cells = notebook["cells"].as_array().into_iter().flatten();
    let prose = cells.filter(|cell| cell["cell_type"] == "markdown");
    let lines = prose.flat_map(|cell| match &cell["source"] {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        source => vec![source.as_str().unwrap_or_default()],
    });
    lines.collect::<Vec<_>>().join("\n")
}
