//! Decodes the standard output of the process that runs cells: text, records, and what other crates print for evcxr.

use crate::record::{MARK, Record};
use crate::text::incomplete;

/// A piece of the output.
#[derive(Debug, PartialEq)]
pub enum Item {
    /// Text that the cell printed. Bytes that are not UTF-8 are replaced by `U+FFFD`.
    Text(String),
    /// A record with the secret of the decoder.
    Record(Record),
    /// A representation of a value in evcxr's format.
    Content {
        /// The MIME type of the representation.
        mime_type: String,
        /// The text between the marks.
        content: String,
    },
    /// The prompt for the line of input that the cell reads next.
    Prompt {
        /// The text.
        text: String,
        /// Whether the line must not be shown.
        password: bool,
    },
}

const EVCXR: &[u8] = b"EVCXR_";
const BEGIN_CONTENT: &str = "EVCXR_BEGIN_CONTENT ";
const END_CONTENT: &[u8] = b"\nEVCXR_END_CONTENT\n";
const INPUT: &str = "EVCXR_INPUT_REQUEST";

/// Decodes output that arrives in pieces. Keeps the bytes that cannot be decoded yet: the beginning of a mark,
/// or a part of a character.
pub struct Decoder {
    /// The beginning of a record: `MARK`, the secret and a space.
    record_start: Vec<u8>,
    /// The bytes that are not decoded yet.
    pending: Vec<u8>,
}

impl Decoder {
    /// Creates a decoder for records with this secret.
    pub fn new(secret: &str) -> Self {
        Decoder {
            record_start: format!("{MARK}{secret} ").into_bytes(),
            pending: Vec::new(),
        }
    }

    /// Decodes more bytes, and returns the pieces that they complete.
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

    /// Returns the pending bytes as text, if no more bytes come, or not soon. Unless `at_end` is true, keeps a
    /// mark that has begun: the process writes a mark in one piece, so the rest of the mark will come.
    pub fn rest(&mut self, at_end: bool) -> Option<Item> {
        let is_mark =
            self.pending.starts_with(EVCXR) || self.pending.starts_with(&self.record_start);
        if self.pending.is_empty() || (is_mark && !at_end) {
            return None;
        }
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned();
        Some(Item::Text(text))
    }

    /// Decodes the pending bytes from `start` and returns the number of decoded bytes; `None` if more bytes are
    /// needed.
    fn next_item(&self, start: usize, items: &mut Vec<Item>) -> Option<usize> {
        let bytes = &self.pending[start..];
        let (at, is_whole) = self.find_mark(bytes);
        if at > 0 {
            return take_text(&bytes[..at], at < bytes.len(), items);
        }
        if !is_whole {
            return None;
        }
        if bytes.starts_with(&self.record_start) {
            self.take_record(bytes, items)
        } else {
            self.take_evcxr(bytes, items)
        }
    }

    /// Returns the index at which a mark begins, or the length of the bytes, and whether the start of the mark
    /// (`EVCXR_`, or `MARK` with the secret) is complete: the last bytes may be only a part of it.
    fn find_mark(&self, bytes: &[u8]) -> (usize, bool) {
        let mut from = 0;
        while let Some(offset) = memchr::memchr2(MARK as u8, EVCXR[0], &bytes[from..]) {
            let at = from + offset;
            for mark in [&self.record_start[..], EVCXR] {
                let length = mark.len().min(bytes.len() - at);
                if bytes[at..at + length] == mark[..length] {
                    return (at, length == mark.len());
                }
            }
            from = at + 1;
        }
        (bytes.len(), false)
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

    /// Decodes bytes that begin with `EVCXR_`: the crate `evcxr_input` and values of other crates print such lines.
    fn take_evcxr(&self, bytes: &[u8], items: &mut Vec<Item>) -> Option<usize> {
        let end = memchr::memchr(b'\n', bytes)?;
        let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
        if let Some(mime_type) = line.strip_prefix(BEGIN_CONTENT) {
            return self.take_content(bytes, end, mime_type, items);
        }
        let Some(rest) = line.strip_prefix(INPUT) else {
            return take_as_text(items);
        };
        let (kind, text) = rest.split_once(':').unwrap_or((rest, ""));
        items.push(Item::Prompt {
            text: text.to_owned(),
            password: kind == "_PASSWORD",
        });
        Some(end + 1)
    }

    /// Decodes the lines between `EVCXR_BEGIN_CONTENT` and `EVCXR_END_CONTENT`. If a record comes before the
    /// end, the block has no end: the cell has only printed the word, and it is text.
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

/// Decodes `EVCXR_` as text, where it begins neither a value nor a prompt.
fn take_as_text(items: &mut Vec<Item>) -> Option<usize> {
    items.push(Item::Text(String::from_utf8_lossy(EVCXR).into_owned()));
    Some(EVCXR.len())
}

/// Joins adjacent texts, which the decoder has split.
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

/// Decodes text. Unless `ends_here` is true, leaves a character at the end that is not complete yet.
fn take_text(bytes: &[u8], ends_here: bool, items: &mut Vec<Item>) -> Option<usize> {
    let complete = match ends_here {
        true => bytes.len(),
        false => bytes.len() - incomplete(bytes),
    };
    if complete == 0 {
        return None;
    }
    items.push(Item::Text(
        String::from_utf8_lossy(&bytes[..complete]).into_owned(),
    ));
    Some(complete)
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
        let items = decode(&[b"abc\x1es3c", b"ret {\"op\":\"inp", b"ut\"}\nrest"]);
        assert_eq!(
            items,
            [text("abc"), Item::Record(Record::Input), text("rest")]
        );
    }

    #[test]
    fn a_record_with_another_secret_is_text() {
        let line = "\x1eguess {\"op\":\"input\"}\n";
        assert_eq!(decode(&[line.as_bytes()]), [text(line)]);
    }

    #[test]
    fn evcxrs_other_marks_are_text() {
        for line in ["EVCXR_EXECUTION_COMPLETE\n", "EVCXR_PANIC_NOTIFICATION\n"] {
            assert_eq!(decode(&[line.as_bytes()]), [text(line)]);
        }
    }

    #[test]
    fn a_content_block_without_its_end_is_text_when_the_cell_ends() {
        let block = "EVCXR_BEGIN_CONTENT text/plain\nno end\n";
        let items = decode(&[block.as_bytes(), b"\x1es3cret {\"op\":\"input\"}\n"]);
        assert_eq!(items, [text(block), Item::Record(Record::Input)]);
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
    fn a_prompt_after_text_without_newline_is_found() {
        let items = decode(&[b"half a lineEVCXR_INPUT_REQUEST_PASSWORD:tea: \n"]);
        let prompt = Item::Prompt {
            text: "tea: ".into(),
            password: true,
        };
        assert_eq!(items, [text("half a line"), prompt]);
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
    fn the_beginning_of_a_mark_is_text_when_no_more_comes() {
        let mut decoder = Decoder::new("s");
        assert_eq!(decoder.push(b"E"), []);
        assert_eq!(decoder.rest(false), Some(text("E")));
    }
}
