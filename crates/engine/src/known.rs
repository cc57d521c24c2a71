//! Cells that were compiled before, in this process or in another.

use crate::cache::Cache;
use crate::compile::Library;
use crate::diagnostic::Diagnostic;
use crate::macros::Revisions;
use crate::question::Lints;
use crate::repair::Repairs;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::JoinHandle;

/// A cell that compiled.
pub(crate) struct Compiled {
    pub(crate) source: Source,
    pub(crate) library: PathBuf,
    pub(crate) repairs: Repairs,
    /// The types of the new variables.
    pub(crate) kinds: HashMap<String, String>,
    pub(crate) lints: Lints,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// What the compiler has said about a cell, without numbers of cells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Learned {
    pub(crate) revisions: Revisions,
    pub(crate) repairs: Repairs,
    pub(crate) kinds: HashMap<String, String>,
    pub(crate) lints: Lints,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// What was compiled before.
pub(crate) struct Known {
    pub(crate) cache: Cache,
    /// Cells of the host that run often, by their keys, with their libraries.
    repeated: HashMap<String, (Learned, PathBuf)>,
    /// Writes the last cell.
    writing: Option<JoinHandle<()>>,
}

impl Known {
    pub(crate) fn new(cache: Cache) -> Known {
        Known {
            cache,
            repeated: HashMap::new(),
            writing: None,
        }
    }

    /// Returns what is known about a cell, and its library. If the library comes from the disk, it is written to
    /// `library`: a file that is loaded twice would have one value of each static.
    pub(crate) fn recall(
        &mut self,
        key: &str,
        library: PathBuf,
        is_repeated: bool,
    ) -> Option<(Learned, PathBuf)> {
        if let Some(known) = self.repeated.get(key).filter(|_| is_repeated) {
            return Some(known.clone());
        }
        let (learned, content) = self.cache.read::<Learned>(key)?;
        std::fs::write(&library, content).ok()?;
        if is_repeated {
            let known = (learned.clone(), library.clone());
            self.repeated.insert(key.to_owned(), known);
        }
        Some((learned, library))
    }

    /// Keeps a compiled cell.
    pub(crate) fn keep(
        &mut self,
        key: String,
        learned: &Learned,
        library: &Library,
        is_repeated: bool,
    ) {
        if is_repeated {
            let known = (learned.clone(), library.path.clone());
            self.repeated.insert(key.clone(), known);
        }
        if library.can_be_kept {
            let (cache, learned, path) =
                (self.cache.clone(), learned.clone(), library.path.clone());
            // The cell need not wait. Without a thread, it is compiled again the next time.
            let write = move || {
                if let Ok(content) = std::fs::read(path) {
                    cache.write(&key, &learned, &content);
                }
            };
            self.writing = std::thread::Builder::new().spawn(write).ok();
        }
    }

    /// Waits until the last cell is written. Returns whether it is.
    pub(crate) fn wait(&mut self) -> bool {
        let writing = self.writing.take();
        writing.is_some_and(|thread| thread.join().is_ok())
    }
}

impl Compiled {
    pub(crate) fn new(source: Source, learned: Learned, library: PathBuf) -> Compiled {
        Compiled {
            warnings: source.warnings(learned.warnings),
            source,
            library,
            repairs: learned.repairs,
            kinds: learned.kinds,
            lints: learned.lints,
        }
    }
}
