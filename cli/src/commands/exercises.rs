//! `taper exercises`: shows which exercises of the chapters are solved.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taper_evaluator::joined;
use unicode_width::UnicodeWidthStr;

/// Show which exercises you have solved, chapter by chapter.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder of the chapters (default: `notebooks`, or this folder if there is none).
    folder: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let clone = Path::new("notebooks");
    let default = if clone.is_dir() {
        clone
    } else {
        Path::new(".")
    };
    let chapters = chapters(arguments.folder.as_deref().unwrap_or(default))?;
    print!("{}", report(&chapters, &progress()?));
    Ok(ExitCode::SUCCESS)
}

/// A notebook with the names of its exercises, in their order.
#[derive(Debug, PartialEq)]
struct Chapter {
    title: String,
    exercises: Vec<String>,
}

fn chapters(folder: &Path) -> Result<Vec<Chapter>> {
    let entries = folder.read_dir().with_context(|| {
        let folder = folder.display();
        format!("there is no folder {folder}: name the folder of the chapters")
    })?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "ipynb"));
    files.sort();
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file);
        let text = text.with_context(|| format!("reading {}", file.display()))?;
        chapter(&text).with_context(|| format!("{} is not a notebook", file.display()))
    };
    let mut chapters = files.iter().map(read).collect::<Result<Vec<_>>>()?;
    // A copy of a chapter adds nothing.
    let mut seen = BTreeSet::new();
    for chapter in &mut chapters {
        chapter.exercises.retain(|name| seen.insert(name.clone()));
    }
    chapters.retain(|chapter| !chapter.exercises.is_empty());
    if chapters.is_empty() {
        bail!(
            "there are no exercises in {}\nName the folder of the chapters.",
            std::path::absolute(folder)?.display()
        );
    }
    Ok(chapters)
}

fn chapter(text: &str) -> Result<Chapter> {
    let notebook: Value = serde_json::from_str(text)?;
    let cells = notebook["cells"].as_array().context("it has no cells")?;
    let of = |kind: &str| -> String {
        let cells = cells.iter().filter(|cell| cell["cell_type"] == kind);
        cells.map(|cell| joined(&cell["source"]) + "\n").collect()
    };
    let (prose, code) = (of("markdown"), of("code"));
    let mut headings = prose.lines().filter_map(|line| line.strip_prefix("# "));
    let name = |line: &str| Some(line.strip_prefix("check(\"")?.split_once('"')?.0.to_owned());
    Ok(Chapter {
        title: headings.next().unwrap_or_default().to_owned(),
        exercises: code.lines().filter_map(name).collect(),
    })
}

/// Reads the progress that `check` has stored (`src/exercises/progress.rs`), by the name of the exercise.
fn progress() -> Result<Map<String, Value>> {
    let system = || dirs::state_dir().or_else(dirs::data_local_dir);
    let folder = match std::env::var_os("TAPER_STATE").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => system().context("HOME is not set")?.join("taper"),
    };
    let file = folder.join("exercises.json");
    match std::fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged; remove it", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Map::new()),
        Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
    }
}

fn report(chapters: &[Chapter], progress: &Map<String, Value>) -> String {
    let is_solved = |name: &&String| progress.get(*name).is_some_and(|one| one["solved"] == true);
    let width = chapters.iter().map(|one| one.title.width()).max();
    let width = width.unwrap_or(0);
    let (mut text, mut all, mut all_solved) = (String::new(), 0, 0);
    for Chapter { title, exercises } in chapters {
        let solved = exercises.iter().filter(is_solved).count();
        let marks: String = exercises
            .iter()
            .map(|name| match progress.get(name) {
                Some(one) if one["solved"] == true => '✓',
                Some(_) => '✗',
                None => '○',
            })
            .collect();
        let next = exercises.iter().find(|name| !is_solved(name));
        let next = next
            .map(|name| format!("  next: {name}"))
            .unwrap_or_default();
        text += &format!(
            "{title}{}  {solved} of {}  {marks}{next}\n",
            " ".repeat(width - title.width()),
            exercises.len()
        );
        all += exercises.len();
        all_solved += solved;
    }
    text + &format!("\n{all_solved} of {all} exercises solved\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn exercises_are_the_calls_of_check_in_code_cells() {
        let notebook = json!({ "cells": [
            { "cell_type": "markdown", "source": ["# Tensors\n", "check(\"no.1\", x)"] },
            { "cell_type": "code", "source": "fn a() {\n}\ncheck(\"tensors.3\", a)?" },
            { "cell_type": "code", "source": ["1 + 1"] },
            { "cell_type": "code", "source": ["check(\"tensors.7\", b)?"] },
        ] });
        let found = chapter(&notebook.to_string()).expect("a notebook");
        assert_eq!(found.title, "Tensors");
        assert_eq!(found.exercises, ["tensors.3", "tensors.7"]);
        assert!(chapter("{}").is_err());
    }

    #[test]
    fn a_copy_of_a_chapter_adds_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let cell = json!({ "cell_type": "code", "source": "check(\"a.1\", a)?" });
        let notebook = json!({ "cells": [cell] }).to_string();
        for name in ["02-a.ipynb", "02-a-Copy1.ipynb", "notes.txt"] {
            std::fs::write(folder.path().join(name), &notebook).expect("it is written");
        }
        assert_eq!(chapters(folder.path()).expect("notebooks").len(), 1);
        let empty = tempfile::tempdir().expect("a folder");
        assert!(chapters(empty.path()).is_err());
    }

    #[test]
    fn a_chapter_says_what_is_solved_and_what_is_next() {
        let exercises = ["a.1", "a.2", "a.3"].map(String::from).to_vec();
        let chapters = [
            Chapter {
                title: "自动微分".into(),
                exercises,
            },
            Chapter {
                title: "Models".into(),
                exercises: vec!["m.1".into()],
            },
        ];
        let progress = json!({
            "a.1": { "solved": true, "failures": 3 },
            "a.2": { "solved": false, "failures": 1 },
            "m.1": { "solved": true, "failures": 0 },
            "another.9": { "solved": true, "failures": 0 },
        });
        let text = report(&chapters, progress.as_object().expect("an object"));
        let expected = "自动微分  1 of 3  ✓✗○  next: a.2\nModels    1 of 1  ✓\n\n\
                        2 of 4 exercises solved\n";
        assert_eq!(text, expected);
    }
}
