//! Lexical operations on paths, and copies of folders.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Removes `.` and `..` lexically, as they are written in SUMMARY.md, without following symbolic links.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normalized.pop()),
            other => normalized.push(other),
        }
    }
    normalized
}

/// Returns the last two names of a path, for messages.
pub(crate) fn shorten(path: &Path) -> String {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    names[names.len().saturating_sub(2)..].join("/")
}

/// Copies the files of a folder for which `is_wanted` is true, as hard links where the file system
/// allows it.
pub(crate) fn copy_tree(from: &Path, to: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry.with_context(|| format!("reading {}", from.display()))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry
            .file_type()
            .with_context(|| format!("reading {}", source.display()))?;
        if kind.is_dir() {
            copy_tree(&source, &target, is_wanted)?;
        } else if is_wanted(&source) && fs::hard_link(&source, &target).is_err() {
            fs::copy(&source, &target).with_context(|| format!("writing {}", target.display()))?;
        }
    }
    Ok(())
}
