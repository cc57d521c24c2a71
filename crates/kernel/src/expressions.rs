//! Expressions whose values a front end requests together with a cell.

use super::evaluation::{Evaluation, caught};
use super::media::media;
use jupyter_protocol::ExpressionResult;
use std::collections::HashMap;
use taper_evaluator::evaluator::Front;
use taper_evaluator::event::{CellError, Event};

/// Evaluates each expression as a cell of its own, in the order of their names. The values are part
/// of the reply and are not published.
pub(super) fn evaluate<'a>(
    evaluation: &mut Evaluation,
    expressions: impl Iterator<Item = (&'a String, &'a String)>,
) -> HashMap<String, ExpressionResult> {
    let mut expressions: Vec<_> = expressions.collect();
    expressions.sort();
    let value = |(name, code): (&String, &String)| (name.clone(), value(evaluation, code));
    expressions.into_iter().map(value).collect()
}

fn value(evaluation: &mut Evaluation, code: &str) -> ExpressionResult {
    let mut front = ValueFront::default();
    let outcome = match &mut evaluation.evaluator {
        Ok(evaluator) => caught(|| evaluator.execute(code, None, &mut front)).flatten(),
        Err(error) => Err(error.clone()),
    };
    match outcome.err().or(front.error) {
        None => front.value,
        Some(error) => ExpressionResult::Error {
            ename: error.name,
            evalue: error.message,
            traceback: error.traceback,
        },
    }
}

/// Keeps the value of an expression and drops all other events.
struct ValueFront {
    value: ExpressionResult,
    error: Option<CellError>,
}

impl Default for ValueFront {
    fn default() -> Self {
        let (data, metadata) = Default::default();
        let value = ExpressionResult::Ok { data, metadata };
        Self { value, error: None }
    }
}

impl Front for ValueFront {
    fn event(&mut self, event: Event) {
        match event {
            Event::Result { data, metadata } => {
                let data = media(data);
                self.value = ExpressionResult::Ok { data, metadata };
            }
            Event::Error(error) => self.error = Some(error),
            _ => {}
        }
    }

    fn input(&mut self, _prompt: &str, _password: bool) -> Option<String> {
        None
    }
}
