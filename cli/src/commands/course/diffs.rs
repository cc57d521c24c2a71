//! A git repository in which the diff of a notebook is readable.

use anyhow::{Context, Result, bail};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use taper_host::process::on_path;

/// The lines of `.gitattributes`. nbdime merges notebooks cell by cell, if it is installed.
const DIFF: &str = "*.ipynb diff=taper";
const MERGE: &str = "*.ipynb merge=jupyternotebook";
const IGNORED: [&str; 2] = [".ipynb_checkpoints/", "output/"];

/// Makes the folder a repository, unless it is in one, and sets up its diffs.
pub(super) fn set_up(folder: &Path) -> Result<()> {
    if git(folder, &["rev-parse", "--is-inside-work-tree"]).is_err() {
        git(folder, &["init", "--quiet"])?;
    }
    let program = std::env::current_exe().context("finding this program")?;
    let program = program
        .to_str()
        .context("the program's path is not valid Unicode")?;
    let convert = format!("'{}' notebook-text", program.replace('\'', "'\\''"));
    git(folder, &["config", "diff.taper.textconv", &convert])?;
    add_line(&folder.join(".gitattributes"), DIFF)?;
    for name in IGNORED {
        add_line(&folder.join(".gitignore"), name)?;
    }
    if on_path("git-nbmergedriver").is_some() {
        let driver = "git-nbmergedriver merge %O %A %B %L %P";
        git(folder, &["config", "merge.jupyternotebook.driver", driver])?;
        add_line(&folder.join(".gitattributes"), MERGE)?;
    } else {
        println!(
            "git shows diffs of notebooks cell by cell. To merge cell by cell: pip install nbdime, then repeat this command"
        );
    }
    Ok(())
}

fn git(folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(folder).stdin(Stdio::null());
    let output = git.output().context("starting git: install it first")?;
    if !output.status.success() {
        bail!(
            "git {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

/// Adds a line to a file, unless the file has it.
fn add_line(file: &Path, line: &str) -> Result<()> {
    let text = fs::read_to_string(file).unwrap_or_default();
    if text.lines().any(|one| one == line) {
        return Ok(());
    }
    let start = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let mut open = OpenOptions::new().append(true).create(true).open(file)?;
    writeln!(open, "{start}{line}").with_context(|| format!("writing {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_call_adds_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::write(folder.join(".gitignore"), "mine").expect("a file");
        for _ in 0..2 {
            set_up(folder).expect("it is set up");
        }
        let ignored = fs::read_to_string(folder.join(".gitignore")).expect("a file");
        assert_eq!(ignored, "mine\n.ipynb_checkpoints/\noutput/\n");
        let attributes = fs::read_to_string(folder.join(".gitattributes")).expect("a file");
        assert_eq!(attributes.matches(DIFF).count(), 1);
    }
}
