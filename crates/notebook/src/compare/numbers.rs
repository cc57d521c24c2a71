//! Compares lines in which a number may differ in its last digits.

use crate::document::tolerance::Tolerance;
use std::ops::Range;

/// Returns whether two lines are equal. Floating-point numbers may differ by the tolerance; integers
/// only if it says so, because they count things. Spaces beside a number do not matter, because a column is
/// padded to its widest number.
pub(super) fn same_line(stored: &str, now: &str, tolerance: Tolerance) -> bool {
    if stored == now {
        return true;
    }
    let (stored, now) = (Pieces::of(stored), Pieces::of(now));
    stored.text == now.text
        && stored
            .numbers
            .iter()
            .zip(&now.numbers)
            .all(|(stored, now)| same_number(stored, now, tolerance))
}

fn same_number(stored: &str, now: &str, tolerance: Tolerance) -> bool {
    if let (Ok(stored), Ok(now)) = (stored.parse::<i128>(), now.parse::<i128>()) {
        return tolerance.allows_count(stored, now);
    }
    match (stored.parse(), now.parse()) {
        (Ok(stored), Ok(now)) => tolerance.allows(stored, now),
        _ => stored == now,
    }
}

/// A line, split into each number and the text before, between and after.
struct Pieces<'a> {
    text: Vec<&'a str>,
    numbers: Vec<&'a str>,
}

impl<'a> Pieces<'a> {
    fn of(line: &'a str) -> Pieces<'a> {
        let mut pieces = Pieces {
            text: Vec::new(),
            numbers: Vec::new(),
        };
        let mut text_from = 0;
        for number in numbers(line) {
            pieces.push_text(line[text_from..number.start].trim_end());
            pieces.numbers.push(&line[number.clone()]);
            text_from = number.end;
        }
        pieces.push_text(&line[text_from..]);
        pieces
    }

    /// Adds a text, without the spaces after a number; spaces that indent the line are kept.
    fn push_text(&mut self, text: &'a str) {
        self.text.push(if self.numbers.is_empty() {
            text
        } else {
            text.trim_start()
        });
    }
}

/// Returns where the numbers of a line are, in bytes.
pub(super) fn numbers(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < line.len() {
            let from = at;
            let length = number_at(line, at);
            if length > 0 {
                at += length;
                return Some(from..at);
            }
            at += word_at(&line[at..]);
        }
        None
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the length of the number that begins at `at`, or 0 if none does.
///
/// A number is not part of a word: `cell2`, `2nd`, `1.2.3` and `0xff` are text. A unit may follow
/// directly after a floating-point number: `1.5ms`, `2.0f32`.
fn number_at(line: &str, at: usize) -> usize {
    let rest = &line.as_bytes()[at..];
    let after_word = at > 0 && is_word(line.as_bytes()[at - 1]);
    let sign = usize::from(matches!(rest.first(), Some(b'+' | b'-')) && !after_word);
    let word = rest[sign..]
        .iter()
        .take_while(|byte| is_word(**byte))
        .count();
    let is_named = std::str::from_utf8(&rest[sign..sign + word])
        .is_ok_and(|word| ["nan", "inf", "infinity"].contains(&&*word.to_ascii_lowercase()));
    if is_named {
        return sign + word;
    }
    let digits = |from: usize| {
        rest[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut length = sign + digits(sign);
    let mut is_integer = true;
    if rest.get(length) == Some(&b'.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
        is_integer = false;
    }
    if length == sign {
        return 0;
    }
    if matches!(rest.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
            is_integer = false;
        }
    }
    let continues = match (rest.get(length), rest.get(length + 1)) {
        (Some(b'.'), Some(next)) => is_word(*next),
        (Some(next), _) if !is_integer => *next == b'_' || next.is_ascii_digit(),
        (Some(next), _) => is_word(*next),
        (None, _) => false,
    };
    if continues { 0 } else { length }
}

/// Returns the length of the text to skip as a whole: a word with the dots inside it, or else one
/// character. Words consist of ASCII characters, so the number in `损失0.5` is not a part of a word.
fn word_at(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let is_word_at = |at: usize| bytes.get(at).is_some_and(|byte| is_word(*byte));
    let mut length = 0;
    while is_word_at(length)
        || (length > 0 && bytes.get(length) == Some(&b'.') && is_word_at(length + 1))
    {
        length += 1;
    }
    if length > 0 {
        length
    } else {
        rest.chars().next().map_or(1, char::len_utf8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(stored: &str, now: &str) -> bool {
        same_line(stored, now, Tolerance::default())
    }

    #[test]
    fn numbers_within_the_tolerance() {
        assert!(
            same("loss 1.0", "loss 1.00001"),
            "exactly the relative tolerance"
        );
        assert!(!same("loss 1.0", "loss 1.0000101"));
        assert!(
            same("loss 0.0", "loss 1e-8"),
            "exactly the absolute tolerance"
        );
        assert!(!same("loss 0.0", "loss 1.1e-8"));
        assert!(same("1e-3", "0.001"), "the same number in another notation");
        assert!(same("1.5E+03", "1500.0"));
        assert!(!same("1e-3", "1e-4"));
        assert!(same("x=-2.50000001;", "x=-2.5;"));
        assert!(!same("x=-2.5;", "x=2.5;"));
        assert!(same("[1.0, 2.0]", "[1.000001, 1.999999]"));
        assert!(!same("[1.0, 2.0]", "[1.0]"));
        assert!(same(".5", "0.5"));
    }

    #[test]
    fn special_numbers() {
        assert!(same("loss nan", "loss NaN"));
        assert!(!same("loss nan", "loss 1.0"));
        assert!(!same("loss 1.0", "loss NaN"));
        assert!(same("inf", "Infinity"));
        assert!(!same("inf", "-inf"));
        assert!(!same("inf", "1e308"), "no tolerance reaches infinity");
        assert!(!same("1e308", "inf"));
        assert!(same("-0.0", "0.0"));
        assert!(
            same("[-0.0000, 1.0]", "[ 0.0000, 1.0]"),
            "a space in place of the sign"
        );
        assert!(same("-0", "0"));
        assert!(!same("banana", "banNaN"));
    }

    #[test]
    fn integers_are_exact() {
        assert!(
            !same("100000 samples", "100001 samples"),
            "within 1e-5, yet another count"
        );
        assert!(
            !same("9007199254740993", "9007199254740992"),
            "more digits than an f64 has"
        );
        let counts = Tolerance {
            counts: 0.1,
            ..Tolerance::default()
        };
        assert!(same_line(
            "35 boxes in 4 images",
            "34 boxes in 4 images",
            counts
        ));
        assert!(!same_line(
            "35 boxes in 4 images",
            "39 boxes in 4 images",
            counts
        ));
        assert!(!same_line(
            "35 boxes in 4 images",
            "35 boxes in 5 images",
            counts
        ));
        assert!(same("epoch 3", "epoch 3"));
        assert!(
            same("3", "3.0000001"),
            "one of them is a floating-point number"
        );
        assert!(!same("12:30:45", "12:30:46"));
        assert!(!same("1,234", "1,235"));
    }

    #[test]
    fn numbers_inside_words_are_text() {
        for (stored, now) in [
            ("cell2", "cell3"),
            ("cell2.000001", "cell2.000002"),
            ("1.2.3", "1.2.30"),
            ("0xff", "0xfe"),
            ("2nd", "3nd"),
            ("127.0.0.1", "127.0.0.2"),
            ("layer.0.weight", "layer.1.weight"),
            ("x_1.000001", "x_1.000002"),
        ] {
            assert!(!same(stored, now), "{stored} and {now}");
        }
        assert!(
            same("took 1.500001s", "took 1.500002s"),
            "a unit after a floating-point number"
        );
        assert!(!same("took 1.5s", "took 1.5ms"));
        assert!(same("损失0.500001", "损失0.500002"));
        assert!(same("3-2.000001", "3-2.000002"));
    }

    #[test]
    fn the_rest_is_exact() {
        assert!(!same("loss 1.0", "Loss 1.0"));
        assert!(!same("a b", "a  b"));
        assert!(!same(" a 1.5", "a 1.5"));
        assert!(
            same("  9.999999 |", " 10.000001 |"),
            "padding beside a number"
        );
        assert!(!same("", "1"));
        assert!(same("é 1.0000001", "é 1.0"));
        for odd in [
            "1e",
            "1e+",
            "-",
            "+",
            ".",
            "1.",
            "-.",
            "e5",
            "1.e5",
            "\u{1F56F}1.",
            "1._",
        ] {
            assert!(same(odd, odd) && !same(odd, "other"), "{odd}");
            Pieces::of(odd);
        }
    }
}
