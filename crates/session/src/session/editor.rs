//! Completes and documents a cell as it is written: with commands, unfinished texts and paths, which no engine knows.

use super::preloaded::PreloadedCrate;
use super::{completions, limits, paths, unfinished};
use std::sync::Arc;
use taper_evaluator::{Completions, Editor, MimeBundle};
use taper_rust_cell::commands::without_command;

/// The editor of a session, over its engine's.
pub(super) struct CellEditor {
    engine: Arc<dyn Editor>,
    preloaded: Arc<PreloadedCrate>,
}

impl CellEditor {
    pub(super) fn new(engine: Arc<dyn Editor>, preloaded: Arc<PreloadedCrate>) -> Self {
        Self { engine, preloaded }
    }
}

impl Editor for CellEditor {
    fn complete(&self, code: &str, cursor: usize) -> Completions {
        let in_text = unfinished::placeholder(code, cursor);
        if let (None, Some(found)) = (&in_text, paths::complete(code, cursor)) {
            return found;
        }
        if limits::is_too_large_to_analyse(code) {
            return Completions::none(cursor);
        }
        let code = self.preloaded.without_reloading(code);
        let code = without_command(&code);
        if let Some((code, moved)) = in_text {
            return unfinished::in_text(self.engine.complete(&code, moved), cursor, moved);
        }
        let code = unfinished::closed(&code, cursor);
        let mut found = completions::ask(&code, cursor, |code, at| self.engine.complete(code, at));
        completions::sort(&mut found, &code);
        completions::leave_arguments_open(&mut found);
        found
    }

    fn inspect(&self, code: &str, cursor: usize) -> Option<MimeBundle> {
        if limits::is_too_large_to_analyse(code) {
            return None;
        }
        let code = self.preloaded.without_reloading(code);
        self.engine.inspect(&without_command(&code), cursor)
    }

    fn is_ready(&self) -> bool {
        self.engine.is_ready()
    }
}
