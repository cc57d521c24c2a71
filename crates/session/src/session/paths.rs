//! Completes what is not Rust: names of commands, and files in strings and in shell commands.

use super::tokens::with_offsets;
use ra_ap_rustc_lexer::{LiteralKind, TokenKind};
use std::path::{Path, PathBuf};
use taper_evaluator::evaluator::{Completion, Completions};
use taper_rust_cell::commands::table::COMMANDS;

/// The most files that are offered.
const FILES: usize = 200;

/// Returns the completions at the cursor, or `None` if the cursor is in Rust.
pub(crate) fn complete(code: &str, cursor: usize) -> Option<Completions> {
    let before = &code[..cursor];
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let is_first = before[..cursor - line.len()].trim().is_empty();
    let is_script = code.starts_with("%%bash") || code.starts_with("%%writefile");
    let is_command = line.starts_with(':') && !line.starts_with("::");
    if is_command || (is_first && line.starts_with('%')) {
        if !line.contains(' ') {
            return Some(commands(line, cursor));
        }
        return line.starts_with("%%writefile").then(|| files(line, cursor));
    }
    match line.starts_with('!') || is_script {
        true => Some(files(line, cursor)),
        false => string_before(before).map(|text| files(text, cursor)),
    }
}

fn commands(word: &str, cursor: usize) -> Completions {
    let items = COMMANDS.iter().filter_map(|command| {
        let name = command.name().filter(|name| name.starts_with(word))?;
        Some(Completion {
            text: name.to_owned(),
            kind: "command".to_owned(),
            label: command.usage.to_owned(),
            documentation: command.summary.to_owned(),
        })
    });
    Completions {
        start: cursor - word.len(),
        end: cursor,
        items: items.collect(),
    }
}

/// Returns the part of a string literal before the cursor.
fn string_before(before: &str) -> Option<&str> {
    let (at, kind, _) = with_offsets(before).pop()?;
    let open = LiteralKind::Str { terminated: false };
    matches!(kind, TokenKind::Literal { kind, .. } if kind == open).then(|| &before[at + 1..])
}

/// Returns the files whose path begins with the last word of `text`.
fn files(text: &str, cursor: usize) -> Completions {
    let word = &text[text.rfind([' ', '=', '"', '\'']).map_or(0, |at| at + 1)..];
    let word = word.strip_prefix('!').unwrap_or(word);
    let (folder, name) = word.rsplit_once('/').map_or(("", word), |(_, name)| {
        (&word[..word.len() - name.len()], name)
    });
    let folder = if folder.is_empty() { "." } else { folder };
    let mut names = names_in(&path_of(folder), name);
    names.sort();
    let items = names.into_iter().map(|name| Completion {
        kind: if name.ends_with('/') {
            "folder"
        } else {
            "file"
        }
        .to_owned(),
        label: name.clone(),
        text: name,
        documentation: String::new(),
    });
    Completions {
        start: cursor - name.len(),
        end: cursor,
        items: items.take(FILES).collect(),
    }
}

/// Returns the path that a user has written; `~` is the user's home.
pub(super) fn path_of(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(text),
    }
}

/// Returns the names in a folder that begin with `start`; those of folders end with a slash. Hidden ones are
/// left out unless `start` has their dot.
fn names_in(folder: &Path, start: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_wanted =
            name.starts_with(start) && (start.starts_with('.') || !name.starts_with('.'));
        let slash = if entry.path().is_dir() { "/" } else { "" };
        is_wanted.then(|| format!("{name}{slash}"))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(code: &str) -> Option<Vec<String>> {
        let found = complete(code, code.len())?;
        Some(found.items.into_iter().map(|item| item.text).collect())
    }

    #[test]
    fn names_of_commands_are_completed() {
        assert_eq!(texts("%time"), Some(vec!["%time".into(), "%timeit".into()]));
        assert_eq!(texts("%%w"), Some(vec!["%%writefile".into()]));
        assert_eq!(texts("x;\n:va"), Some(vec![":vars".into()]));
        assert_eq!(texts(":type x"), None);
        assert_eq!(texts("a\n%ti"), None);
    }

    #[test]
    fn files_are_completed_in_strings_and_shell_lines() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["data.csv", "dates", ".hidden"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("days")).unwrap();
        let folder = folder.path().display();
        let both = Some(vec!["data.csv".into(), "dates".into()]);
        assert_eq!(texts(&format!("DataFrame::read(\"{folder}/dat")), both);
        assert_eq!(texts(&format!("!cat {folder}/dat")), both);
        assert_eq!(
            texts(&format!("%%bash\ncat {folder}/day")),
            Some(vec!["days/".into()])
        );
        assert_eq!(
            texts(&format!("f(\"{folder}/.h")),
            Some(vec![".hidden".into()])
        );
        assert_eq!(texts("let s = \"a\"; s.le"), None);
        assert_eq!(texts("f(\"a\""), None);
        // A string with a quotation mark in it.
        let there = Some(vec!["Cargo.toml".into()]);
        assert_eq!(texts("f(\"say \\\"Cargo.to"), there);
        assert!(texts("f(\"say \\\"").is_some());
        assert_eq!(texts("\"no/such/folder/a"), Some(vec![]));
    }
}
