//! Cells that have ended, or that were left, and go on on a thread of theirs.

use crate::config::SUPPORT;
use crate::engine::{Engine, Event};
use crate::error::Failure;
use crate::plan::Input;
use crate::process::wire::Report;
use std::fmt::Write;
use taper_host::mutex::lock;

/// How often the question which variables a thread may have is asked again, without those whose type cannot be written.
const ATTEMPTS: usize = 4;

impl Engine {
    /// Sets what receives the outputs and the panics of threads whose cell has ended, with the number of its evaluation. It
    /// is called from another thread, at any time: also while no cell runs, and while another one is compiled. What comes
    /// from no thread in particular, such as a program that was started, belongs to the last cell.
    pub fn set_late(&mut self, mut listen: impl FnMut(u32, Event) + Send + 'static) {
        let sources = self.sources.clone();
        *lock(&self.late) = Box::new(move |cell, report| {
            let event = match report {
                Report::Shown(event) => Event::Shown(event),
                Report::ThreadPanic { thread, fault, .. } => {
                    let fault = sources.fault(fault);
                    Event::ThreadPanic { thread, fault }
                }
                _ => return,
            };
            listen(cell, event);
        });
    }

    /// Forgets the variables that another thread than the one that has made them cannot have, after a cell was left to its
    /// thread. `taken` are those that the cell has taken. Returns the names.
    ///
    /// Only rustc knows which types are `Send`, so another cell asks it.
    pub(crate) fn keep_sendable(&mut self, taken: Vec<String>) -> Vec<String> {
        let is_lost = |name: &String| self.variables.iter().any(|it| it.name == *name);
        let mut lost: Vec<String> = taken.into_iter().filter(is_lost).collect();
        for name in &lost {
            self.variables.remove(name);
        }
        // They are not dropped by another thread either.
        self.forgotten.clear();
        self.settle();
        let kinds = self.variables.iter();
        let mut kinds: Vec<(String, String)> = kinds
            .map(|it| (it.name.clone(), self.variables.path(it).to_owned()))
            .collect();
        for attempt in (0..ATTEMPTS).rev() {
            let mut others = None;
            let outcome = self.evaluate_input(Input::of(&question(&kinds)), &mut |event| {
                if let Event::Value { text, .. } = event {
                    others = Some(text);
                }
            });
            if let Some(others) = others {
                lost.extend(others.split_whitespace().map(str::to_owned));
                break;
            }
            match outcome.failure {
                Some(Failure::Compile(errors)) if attempt > 1 => {
                    let spans = errors.iter().filter_map(|error| error.primary());
                    // The first variable is on the third line.
                    let wrong: Vec<usize> = spans.map(|it| it.line_start.wrapping_sub(3)).collect();
                    let mut index = 0..;
                    kinds.retain(|_| index.next().is_some_and(|it| !wrong.contains(&it)));
                }
                Some(Failure::Compile(_)) => kinds.clear(),
                // Without the process there are no variables.
                _ => break,
            }
        }
        for name in &lost {
            self.variables.remove(name);
        }
        lost.sort_unstable();
        lost
    }
}

/// Returns a cell that forgets all variables but those with a type whose values may be sent to another thread.
fn question(kinds: &[(String, String)]) -> String {
    let mut cell = format!(
        "{{\nuse ::{SUPPORT}::{{NotSendable as _, Sendable}}; let mut kept = ::std::vec::Vec::new();\n"
    );
    for (name, kind) in kinds {
        let _ = writeln!(
            cell,
            "if <Sendable<{kind}>>::IS_SENDABLE {{ kept.push(({name:?}, ::core::any::TypeId::of::<{kind}>())); }}"
        );
    }
    cell + &format!("::{SUPPORT}::keep_sendable(&kept);\n}}")
}
