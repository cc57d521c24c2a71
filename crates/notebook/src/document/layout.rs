//! The text of a notebook file, byte for byte as Python's nbformat writes it.

use super::integers;
use super::notebook::Notebook;
use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Value, json};
use taper_evaluator::joined;

/// Serialises a notebook with sorted keys, an indent of one and texts as lists of lines.
///
/// `nbformat::serialize_notebook` writes the same for a notebook that its types can hold; this
/// function takes any document, so that nothing is lost.
pub(crate) fn layout(notebook: &Notebook) -> String {
    let mut document = notebook.document.clone();
    split_lines(&mut document);
    strip_transient(&mut document);
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    sorted(document)
        .serialize(&mut serializer)
        .expect("a JSON value can be written to memory");
    let text = String::from_utf8(bytes).expect("serde_json writes UTF-8");
    integers::restore(text) + "\n"
}

/// Sorts the keys explicitly: serde_json does not sort them with its feature `preserve_order`, which
/// any crate of the build may enable.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(
                entries
                    .into_iter()
                    .map(|(key, value)| (key, sorted(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// Removes metadata that JupyterLab and nbformat keep only in memory.
fn strip_transient(document: &mut Value) {
    let remove = |value: Option<&mut Value>, keys: &[&str]| {
        if let Some(Value::Object(map)) = value {
            keys.iter().for_each(|key| drop(map.remove(*key)));
        }
    };
    remove(
        document.get_mut("metadata"),
        &["orig_nbformat", "orig_nbformat_minor", "signature"],
    );
    for cell in items(document.get_mut("cells")) {
        remove(cell.get_mut("metadata"), &["trusted"]);
    }
}

fn split_lines(document: &mut Value) {
    for cell in items(document.get_mut("cells")) {
        split(cell.get_mut("source"));
        if let Some(Value::Object(attachments)) = cell.get_mut("attachments") {
            attachments
                .values_mut()
                .for_each(|bundle| split_bundle(Some(bundle)));
        }
        for output in items(cell.get_mut("outputs")) {
            if output["output_type"] == "stream" {
                split(output.get_mut("text"));
            }
            split_bundle(output.get_mut("data"));
        }
    }
}

fn split_bundle(bundle: Option<&mut Value>) {
    for (mime, value) in bundle.and_then(Value::as_object_mut).into_iter().flatten() {
        if is_text(mime) {
            split(Some(value));
        }
    }
}

fn is_text(mime: &str) -> bool {
    mime.starts_with("text/") || ["application/javascript", "image/svg+xml"].contains(&mime)
}

/// Splits a text, or the concatenation of a list of texts, into its lines.
fn split(value: Option<&mut Value>) {
    let Some(value) = value else { return };
    if value.is_string() || value.is_array() {
        *value = python_lines(&joined(value)).into();
    }
}

/// Splits like Python's `splitlines(True)`, which recognises more line endings than Rust's `lines`.
fn python_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut from = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let ends = match character {
            '\r' => characters.peek().is_none_or(|(_, next)| *next != '\n'),
            '\n' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}' => true,
            _ => false,
        };
        if ends {
            let to = at + character.len_utf8();
            lines.push(&text[from..to]);
            from = to;
        }
    }
    lines.extend((from < text.len()).then(|| &text[from..]));
    lines
}

fn items(list: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    list.and_then(Value::as_array_mut).into_iter().flatten()
}

/// Sets the metadata that JupyterLab would set: `language_info` as the kernel describes it, and
/// `kernelspec` if it is missing.
pub(crate) fn name_kernel(document: &mut Value) {
    if !document["metadata"].is_object() {
        document["metadata"] = Value::Object(Map::new());
    }
    let metadata = &mut document["metadata"];
    if metadata.get("kernelspec").is_none() {
        metadata["kernelspec"] =
            json!({"name": "taper", "display_name": "Rust (Taper)", "language": "rust"});
    }
    metadata["language_info"] = json!({
        "codemirror_mode": "rust",
        "file_extension": ".rs",
        "mimetype": "text/x-rust",
        "name": "rust",
        "pygments_lexer": "rust",
        "version": "2024",
    });
}
