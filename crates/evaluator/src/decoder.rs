//! Decodes the standard output of cells: text, and the marks that other crates print for evcxr.

use crate::text::incomplete;

/// A piece of the output.
#[derive(Debug, PartialEq)]
pub enum Item {
    /// Text that the cell printed. Bytes that are not UTF-8 are replaced by `U+FFFD`.
    Text(String),
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
#[derive(Default)]
pub struct Decoder {
    /// The bytes that are not decoded yet.
    pending: Vec<u8>,
}

impl Decoder {
    /// Decodes more bytes, and returns the pieces that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Item> {
        self.pending.extend_from_slice(bytes);
        let mut items = Vec::new();
        let mut start = 0;
        while let Some(taken) = next_item(&self.pending[start..], &mut items) {
            start += taken;
        }
        self.pending.drain(..start);
        join_texts(items)
    }

    /// Returns the pending bytes as text, if no more bytes come, or not soon. Unless `at_end` is true, keeps a
    /// mark that has begun: the process writes a mark in one piece, so the rest of the mark will come.
    pub fn rest(&mut self, at_end: bool) -> Option<Item> {
        if self.pending.is_empty() || (self.pending.starts_with(EVCXR) && !at_end) {
            return None;
        }
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned();
        Some(Item::Text(text))
    }
}

/// Decodes the beginning of the bytes and returns the number of decoded bytes; `None` if more bytes are needed.
fn next_item(bytes: &[u8], items: &mut Vec<Item>) -> Option<usize> {
    let at = find_mark(bytes);
    if at > 0 {
        return take_text(&bytes[..at], at < bytes.len(), items);
    }
    if !bytes.starts_with(EVCXR) {
        return None;
    }
    let end = memchr::memchr(b'\n', bytes)?;
    let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
    if let Some(mime_type) = line.strip_prefix(BEGIN_CONTENT) {
        return take_content(bytes, end, mime_type, items);
    }
    let Some(rest) = line.strip_prefix(INPUT) else {
        items.push(Item::Text(String::from_utf8_lossy(EVCXR).into_owned()));
        return Some(EVCXR.len());
    };
    let (kind, text) = rest.split_once(':').unwrap_or((rest, ""));
    items.push(Item::Prompt {
        text: text.to_owned(),
        password: kind == "_PASSWORD",
    });
    Some(end + 1)
}

/// Returns the index at which `EVCXR_` begins, or the length of the bytes. The last bytes may be only a part of it.
fn find_mark(bytes: &[u8]) -> usize {
    let is_mark = |at: &usize| {
        let length = EVCXR.len().min(bytes.len() - at);
        bytes[*at..at + length] == EVCXR[..length]
    };
    let mut found = memchr::memchr_iter(EVCXR[0], bytes);
    found.find(is_mark).unwrap_or(bytes.len())
}

/// Decodes the lines between `EVCXR_BEGIN_CONTENT` and `EVCXR_END_CONTENT`.
fn take_content(
    bytes: &[u8],
    begin_end: usize,
    mime_type: &str,
    items: &mut Vec<Item>,
) -> Option<usize> {
    let rest = &bytes[begin_end..];
    let end = memchr::memmem::find(rest, END_CONTENT)?;
    let content = rest.get(1..end).unwrap_or_default();
    items.push(Item::Content {
        mime_type: mime_type.trim().to_owned(),
        content: String::from_utf8_lossy(content).into_owned(),
    });
    Some(begin_end + end + END_CONTENT.len())
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
        let mut decoder = Decoder::default();
        let mut items: Vec<_> = chunks.iter().flat_map(|c| decoder.push(c)).collect();
        items.extend(decoder.rest(true));
        items
    }

    #[test]
    fn text_passes_at_once_also_without_a_newline() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"no newline"), [text("no newline")]);
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
        assert_eq!(decode(&[block.as_bytes()]), [text(block)]);
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
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"a\xe2\x82"), [text("a")]);
        assert_eq!(decoder.push(b"\xac b"), [text("€ b")]);
        assert_eq!(decoder.push(b"\xff\xfe!"), [text("\u{fffd}\u{fffd}!")]);
        assert_eq!(decoder.push(b"\xff\xe2"), [text("\u{fffd}")]);
        assert_eq!(decoder.rest(true), Some(text("\u{fffd}")));
    }

    #[test]
    fn the_beginning_of_a_mark_is_text_when_no_more_comes() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"E"), []);
        assert_eq!(decoder.rest(false), Some(text("E")));
    }
}
