//! Compares the outputs of a run with those in the file.
//!
//! Two runs must agree in the number and kind of outputs, in text (streams, `text/*`, JavaScript: line by
//! line, each number within the tolerance, measured times on request not at all), in JSON (value by value), and in
//! the name and message of an error. Of images (SVG included) and other binary data, only the presence is compared:
//! another version of a font or a compressor changes the bytes of the same image.

use super::diff::unified;
use super::text::{differing, is_blank, same_text};
use super::times::without_times;
use crate::document::tolerance::Tolerance;
use jupyter_protocol::media::Media;
use nbformat::v4::Output;
use serde_json::{Map, Value};

/// Where the page shows a widget. What the widget says is its `text/plain`.
const WIDGET: &str = "application/vnd.jupyter.widget-view+json";

/// One output that differs from the file.
#[derive(Debug, PartialEq)]
pub(crate) struct Mismatch {
    /// The number of the output in the cell, from 1.
    pub(crate) number: usize,
    /// The kind of the output and how it differs: `stdout differs`.
    pub(crate) what: String,
    /// The lines of a unified diff of the stored and the new value.
    pub(crate) diff: Vec<String>,
}

/// Returns all mismatches between the stored outputs of a cell and those of a run.
pub(crate) fn compare(stored: &[Output], now: &[Output], tolerance: Tolerance) -> Vec<Mismatch> {
    let (stored, now) = (comparable(stored), comparable(now));
    let (head, old, new) = differing(&stored, &now, |a, b| a.differences(b, tolerance).is_empty());
    let mut mismatches = Vec::new();
    for index in 0..old.len().max(new.len()) {
        let number = head + index + 1;
        let differences = match (old.get(index), new.get(index)) {
            (Some(old), Some(new)) => old.differences(new, tolerance),
            (Some(old), None) => vec![Difference {
                what: format!("{} is missing", old.kind()),
                stored: old.text(),
                now: String::new(),
                tolerance,
            }],
            (None, Some(new)) => vec![Difference {
                what: format!("{} is not in the file", new.kind()),
                stored: String::new(),
                now: new.text(),
                tolerance,
            }],
            (None, None) => unreachable!("one of the sides is as long as the loop"),
        };
        mismatches.extend(differences.into_iter().map(|difference| Mismatch {
            number,
            diff: unified(&difference.stored, &difference.now, difference.tolerance),
            what: difference.what,
        }));
    }
    mismatches
}

/// Two texts that are not equal within the tolerance.
struct Difference {
    what: String,
    stored: String,
    now: String,
    tolerance: Tolerance,
}

/// The part of an output that is compared: no execution counts, metadata or tracebacks.
#[derive(Debug)]
enum Comparable {
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

/// Converts the outputs of a cell, joins adjacent texts of one stream, and removes blank ones.
fn comparable(outputs: &[Output]) -> Vec<Comparable> {
    let mut all: Vec<Comparable> = Vec::new();
    for output in outputs {
        let one = match output {
            Output::Stream { name, text } => {
                if let Some(Comparable::Stream {
                    name: last,
                    text: so_far,
                }) = all.last_mut()
                    && last == name
                {
                    so_far.push_str(&text.0);
                    continue;
                }
                Comparable::Stream {
                    name: name.clone(),
                    text: text.0.clone(),
                }
            }
            Output::DisplayData(display) => Comparable::Bundle {
                kind: "display",
                data: bundle(&display.data),
            },
            Output::ExecuteResult(result) => Comparable::Bundle {
                kind: "result",
                data: bundle(&result.data),
            },
            Output::Error(error) => Comparable::Error {
                text: format!("{}: {}", error.ename, error.evalue),
            },
        };
        all.push(one);
    }
    all.retain(|one| !matches!(one, Comparable::Stream { text, .. } if is_blank(text)));
    all
}

/// Converts a bundle to a map by MIME type, with each text as one string.
fn bundle(media: &Media) -> Map<String, Value> {
    match serde_json::to_value(media) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

impl Comparable {
    fn kind(&self) -> String {
        match self {
            Comparable::Stream { name, .. } => name.clone(),
            Comparable::Bundle { kind, .. } => kind.to_string(),
            Comparable::Error { .. } => "error".into(),
        }
    }

    /// Returns the text that represents the output in a diff.
    fn text(&self) -> String {
        match self {
            Comparable::Stream { text, .. } | Comparable::Error { text } => text.clone(),
            Comparable::Bundle { data, .. } => match data.get("text/plain") {
                Some(Value::String(text)) => text.clone(),
                _ => mime_types(data),
            },
        }
    }

    fn differences(&self, now: &Comparable, tolerance: Tolerance) -> Vec<Difference> {
        let (kind, new_kind) = (self.kind(), now.kind());
        if kind != new_kind {
            return vec![Difference {
                what: format!("{kind} has become {new_kind}"),
                stored: format!("({kind})\n{}", self.text()),
                now: format!("({new_kind})\n{}", now.text()),
                tolerance: Tolerance::EXACT,
            }];
        }
        match (self, now) {
            (Comparable::Stream { text: stored, .. }, Comparable::Stream { text: now, .. })
            | (Comparable::Error { text: stored }, Comparable::Error { text: now }) => {
                Vec::from_iter(text_difference(&kind, stored, now, tolerance))
            }
            (Comparable::Bundle { data: stored, .. }, Comparable::Bundle { data: now, .. }) => {
                bundle_differences(&kind, stored, now, tolerance)
            }
            // A file may hold a stream that is named like another kind.
            _ => Vec::from_iter(text_difference(&kind, &self.text(), &now.text(), tolerance)),
        }
    }
}

fn text_difference(
    kind: &str,
    stored: &str,
    now: &str,
    tolerance: Tolerance,
) -> Option<Difference> {
    let compared = |text: &str| match tolerance.ignores_times {
        true => without_times(text),
        false => text.to_owned(),
    };
    let (stored, now) = (compared(stored), compared(now));
    (!same_text(&stored, &now, tolerance)).then(|| Difference {
        what: format!("{kind} differs"),
        stored,
        now,
        tolerance,
    })
}

fn bundle_differences(
    kind: &str,
    stored: &Map<String, Value>,
    now: &Map<String, Value>,
    tolerance: Tolerance,
) -> Vec<Difference> {
    let (types, new_types) = (mime_types(stored), mime_types(now));
    if types != new_types {
        return vec![Difference {
            what: format!("{kind} has other mime types"),
            stored: types,
            now: new_types,
            tolerance,
        }];
    }
    // The page of a progress bar or a table says the same as its text.
    let is_text_enough = tolerance.ignores_times && stored.contains_key("text/plain");
    let differences = stored.iter().filter_map(|(mime, stored)| {
        // Only the name of the model, which differs from kernel to kernel.
        if mime == WIDGET {
            return None;
        }
        if mime == "text/html" && is_text_enough {
            return None;
        }
        let now = now.get(mime)?;
        let kind = format!("{kind}, {mime}");
        match (stored, now) {
            _ if is_json(mime) => (!same_json(stored, now, tolerance)).then(|| Difference {
                what: format!("{kind} differs"),
                stored: format!("{stored:#}"),
                now: format!("{now:#}"),
                tolerance,
            }),
            (Value::String(stored), Value::String(now)) if is_text(mime) => {
                text_difference(&kind, stored, now, tolerance)
            }
            _ => None,
        }
    });
    differences.collect()
}

/// Lists the MIME types in alphabetical order, one per line.
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
