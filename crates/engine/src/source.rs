//! Writes the source of a cell's crate, and finds the cell in it again.
//!
//! Each cell has up to three files: its macros, its other items, and its statements, each with the rest blanked
//! out. So a line of a file is the same line of the cell. What the engine adds is around the last expression and
//! after the last line. The text that includes the files contains the function of the cell, which takes the
//! values of the variables, and puts them back.

use crate::cell::{Closure, Parsed};
use crate::compile::{Messages, types};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::file::{File, Position};
use crate::glue::{lines, statements};
use crate::parts::{Glue, Parts};
use crate::words;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use taper_rust_cell::position::position_of;

/// The name that the text on standard input has in rustc's messages.
const STDIN: &str = "/dev/stdin";

/// The source of a cell's crate.
pub(crate) struct Source {
    /// Attributes of the crate.
    pub(crate) attributes: String,
    /// The text for rustc's standard input, which includes the files.
    pub(crate) text: String,
    /// The last one contains the statements of the cell.
    pub(crate) files: Vec<File>,
    /// Where the expression at the end of the cell begins and ends.
    tail: Option<(Position, Position)>,
    /// Where the values without a name are that new variables borrow from.
    temporaries: Vec<(Position, Position)>,
    /// The new variables, with the statements that define them.
    lets: Vec<(String, Position, Position)>,
    /// The closures, with where they begin.
    closures: Vec<(Position, Closure)>,
    /// What the lines of the text are for, counted from 1.
    glue: BTreeMap<usize, Glue>,
    /// The same for the lines after the cell's own, in the file with the statements.
    after: BTreeMap<usize, Glue>,
}

impl Source {
    /// Writes the source of a cell.
    pub(crate) fn new(parts: &Parts, folder: &Path) -> Source {
        let empty = Parsed::default();
        let cell = parts.cell.unwrap_or(&empty);
        let own: Vec<Range<usize>> = cell
            .imports
            .iter()
            .map(|(range, _)| range.clone())
            .collect();
        let mut files = parts.items.files(parts.number, &own, parts.marks);
        let mut text = parts.items.imports(cell);
        let include =
            |name: &str| format!("include!({:?})", folder.join(name).display().to_string());
        for file in &files {
            let _ = writeln!(text, "{};", include(&file.name));
        }
        let (statements, after) = statements(parts, cell);
        let mut glue = BTreeMap::new();
        for (line, kind) in lines(parts, cell, &include(&statements.name)) {
            let _ = writeln!(text, "{line}");
            glue.insert(text.matches('\n').count(), kind);
        }
        files.push(statements);
        let position = |at| position_of(parts.source, at);
        let tail = cell.tail.as_ref();
        Source {
            tail: tail.map(|tail| (position(tail.start), position(tail.end))),
            temporaries: {
                let ranges = cell.temporaries.iter().map(|it| &it.range);
                ranges
                    .map(|it| (position(it.start), position(it.end)))
                    .collect()
            },
            lets: {
                let range = |end: usize| cell.statements.iter().find(|it| it.end == end);
                let bindings = cell.bindings.iter();
                let found = bindings.filter_map(|it| Some((it.name.clone(), range(it.statement)?)));
                found
                    .map(|(name, it)| (name, position(it.start), position(it.end)))
                    .collect()
            },
            closures: {
                let closures = cell.closures.iter();
                let found = closures.map(|it| (position(it.start), it.clone()));
                found.collect()
            },
            attributes: parts.items.attributes(),
            text,
            files,
            glue,
            after,
        }
    }

    /// Returns the place that a message is about, if it is in the statements of the cell.
    pub(crate) fn place(&self, diagnostic: &Diagnostic) -> Option<Position> {
        let file = self.files.last().map(|file| &file.name);
        let span = diagnostic.primary()?;
        let is_there = span.cell.is_some() && Some(&span.file_name) == file;
        is_there.then_some((span.line_start, span.column_start))
    }

    /// Returns the closure that has this type, if it is one of the statements: `{closure@cell-1:2:9: 2:12}`.
    pub(crate) fn closure(&self, kind: &str) -> Option<&Closure> {
        let file = self.files.last()?;
        let mut parts = kind.strip_prefix(words::CLOSURE)?.split(':');
        let (name, line, column) = (parts.next()?, parts.next()?, parts.next()?);
        let line = line.parse().ok().filter(|_| name == file.name)?;
        let place = (line, file.column(line, column.parse().ok()?));
        let mut closures = self.closures.iter();
        closures.find(|(at, _)| *at == place).map(|(_, it)| it)
    }

    /// Returns the new variable whose statement contains the place of a message.
    pub(crate) fn defined_at(&self, diagnostic: &Diagnostic) -> Option<String> {
        let place = self.place(diagnostic)?;
        let mut lets = self.lets.iter();
        let found = lets.find(|(_, start, end)| *start <= place && place < *end);
        found.map(|(name, ..)| name.clone())
    }

    /// Returns the new variable whose value borrows from something although it is made an object, such as `Box<dyn Fn()>`,
    /// or its type is written: the engine alone asks for more than Rust.
    pub(crate) fn coerced(&self, diagnostic: &Diagnostic) -> Option<String> {
        let says_so = |label: &String| {
            // A function of the user's may ask for it as well.
            label.ends_with(words::FOR_STATIC) && !label.starts_with(words::BY_ARGUMENT)
        };
        let mut labels = diagnostic
            .spans
            .iter()
            .filter_map(|span| span.label.as_ref());
        let is_borrow = ["E0597", "E0505"]
            .iter()
            .any(|code| diagnostic.has_code(code));
        if !is_borrow || !labels.any(says_so) {
            return None;
        }
        let places = diagnostic.spans.iter().filter(|span| span.cell.is_some());
        let place = places
            .map(|span| (span.line_start, span.column_start))
            .min()?;
        let mut lets = self.lets.iter();
        let found = lets.find(|(_, start, end)| *start <= place && place < *end);
        found.map(|(name, ..)| name.clone())
    }

    /// Returns the values without a name that a message is about; all of them if its place is not in one.
    pub(crate) fn temporaries(&self, diagnostic: &Diagnostic) -> BTreeSet<usize> {
        let place = self.place(diagnostic);
        let is_there = |index: &usize| {
            let (start, end) = self.temporaries[*index];
            place.is_some_and(|place| start <= place && place < end)
        };
        let all = 0..self.temporaries.len();
        let there: BTreeSet<usize> = all.clone().filter(is_there).collect();
        match there.is_empty() {
            true => all.collect(),
            false => there,
        }
    }

    /// Returns the source with names defined a second time: see [`types`].
    pub(crate) fn with_decoys(&self, names: &HashSet<String>) -> String {
        let names: std::collections::BTreeSet<&String> = names.iter().collect();
        let decoys: String = names
            .iter()
            .map(|name| format!("pub struct {name}; "))
            .collect();
        format!("{}mod {} {{ {decoys} }}\n", self.text, types::DECOYS)
    }

    /// Returns whether the cell or an item contains a text, such as the name of a package.
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.text.contains(text) || self.files.iter().any(|file| file.text.contains(text))
    }

    /// Returns the types of the new variables, by name.
    pub(crate) fn kinds(&self, messages: &Messages) -> impl Iterator<Item = (String, String)> {
        messages.diagnostics.iter().filter_map(|message| {
            let (line, kind) = types::of_warning(message)?;
            match self.after.get(&line)? {
                Glue::Keep(name) => Some((name.clone(), kind.to_owned())),
                _ => None,
            }
        })
    }

    /// Returns the errors, with their places in the cells.
    pub(crate) fn errors(&self, messages: &Messages) -> Vec<Diagnostic> {
        let errors = messages.errors().cloned().map(|mut error| {
            self.locate(&mut error);
            error
        });
        errors.collect()
    }

    /// Returns the warnings about the cell that is compiled.
    pub(crate) fn warnings(&self, warnings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let number = self.files.last().map(|file| file.cell);
        let located = warnings.into_iter().map(|mut message| {
            self.locate(&mut message);
            message
        });
        let is_own = |it: &Diagnostic| it.primary().is_some_and(|span| span.cell == number);
        located.filter(is_own).collect()
    }

    /// Puts the positions of a message into the cells, and returns what the message is about in the engine's own
    /// lines, each with whether it is the place of the mistake itself.
    pub(crate) fn locate(&self, diagnostic: &mut Diagnostic) -> Vec<(bool, Glue)> {
        let spans = diagnostic.spans.iter();
        let notes = diagnostic.children.iter().flat_map(|note| &note.spans);
        let spans = spans.map(|span| (span.is_primary, span));
        let spans = spans.chain(notes.map(|span| (false, span)));
        let glue =
            spans.filter_map(|(is_primary, span)| Some((is_primary, self.glue(span)?.clone())));
        let glue = glue.collect();
        diagnostic.for_each_span(&mut |span| self.locate_span(span));
        leave_closure(diagnostic);
        self.explain_missing_debug(diagnostic);
        glue
    }

    /// Says why a value cannot be shown, where rustc explains the engine's own trait.
    fn explain_missing_debug(&self, diagnostic: &mut Diagnostic) {
        let is_ours = diagnostic.message.contains("`evcxr_display`");
        let Some((start, end)) = self
            .tail
            .filter(|_| is_ours && diagnostic.has_code("E0599"))
        else {
            return;
        };
        let names = diagnostic.message.split('`').skip(1).step_by(2);
        let kind = names.filter_map(|name| name.strip_prefix('&')).next();
        let kind = kind.unwrap_or("this value").to_owned();
        diagnostic.message = format!("`{kind}` doesn't implement `Debug`");
        diagnostic.code = Some(Code {
            code: "E0277".to_owned(),
        });
        diagnostic.children.clear();
        let statements = self.files.last().map(|file| &file.name);
        diagnostic
            .spans
            .retain(|span| Some(&span.file_name) == statements);
        diagnostic.spans.truncate(1);
        for span in &mut diagnostic.spans {
            (span.line_start, span.column_start) = start;
            (span.line_end, span.column_end) = end;
            span.is_primary = true;
            let why = "cannot be formatted using `{:?}` because it doesn't implement `Debug`";
            span.label = Some(format!("`{kind}` {why}"));
        }
    }

    /// Returns what a span in the engine's own lines is about.
    pub(crate) fn glue(&self, span: &Span) -> Option<&Glue> {
        if span.file_name == STDIN {
            return self.glue.get(&span.line_start);
        }
        let statements = self.files.last()?;
        let is_after = span.file_name == statements.name && span.line_start > statements.lines;
        is_after.then(|| self.after.get(&span.line_start))?
    }

    /// Returns the places of an error, the most important first: where a macro is called, rather than what it expands to.
    /// Each is in a cell, or in the text that includes the files.
    pub(crate) fn places(&self, error: &Diagnostic) -> Vec<(Option<u32>, Position)> {
        let mut error = error.clone();
        self.locate(&mut error);
        error.spans.sort_by_key(|span| !span.is_primary);
        let chains = error.spans.iter().map(|span| {
            let calls = std::iter::successors(Some(span), |span| span.call());
            calls.collect::<Vec<&Span>>()
        });
        let spans = chains.flat_map(|calls| calls.into_iter().rev());
        let ours = spans.filter(|span| span.cell.is_some() || span.file_name == STDIN);
        ours.map(|span| (span.cell, (span.line_start, span.column_start)))
            .collect()
    }

    fn locate_span(&self, span: &mut Span) {
        let Some(file) = self.files.iter().find(|file| file.name == span.file_name) else {
            return;
        };
        if span.line_start > file.lines {
            // The cell ends too early: rustc has found the line that follows.
            if span.is_primary && self.after.get(&span.line_start) == Some(&Glue::Other) {
                span.cell = Some(file.cell);
                (span.line_start, span.column_start) = file.end;
                (span.line_end, span.column_end) = file.end;
            }
            return;
        }
        span.cell = Some(file.cell);
        span.column_start = file.column(span.line_start, span.column_start);
        span.column_end = file.column(span.line_end, span.column_end);
    }
}

/// Moves a message about the engine's closure around the cell to the place in the cell that it is due to.
fn leave_closure(diagnostic: &mut Diagnostic) {
    let is_outside = diagnostic
        .primary()
        .is_some_and(|span| span.file_name == STDIN);
    if !is_outside || diagnostic.spans.iter().all(|span| span.cell.is_none()) {
        return;
    }
    diagnostic.spans.retain(|span| span.cell.is_some());
    for span in &mut diagnostic.spans {
        span.is_primary = true;
        let label = span.label.as_mut();
        if let Some(short) =
            label.and_then(|it| Some(it.strip_suffix(words::IN_CLOSURE)?.to_owned()))
        {
            span.label = Some(short);
        }
    }
}
