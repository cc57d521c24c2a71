//! What a session does while there is no request: it lets the engine compile the next cell.

use super::{Session, commands, diagnostics, limits};
use crate::analysis::FORGETS_AFTER;
use std::time::Duration;
use taper_rust_cell::commands::Cell;

/// How often to look whether the types of the last cell's variables are known.
const SETTLING: Duration = Duration::from_millis(50);

impl Session {
    /// Does the next step of compiling ahead. Returns when there is another one.
    pub(super) fn compile_ahead(&mut self) -> Option<Duration> {
        let mut ahead = std::mem::take(&mut self.ahead);
        let pause = ahead.step(|code| {
            let rust = self.rust_of(code)?;
            Some(self.own()?.compile_ahead(&rust))
        });
        self.ahead = ahead;
        if self.own()?.idle() {
            return Some(pause.unwrap_or(SETTLING).min(SETTLING));
        }
        pause.or_else(|| self.rest())
    }

    /// Frees memory if no cell has run for a while, once. Returns when that is.
    fn rest(&mut self) -> Option<Duration> {
        let left = FORGETS_AFTER.saturating_sub(self.last_cell?.elapsed());
        if left.is_zero() {
            self.last_cell = None;
            self.own()?.rest();
            return None;
        }
        Some(left)
    }

    /// Returns what the engine gets of a cell; `None` if the session has something to do for it first.
    fn rust_of(&self, code: &str) -> Option<String> {
        let code = commands::rust_of(code)?;
        let code = self.preloaded.without_reloading(&code);
        let context = diagnostics::Context::new(&code, &self.names, &[]);
        if limits::refusal(&code).is_some() || diagnostics::dropped(&context).is_some() {
            return None;
        }
        let cell = Cell::with_rust(&code, |rest| self.names.negates_a_variable(rest));
        let is_plain =
            cell.shell.is_empty() && cell.dependencies.is_empty() && !(cell.restart || cell.clear);
        let rest = commands::without_lines(&cell.rest)?;
        (is_plain && !rest.trim().is_empty()).then_some(rest)
    }
}
