//! Turns what cells print into records.

use super::tables;
use serde_json::{Map, Value};
use taper_evaluator::decoder::{Decoder, Item};
use taper_evaluator::event::{MimeBundle, Stream};
use taper_evaluator::record::{End, Record};

/// How many bytes of text one cell may print. Front ends that show more stop responding.
const TEXT_LIMIT: usize = 8 << 20;
/// How many bytes of figures and other displays one cell may show.
const DISPLAY_LIMIT: usize = 64 << 20;

/// How many bytes without a line break can be a prompt.
const PROMPT_LIMIT: usize = 500;

/// How many characters are shown of a value whose only representation is `{:?}`.
const VALUE_LIMIT: usize = 2000;

/// The output of one cell after the other.
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
    /// A panic that `taper` has reported, and that may not end the cell.
    panic: Option<Record>,
    /// The error of a `?`, as `taper` reports it.
    failure: Option<Record>,
    /// The prompt for the line that the cell reads next.
    prompt: Prompt,
    /// The end of standard output after its last line break, which is the prompt if there is no other.
    unfinished: String,
    amount: Amount,
    pieces: Vec<Piece>,
}

/// How many bytes a message about refused memory has at most.
const LAST: usize = 100;

/// A piece of the output.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Record(Record),
    /// The cell reads a line of input.
    Input(Prompt),
}

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
    /// Returns the output of cells whose records begin with this secret.
    pub(super) fn new(secret: &str) -> Self {
        Output {
            decoder: Decoder::new(secret),
            refused: None,
            last: String::new(),
            bundle: Map::new(),
            value: Map::new(),
            panic: None,
            failure: None,
            prompt: Prompt::default(),
            unfinished: String::new(),
            amount: Amount::default(),
            pieces: Vec::new(),
        }
    }

    /// Returns what is known since the last call.
    pub(super) fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    pub(super) fn stdout(&mut self, text: &str) {
        for item in self.decoder.push(text.as_bytes()) {
            self.item(item);
        }
    }

    pub(super) fn stderr(&mut self, text: &str) {
        self.release(false);
        self.release_bundle();
        self.last += text;
        let refused = self.last.split("memory allocation of ").nth(1);
        let refused = refused.and_then(|text| text.split_once(" bytes failed")?.0.parse().ok());
        self.refused = refused.or(self.refused);
        let start = self.last.len().saturating_sub(LAST);
        self.last.drain(..self.last.ceil_char_boundary(start));
        self.text(Stream::Stderr, text.to_owned());
    }

    /// Takes a representation of the value of the last expression.
    pub(super) fn value(&mut self, mime_type: String, content: String) {
        self.release(false);
        self.release_bundle();
        self.value.insert(mime_type, content.into());
    }

    /// Shows the panic that a cell has caught.
    pub(super) fn caught(&mut self, message: &str) {
        self.stderr(&format!("caught panic: {message}\n"));
    }

    /// Reports the panic or the failed `?` that ended the cell. If `taper` has reported the error, with advice, that
    /// report counts.
    pub(super) fn ended_with(&mut self, failure: Record) {
        self.release(false);
        self.panic = None;
        let failure = self.failure.take().unwrap_or(failure);
        self.record(failure);
    }

    /// Reports what has ended the cell, if a failure was announced: an empty one is the panic that came before it.
    #[cfg(feature = "evcxr")]
    pub(super) fn ended_as_announced(&mut self) {
        let is_panic = |failure: &mut Record| matches!(failure, Record::Failed { message, .. } if message.is_empty());
        let announced = self.failure.take_if(is_panic);
        let panic = announced.and_then(|_| self.panic.take());
        if let Some(failure) = panic.or_else(|| self.failure.take()) {
            self.ended_with(failure);
        }
    }

    /// Reports how the process ended.
    pub(super) fn ended(&mut self, end: &End) {
        self.release(true);
        self.release_bundle();
        self.release_panic();
        self.report_truncation();
        let allocation = self.refused.take();
        self.record(Record::Ended(End {
            allocation,
            ..end.clone()
        }));
    }

    /// Ends a cell.
    pub(super) fn complete(&mut self) {
        self.release(true);
        self.prompt = Prompt::default();
        self.unfinished.clear();
        self.failure = None;
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
            self.display(Record::Result { data, metadata });
        }
        self.release_panic();
        self.report_truncation();
    }

    /// Returns whether more was printed or shown than is passed on.
    pub(super) fn is_full(&self) -> bool {
        self.amount.text > TEXT_LIMIT || self.amount.displays > DISPLAY_LIMIT
    }

    /// Notes that from now on something is missing.
    pub(super) fn report_full(&mut self) {
        self.record(Record::Text {
            stream: Stream::Stderr,
            text: "\n… truncated: threads of this cell print more, which is not shown\n".to_owned(),
        });
    }

    /// Releases the beginning of a character, and at the end of a cell that of a record too: it is text.
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
            Item::Record(panic @ Record::Panic { .. }) => self.panic = Some(panic),
            Item::Record(failure @ Record::Failed { .. }) => self.failure = Some(failure),
            Item::Record(Record::Input) => {
                let mut prompt = std::mem::take(&mut self.prompt);
                let unfinished = std::mem::take(&mut self.unfinished);
                if prompt.text.is_empty() {
                    prompt.text = unfinished;
                }
                self.pieces.push(Piece::Input(prompt));
            }
            Item::Record(Record::Text { stream, text }) => match stream {
                Stream::Stdout => self.text(stream, text),
                Stream::Stderr => self.stderr(&text),
            },
            Item::Record(record) => self.display(record),
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
            self.record(Record::Text { stream, text });
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

    fn display(&mut self, record: Record) {
        // Updates do not count: they replace what was shown before.
        if let Record::Display { data, .. } | Record::Result { data, .. } = &record {
            self.amount.displays += data.values().map(size).sum::<usize>();
        }
        if self.amount.displays <= DISPLAY_LIMIT {
            self.record(record);
        }
    }

    /// Shows content that is not the value of the last expression.
    fn release_bundle(&mut self) {
        let data = std::mem::take(&mut self.bundle);
        if !data.is_empty() {
            let metadata = Map::new();
            self.display(Record::Display {
                data,
                metadata,
                id: None,
            });
        }
    }

    /// Shows a panic that the cell has caught as text.
    fn release_panic(&mut self) {
        if let Some(Record::Panic { message, .. }) = self.panic.take() {
            self.text(Stream::Stderr, format!("caught panic: {message}\n"));
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
            self.record(Record::Text {
                stream: Stream::Stderr,
                text: notice,
            });
        }
    }

    fn record(&mut self, record: Record) {
        self.pieces.push(Piece::Record(record));
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
