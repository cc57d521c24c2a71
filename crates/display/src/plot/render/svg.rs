//! Writes a scene as SVG.

use super::UNIT;
use super::decimate::Point;
use super::palette::{Marker, marker};
use super::scene::{Item, Paint, Scene, Text};
use crate::image::RgbImage;
use crate::notebook::Escaped;
use plotters_backend::BackendColor;
use plotters_backend::text_anchor::{HPos, VPos};
use std::fmt::{Display, Formatter, Result, Write};

impl Scene {
    /// Returns the scene as the text of an SVG file. Its title is for screen readers.
    pub(in crate::plot) fn svg(&self) -> String {
        let ((width, height), title) = (self.size, Escaped(&self.title));
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" fill=\"none\" \
             font-family=\"sans-serif\" stroke-linejoin=\"round\">\n<title>{title}</title>\n"
        );
        for item in &self.items {
            writeln!(text, "{item}").expect("writing to a string cannot fail");
        }
        text.push_str("</svg>\n");
        text
    }
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Item::Rect {
                corner,
                size,
                paint,
            } => {
                write!(f, "<rect {}{paint}/>", Frame(*corner, *size))
            }
            Item::Circle {
                centre: (x, y),
                radius,
                paint,
            } => {
                let [x, y, radius] = [*x, *y, *radius].map(Length);
                write!(f, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{paint}/>")
            }
            Item::Path {
                segments,
                closed,
                paint,
                dashes,
            } => {
                f.write_str("<path d=\"")?;
                let mut segments = segments.iter();
                segments.try_for_each(|segment| write_segment(f, segment))?;
                write!(f, "{}\"{paint}", if *closed { "Z" } else { "" })?;
                write_dashes(f, dashes)?;
                f.write_str("/>")
            }
            Item::Markers {
                points,
                marker,
                color,
            } => write_markers(f, points, *marker, *color),
            Item::Image {
                image,
                corner,
                size,
            } => write_image(f, image, Frame(*corner, *size)),
            Item::Text(text) => text.fmt(f),
            Item::BeginClip { from, to } => write_clip(f, *from, *to),
            Item::EndClip => f.write_str("</g>"),
        }
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let (x, y) = (Length(self.position.0), Length(self.position.1));
        let anchor = match self.anchor.0 {
            HPos::Left => "start",
            HPos::Center => "middle",
            HPos::Right => "end",
        };
        let down = baseline_offset(self.anchor.1);
        let (size, color, text) = (self.size, Color(self.color), Escaped(&self.text));
        write!(
            f,
            "<text x=\"{x}\" y=\"{y}\" dy=\"{down}em\" text-anchor=\"{anchor}\" \
             font-size=\"{size}\" fill=\"{color}\""
        )?;
        if self.angle != 0 {
            write!(f, " transform=\"rotate({} {x} {y})\"", self.angle)?;
        }
        write!(f, ">{text}</text>")
    }
}

/// Returns how far the baseline is below the position, as a fraction of the font size.
fn baseline_offset(anchor: VPos) -> f64 {
    match anchor {
        VPos::Top => 0.8,
        VPos::Center => 0.35,
        VPos::Bottom => -0.25,
    }
}

fn write_segment(f: &mut Formatter, points: &[Point]) -> Result {
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        write!(f, "{command}{} {}", Length(*x), Length(*y))?;
    }
    Ok(())
}

fn write_dashes(f: &mut Formatter, dashes: &[f64]) -> Result {
    if dashes.is_empty() {
        return Ok(());
    }
    let dashes: Vec<String> = dashes.iter().map(f64::to_string).collect();
    write!(f, " stroke-dasharray=\"{}\"", dashes.join(" "))
}

fn write_markers(f: &mut Formatter, points: &[Point], index: usize, color: BackendColor) -> Result {
    let mut outline = String::new();
    match marker(index) {
        Marker::Disc(radius) => {
            let (r, width) = (Length(radius), Length(2 * radius));
            let (right, left) = (format!("a{r} {r} 0 1 0 {width} 0"), Length(-2 * radius));
            write!(outline, "m-{r} 0{right}a{r} {r} 0 1 0{left} 0z")?;
        }
        Marker::Polygon(corners) => {
            let mut at = (0, 0);
            for (i, &(x, y)) in corners.iter().enumerate() {
                let command = if i == 0 { 'm' } else { 'l' };
                let (dx, dy) = (Length(x - at.0), Length(y - at.1));
                write!(outline, "{command}{dx} {dy}")?;
                at = (x, y);
            }
            outline.push('z');
        }
    }
    f.write_str("<path d=\"")?;
    for &(x, y) in points {
        write!(f, "M{} {}{outline}", Length(x), Length(y))?;
    }
    write!(f, "\" fill=\"{}\"/>", Color(color))
}

fn write_image(f: &mut Formatter, image: &RgbImage, frame: Frame) -> Result {
    let data = base64(&image.encode_png());
    write!(
        f,
        "<image {frame} preserveAspectRatio=\"none\" \
         style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"/>"
    )
}

fn write_clip(f: &mut Formatter, (left, top): Point, (right, bottom): Point) -> Result {
    // The id contains the rectangle, so two figures on one page may share it.
    let id = format!("clip-{left}-{top}-{right}-{bottom}");
    let frame = Frame((left, top), (right - left, bottom - top));
    write!(
        f,
        "<clipPath id=\"{id}\"><rect {frame}/></clipPath>\n<g clip-path=\"url(#{id})\">"
    )
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
struct Frame(Point, Point);

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let [x, y, w, h] = [self.0.0, self.0.1, self.1.0, self.1.1].map(Length);
        write!(f, "x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"")
    }
}

/// A length in tenths of a pixel, written in pixels.
struct Length(i32);

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

struct Color(BackendColor);

impl Display for Color {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let (r, g, b) = self.0.rgb;
        write!(f, "#{r:02x}{g:02x}{b:02x}")?;
        if self.0.alpha < 1.0 {
            write!(f, "{:02x}", (self.0.alpha * 255.0).round() as u8)?;
        }
        Ok(())
    }
}

impl Display for Paint {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let color = Color(self.color);
        match self.width.map(Length) {
            None => write!(f, " fill=\"{color}\""),
            Some(width) => write!(f, " stroke=\"{color}\" stroke-width=\"{width}\""),
        }
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
