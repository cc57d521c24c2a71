//! Bytes from the cells' standard output to text, records and evcxr's own marks.

use crate::record::{MARK, Record};

/// One thing found in the stream.
#[derive(Debug, PartialEq)]
pub enum Item {
    /// What the cell printed. Bytes that are no UTF-8 have become `U+FFFD`.
    Text(String),
    /// A record that carries our secret.
    Record(Record),
    /// One representation of a value, printed in evcxr's way.
    Content { mime_type: String, content: String },
    /// A line that evcxr must see unchanged.
    Mark(EvcxrMark, String),
}

/// The lines by which the code that evcxr generates speaks to evcxr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvcxrMark {
    Panic,
    Error,
    VariableLost,
    Input,
}

const EVCXR: &[u8] = b"EVCXR_";
const BEGIN_CONTENT: &str = "EVCXR_BEGIN_CONTENT ";
const END_CONTENT: &[u8] = b"\nEVCXR_END_CONTENT\n";
const PANIC: &str = "EVCXR_PANIC_NOTIFICATION";

/// Keeps what has come but cannot be told apart yet: the beginning of a mark, half a character.
pub struct Decoder {
    /// `MARK`, the secret and a space.
    record_start: Vec<u8>,
    pending: Vec<u8>,
}

impl Decoder {
    pub fn new(secret: &str) -> Self {
        Decoder {
            record_start: format!("{MARK}{secret} ").into_bytes(),
            pending: Vec::new(),
        }
    }

    /// Takes more bytes and gives what they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Item> {
        self.pending.extend_from_slice(bytes);
        let mut items = Vec::new();
        let mut start = 0;
        while let Some(taken) = self.next_item(start, &mut items) {
            start += taken;
        }
        self.pending.drain(..start);
        join_texts(items)
    }

    /// Gives what is pending as text: nothing more will come, or not soon. What may still become a
    /// mark stays, since marks are written in one piece.
    pub fn rest(&mut self, at_end: bool) -> Option<Item> {
        let is_mark =
            self.pending.starts_with(EVCXR) || self.pending.starts_with(&self.record_start);
        if self.pending.is_empty() || (is_mark && !at_end) {
            return None;
        }
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned();
        Some(Item::Text(text))
    }

    /// Looks at the pending bytes from `start`; says how many it took, `None` if it needs more.
    fn next_item(&self, start: usize, items: &mut Vec<Item>) -> Option<usize> {
        let bytes = &self.pending[start..];
        let mark = self.find_mark(bytes);
        if mark.at > 0 {
            return take_text(&bytes[..mark.at], mark.at < bytes.len(), items);
        }
        if !mark.whole {
            return None;
        }
        if bytes.starts_with(&self.record_start) {
            self.take_record(bytes, items)
        } else {
            self.take_evcxr(bytes, items)
        }
    }

    /// The first place where a mark begins, or where the last bytes may be the beginning of one.
    fn find_mark(&self, bytes: &[u8]) -> Mark {
        let mut from = 0;
        while let Some(offset) = memchr::memchr2(MARK as u8, EVCXR[0], &bytes[from..]) {
            let at = from + offset;
            for mark in [&self.record_start[..], EVCXR] {
                let length = mark.len().min(bytes.len() - at);
                if bytes[at..at + length] == mark[..length] {
                    let whole = length == mark.len();
                    return Mark { at, whole };
                }
            }
            from = at + 1;
        }
        Mark {
            at: bytes.len(),
            whole: false,
        }
    }

    fn take_record(&self, bytes: &[u8], items: &mut Vec<Item>) -> Option<usize> {
        let end = memchr::memchr(b'\n', bytes)?;
        let json = &bytes[self.record_start.len()..end];
        items.push(match serde_json::from_slice(json) {
            Ok(record) => Item::Record(record),
            Err(_) => Item::Text(String::from_utf8_lossy(&bytes[..=end]).into_owned()),
        });
        Some(end + 1)
    }

    /// `bytes` begin with `EVCXR_`.
    fn take_evcxr(&self, bytes: &[u8], items: &mut Vec<Item>) -> Option<usize> {
        let end = memchr::memchr(b'\n', bytes)?;
        let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
        if let Some(mime_type) = line.strip_prefix(BEGIN_CONTENT) {
            return self.take_content(bytes, end, mime_type, items);
        }
        let mark = if line == PANIC {
            EvcxrMark::Panic
        } else if line == "EVCXR_ERROR_OCCURRED" {
            EvcxrMark::Error
        } else if line.starts_with("EVCXR_VARIABLE_CHANGED_TYPE:") {
            EvcxrMark::VariableLost
        } else if line.starts_with("EVCXR_INPUT_REQUEST") {
            EvcxrMark::Input
        } else {
            return take_as_text(items);
        };
        items.push(Item::Mark(mark, line));
        Some(end + 1)
    }

    /// The lines between `EVCXR_BEGIN_CONTENT` and `EVCXR_END_CONTENT`. A record before the end
    /// says that there is no end: a cell only printed the word.
    fn take_content(
        &self,
        bytes: &[u8],
        begin_end: usize,
        mime_type: &str,
        items: &mut Vec<Item>,
    ) -> Option<usize> {
        let rest = &bytes[begin_end..];
        let record = memchr::memmem::find(rest, &self.record_start);
        let Some(end) = memchr::memmem::find(&rest[..record.unwrap_or(rest.len())], END_CONTENT)
        else {
            return record.and_then(|_| take_as_text(items));
        };
        let content = rest.get(1..end).unwrap_or_default();
        items.push(Item::Content {
            mime_type: mime_type.trim().to_owned(),
            content: String::from_utf8_lossy(content).into_owned(),
        });
        Some(begin_end + end + END_CONTENT.len())
    }
}

/// What begins like a mark of evcxr but is none.
fn take_as_text(items: &mut Vec<Item>) -> Option<usize> {
    items.push(Item::Text(String::from_utf8_lossy(EVCXR).into_owned()));
    Some(EVCXR.len())
}

/// Adjacent texts are one: where they were split is the decoder's business.
fn join_texts(items: Vec<Item>) -> Vec<Item> {
    let mut joined: Vec<Item> = Vec::with_capacity(items.len());
    for item in items {
        match (joined.last_mut(), item) {
            (Some(Item::Text(before)), Item::Text(text)) => before.push_str(&text),
            (_, item) => joined.push(item),
        }
    }
    joined
}

struct Mark {
    at: usize,
    whole: bool,
}

/// Gives text, except for a character whose end has not come yet.
fn take_text(bytes: &[u8], ends_here: bool, items: &mut Vec<Item>) -> Option<usize> {
    let complete = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && !ends_here => {
            // Only the tail may be waiting; what is invalid before it stays text.
            error.valid_up_to()
        }
        Err(_) if !ends_here => bytes.len() - incomplete_tail(bytes),
        _ => bytes.len(),
    };
    if complete == 0 {
        return None;
    }
    items.push(Item::Text(
        String::from_utf8_lossy(&bytes[..complete]).into_owned(),
    ));
    Some(complete)
}

/// How many bytes at the end are the beginning of a character.
fn incomplete_tail(bytes: &[u8]) -> usize {
    (1..=3.min(bytes.len()))
        .find(|&length| {
            let tail = &bytes[bytes.len() - length..];
            matches!(std::str::from_utf8(tail), Err(e) if e.valid_up_to() == 0 && e.error_len().is_none())
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Item {
        Item::Text(text.to_owned())
    }

    fn decode(chunks: &[&[u8]]) -> Vec<Item> {
        let mut decoder = Decoder::new("s3cret");
        let mut items: Vec<_> = chunks.iter().flat_map(|c| decoder.push(c)).collect();
        items.extend(decoder.rest(true));
        items
    }

    #[test]
    fn text_passes_at_once_also_without_a_newline() {
        let mut decoder = Decoder::new("s3cret");
        assert_eq!(decoder.push(b"no newline"), [text("no newline")]);
    }

    #[test]
    fn a_record_is_found_in_mid_line_and_across_reads() {
        let items = decode(&[b"abc\x1es3c", b"ret {\"op\":\"comp", b"lete\"}\nrest"]);
        assert_eq!(
            items,
            [text("abc"), Item::Record(Record::Complete), text("rest")]
        );
    }

    #[test]
    fn a_record_with_another_secret_is_text() {
        let line = "\x1eguess {\"op\":\"complete\"}\n";
        assert_eq!(decode(&[line.as_bytes()]), [text(line)]);
    }

    #[test]
    fn evcxrs_end_mark_printed_by_a_cell_is_text() {
        let line = "EVCXR_EXECUTION_COMPLETE\n";
        assert_eq!(decode(&[line.as_bytes()]), [text(line)]);
    }

    #[test]
    fn a_content_block_without_its_end_is_text_when_the_cell_ends() {
        let block = "EVCXR_BEGIN_CONTENT text/plain\nno end\n";
        let items = decode(&[block.as_bytes(), b"\x1es3cret {\"op\":\"complete\"}\n"]);
        assert_eq!(items, [text(block), Item::Record(Record::Complete)]);
    }

    #[test]
    fn content_blocks_keep_their_lines() {
        let block = b"EVCXR_BEGIN_CONTENT text/html\n<b>\n</b>\nEVCXR_END_CONTENT\n";
        for split in 0..block.len() {
            let items = decode(&[&block[..split], &block[split..]]);
            let expected = Item::Content {
                mime_type: "text/html".into(),
                content: "<b>\n</b>".into(),
            };
            assert_eq!(items, [expected], "split at {split}");
        }
    }

    #[test]
    fn a_mark_behind_text_without_newline_is_found() {
        let items = decode(&[b"half a lineEVCXR_PANIC_NOTIFICATION\n"]);
        assert_eq!(
            items,
            [
                text("half a line"),
                Item::Mark(EvcxrMark::Panic, PANIC.into())
            ]
        );
    }

    #[test]
    fn a_character_cut_in_two_is_joined_and_broken_bytes_are_replaced() {
        let mut decoder = Decoder::new("s");
        assert_eq!(decoder.push(b"a\xe2\x82"), [text("a")]);
        assert_eq!(decoder.push(b"\xac b"), [text("€ b")]);
        assert_eq!(decoder.push(b"\xff\xfe!"), [text("\u{fffd}\u{fffd}!")]);
        assert_eq!(decoder.push(b"\xff\xe2"), [text("\u{fffd}")]);
        assert_eq!(decoder.rest(true), Some(text("\u{fffd}")));
    }

    #[test]
    fn a_lonely_beginning_of_a_mark_comes_out_in_the_end() {
        let mut decoder = Decoder::new("s");
        assert_eq!(decoder.push(b"E"), []);
        assert_eq!(decoder.rest(false), Some(text("E")));
    }
}
