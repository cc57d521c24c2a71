//! Writing a notebook: the bytes that Python's nbformat would write, and all of them or none.

use super::notebook::Notebook;
use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where a notebook is to be written.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    folder: PathBuf,
}

impl Target {
    /// Settles the place now, before the current directory changes, and makes sure that the folder
    /// takes files: better to hear of it before an hour of training than after.
    pub fn new(path: &Path) -> io::Result<Target> {
        let path = match fs::canonicalize(path) {
            // The file behind a symbolic link is replaced, not the link.
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => std::path::absolute(path)?,
            Err(error) => return Err(error),
        };
        if path.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a folder",
            ));
        }
        let folder = path.parent().unwrap_or(Path::new("/")).to_path_buf();
        tempfile::tempfile_in(&folder)?;
        Ok(Target { path, folder })
    }

    /// Writes beside the old file and renames over it, so that whoever looks finds the old one or
    /// the new one, whole, whatever happens meanwhile.
    pub fn write(&self, text: &str) -> io::Result<()> {
        if fs::read(&self.path).is_ok_and(|old| old == text.as_bytes()) {
            return Ok(());
        }
        let mut file = new_file(&self.folder)?;
        file.write_all(text.as_bytes())?;
        if let Ok(old) = fs::metadata(&self.path) {
            file.as_file().set_permissions(old.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        // The rename itself reaches the disk with its folder; not all file systems allow this.
        let _ = fs::File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Whether somebody has changed the file since these bytes were read from it.
    pub fn has_changed_since(&self, original: &[u8]) -> bool {
        fs::read(&self.path).map_or(true, |bytes| bytes != original)
    }
}

/// A temporary file with the permissions of any new file (tempfile's own are for secrets).
fn new_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new()
        .prefix(".taper-")
        .suffix(".tmp")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
}

/// The text of a notebook file as Python's nbformat lays it out: keys sorted, an indent of one,
/// texts as lists of lines. `nbformat::serialize_notebook` writes the same for a notebook that its
/// types hold completely; this one takes any document, so nothing in it is lost.
pub fn layout(notebook: &Notebook) -> String {
    let mut document = notebook.document.clone();
    split_lines(&mut document);
    strip_transient(&mut document);
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    sorted(document)
        .serialize(&mut serializer)
        .expect("a JSON value can be written to memory");
    let mut text = String::from_utf8(bytes).expect("serde_json writes UTF-8");
    text.push('\n');
    text
}

/// Sorts the keys by hand: with serde_json's feature `preserve_order` they are not sorted by
/// themselves, and any crate of the build may switch it on.
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

/// What JupyterLab and nbformat keep in memory only.
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

/// Turns a text, or one in pieces, into its lines.
fn split(value: Option<&mut Value>) {
    let Some(value) = value else { return };
    let text = match &*value {
        Value::String(text) => text.clone(),
        Value::Array(pieces) => pieces.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    *value = python_lines(&text).into();
}

/// Python's `splitlines(True)`, which knows more ends of lines than Rust's `lines`.
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

/// Names the kernel in a notebook that names none, and the language, as a front would.
pub fn name_kernel(document: &mut Value) {
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
    });
}
