//! Decodes text that arrives in pieces.

/// Keeps the beginning of a character until the rest of it arrives.
#[derive(Default)]
pub(super) struct Decoder(Vec<u8>);

impl Decoder {
    /// Returns the text of more bytes. What is not UTF-8 becomes `U+FFFD`.
    pub(super) fn push(&mut self, bytes: &[u8], is_end: bool) -> String {
        self.0.extend_from_slice(bytes);
        let complete = match std::str::from_utf8(&self.0) {
            Err(error) if error.error_len().is_none() && !is_end => error.valid_up_to(),
            // Behind an invalid byte, there may be an incomplete character too.
            Err(_) if !is_end => self.0.len() - incomplete(&self.0),
            _ => self.0.len(),
        };
        let rest = self.0.split_off(complete);
        let text = String::from_utf8_lossy(&self.0).into_owned();
        self.0 = rest;
        text
    }
}

/// Returns the number of bytes at the end that begin a character and do not complete it.
fn incomplete(bytes: &[u8]) -> usize {
    let last = (1..=3.min(bytes.len())).find(|count| bytes[bytes.len() - count] & 0xC0 != 0x80);
    let Some(count) = last else { return 0 };
    let length = match bytes[bytes.len() - count] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    if count < length { count } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_may_arrive_in_pieces() {
        let text = "a€\u{1F600}é";
        for cut in 0..=text.len() {
            let mut decoder = Decoder::default();
            let (first, second) = text.as_bytes().split_at(cut);
            let decoded = decoder.push(first, false) + &decoder.push(second, true);
            assert_eq!(decoded, text);
        }
    }

    #[test]
    fn what_is_no_text_is_replaced_and_the_rest_stays() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"a\xffb\xe2\x82", false), "a\u{fffd}b");
        assert_eq!(decoder.push(b"\xac\xe2", true), "€\u{fffd}");
    }
}
