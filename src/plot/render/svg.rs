//! Parts of SVG files.

use super::UNIT;
use super::decimate::Point;
use super::palette::{Marker, Rgb, marker};
use crate::image::RgbImage;
use std::fmt::{Display, Formatter, Result};

/// Returns an image in a rectangle, whose pixels keep sharp edges.
pub(super) fn image(image: &RgbImage, frame: Frame) -> String {
    let data = base64(&image.encode_png());
    format!(
        "<image {frame} preserveAspectRatio=\"none\" \
         style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"/>"
    )
}

/// Returns the line through these points as a part of a path.
pub(super) fn line(points: &[Point]) -> String {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        path += &format!("{command}{} {}", Length(*x), Length(*y));
    }
    path
}

/// Returns the outline of a marker as a part of a path that begins in its centre.
pub(super) fn outline(index: usize) -> String {
    match marker(index) {
        Marker::Disc(radius) => {
            let (r, width) = (Length(radius), Length(2 * radius));
            let (right, left) = (format!("a{r} {r} 0 1 0 {width} 0"), Length(-2 * radius));
            format!("m-{r} 0{right}a{r} {r} 0 1 0{left} 0z")
        }
        Marker::Polygon(corners) => {
            let (mut outline, mut at) = (String::new(), (0, 0));
            for (i, &(x, y)) in corners.iter().enumerate() {
                let command = if i == 0 { 'm' } else { 'l' };
                let (dx, dy) = (Length(x - at.0), Length(y - at.1));
                outline += &format!("{command}{dx} {dy}");
                at = (x, y);
            }
            outline + "z"
        }
    }
}

/// Encodes bytes as base64, which the standard library does not offer.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            match i <= three.len() {
                true => text.push(LETTERS[(bits >> (18 - 6 * i)) as usize & 63] as char),
                false => text.push('='),
            }
        }
    }
    text
}

/// A rectangle: its upper left corner and its size.
#[derive(Clone, Copy)]
pub(super) struct Frame(pub(super) Point, pub(super) Point);

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let [x, y, w, h] = [self.0.0, self.0.1, self.1.0, self.1.1].map(Length);
        write!(f, "x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"")
    }
}

/// A length in tenths of a pixel, written in pixels.
pub(super) struct Length(pub(super) i32);

impl Display for Length {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let Length(tenths) = *self;
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, rest) = (tenths.abs() / UNIT, tenths.abs() % UNIT);
        match rest {
            0 => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{rest}"),
        }
    }
}

impl Display for Rgb {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let Rgb(r, g, b) = self;
        write!(f, "#{r:02x}{g:02x}{b:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_written_in_pixels() {
        let shown = [0, 7, 120, -35, 1234].map(|tenths| Length(tenths).to_string());
        assert_eq!(shown, ["0", "0.7", "12", "-3.5", "123.4"]);
    }

    #[test]
    fn bytes_are_encoded_as_base64() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }
}
