//! Reads what rustc says about the variables of earlier cells.
//!
//! The lint `unused_mut` says for each variable whether the cell changes it, also through macros, methods and
//! closures. Whether the cell uses a variable at all cannot be seen in the function of the cell, which puts all of them
//! back. Where the syntax leaves it in doubt, a second function, which is never called, contains the same statements
//! and puts nothing back; there, the lint `unused_variables` says it.

use crate::compile::Messages;
use crate::diagnostic::Diagnostic;
use crate::parts::Glue;
use crate::source::Source;
use crate::words;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What rustc's lints say about the variables that a cell mentions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Lints {
    /// Variables that need no `mut`.
    pub(crate) unchanged: HashSet<String>,
    /// Variables that are not used.
    pub(crate) unused: HashSet<String>,
}

impl Source {
    /// Takes what rustc says about earlier variables, and errors that the question repeats, out of its messages.
    pub(crate) fn lints(&self, messages: &mut Messages) -> Lints {
        let mut lints = Lints::default();
        messages.diagnostics.retain(|message| {
            let is_lint = |code| !message.is_error() && message.has_code(code);
            match message.primary().and_then(|span| self.glue(span)) {
                Some(Glue::Take(name)) if is_lint("unused_mut") => {
                    lints.unchanged.insert(name.clone());
                    return false;
                }
                Some(Glue::Question(Some(name))) if message.message.starts_with(words::UNUSED) => {
                    lints.unused.insert(name.clone());
                    return false;
                }
                _ => {}
            }
            !self.is_in_question(message)
        });
        lints
    }

    /// Returns whether a message or one of its notes is about the second function.
    fn is_in_question(&self, message: &Diagnostic) -> bool {
        let mut glue = message.spans.iter().filter_map(|span| self.glue(span));
        glue.any(|glue| matches!(glue, Glue::Question(_)))
            || message.children.iter().any(|it| self.is_in_question(it))
    }
}
