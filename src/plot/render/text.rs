//! How wide a text will be, and texts that fit into their room.

use super::UNIT;

/// The size of all text, in plotters' units.
pub(in crate::plot) const FONT: f64 = 11.0 * UNIT as f64;

/// The mean width of a letter, as a part of the font size. What is too wide is only a margin.
const LETTER_WIDTH: f64 = 0.58;

/// How wide a text will be, about, in the unit of the font size.
pub(in crate::plot) fn text_width(text: &str, font_size: f64) -> i32 {
    (text.chars().count() as f64 * font_size * LETTER_WIDTH).round() as i32
}

/// As much of a text as there is room for.
pub(in crate::plot) fn shortened(text: &str, room: i32) -> String {
    let letter = text_width("n", FONT).max(1);
    match text_width(text, FONT) <= room {
        true => text.to_owned(),
        false => shortened_to(text, (room / letter).max(2) as usize),
    }
}

/// A text of so many letters at most.
pub(in crate::plot) fn shortened_to(text: &str, letters: usize) -> String {
    match text.chars().count() <= letters {
        true => text.to_owned(),
        false => text.chars().take(letters.max(1) - 1).chain(['…']).collect(),
    }
}

/// As much of a text as stays on a page of this length when its middle is at `middle`.
pub(in crate::plot) fn centred(text: &str, middle: i32, length: i32) -> String {
    let room = 2 * middle.min(length - middle);
    // Sentences have many narrow letters and spaces.
    shortened(text, room + room / 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_its_room_ends() {
        let room = text_width("epoch", FONT) + UNIT;
        assert_eq!(shortened("epoch", room), "epoch");
        assert_eq!(shortened("epochs", room), "epoc…");
        assert_eq!(shortened("epochs", 0), "e…");
        assert_eq!(shortened_to("größer", 4), "grö…");
        assert_eq!(centred("epochs", 1000, 1000 + room / 2), "epoc…");
    }
}
