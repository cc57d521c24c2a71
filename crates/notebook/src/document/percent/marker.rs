//! The line that begins a cell: `// %% A title [markdown] tags=["slow"]`.

use super::yaml;
use serde_json::{Deserializer, Map, Value};

/// The metadata that change when a notebook is viewed or runs; jupytext leaves them out too.
const NOT_WRITTEN: [&str; 6] = [
    "autoscroll",
    "collapsed",
    "scrolled",
    "trusted",
    "execution",
    "ExecuteTime",
];

/// Returns whether the text of a notebook does not keep the metadata with this key.
pub(crate) fn is_left_out(key: &str) -> bool {
    NOT_WRITTEN.contains(&key)
}

/// What jupytext writes for metadata that it cannot parse.
const NOT_PARSED: &str = "incorrectly_encoded_metadata";

/// The line that begins a cell, without `// %%`.
#[derive(Default)]
pub(super) struct Marker {
    /// The number of further `%`: the depth of a cell in other editors.
    depth: usize,
    options: String,
}

/// A cell as its marker describes it.
pub(super) struct Cell {
    pub(super) kind: String,
    pub(super) id: Option<String>,
    /// The command of a script, such as `%%bash`.
    pub(super) language: Option<String>,
    pub(super) metadata: Map<String, Value>,
}

impl Marker {
    /// Reads a line; returns `None` if it begins no cell.
    pub(super) fn read(line: &str) -> Option<Marker> {
        let rest = line.trim_start().strip_prefix("//")?.trim_start();
        let rest = rest.strip_prefix("%%")?;
        let options = rest.trim_start_matches('%');
        let is_marker = options.is_empty() || options.starts_with(char::is_whitespace);
        is_marker.then(|| Marker {
            depth: rest.len() - options.len(),
            options: options.trim().to_owned(),
        })
    }

    pub(super) fn into_cell(self) -> Cell {
        let (title, mut metadata) = split(&self.options);
        let mut title = title.to_owned();
        let mut kind = "code";
        for (sign, meant) in [
            ("[markdown]", "markdown"),
            ("[md]", "markdown"),
            ("[raw]", "raw"),
        ] {
            if let Some((before, after)) = title.split_once(sign) {
                title = format!("{before}{after}");
                kind = meant;
            }
        }
        let title = title.trim();
        if !title.is_empty() {
            metadata.insert("title".into(), title.into());
        }
        if self.depth > 0 {
            metadata.insert("cell_depth".into(), self.depth.into());
        }
        let mut take = |key: &str| match metadata.remove(key) {
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                metadata.insert(key.into(), other);
                None
            }
            None => None,
        };
        let id = take("id");
        let language = take("language").filter(|language| language != "rust" && kind == "code");
        let arguments = language.is_some().then(|| take("magic_args")).flatten();
        Cell {
            kind: kind.into(),
            id,
            language: language.map(|language| match arguments {
                Some(arguments) => format!("%%{language} {arguments}"),
                None => format!("%%{language}"),
            }),
            metadata,
        }
    }

    /// Returns the line that begins a cell. `language` is the command of a script without its `%%`.
    pub(super) fn write(
        kind: &str,
        metadata: &Map<String, Value>,
        id: Option<&str>,
        language: Option<&str>,
    ) -> String {
        let mut words = Vec::new();
        let mut depth = 0;
        let mut rest = metadata.clone();
        rest.retain(|key, _| !is_left_out(key) && key != "id");
        if let Some(title) = rest
            .get("title")
            .and_then(Value::as_str)
            .filter(|it| is_title(it))
        {
            words.push(title.to_owned());
            rest.remove("title");
        }
        if let Some(found) = rest
            .get("cell_depth")
            .and_then(Value::as_u64)
            .filter(|it| (1..9).contains(it))
        {
            depth = found as usize;
            rest.remove("cell_depth");
        }
        if kind != "code" {
            words.push(format!("[{kind}]"));
        }
        let mut all = Vec::new();
        all.extend(id.map(|id| ("id".to_owned(), id.into())));
        all.extend(rest);
        if let Some(command) = language {
            let (language, arguments) = command.split_once(' ').unwrap_or((command, ""));
            if command != language {
                all.push(("magic_args".into(), arguments.into()));
            }
            all.push(("language".into(), language.into()));
        }
        words.extend(options(all));
        let line = format!("// %%{} {}", "%".repeat(depth), words.join(" "));
        line.trim_end().to_owned()
    }
}

/// Returns the metadata as `key=value`, or as one JSON object if a key has other characters.
fn options(all: Vec<(String, Value)>) -> Vec<String> {
    if let [(key, Value::String(text))] = &all[..]
        && key == NOT_PARSED
    {
        return vec![text.clone()];
    }
    if all.iter().any(|(key, _)| !is_key(key)) {
        let object = Value::Object(all.into_iter().collect());
        return vec![yaml::flow(&object, true)];
    }
    let written = all.iter();
    written
        .map(|(key, value)| format!("{key}={}", yaml::flow(value, true)))
        .collect()
}

/// Splits options into the title and the metadata.
fn split(options: &str) -> (&str, Map<String, Value>) {
    let brace = options.find('{').unwrap_or(usize::MAX);
    let Some(equals) = options.find('=').filter(|equals| *equals < brace) else {
        let Some((title, object)) = options.split_at_checked(brace) else {
            return (options, Map::new());
        };
        return match serde_json::from_str(object) {
            Ok(metadata) => (title, metadata),
            Err(_) => (title, not_parsed(object)),
        };
    };
    // The key is the last word before the first `=`.
    let before = options[..equals].trim_end();
    let start = before.rfind(' ').map_or(0, |at| at + 1);
    let (title, pairs) = options.split_at(start);
    (title, metadata(pairs).unwrap_or_else(|| not_parsed(pairs)))
}

fn not_parsed(text: &str) -> Map<String, Value> {
    Map::from_iter([(NOT_PARSED.to_owned(), text.into())])
}

/// Reads `key=value key=value`. A key without a value has the value `null`.
fn metadata(pairs: &str) -> Option<Map<String, Value>> {
    let mut read = Map::new();
    let mut rest = pairs.trim();
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part_of_key(c)).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        if key.is_empty() {
            return None;
        }
        let (value, after) = match after.trim_start().strip_prefix('=') {
            Some(text) => value(text.trim_start())?,
            None => (Value::Null, after),
        };
        if !(after.is_empty() || after.starts_with(' ')) {
            return None;
        }
        read.insert(key.to_owned(), value);
        rest = after.trim_start();
    }
    Some(read)
}

/// Reads the JSON value, or the word or text of Python, with which a text begins. Returns the rest too.
fn value(text: &str) -> Option<(Value, &str)> {
    for (word, value) in [
        ("True", true.into()),
        ("False", false.into()),
        ("None", Value::Null),
    ] {
        if let Some(rest) = text.strip_prefix(word) {
            return Some((value, rest));
        }
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let (inner, rest) = quoted.split_once('\'')?;
        return Some((inner.into(), rest));
    }
    let mut values = Deserializer::from_str(text).into_iter();
    let value = values.next()?.ok()?;
    let length = values.byte_offset();
    Some((value, &text[length..]))
}

/// Returns whether a title reads back as a title.
fn is_title(title: &str) -> bool {
    let has_sign = title.contains(['=', '{', '[', '\n', '\r']) || title.starts_with('%');
    !has_sign && !title.is_empty() && title.trim() == title
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(is_part_of_key)
}

fn is_part_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.-".contains(c)
}
