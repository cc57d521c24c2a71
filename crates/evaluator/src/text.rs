//! Decodes text that arrives in pieces.

/// Keeps the beginning of a character until the rest of it arrives.
///
/// ```
/// let mut text = taper_evaluator::text::Text::default();
/// assert_eq!(text.push(b"na\xc3", false), "na");
/// assert_eq!(text.push(b"\xafve", true), "ïve");
/// ```
#[derive(Default)]
pub struct Text(Vec<u8>);

impl Text {
    /// Returns the text of more bytes; `is_end` says that none follow. What is not UTF-8 becomes `U+FFFD`.
    pub fn push(&mut self, bytes: &[u8], is_end: bool) -> String {
        self.0.extend_from_slice(bytes);
        let incomplete = if is_end { 0 } else { incomplete(&self.0) };
        let rest = self.0.split_off(self.0.len() - incomplete);
        let text = String::from_utf8_lossy(&self.0).into_owned();
        self.0 = rest;
        text
    }
}

/// Returns the number of bytes at the end that begin a character and do not complete it.
pub(crate) fn incomplete(bytes: &[u8]) -> usize {
    let begins_a_character = |count: &usize| {
        let end = std::str::from_utf8(&bytes[bytes.len() - count..]);
        end.is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    let found = (1..=3.min(bytes.len())).find(begins_a_character);
    found.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_may_arrive_in_pieces() {
        let whole = "a€\u{1F600}é";
        for cut in 0..=whole.len() {
            let mut text = Text::default();
            let (first, second) = whole.as_bytes().split_at(cut);
            let decoded = text.push(first, false) + &text.push(second, true);
            assert_eq!(decoded, whole);
        }
    }

    #[test]
    fn what_is_no_text_is_replaced_and_the_rest_stays() {
        let mut text = Text::default();
        assert_eq!(text.push(b"a\xffb\xe2\x82", false), "a\u{fffd}b");
        assert_eq!(text.push(b"\xac\xe2", true), "€\u{fffd}");
    }
}
