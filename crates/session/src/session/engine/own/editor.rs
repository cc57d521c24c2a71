//! Completes names and shows documentation, as the session presents them.

use crate::analysis::{Analysis, Source};
use crate::image::libraries;
use crate::session::{completions, documentation};
use std::path::Path;
use std::sync::{Arc, Mutex};
use taper_engine::Scope;
use taper_evaluator::evaluator::{Completion, Completions, Editor};
use taper_evaluator::event::MimeBundle;
use taper_host::mutex::lock;
use taper_host::toolchain;
use taper_rust_cell::commands::{blank_out, is_colon_command};

/// Completes and documents with what the cells so far have defined.
pub(super) struct OwnEditor {
    analysis: Analysis,
    scope: Mutex<Scope>,
}

impl OwnEditor {
    /// Starts the analysis of cells with the packages of the crate in `work`.
    pub(super) fn start(work: &Path) -> Arc<OwnEditor> {
        let work = work.to_owned();
        Arc::new(OwnEditor {
            analysis: Analysis::start(move || libraries::metadata_of(&work)),
            scope: Mutex::default(),
        })
    }

    /// Sets what cells can use from now on.
    pub(super) fn set_scope(&self, scope: Scope) {
        *lock(&self.scope) = scope;
    }

    /// Notes that the packages have changed.
    pub(super) fn reload(&self, scope: Scope) {
        self.set_scope(scope);
        self.analysis.reload();
    }

    /// Notes that a cell begins or ends.
    pub(super) fn note_cell(&self) {
        self.analysis.note_cell();
    }

    /// Returns the source of a cell and of all that it can use.
    fn source(&self, code: &str) -> Source {
        let scope = lock(&self.scope).clone();
        Source::new(&blank_out(code, is_colon_command), |items| {
            scope.around(items)
        })
    }
}

impl Editor for OwnEditor {
    fn complete(&self, code: &str, cursor: usize) -> Completions {
        match self.analysis.complete(self.source(code), cursor) {
            Some(mut found) => {
                found.items.iter_mut().for_each(describe);
                found
            }
            // It is not ready yet, or not installed.
            None => known(&lock(&self.scope), code, cursor),
        }
    }

    fn inspect(&self, code: &str, cursor: usize) -> Option<MimeBundle> {
        let markdown = match toolchain::analyzer() {
            Ok(_) => self.analysis.hover(self.source(code), cursor)?,
            // Only here a user waits for an answer.
            Err(missing) => missing.to_string(),
        };
        Some(documentation_of(&markdown))
    }

    fn is_ready(&self) -> bool {
        self.analysis.is_ready()
    }
}

/// Returns the variables that the name at the byte `cursor` may become, while rust-analyzer cannot answer. Which methods a
/// value has is not known then.
fn known(scope: &Scope, code: &str, cursor: usize) -> Completions {
    let before = &code[..cursor];
    let is_part = |c: char| c == '_' || c.is_alphanumeric();
    let start = before.trim_end_matches(is_part).len();
    let name = &before[start..];
    if name.is_empty() || before[..start].ends_with(['.', ':']) {
        return Completions::none(cursor);
    }
    let names = scope.variables().iter().map(|it| &it.name);
    let items = names
        .filter(|it| it.starts_with(name))
        .map(|it| Completion {
            text: it.clone(),
            kind: "instance".to_owned(),
            label: it.clone(),
            documentation: String::new(),
        });
    Completions {
        start,
        end: cursor,
        items: items.collect(),
    }
}

fn describe(item: &mut Completion) {
    let paragraph = item.documentation.split("\n\n").next().unwrap_or_default();
    item.documentation = completions::first_sentence(&documentation::text_of(paragraph));
    // Without a signature: a macro, or a function that is not called here.
    let has_signature = item.label.contains('(') && !item.label.ends_with("(…)");
    if item.kind == "function" && has_signature && !item.label.contains('!') {
        item.documentation = completions::with_result(&item.label, &item.documentation);
    }
}

fn documentation_of(markdown: &str) -> MimeBundle {
    let bundle = [
        ("text/plain", documentation::text_of(markdown)),
        ("text/html", documentation::page_of(markdown)),
    ];
    let bundle = bundle.into_iter();
    bundle.map(|(k, v)| (k.to_owned(), v.into())).collect()
}
