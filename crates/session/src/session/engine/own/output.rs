//! The outputs of a cell, in order: what it shows, and what it prints, with evcxr's marks in it. Limits their size.

use super::tables;
use serde_json::{Map, Value};
use taper_evaluator::decoder::{Decoder, Item};
use taper_evaluator::event::{Event, MimeBundle, Stream};
use taper_evaluator::run::End;

/// How many bytes of text one cell may print. Front ends that show more stop responding.
const TEXT_LIMIT: usize = 8 << 20;
/// How many bytes of figures and other displays one cell may show.
const DISPLAY_LIMIT: usize = 64 << 20;

/// How many bytes without a line break can be a prompt.
const PROMPT_LIMIT: usize = 500;

/// How many characters are shown of a value whose only representation is `{:?}`.
const VALUE_LIMIT: usize = 2000;

/// The output of one cell after the other.
#[derive(Default)]
pub(super) struct Output {
    decoder: Decoder,
    /// The size in bytes of the allocation that the system refused. Rust's library reports it as text only.
    refused: Option<u64>,
    /// The end of what was written to the error stream, because a message may arrive in parts.
    last: String,
    /// Representations of one value that were printed one after the other.
    bundle: MimeBundle,
    /// The value of the last expression: whatever a cell prints cannot take its place.
    value: MimeBundle,
    /// The prompt for the line that the cell reads next.
    prompt: Prompt,
    /// The end of standard output after its last line break, which is the prompt if there is no other.
    unfinished: String,
    amount: Amount,
    events: Vec<Event>,
}

/// How many bytes a message about refused memory has at most.
const LAST: usize = 100;

/// With what a cell asks for input.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Prompt {
    pub(super) text: String,
    pub(super) password: bool,
}

/// The number of bytes that the cell has printed so far.
#[derive(Default)]
struct Amount {
    text: usize,
    displays: usize,
}

impl Output {
    /// Returns what is known since the last call.
    pub(super) fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Takes what the cell has printed or shown.
    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Text {
                stream: Stream::Stdout,
                text,
            } => {
                for item in self.decoder.push(text.as_bytes()) {
                    self.item(item);
                }
            }
            Event::Text { text, .. } => self.stderr(text),
            event => {
                self.release(true);
                self.release_bundle();
                self.display(event);
            }
        }
    }

    fn stderr(&mut self, text: String) {
        self.release(false);
        self.release_bundle();
        self.last += &text;
        let refused = self.last.split("memory allocation of ").nth(1);
        let refused = refused.and_then(|text| text.split_once(" bytes failed")?.0.parse().ok());
        self.refused = refused.or(self.refused);
        let start = self.last.len().saturating_sub(LAST);
        self.last.drain(..self.last.ceil_char_boundary(start));
        self.text(Stream::Stderr, text);
    }

    /// Returns the prompt for the line that the cell is about to read.
    pub(super) fn prompt(&mut self) -> Prompt {
        self.release(true);
        self.release_bundle();
        let mut prompt = std::mem::take(&mut self.prompt);
        let unfinished = std::mem::take(&mut self.unfinished);
        if prompt.text.is_empty() {
            prompt.text = unfinished;
        }
        prompt
    }

    /// Takes a representation of the value of the last expression.
    pub(super) fn value(&mut self, mime_type: String, content: String) {
        self.release(false);
        self.release_bundle();
        self.value.insert(mime_type, content.into());
    }

    /// Shows the panic that a cell has caught.
    pub(super) fn caught(&mut self, message: &str) {
        self.stderr(format!("caught panic: {message}\n"));
    }

    /// Ends the last cell of a process. Adds to what is known about the end of the process what it has printed.
    pub(super) fn ended(&mut self, end: End) -> End {
        self.release(true);
        self.release_bundle();
        self.report_truncation();
        End {
            allocation: self.refused.take(),
            ..end
        }
    }

    /// Ends a cell.
    pub(super) fn complete(&mut self) {
        self.release(true);
        self.prompt = Prompt::default();
        self.unfinished.clear();
        let mut data = std::mem::take(&mut self.value);
        if data.is_empty() {
            data = std::mem::take(&mut self.bundle);
        }
        self.release_bundle();
        if !data.is_empty() {
            let metadata = Map::new();
            if data.len() == 1
                && let Some(Value::String(text)) = data.get_mut("text/plain")
            {
                match tables::html(text) {
                    Some(table) => drop(data.insert("text/html".to_owned(), table.into())),
                    None => shorten(text),
                }
            }
            self.display(Event::Result { data, metadata });
        }
        self.report_truncation();
    }

    /// Returns whether more was printed or shown than is passed on.
    pub(super) fn is_full(&self) -> bool {
        self.amount.text > TEXT_LIMIT || self.amount.displays > DISPLAY_LIMIT
    }

    /// Notes that from now on something is missing.
    pub(super) fn report_full(&mut self) {
        let text = "\n… truncated: threads of this cell print more, which is not shown\n";
        self.events.push(Event::stderr(text));
    }

    /// Releases an incomplete character and, at the end of a cell, an incomplete mark: they are text.
    fn release(&mut self, at_end: bool) {
        if let Some(item) = self.decoder.rest(at_end) {
            self.item(item);
        }
    }

    fn item(&mut self, item: Item) {
        if !matches!(item, Item::Content { .. }) {
            self.release_bundle();
        }
        match item {
            Item::Text(text) => self.text(Stream::Stdout, text),
            Item::Content { mime_type, content } => self.content(mime_type, content),
            Item::Prompt { text, password } => self.prompt = Prompt { text, password },
        }
    }

    fn text(&mut self, stream: Stream, text: String) {
        let room = TEXT_LIMIT.saturating_sub(self.amount.text);
        self.amount.text += text.len();
        if stream == Stream::Stdout {
            self.note_unfinished(&text);
        }
        let text = truncated(text, room);
        if !text.is_empty() {
            self.events.push(Event::Text { stream, text });
        }
    }

    fn note_unfinished(&mut self, text: &str) {
        let (starts_anew, last) = match text.rsplit_once('\n') {
            Some((_, last)) => (true, last),
            None => (false, text),
        };
        if starts_anew || self.unfinished.len() > PROMPT_LIMIT {
            self.unfinished.clear();
        }
        self.unfinished += last;
    }

    fn content(&mut self, mime_type: String, content: String) {
        if self.bundle.contains_key(&mime_type) {
            self.release_bundle();
        }
        let content = if mime_type.ends_with("json") {
            serde_json::from_str(&content).unwrap_or(Value::String(content))
        } else {
            Value::String(content)
        };
        self.bundle.insert(mime_type, content);
    }

    fn display(&mut self, event: Event) {
        // Updates do not count: they replace what was shown before.
        if let Event::Display { data, .. } | Event::Result { data, .. } = &event {
            self.amount.displays += data.values().map(size).sum::<usize>();
        }
        if self.amount.displays <= DISPLAY_LIMIT {
            self.events.push(event);
        }
    }

    /// Shows content that is not the value of the last expression.
    fn release_bundle(&mut self) {
        let data = std::mem::take(&mut self.bundle);
        if !data.is_empty() {
            let metadata = Map::new();
            self.display(Event::Display {
                data,
                metadata,
                display_id: None,
            });
        }
    }

    fn report_truncation(&mut self) {
        let Amount { text, displays } = std::mem::take(&mut self.amount);
        let megabytes = |bytes: usize| bytes as f64 / 1e6;
        let mut notice = String::new();
        if text > TEXT_LIMIT {
            notice += &format!(
                "\n… truncated: the cell printed {:.1} MB, of which the first {:.1} MB are shown\n",
                megabytes(text),
                megabytes(TEXT_LIMIT)
            );
        }
        if displays > DISPLAY_LIMIT {
            notice += &format!(
                "displays beyond {:.0} MB are not shown (the cell produced {:.0} MB)\n",
                megabytes(DISPLAY_LIMIT),
                megabytes(displays)
            );
        }
        if !notice.is_empty() {
            self.events.push(Event::stderr(notice));
        }
    }
}

/// Returns the size in bytes of one representation of a value.
fn size(content: &Value) -> usize {
    match content {
        Value::String(text) => text.len(),
        json => json.to_string().len(),
    }
}

/// Leaves out the middle of a value that `{:?}` has printed and that is too long to read.
fn shorten(text: &mut String) {
    let count = text.chars().count();
    if count <= VALUE_LIMIT {
        return;
    }
    let [head, tail] = [VALUE_LIMIT * 3 / 4, VALUE_LIMIT / 4];
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(count - tail).collect();
    *text = format!("{first} … {} more characters … {last}", count - head - tail);
}

/// Truncates `text` to at most `room` bytes, at the end of a character.
fn truncated(mut text: String, room: usize) -> String {
    if text.len() > room {
        let end = (0..=room).rev().find(|&i| text.is_char_boundary(i));
        text.truncate(end.unwrap_or(0));
    }
    text
}

#[cfg(test)]
mod tests;
