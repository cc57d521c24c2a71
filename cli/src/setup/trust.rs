//! Trust in the chapters: JupyterLab shows the stored figures of a notebook only if it is signed, and the chapters
//! were not run on this machine. Chapters that no user has edited are signed before JupyterLab starts.

use super::jupyter::Jupyter;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use taper_host::{cache, checkout, digest};

/// Signs the chapters in a folder and in its folder `solutions`, once for each version of them.
pub(crate) fn chapters(jupyter: &Jupyter, folder: &Path) -> Result<()> {
    let home = checkout::folder()?.join("notebooks");
    let edited = match checkout::is_carried() {
        true => BTreeSet::new(),
        false => edited(&home),
    };
    let mut unchanged = Vec::new();
    for below in ["", "solutions"] {
        for entry in fs::read_dir(folder.join(below))
            .into_iter()
            .flatten()
            .flatten()
        {
            let original = home.join(below).join(entry.file_name());
            if !edited.contains(&original) && is_same(&entry.path(), &original) {
                unchanged.push(entry.path());
            }
        }
    }
    if unchanged.is_empty() {
        return Ok(());
    }
    unchanged.sort();
    let contents: Vec<String> = { unchanged.iter() }
        .map(|file| Ok(digest::of(&fs::read(file)?)))
        .collect::<Result<_>>()?;
    let signed = cache::folder()?
        .join("signed")
        .join(digest::of(contents.concat().as_bytes()));
    if signed.exists() {
        return Ok(());
    }
    let mut trust = jupyter.command();
    trust.arg("trust").args(&unchanged).stdin(Stdio::null());
    let output = trust.output().context("starting `jupyter trust`")?;
    if output.status.success() {
        cache::make(&signed.with_file_name(""))?;
        fs::write(signed, "")?;
    } else {
        // Without it, figures appear when their cells have run.
        eprintln!(
            "The chapters could not be signed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

fn is_same(file: &Path, original: &Path) -> bool {
    let is_notebook = file
        .extension()
        .is_some_and(|extension| extension == "ipynb");
    is_notebook
        && matches!((fs::read(file), fs::read(original)), (Ok(one), Ok(other)) if one == other)
}

/// Returns the notebooks of a clone that differ from its last commit: a user has edited them.
fn edited(notebooks: &Path) -> BTreeSet<PathBuf> {
    let mut git = Command::new("git");
    git.args([
        "status",
        "--porcelain",
        "-z",
        "--untracked-files=all",
        "--",
        ".",
    ])
    .current_dir(notebooks);
    let output = git.output().ok().filter(|output| output.status.success());
    let listed = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let paths = listed.iter().flat_map(|listed| listed.split('\0'));
    // A line has two letters, a space, and the path below the clone.
    let clone = notebooks.parent().unwrap_or(notebooks);
    paths
        .filter_map(|line| Some(clone.join(line.get(3..)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chapter_with_other_content_is_not_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a file");
            path
        };
        let (a, b, c) = (
            file("a.ipynb", "1"),
            file("b.ipynb", "1"),
            file("c.ipynb", "2"),
        );
        assert!(is_same(&a, &b) && !is_same(&a, &c));
        assert!(!is_same(&a, &folder.path().join("missing.ipynb")));
        let text = file("d.txt", "1");
        assert!(!is_same(&text, &text));
    }
}
