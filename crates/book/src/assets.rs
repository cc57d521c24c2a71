//! The files beside the pages: pictures, notebooks to download, the crate's documentation.
//!
//! This is a second renderer, which mdBook runs after its own: mdBook empties the folder of the pages
//! first, and copies from the folder of the sources only, into which we do not write.

use super::{api, page::Content, protocol};
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes what the pages point to into the folder where mdBook has written them.
pub fn write_files(input: &str) -> Result<()> {
    let context: Value = serde_json::from_str(input).context("this is no book from mdBook")?;
    let own = PathBuf::from(
        context["destination"]
            .as_str()
            .context("mdBook names no destination")?,
    );
    let pages = own.with_file_name("html");
    for (_, page) in protocol::render(&context, &context["book"])? {
        for (name, content) in page.files {
            write(&pages.join(name), &content)?;
        }
    }
    let documentation = api::folder()?;
    if documentation.exists() {
        copy_tree(&documentation, &pages.join("api"), &|_| true)?;
    }
    Ok(())
}

fn write(file: &Path, content: &Content) -> Result<()> {
    let folder = file.parent().context("a file lies in a folder")?;
    let written = fs::create_dir_all(folder).and_then(|()| match content {
        Content::Bytes(bytes) => fs::write(file, bytes),
        Content::CopyOf(original) => fs::copy(original, file).map(drop),
    });
    written.with_context(|| format!("writing {}", file.display()))
}

/// Copies the files that are `wanted`: the same file under two names where the disk can do that.
pub fn copy_tree(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("making {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_tree(&source, &target, wanted)?;
        } else if wanted(&source) && fs::hard_link(&source, &target).is_err() {
            fs::copy(&source, &target).with_context(|| format!("writing {}", target.display()))?;
        }
    }
    Ok(())
}
