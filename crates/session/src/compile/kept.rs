//! Compiled cells that every session begins with: evcxr's own first evaluation and the import of the prelude.
//!
//! The process that runs the first cells of an image keeps them; a session finds them by their source.

use super::memory;
use super::recorder::CRATE;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use taper_host::error::Context as _;

/// The variable that is set in the process that keeps the cells that it compiles.
pub(crate) const KEEP_VARIABLE: &str = "TAPER_KEEP_CELLS";

/// The result of compiling a cell.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Whether it was compiled; otherwise the messages say why not.
    pub(crate) success: bool,
    /// Cargo's messages.
    pub(crate) messages: String,
}

impl Kept {
    /// Returns the kept result for the cell with this digest, and puts the cell's library where the
    /// messages say.
    pub(crate) fn find(cell: &str, session: &Path) -> Option<Kept> {
        let kept: Kept =
            serde_json::from_slice(&memory::read(&of_messages(cell), session)?).ok()?;
        if kept.success {
            let library = library(session);
            std::fs::create_dir_all(library.parent()?).ok()?;
            let _ = std::fs::remove_file(&library);
            // In a session from a store, this is a symbolic link.
            let kept = of_library(cell, session).canonicalize().ok()?;
            let linked = std::fs::hard_link(&kept, &library);
            linked
                .or_else(|_| std::fs::copy(&kept, &library).map(drop))
                .ok()?;
        }
        Some(kept)
    }

    /// Keeps the result for the cell with this digest, if this process keeps cells.
    pub(crate) fn keep(&self, cell: &str, session: &Path) -> Result<()> {
        if !is_asked_for() {
            return Ok(());
        }
        if self.success {
            let library = library(session);
            std::fs::copy(&library, of_library(cell, session)).on_file("copy", &library)?;
        }
        let messages = serde_json::to_vec(self).map_err(Error::json("a compiled cell"))?;
        memory::keep(&of_messages(cell), &messages, session);
        Ok(())
    }
}

/// Returns whether this process keeps the cells that it compiles.
pub(crate) fn is_asked_for() -> bool {
    std::env::var_os(KEEP_VARIABLE).is_some()
}

/// Returns the path of a session's compiled cell. It does not depend on the layout of cargo's folders.
pub(crate) fn library(session: &Path) -> PathBuf {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let name = format!("{DLL_PREFIX}{CRATE}{DLL_SUFFIX}");
    session.join("work/cells").join(name)
}

fn of_messages(cell: &str) -> String {
    format!("{cell}.cell")
}

fn of_library(cell: &str, session: &Path) -> PathBuf {
    memory::folder(session).join(cell).with_extension("so")
}
