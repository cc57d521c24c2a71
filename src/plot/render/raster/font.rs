//! The letters in pictures of pixels: outlines of DejaVu Sans, which make_font.py has written.

use super::{Outlines, Point};
use std::collections::HashMap;
use std::sync::LazyLock;

/// So many of the file's lengths are the font size.
const EM: f32 = 160.0;
/// What the file adds to places, so that they fit into bytes.
const SHIFT: (f32, f32) = (40.0, 70.0);

/// Stands for letters that the file does not have.
const UNKNOWN: char = '□';

struct Letter {
    width: f32,
    outlines: Outlines,
}

static LETTERS: LazyLock<HashMap<char, Letter>> =
    LazyLock::new(|| read(include_bytes!("font.bin")));

/// The outlines of a line of text of size 1, whose foot begins at (0, 0) and goes to the right, and
/// its width. Up is positive.
pub(in crate::plot) fn outlines(text: &str) -> (Outlines, f32) {
    let (mut outlines, mut width) = (Vec::new(), 0.0);
    for letter in text.chars() {
        let letter = LETTERS
            .get(&same(letter))
            .unwrap_or_else(|| &LETTERS[&UNKNOWN]);
        for outline in &letter.outlines {
            outlines.push(outline.iter().map(|(x, y)| (x + width, *y)).collect());
        }
        width += letter.width;
    }
    (outlines, width)
}

/// Letters that look like another.
fn same(letter: char) -> char {
    match letter {
        '\u{a0}' | '\u{2009}' | '\u{202f}' => ' ',
        '\u{2010}' | '\u{2011}' => '-',
        _ => letter,
    }
}

/// The file's form is described in make_font.py.
fn read(bytes: &[u8]) -> HashMap<char, Letter> {
    let mut bytes = bytes.iter().copied();
    let mut letters = HashMap::new();
    while let Some(first) = bytes.next() {
        let mut next = || bytes.next().expect("font.bin is whole");
        let code = u32::from_le_bytes([first, next(), next(), next()]);
        let (width, count) = (f32::from(next()) / EM, next());
        let outlines = (0..count).map(|_| {
            let corners = 0..next();
            let corners = corners.map(|_| (f32::from(next()), f32::from(next())));
            let place = |(x, y): Point| ((x - SHIFT.0) / EM, (y - SHIFT.1) / EM);
            corners.map(place).collect()
        });
        let outlines = outlines.collect();
        letters.insert(
            char::from_u32(code).unwrap_or(UNKNOWN),
            Letter { width, outlines },
        );
    }
    letters
}
