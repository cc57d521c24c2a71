//! Turns what cells print into records.

use crate::relay::Translator;
use taper_evaluator::record::{End, Record};

/// The output of one cell after the other.
pub(super) struct Records {
    translator: Translator,
    secret: String,
    /// Whether `taper` has reported the error of a `?`.
    has_failed: bool,
}

/// A piece of the output.
pub(super) enum Piece {
    Record(Record),
    /// The cell reads a line of input.
    Input {
        prompt: String,
        password: bool,
    },
}

impl Records {
    pub(super) fn new(secret: &str) -> Records {
        let mut translator = Translator::new(secret);
        translator.set_ready();
        Records {
            translator,
            secret: secret.to_owned(),
            has_failed: false,
        }
    }

    pub(super) fn secret(&self) -> &str {
        &self.secret
    }

    pub(super) fn stdout(&mut self, text: &str) {
        self.translator.stdout(text.as_bytes());
    }

    pub(super) fn stderr(&mut self, text: &str) {
        self.translator.stderr(text.as_bytes());
        self.translator.pause();
    }

    pub(super) fn value(&mut self, mime_type: String, text: String) {
        self.translator.value(mime_type, text);
    }

    /// Shows the panic that a cell has caught.
    pub(super) fn caught(&mut self, message: &str) {
        self.stderr(&format!("caught panic: {message}\n"));
    }

    /// Reports the panic that ended the cell.
    pub(super) fn panic(&mut self, panic: Record) {
        self.translator.ended_with(panic);
    }

    /// Reports the `?` that ended the cell, unless `taper` has done so.
    pub(super) fn failed(&mut self, failure: Record) {
        if !self.has_failed {
            self.translator.ended_with(failure);
        }
    }

    /// Reports how the process ended.
    pub(super) fn ended(&mut self, end: &End) {
        self.translator.end();
        self.translator.ended(end.code, end.signal);
    }

    /// Ends a cell.
    pub(super) fn complete(&mut self) {
        self.has_failed = false;
        self.translator.release_mark();
        self.translator.pause();
        self.translator.complete();
    }

    /// Returns what is known so far.
    pub(super) fn take(&mut self) -> Vec<Piece> {
        let output = self.translator.take_output();
        let pieces: Vec<Piece> = output.lines().filter_map(piece).collect();
        let is_failure = |piece: &Piece| matches!(piece, Piece::Record(Record::Failed { .. }));
        self.has_failed |= pieces.iter().any(is_failure);
        pieces
    }
}

fn piece(line: &str) -> Option<Piece> {
    if let Some(record) = Record::from_line(line) {
        return Some(Piece::Record(record));
    }
    let (prompt, password) = crate::relay::requested(line)?;
    Some(Piece::Input { prompt, password })
}
