//! Estimates the width of text, and shortens text that is too long.

use super::UNIT;
use crate::notebook::columns;

/// The font size of all text, in plotters' units.
pub(in crate::plot) const FONT: f64 = 11.0 * UNIT as f64;

/// The height of a row of text, in plotters' units.
pub(in crate::plot) const ROW: i32 = 15 * UNIT;

/// The mean width of a letter, as a fraction of the font size. Too large an estimate only adds margin.
const LETTER_WIDTH: f64 = 0.58;

/// Returns the height of a row of text, or 0 if there is no text.
pub(in crate::plot) fn row_height(text: &str) -> i32 {
    if text.is_empty() { 0 } else { ROW }
}

/// Estimates the width of a text, in the unit of the font size.
pub(in crate::plot) fn text_width(text: &str, font_size: f64) -> i32 {
    (columns(text) as f64 * font_size * LETTER_WIDTH).round() as i32
}

/// Estimates the width of a text in a wide font, such as DejaVu Sans, from its letters. Used for text whose
/// beginning would be cut off if the estimate were too small.
pub(in crate::plot) fn text_width_at_most(text: &str, font_size: f64) -> i32 {
    let widths = text.chars().map(|letter| match letter {
        'f' | 'i' | 'j' | 'l' | 'r' | 't' | 'I' | 'J' => 0.42,
        ' ' | '!' | '\'' | '(' | ')' | ',' | '-' | '.' | '/' | ':' | ';' | '|' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 1.0,
        'A'..='Z' | '#' | '&' | '+' | '<'..='>' => 0.84,
        '\u{1100}'.. => 1.2,
        _ => 0.64,
    });
    (widths.sum::<f64>() * font_size).ceil() as i32
}

/// Shortens a text to this width.
pub(in crate::plot) fn shortened(text: &str, width: i32) -> String {
    let letter = text_width("n", FONT).max(1);
    match text_width(text, FONT) <= width {
        true => text.to_owned(),
        false => shortened_to(text, (width / letter).max(2) as usize),
    }
}

/// Shortens a text to this number of letters; a Chinese one counts as two.
pub(in crate::plot) fn shortened_to(text: &str, letters: usize) -> String {
    if columns(text) <= letters {
        return text.to_owned();
    }
    let fits = |end: &usize| columns(&text[..*end]) < letters.max(1);
    let ends = text.char_indices().map(|(end, _)| end);
    let end = ends.take_while(fits).last().unwrap_or(0);
    format!("{}…", &text[..end])
}

/// Shortens a text that is centred at `middle` so that it stays between 0 and `length`.
pub(in crate::plot) fn centred(text: &str, middle: i32, length: i32) -> String {
    let width = 2 * middle.min(length - middle);
    // Long texts have many narrow letters and spaces.
    shortened(text, width + width / 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_need_more_room() {
        // In DejaVu Sans of 100 units, these are 468 and 217 units wide.
        let widths = ["MMWWm", "fill it"].map(|text| text_width_at_most(text, 100.0));
        assert!(widths[0] >= 468 && widths[1] >= 217, "{widths:?}");
    }

    #[test]
    fn a_long_text_is_shortened() {
        let width = text_width("epoch", FONT) + UNIT;
        assert_eq!(shortened("epoch", width), "epoch");
        assert_eq!(shortened("epochs", width), "epoc…");
        assert_eq!(shortened("epochs", 0), "e…");
        assert_eq!(shortened_to("größer", 4), "grö…");
        assert_eq!(shortened_to("训练损失", 6), "训练…");
        assert_eq!(text_width("损失", FONT), text_width("loss", FONT));
        assert_eq!(centred("epochs", 1000, 1000 + width / 2), "epoc…");
    }
}
