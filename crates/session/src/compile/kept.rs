//! Compiled cells that every session begins with: evcxr's own first evaluation and the import of the prelude.
//!
//! The process that runs the first cells of an image keeps them; a session finds them by their source.

use super::memory;
use super::recorder::CRATE;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Set in the process that keeps the cells that it compiles.
pub const KEEP_VARIABLE: &str = "TAPER_KEEP_CELLS";

/// What came of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kept {
    /// Whether it was compiled; otherwise the messages say why not.
    pub success: bool,
    /// Cargo's messages.
    pub messages: String,
}

impl Kept {
    /// Finds what came of the cell with this digest, and puts its library where the messages say.
    pub fn find(cell: &str, session: &Path) -> Option<Kept> {
        let kept: Kept =
            serde_json::from_slice(&memory::read(&of_messages(cell), session)?).ok()?;
        if kept.success {
            let library = library(session);
            std::fs::create_dir_all(library.parent()?).ok()?;
            let _ = std::fs::remove_file(&library);
            std::fs::hard_link(of_library(cell, session), library).ok()?;
        }
        Some(kept)
    }

    /// Keeps this for the cell with this digest, in the process that is meant to.
    pub fn keep(&self, cell: &str, session: &Path) -> Result<()> {
        if std::env::var_os(KEEP_VARIABLE).is_none() {
            return Ok(());
        }
        if self.success {
            std::fs::copy(library(session), of_library(cell, session))?;
        }
        memory::keep(&of_messages(cell), &serde_json::to_vec(self)?, session);
        Ok(())
    }
}

/// Where a session's compiled cell is put. No folder of cargo's is named.
pub fn library(session: &Path) -> PathBuf {
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
