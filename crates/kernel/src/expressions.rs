//! Expressions that a front end wants the values of, after the cell that it sent with them.

use super::evaluation_thread::{Evaluation, caught};
use super::execute::media;
use jupyter_protocol::ExpressionResult;
use std::collections::HashMap;
use taper_evaluator::evaluator::Front;
use taper_evaluator::event::{CellError, Event};

impl Evaluation {
    /// Evaluates each expression as a cell of its own, in the order of their names. The values go
    /// back with the reply; nobody else hears of them.
    pub(super) fn evaluate<'a>(
        &mut self,
        expressions: impl Iterator<Item = (&'a String, &'a String)>,
    ) -> HashMap<String, ExpressionResult> {
        let mut expressions: Vec<_> = expressions.collect();
        expressions.sort();
        let value = |(name, code): (&String, &String)| (name.clone(), self.value(code));
        expressions.into_iter().map(value).collect()
    }

    fn value(&mut self, code: &str) -> ExpressionResult {
        let mut value = Value::default();
        let outcome = match &mut self.evaluator {
            Ok(evaluator) => caught(|| evaluator.execute(code, &mut value)).flatten(),
            Err(error) => Err(error.clone()),
        };
        match outcome.err().or(value.error) {
            None => value.shown,
            Some(error) => ExpressionResult::Error {
                ename: error.name,
                evalue: error.message,
                traceback: error.traceback,
            },
        }
    }
}

/// Keeps the value of an expression and lets everything else go.
struct Value {
    shown: ExpressionResult,
    error: Option<CellError>,
}

impl Default for Value {
    fn default() -> Self {
        let (data, metadata) = Default::default();
        let shown = ExpressionResult::Ok { data, metadata };
        Self { shown, error: None }
    }
}

impl Front for Value {
    fn event(&mut self, event: Event) {
        match event {
            Event::Result { data, metadata } => {
                let data = media(data);
                self.shown = ExpressionResult::Ok { data, metadata };
            }
            Event::Error(error) => self.error = Some(error),
            _ => {}
        }
    }

    fn input(&mut self, _prompt: &str, _password: bool) -> Option<String> {
        None
    }
}
