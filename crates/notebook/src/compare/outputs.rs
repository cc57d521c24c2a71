//! Holds the outputs of a run against those in the file.
//!
//! Compared are: how many outputs there are and of which kind, text (stream, `text/*`, JavaScript)
//! line by line with numbers within the tolerance, JSON value by value, and an error's name and
//! message. Of an image, and of everything else that is no text, it only counts that it is there: two
//! versions of a font or a compressor give other bytes for the same picture. SVG counts as an image.

use super::diff::{lines, same_text, unified};
use super::numbers::Tolerance;
use jupyter_protocol::media::Media;
use nbformat::v4::Output;
use serde_json::{Map, Value};

/// One output that is not what the file says.
#[derive(Debug, PartialEq)]
pub struct Mismatch {
    /// Which output of the cell, from 1.
    pub number: usize,
    /// What kind it is and what is wrong with it: `stdout differs`.
    pub what: String,
    /// The two values, as lines of a diff.
    pub diff: Vec<String>,
}

/// All mismatches between the stored outputs of a cell and those of a run.
pub fn compare(stored: &[Output], now: &[Output], tolerance: Tolerance) -> Vec<Mismatch> {
    let (stored, now) = (facts(stored), facts(now));
    let alike = |(a, b): &(&Fact, &Fact)| a.differences(b, tolerance).is_empty();
    let head = stored.iter().zip(&now).take_while(alike).count();
    let tail = stored[head..]
        .iter()
        .rev()
        .zip(now[head..].iter().rev())
        .take_while(alike)
        .count();
    let old = &stored[head..stored.len() - tail];
    let new = &now[head..now.len() - tail];
    let mut mismatches = Vec::new();
    for index in 0..old.len().max(new.len()) {
        let number = head + index + 1;
        let mut add = |(what, diff)| mismatches.push(Mismatch { number, what, diff });
        match (old.get(index), new.get(index)) {
            (Some(old), Some(new)) => {
                old.differences(new, tolerance).into_iter().for_each(add);
            }
            (Some(old), None) => add((
                format!("{} is missing", old.kind()),
                unified(&old.text(), "", Tolerance::default()),
            )),
            (None, Some(new)) => add((
                format!("{} is not in the file", new.kind()),
                unified("", &new.text(), Tolerance::default()),
            )),
            (None, None) => unreachable!("one of the sides is as long as the loop"),
        }
    }
    mismatches
}

/// An output without what does not count: execution counts, metadata, tracebacks.
#[derive(Debug)]
enum Fact {
    Stream {
        name: String,
        text: String,
    },
    Bundle {
        kind: &'static str,
        data: Map<String, Value>,
    },
    Error {
        text: String,
    },
}

/// The facts of a cell; adjacent texts of one stream are one, however they came in pieces.
fn facts(outputs: &[Output]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    for output in outputs {
        let fact = match output {
            Output::Stream { name, text } => {
                if let Some(Fact::Stream {
                    name: last,
                    text: so_far,
                }) = facts.last_mut()
                    && last == name
                {
                    so_far.push_str(&text.0);
                    continue;
                }
                Fact::Stream {
                    name: name.clone(),
                    text: text.0.clone(),
                }
            }
            Output::DisplayData(display) => Fact::Bundle {
                kind: "display",
                data: bundle(&display.data),
            },
            Output::ExecuteResult(result) => Fact::Bundle {
                kind: "result",
                data: bundle(&result.data),
            },
            Output::Error(error) => Fact::Error {
                text: format!("{}: {}", error.ename, error.evalue),
            },
        };
        facts.push(fact);
    }
    facts.retain(|fact| !matches!(fact, Fact::Stream { text, .. } if lines(text).is_empty()));
    facts
}

/// A bundle by its mime types, each text in one piece.
fn bundle(media: &Media) -> Map<String, Value> {
    match serde_json::to_value(media) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

type Difference = (String, Vec<String>);

impl Fact {
    fn kind(&self) -> String {
        match self {
            Fact::Stream { name, .. } => name.clone(),
            Fact::Bundle { kind, .. } => kind.to_string(),
            Fact::Error { .. } => "error".into(),
        }
    }

    /// What a person would see of it.
    fn text(&self) -> String {
        match self {
            Fact::Stream { text, .. } | Fact::Error { text } => text.clone(),
            Fact::Bundle { data, .. } => match data.get("text/plain").and_then(Value::as_str) {
                Some(text) => text.to_string(),
                None => mime_types(data),
            },
        }
    }

    fn differences(&self, now: &Fact, tolerance: Tolerance) -> Vec<Difference> {
        let (kind, new_kind) = (self.kind(), now.kind());
        if kind != new_kind {
            let diff = unified(
                &format!("({kind})\n{}", self.text()),
                &format!("({new_kind})\n{}", now.text()),
                Tolerance {
                    rtol: 0.0,
                    atol: 0.0,
                },
            );
            return vec![(format!("{kind} has become {new_kind}"), diff)];
        }
        match (self, now) {
            (Fact::Bundle { data: stored, .. }, Fact::Bundle { data: now, .. }) => {
                bundle_differences(&kind, stored, now, tolerance)
            }
            _ => text_difference(&kind, &self.text(), &now.text(), tolerance)
                .into_iter()
                .collect(),
        }
    }
}

fn text_difference(kind: &str, stored: &str, now: &str, tol: Tolerance) -> Option<Difference> {
    let difference = || (format!("{kind} differs"), unified(stored, now, tol));
    (!same_text(stored, now, tol)).then(difference)
}

fn bundle_differences(
    kind: &str,
    stored: &Map<String, Value>,
    now: &Map<String, Value>,
    tolerance: Tolerance,
) -> Vec<Difference> {
    let (types, new_types) = (mime_types(stored), mime_types(now));
    if types != new_types {
        let diff = unified(&types, &new_types, Tolerance::default());
        return vec![(format!("{kind} has other mime types"), diff)];
    }
    let differences = stored.iter().filter_map(|(mime, stored)| {
        let now = now.get(mime)?;
        let kind = format!("{kind}, {mime}");
        if is_json(mime) {
            let pretty = |value| serde_json::to_string_pretty(value).unwrap_or_default();
            let difference = || {
                (
                    format!("{kind} differs"),
                    unified(&pretty(stored), &pretty(now), tolerance),
                )
            };
            return (!same_json(stored, now, tolerance)).then(difference);
        }
        match (stored, now) {
            (Value::String(stored), Value::String(now)) if is_text(mime) => {
                text_difference(&kind, stored, now, tolerance)
            }
            _ => None,
        }
    });
    differences.collect()
}

/// One to a line, in the order of the alphabet.
fn mime_types(data: &Map<String, Value>) -> String {
    let mut types: Vec<&str> = data.keys().map(String::as_str).collect();
    types.sort_unstable();
    types.join("\n")
}

fn is_json(mime: &str) -> bool {
    mime == "application/json" || (mime.starts_with("application/") && mime.ends_with("+json"))
}

fn is_text(mime: &str) -> bool {
    mime.starts_with("text/") || mime == "application/javascript"
}

fn same_json(stored: &Value, now: &Value, tolerance: Tolerance) -> bool {
    match (stored, now) {
        (Value::Object(stored), Value::Object(now)) => {
            stored.len() == now.len()
                && stored.iter().all(|(key, stored)| {
                    now.get(key)
                        .is_some_and(|now| same_json(stored, now, tolerance))
                })
        }
        (Value::Array(stored), Value::Array(now)) => {
            stored.len() == now.len()
                && stored
                    .iter()
                    .zip(now)
                    .all(|(stored, now)| same_json(stored, now, tolerance))
        }
        (Value::String(stored), Value::String(now)) => same_text(stored, now, tolerance),
        (Value::Number(_), Value::Number(_)) => {
            same_text(&stored.to_string(), &now.to_string(), tolerance)
        }
        _ => stored == now,
    }
}
