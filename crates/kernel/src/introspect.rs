//! Completion, documentation, and whether code is complete. Positions are characters in Jupyter and
//! bytes in the evaluator.

use super::cursor::{inspected, variable};
use super::evaluation::caught;
use super::media::media;
use super::shared::Shared;
use jupyter_protocol::{
    CompleteReply, CompleteRequest, InspectReply, InspectRequest, IsCompleteReply,
    IsCompleteRequest,
};
use serde::Serialize;
use serde_json::Map;
use taper_evaluator::MimeBundle;
use taper_evaluator::evaluator::{Completeness, Completion, Completions, Editor, IsComplete};

/// The metadata in which JupyterLab finds the kind of each proposal.
const TYPES: &str = "_jupyter_types_experimental";

/// One proposal in [`TYPES`].
#[derive(Serialize)]
struct TypedMatch<'a> {
    text: &'a str,
    r#type: &'a str,
    signature: &'a str,
    documentation: &'a str,
    start: usize,
    end: usize,
}

/// Returns proposals for the text at the cursor.
pub(super) fn complete(editor: &dyn Editor, asked: &CompleteRequest) -> CompleteReply {
    let cursor = byte_offset(&asked.code, asked.cursor_pos);
    let found = caught(|| editor.complete(&asked.code, cursor));
    let found = found.unwrap_or_else(|_| Completions::none(cursor));
    complete_reply(&asked.code, &found)
}

/// Returns documentation of the name at the cursor, and its value, as far as it is known.
pub(super) fn inspect(
    editor: &dyn Editor,
    asked: &InspectRequest,
    shared: &Shared,
) -> InspectReply {
    let cursor = inspected(&asked.code, byte_offset(&asked.code, asked.cursor_pos));
    let mut found = caught(|| editor.inspect(&asked.code, cursor)).unwrap_or(None);
    if let Some(value) = name(asked).and_then(|name| shared.value(name)) {
        found = Some(with_value(found.unwrap_or_default(), &value));
    }
    InspectReply {
        found: found.is_some(),
        data: found.map(media).unwrap_or_default(),
        ..Default::default()
    }
}

/// Returns the name at the cursor, perhaps a variable's.
pub(super) fn name(asked: &InspectRequest) -> Option<&str> {
    let cursor = inspected(&asked.code, byte_offset(&asked.code, asked.cursor_pos));
    variable(&asked.code, cursor)
}

/// Adds a value before the documentation.
fn with_value(mut found: MimeBundle, value: &str) -> MimeBundle {
    let html = value.replace('&', "&amp;").replace('<', "&lt;");
    let page = format!("<pre>{html}</pre>");
    for (kind, value) in [("text/plain", value), ("text/html", page.as_str())] {
        let documentation = found.get(kind).and_then(|text| text.as_str());
        let text = format!("{value}\n\n{}", documentation.unwrap_or_default());
        found.insert(kind.to_owned(), text.trim_end().into());
    }
    found
}

/// Returns whether code can be run as it is.
pub(super) fn completeness(is_complete: IsComplete, asked: &IsCompleteRequest) -> IsCompleteReply {
    match caught(|| is_complete(&asked.code)) {
        Ok(Completeness::Complete) => IsCompleteReply::complete(),
        Ok(Completeness::Incomplete { indent }) => IsCompleteReply::incomplete(indent),
        Ok(Completeness::Invalid) => IsCompleteReply::invalid(),
        Err(_) => IsCompleteReply::unknown(),
    }
}

fn complete_reply(code: &str, found: &Completions) -> CompleteReply {
    let start = char_offset(code, found.start);
    let end = char_offset(code, found.end);
    let types = found.items.iter().map(|item| {
        let typed = TypedMatch {
            text: &item.text,
            r#type: &item.kind,
            signature: signature(item),
            documentation: &item.documentation,
            start,
            end,
        };
        serde_json::to_value(typed).unwrap_or_default()
    });
    CompleteReply {
        matches: found.items.iter().map(|item| item.text.clone()).collect(),
        cursor_start: start,
        cursor_end: end,
        metadata: Map::from_iter([(TYPES.to_owned(), types.collect())]),
        ..Default::default()
    }
}

/// Returns the evaluator's label, or the text where the label leaves out the parameters.
fn signature(item: &Completion) -> &str {
    if item.label.ends_with("(…)") {
        &item.text
    } else {
        &item.label
    }
}

/// Returns the byte at which the `chars`-th character begins; the length if there are fewer.
fn byte_offset(code: &str, chars: usize) -> usize {
    code.char_indices()
        .nth(chars)
        .map_or(code.len(), |(byte, _)| byte)
}

/// Returns how many characters begin before `byte`.
fn char_offset(code: &str, byte: usize) -> usize {
    code.char_indices()
        .take_while(|(start, _)| *start < byte)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_code_points() {
        let code = "é🕯x";
        for (chars, byte) in [(0, 0), (1, 2), (2, 6), (3, 7)] {
            assert_eq!(byte_offset(code, chars), byte);
            assert_eq!(char_offset(code, byte), chars);
        }
        assert_eq!(byte_offset(code, 99), code.len());
        assert_eq!(char_offset(code, 99), 3);
    }
}
