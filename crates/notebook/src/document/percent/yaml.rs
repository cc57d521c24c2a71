//! As much of YAML as the headers of notebooks consist of: maps, lists and texts, one below the other, and JSON.

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Reads lines. An error is the index of the line that is not understood.
pub(super) fn read(lines: &[&str]) -> Result<Value, usize> {
    let numbered = lines.iter().enumerate();
    let lines = numbered
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| Line {
            number,
            indent: line.len() - line.trim_start().len(),
            text: line.trim(),
        });
    let mut reader = Reader {
        lines: lines.collect(),
        at: 0,
    };
    let value = reader.block(0)?;
    match reader.peek() {
        Some(line) => Err(line.number),
        None => Ok(value),
    }
}

#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    indent: usize,
    text: &'a str,
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<Line<'a>> {
        self.lines.get(self.at).copied()
    }

    /// Reads a map or a list whose lines have this indent.
    fn block(&mut self, indent: usize) -> Result<Value, usize> {
        let is_item = |line: Line| line.text == "-" || line.text.starts_with("- ");
        match self.peek() {
            Some(line) if is_item(line) => {
                let mut items = Vec::new();
                while let Some(line) = self
                    .peek()
                    .filter(|line| line.indent == indent && is_item(*line))
                {
                    items.push(self.item(line)?);
                }
                Ok(Value::Array(items))
            }
            Some(_) => self.map(indent).map(Value::Object),
            None => Ok(Value::Null),
        }
    }

    fn map(&mut self, indent: usize) -> Result<Map<String, Value>, usize> {
        let mut map = Map::new();
        while let Some(line) = self.peek().filter(|line| line.indent == indent) {
            let Some((key, rest)) = key(line.text) else {
                return Err(line.number);
            };
            self.at += 1;
            let value = match rest {
                "" => self.below(indent)?,
                rest => self.scalar(rest, indent),
            };
            map.insert(key, value);
        }
        Ok(map)
    }

    /// Reads the value below a key. A list may have the indent of its key.
    fn below(&mut self, indent: usize) -> Result<Value, usize> {
        match self.peek() {
            Some(line) if line.indent > indent => self.block(line.indent),
            Some(line) if line.indent == indent && line.text.starts_with('-') => self.block(indent),
            _ => Ok(Value::Null),
        }
    }

    fn item(&mut self, line: Line<'a>) -> Result<Value, usize> {
        let rest = line.text[1..].trim_start();
        if rest.is_empty() {
            self.at += 1;
            return self.below(line.indent);
        }
        let is_map = !rest.starts_with(['"', '\'', '{', '[']) && key(rest).is_some();
        if !is_map {
            self.at += 1;
            return Ok(self.scalar(rest, line.indent));
        }
        let indent = line.indent + line.text.len() - rest.len();
        self.lines[self.at] = Line {
            indent,
            text: rest,
            ..line
        };
        self.map(indent).map(Value::Object)
    }

    /// Reads a value that begins on this line and may continue on lines with a larger indent.
    fn scalar(&mut self, first: &str, indent: usize) -> Value {
        let mut text = first.to_owned();
        while let Some(line) = self.peek().filter(|line| line.indent > indent) {
            text = format!("{text} {}", line.text);
            self.at += 1;
        }
        if let Ok(value) = serde_json::from_str(&text) {
            return value;
        }
        let quoted = text
            .strip_prefix('\'')
            .and_then(|text| text.strip_suffix('\''));
        match quoted {
            Some(inner) => inner.replace("''", "'").into(),
            None if text == "~" => Value::Null,
            None => text.into(),
        }
    }
}

/// Splits `key: value`.
fn key(text: &str) -> Option<(String, &str)> {
    let (key, rest) = match text.strip_suffix(':').filter(|key| !key.contains(": ")) {
        Some(key) => (key, ""),
        None => text.split_once(": ")?,
    };
    let unquoted = key.trim().trim_matches(['"', '\'']);
    Some((unquoted.to_owned(), rest.trim()))
}

/// Writes a map, two spaces further in for each level. What is neither a map nor a text is written as JSON.
pub(super) fn write(map: &Map<String, Value>, level: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(level);
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    for (key, value) in entries {
        let key = scalar(key);
        match value {
            Value::Object(inner) if !inner.is_empty() && level < 3 => {
                lines.push(format!("{indent}{key}:"));
                write(inner, level + 1, lines);
            }
            Value::String(text) => lines.push(format!("{indent}{key}: {}", scalar(text))),
            other => lines.push(format!("{indent}{key}: {}", flow(other, false))),
        }
    }
}

/// Returns a text as YAML writes it: without quotes where nothing else could be meant.
fn scalar(text: &str) -> String {
    let is_number = text.parse::<f64>().is_ok();
    let is_word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        .contains(&text.to_ascii_lowercase().as_str());
    let is_plain = |c: char| c.is_alphanumeric() || " ()_./+-".contains(c);
    let begins = text.starts_with(|c: char| c.is_alphabetic() || c == '.' || c == '_');
    if is_number && !text.contains('\'') {
        return format!("'{text}'");
    }
    match begins && !is_word && !text.ends_with(' ') && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => flow(&text.into(), false),
    }
}

/// Returns a value as JSON with spaces, as Python writes it. With `ascii`, other characters are escaped.
pub(super) fn flow(value: &Value, ascii: bool) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Python { ascii });
    value
        .serialize(&mut serializer)
        .expect("a JSON value can be written to memory");
    String::from_utf8(bytes).expect("serde_json writes UTF-8")
}

/// Writes JSON as Python does.
struct Python {
    ascii: bool,
}

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    /// YAML reads `1e-5` as a text, and `1.0e-5` as a number.
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let text = format!("{value:?}");
        match text.split_once('e') {
            Some((digits, exponent)) if !digits.contains('.') => {
                write!(writer, "{digits}.0e{exponent}")
            }
            _ => writer.write_all(text.as_bytes()),
        }
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for character in fragment.chars() {
            match self.ascii && !character.is_ascii() {
                true => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        write!(writer, "\\u{unit:04x}")?;
                    }
                }
                false => write!(writer, "{character}")?,
            }
        }
        Ok(())
    }
}
