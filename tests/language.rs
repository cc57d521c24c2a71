//! Words not to use, in documents, comments and messages: `tests/language/avoid.txt`.

#[path = "language/patterns.rs"]
mod patterns;
#[path = "language/texts.rs"]
mod texts;

use patterns::Pattern;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const PATTERNS: &str = "tests/language/avoid.txt";

/// Returns the folder of the repository.
fn root() -> PathBuf {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.parent()
        .expect("the package is in the repository")
        .to_owned()
}

/// Returns the files that git tracks or would add, except the list of patterns.
fn files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let listed = String::from_utf8(output.stdout).expect("plain file names");
    listed
        .lines()
        .filter(|file| *file != PATTERNS)
        .map(str::to_owned)
        .collect()
}

#[test]
fn no_text_uses_a_word_to_avoid() {
    let text = std::fs::read_to_string(root().join(PATTERNS)).expect("the list of patterns");
    let patterns = Pattern::read_all(&text);
    assert!(
        patterns.len() > 20,
        "{PATTERNS} has only {} patterns",
        patterns.len()
    );
    let mut hits = Vec::new();
    let mut per_folder = BTreeMap::<String, usize>::new();
    let mut read = 0;
    for file in files() {
        // Deleted, but not yet committed; or not text.
        let Ok(source) = std::fs::read_to_string(root().join(&file)) else {
            continue;
        };
        let mut before = (0, Vec::new());
        for line in texts::of(&file, &source) {
            read += 1;
            // A sentence may continue from the line before.
            let own = patterns::words(&line.text);
            let mut words = if before.0 + 1 == line.number {
                before.1
            } else {
                Vec::new()
            };
            let from = words.len();
            words.extend(own.iter().cloned());
            before = (line.number, own);
            for pattern in patterns
                .iter()
                .filter(|pattern| pattern.is_in(&words, from))
            {
                hits.push(format!(
                    "{file}:{}: \"{}\": write: {}\n    {}",
                    line.number,
                    pattern.text,
                    pattern.instead,
                    line.text.trim()
                ));
                *per_folder.entry(folder_of(&file)).or_default() += 1;
            }
        }
    }
    assert!(read > 1000, "only {read} lines of text were found");
    let counts: Vec<String> = per_folder
        .iter()
        .map(|(folder, count)| format!("{count:5} {folder}"))
        .collect();
    assert!(
        hits.is_empty(),
        "{}\n\n{} hits:\n{}",
        hits.join("\n"),
        hits.len(),
        counts.join("\n")
    );
}

/// Returns the first two folders of a path, or the name of a file in the root.
fn folder_of(file: &str) -> String {
    let mut names: Vec<&str> = file.split('/').collect();
    if names.len() > 1 {
        names.pop();
    }
    names.truncate(2);
    names.join("/")
}
