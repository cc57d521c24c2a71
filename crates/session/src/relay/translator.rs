//! Turns what the cells process writes into records for the session and lines for evcxr.

use super::protocol::input_request;
use serde_json::{Map, Value};
use taper_evaluator::decoder::{Decoder, EvcxrMark, Item};
use taper_evaluator::event::{MimeBundle, Stream};
use taper_evaluator::record::{End, Record};

/// How many bytes of text one cell may print. Front ends that show more stop responding.
const TEXT_LIMIT: usize = 8 << 20;
/// How many bytes of figures and other displays one cell may show.
const DISPLAY_LIMIT: usize = 64 << 20;

/// How many characters are shown of a value whose only representation is `{:?}`.
const VALUE_LIMIT: usize = 2000;

/// The line for which evcxr waits at the end of a cell.
const COMPLETE_LINE: &str = "EVCXR_EXECUTION_COMPLETE\n";

/// Translates the output of one cell after the other.
pub(crate) struct Translator {
    decoder: Decoder,
    /// Whether evcxr is ready for records. Before, it expects nothing but its own marks.
    ready: bool,
    /// Text of standard error that may be the message of a failed `?`.
    held: Vec<u8>,
    /// The last text of standard error, for an error whose message was released too early.
    last_stderr: String,
    /// The size in bytes of the allocation that the system refused. Rust's library reports it as text
    /// only, before a backtrace.
    refused: Option<u64>,
    /// Representations of one value, printed one after the other in evcxr's format.
    bundle: MimeBundle,
    /// The value of the last expression, from our own engine: whatever a cell prints cannot take its place.
    value: MimeBundle,
    /// A panic that may or may not end the cell.
    panic: Option<Record>,
    /// The error of a `?`, as the crate `taper` reports it.
    failure: Option<Record>,
    /// The prompt for the line that the cell reads next.
    prompt: Prompt,
    amount: Amount,
    output: String,
}

#[derive(Default)]
struct Prompt {
    text: String,
    password: bool,
}

/// The number of bytes that the cell has printed so far.
#[derive(Default)]
struct Amount {
    text: usize,
    displays: usize,
}

impl Translator {
    pub(crate) fn new(secret: &str) -> Self {
        Translator {
            decoder: Decoder::new(secret),
            ready: false,
            held: Vec::new(),
            last_stderr: String::new(),
            refused: None,
            bundle: Map::new(),
            value: Map::new(),
            panic: None,
            failure: None,
            prompt: Prompt::default(),
            amount: Amount::default(),
            output: String::new(),
        }
    }

    /// Starts to write records: evcxr is ready for them.
    pub(crate) fn set_ready(&mut self) {
        self.ready = true;
    }

    /// Returns the lines to write to evcxr.
    pub(crate) fn take_output(&mut self) -> String {
        std::mem::take(&mut self.output)
    }

    /// Returns whether [`Self::pause`] would produce output.
    pub(crate) fn holds_something(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes bytes of the cells' standard output.
    pub(crate) fn stdout(&mut self, bytes: &[u8]) {
        for item in self.decoder.push(bytes) {
            self.item(item);
        }
    }

    /// Takes bytes of the cells' standard error, and holds them for a moment (see [`Self::failed`]).
    pub(crate) fn stderr(&mut self, bytes: &[u8]) {
        if let Some(item) = self.decoder.rest(false) {
            self.item(item);
        }
        self.release_bundle();
        self.held.extend_from_slice(bytes);
        if self.held.len() > 1 << 16 {
            self.release_stderr();
        }
    }

    /// Releases a mark that has begun, because the cell has ended: it is text.
    pub(crate) fn release_mark(&mut self) {
        if let Some(item) = self.decoder.rest(true) {
            self.item(item);
        }
    }

    /// Takes a representation of the value of the last expression.
    pub(crate) fn value(&mut self, mime_type: String, content: String) {
        self.pause();
        self.release_bundle();
        self.value.insert(mime_type, content.into());
    }

    /// Reports the panic or the failed `?` that ended the cell. If `taper` has reported the error, with advice, that
    /// report counts.
    pub(crate) fn ended_with(&mut self, failure: Record) {
        self.pause();
        self.panic = None;
        let failure = self.failure.take().unwrap_or(failure);
        self.record(&failure);
    }

    /// Releases what is held, as no output has arrived for a moment.
    pub(crate) fn pause(&mut self) {
        if let Some(item) = self.decoder.rest(false) {
            self.item(item);
        }
        self.release_stderr();
    }

    /// Reports how the cells process ended.
    pub(crate) fn ended(&mut self, code: Option<i32>, signal: Option<i32>) {
        self.record(&Record::Ended(End {
            code,
            signal,
            allocation: self.refused,
        }));
    }

    /// Releases everything, as the cells process has ended.
    pub(crate) fn end(&mut self) {
        if let Some(item) = self.decoder.rest(true) {
            self.item(item);
        }
        self.release_bundle();
        self.release_stderr();
        self.release_panic("panic");
        self.report_truncation();
    }

    fn item(&mut self, item: Item) {
        if !matches!(item, Item::Mark(EvcxrMark::Error, _)) {
            self.release_stderr();
        }
        if !matches!(
            item,
            Item::Content { .. } | Item::Record(Record::Complete | Record::Ran(_))
        ) {
            self.release_bundle();
        }
        match item {
            Item::Text(text) => self.text(Stream::Stdout, text),
            Item::Content { mime_type, content } => self.content(mime_type, content),
            Item::Record(Record::Complete) => self.complete(),
            Item::Record(panic @ Record::Panic { .. }) => self.panic = Some(panic),
            Item::Record(failure @ Record::Failed { .. }) => self.failure = Some(failure),
            Item::Record(Record::Input) => self.input(),
            Item::Record(times @ Record::Ran(_)) => self.record(&times),
            Item::Record(record) => self.display(record),
            Item::Mark(EvcxrMark::Error, line) => self.failed(&line),
            Item::Mark(EvcxrMark::Panic, line) => self.panicked(&line),
            Item::Mark(EvcxrMark::VariableLost, line) => self.variable_lost(&line),
            Item::Mark(EvcxrMark::Input, line) => self.prompt = prompt_in(&line),
        }
    }

    fn text(&mut self, stream: Stream, text: String) {
        if !self.ready {
            // evcxr's first evaluation prints nothing but its own marks, unless it fails. Then evcxr
            // shows what this process writes to standard error.
            eprint!("{text}");
            return;
        }
        let room = TEXT_LIMIT.saturating_sub(self.amount.text);
        self.amount.text += text.len();
        let text = truncated(text, room);
        if !text.is_empty() {
            self.record(&Record::Text { stream, text });
        }
    }

    fn content(&mut self, mime_type: String, content: String) {
        if !self.ready {
            self.line(&format!(
                "EVCXR_BEGIN_CONTENT {mime_type}\n{content}\nEVCXR_END_CONTENT"
            ));
            return;
        }
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
            self.record(&record);
        }
    }

    /// Reports a failed `?`. If `taper` has not reported the error, its message is the text that was
    /// printed to standard error just before.
    fn failed(&mut self, line: &str) {
        let failure = self.failure.take().unwrap_or_else(|| {
            let mut message = String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned();
            if message.is_empty() {
                message.clone_from(&self.last_stderr);
            }
            Record::Failed {
                message: message.trim_end().to_owned(),
                file: None,
                line: None,
            }
        });
        self.record(&failure);
        self.line(line);
    }

    fn panicked(&mut self, line: &str) {
        let panic = self.panic.take().unwrap_or(Record::Panic {
            message: self.last_stderr.trim_end().to_owned(),
            is_error: false,
            file: None,
            line: None,
        });
        self.record(&panic);
        self.line(line);
    }

    /// Passes on evcxr's mark of a lost variable, after which evcxr runs the cell again. evcxr's code
    /// also reports the loss on standard error. Without that report the cell itself has printed the
    /// mark, and would run again endlessly.
    fn variable_lost(&mut self, line: &str) {
        if self.last_stderr.contains("was redefined, so was lost") {
            self.line(line);
        } else {
            self.text(Stream::Stdout, format!("{line}\n"));
        }
    }

    /// Requests the line that the cell reads.
    fn input(&mut self) {
        let Prompt { text, password } = std::mem::take(&mut self.prompt);
        self.line(&input_request(&text, password));
    }

    /// Ends a cell.
    pub(crate) fn complete(&mut self) {
        self.prompt = Prompt::default();
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
                shorten(text);
            }
            self.display(Record::Result { data, metadata });
        }
        self.release_panic("caught panic");
        self.report_truncation();
        self.last_stderr.clear();
        self.output += COMPLETE_LINE;
    }

    fn release_stderr(&mut self) {
        if !self.held.is_empty() {
            let text = String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned();
            let refused = text.split("memory allocation of ").nth(1);
            let refused = refused.and_then(|text| text.split_once(" bytes failed")?.0.parse().ok());
            self.refused = refused.or(self.refused);
            self.last_stderr.clone_from(&text);
            self.text(Stream::Stderr, text);
        }
    }

    /// Shows content in evcxr's format that is not the value of the last expression.
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

    /// Shows a panic that the cell caught, or that ended its process, as text.
    fn release_panic(&mut self, what: &str) {
        if let Some(Record::Panic { message, .. }) = self.panic.take() {
            self.text(Stream::Stderr, format!("{what}: {message}\n"));
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
            self.record(&Record::Text {
                stream: Stream::Stderr,
                text: notice,
            });
        }
    }

    fn record(&mut self, record: &Record) {
        if self.ready {
            self.output += &record.to_line();
        }
    }

    fn line(&mut self, line: &str) {
        self.output += line;
        self.output.push('\n');
    }
}

/// Reads the mark with which a cell announces its prompt.
fn prompt_in(mark: &str) -> Prompt {
    let (kind, text) = mark.split_once(':').unwrap_or((mark, ""));
    Prompt {
        text: text.to_owned(),
        password: kind.ends_with("_PASSWORD"),
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
