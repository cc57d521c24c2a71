//! The SVG text into which plotters draws.
//!
//! Plotters has a backend for SVG, but it places everything on whole pixels, knows no dashes and no
//! clipping, and rounds widths. Here plotters' unit is a tenth of a pixel.

use super::palette::Stroke;
use super::trace::Place;
use crate::image::Pixels as Pictured;
use plotters::style::RGBColor;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};
use std::convert::Infallible;
use std::fmt::{Display, Write};

/// Plotters' units in a pixel.
pub(super) const UNIT: i32 = 10;

/// How wide a letter is on average, as a part of the font's size; on the generous side.
const LETTER_WIDTH: f64 = 0.58;

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

/// A picture in the making.
pub(super) struct Svg<'a> {
    /// In plotters' units.
    size: (u32, u32),
    text: &'a mut String,
}

impl<'a> Svg<'a> {
    /// Begins a picture of so many pixels; `title` is read to those who cannot see it.
    pub(super) fn begin(text: &'a mut String, (width, height): (u32, u32), title: &str) -> Self {
        let title = Escaped(title);
        put(
            text,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" \
                 height=\"{height}\" viewBox=\"0 0 {width} {height}\" fill=\"none\" \
                 font-family=\"sans-serif\" stroke-linejoin=\"round\">\n<title>{title}</title>\n"
            ),
        );
        let unit = UNIT as u32;
        Svg {
            size: (width * unit, height * unit),
            text,
        }
    }

    /// What is drawn until [`Self::end_clip`] is seen within this rectangle only.
    pub(super) fn begin_clip(&mut self, (left, top): Place, (right, bottom): Place) {
        // The id says which rectangle it is: two pictures on one page may share it.
        let [x, y, w, h] = [left, top, right - left, bottom - top].map(Pixels);
        let id = format!("clip-{left}-{top}-{right}-{bottom}");
        self.put(format_args!(
            "<clipPath id=\"{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>\n\
             <g clip-path=\"url(#{id})\">\n"
        ));
    }

    /// Ends what [`Self::begin_clip`] began.
    pub(super) fn end_clip(&mut self) {
        self.put(format_args!("</g>\n"));
    }

    /// A series' line; a piece of one point is a dot.
    pub(super) fn draw_pieces(&mut self, pieces: &[Vec<Place>], stroke: Stroke) {
        let color = Color(backend_color(stroke));
        for &(x, y) in pieces.iter().filter(|p| p.len() == 1).flatten() {
            let (x, y) = (Pixels(x), Pixels(y));
            self.put(format_args!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"2.2\" fill=\"{color}\"/>\n"
            ));
        }
        let mut path = String::new();
        for piece in pieces.iter().filter(|piece| piece.len() > 1) {
            write_path(&mut path, piece.iter().copied());
        }
        if !path.is_empty() {
            self.put(format_args!(
                "<path d=\"{path}\" stroke=\"{color}\" stroke-width=\"1.6\""
            ));
            if !stroke.dashes.is_empty() {
                self.put(format_args!(" stroke-dasharray=\"{}\"", stroke.dashes));
            }
            self.put(format_args!("/>\n"));
        }
    }

    /// A series' marks: discs, squares, triangles, …; which, the series' number says.
    pub(super) fn draw_marks(&mut self, places: &[Place], number: usize, stroke: Stroke) {
        if places.is_empty() {
            return;
        }
        let mut path = String::new();
        for &(x, y) in places {
            put(&mut path, format_args!("M{} {}", Pixels(x), Pixels(y)));
            path.push_str(MARKS[number % MARKS.len()]);
        }
        let color = Color(backend_color(stroke));
        self.put(format_args!("<path d=\"{path}\" fill=\"{color}\"/>\n"));
    }

    /// Bars, given by two corners of each.
    pub(super) fn draw_bars(&mut self, bars: &[(Place, Place)], stroke: Stroke) {
        let color = Color(backend_color(stroke));
        for &((left, top), (right, bottom)) in bars {
            // Neighbours do not touch, however narrow they are.
            let gap = ((right - left) / 8).min(UNIT / 2);
            let (x, y) = (Pixels(left + gap), Pixels(top.min(bottom)));
            let (w, h) = (Pixels(right - left - 2 * gap), Pixels((bottom - top).abs()));
            self.put(format_args!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{color}\"/>\n"
            ));
        }
    }

    /// Pixels, each of which stays a sharp rectangle however large it becomes.
    pub(super) fn draw_image(&mut self, pixels: &Pictured, (left, top): Place, size: Place) {
        let [x, y, w, h] = [left, top, size.0, size.1].map(Pixels);
        let data = base64(&pixels.encode_png());
        self.put(format_args!(
            "<image x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"/>\n"
        ));
    }

    /// Text of 11 pixels around, before or after a place, in the middle of its height.
    pub(super) fn write(&mut self, text: &str, (x, y): Place, anchor: Anchor, color: RGBColor) {
        let (x, y) = (Pixels(x), Pixels(y));
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (RGBColor(r, g, b), text) = (color, Escaped(text));
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"0.35em\" text-anchor=\"{anchor}\" font-size=\"11\" \
             fill=\"#{r:02x}{g:02x}{b:02x}\">{text}</text>\n"
        ));
    }

    /// The same from below upwards, around a place.
    pub(super) fn write_upwards(&mut self, text: &str, (x, y): Place, color: RGBColor) {
        if text.is_empty() {
            return;
        }
        let (x, y) = (Pixels(x), Pixels(y));
        self.put(format_args!(
            "<g transform=\"translate({x} {y}) rotate(-90)\">\n"
        ));
        self.write(text, (0, 0), Anchor::Middle, color);
        self.put(format_args!("</g>\n"));
    }

    fn put(&mut self, arguments: std::fmt::Arguments) {
        put(self.text, arguments);
    }
}

/// Which part of a text is at its place.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Closed outlines around the current point, about six pixels wide.
const MARKS: [&str; 6] = [
    "m-2.8 0a2.8 2.8 0 1 0 5.6 0a2.8 2.8 0 1 0-5.6 0z",
    "m-2.5-2.5h5v5h-5z",
    "m0-3.4l3.2 5.6h-6.4z",
    "m0-3.6l3.3 3.6l-3.3 3.6l-3.3-3.6z",
    "m0 3.4l3.2-5.6h-6.4z",
    "m-1.1-3.3h2.2v2.2h2.2v2.2h-2.2v2.2h-2.2v-2.2h-2.2v-2.2h2.2z",
];

/// Bytes as text that a `data:` address takes (RFC 4648).
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

/// The last thing drawn has ended.
pub(super) fn end(text: &mut String) {
    text.push_str("</svg>\n");
}

/// About how wide a text will be, in plotters' units; the reader's font is not known here.
pub(super) fn text_width(text: &str, font_size: f64) -> i32 {
    (text.chars().count() as f64 * font_size * LETTER_WIDTH).round() as i32
}

impl DrawingBackend for Svg<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn {
        self.draw_rect(point, (point.0 + UNIT, point.1 + UNIT), &color, true)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let paint = Paint::new(style, fill);
        let [x, y, w, h] = [left, top, right - left, bottom - top].map(Pixels);
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"{paint}/>\n"
        ));
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let mut data = String::new();
        write_path(&mut data, path.into_iter());
        let paint = Paint::new(style, false);
        self.put(format_args!("<path d=\"{data}\"{paint}/>\n"));
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let paint = Paint::new(style, fill);
        let [x, y, radius] = [x, y, radius as i32].map(Pixels);
        self.put(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{paint}/>\n"
        ));
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Drawn {
        let mut data = String::new();
        write_path(&mut data, corners.into_iter());
        let paint = Paint::new(style, true);
        self.put(format_args!("<path d=\"{data}Z\"{paint}/>\n"));
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Drawn {
        // Plotters writes also the names that the axes do not have.
        if text.is_empty() {
            return Ok(());
        }
        let (x, y) = (Pixels(x), Pixels(y));
        let color = Color(style.color());
        let size = style.size() / f64::from(UNIT);
        let anchor = match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Center => "middle",
            HPos::Right => "end",
        };
        let down = match style.anchor().v_pos {
            VPos::Top => "0.8em",
            VPos::Center => "0.35em",
            VPos::Bottom => "-0.25em",
        };
        let angle = match style.transform() {
            FontTransform::None => 0,
            FontTransform::Rotate90 => 90,
            FontTransform::Rotate180 => 180,
            FontTransform::Rotate270 => 270,
        };
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"{down}\" text-anchor=\"{anchor}\" \
             font-size=\"{size}\" fill=\"{color}\""
        ));
        if angle != 0 {
            self.put(format_args!(" transform=\"rotate({angle} {x} {y})\""));
        }
        self.put(format_args!(">{}</text>\n", Escaped(text)));
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok((
            text_width(text, style.size()) as u32,
            style.size().round() as u32,
        ))
    }
}

fn put(text: &mut String, arguments: std::fmt::Arguments) {
    text.write_fmt(arguments)
        .expect("a string takes what is written to it");
}

fn write_path(path: &mut String, places: impl Iterator<Item = Place>) {
    for (i, (x, y)) in places.enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        put(path, format_args!("{command}{} {}", Pixels(x), Pixels(y)));
    }
}

fn backend_color(stroke: Stroke) -> BackendColor {
    let plotters::style::RGBColor(r, g, b) = stroke.color;
    BackendColor {
        alpha: 1.0,
        rgb: (r, g, b),
    }
}

/// Plotters' units as pixels: `12`, `12.5`.
struct Pixels(i32);

impl Display for Pixels {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Pixels(tenths) = *self;
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, rest) = (tenths.abs() / UNIT, tenths.abs() % UNIT);
        match rest {
            0 => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{rest}"),
        }
    }
}

/// `#rrggbb`, with the opacity as two more digits if it is not 1.
struct Color(BackendColor);

impl Display for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let (r, g, b) = self.0.rgb;
        write!(f, "#{r:02x}{g:02x}{b:02x}")?;
        if self.0.alpha < 1.0 {
            write!(f, "{:02x}", (self.0.alpha * 255.0).round() as u8)?;
        }
        Ok(())
    }
}

/// The attributes that fill a shape, or draw its outline.
struct Paint {
    color: Color,
    width: Option<u32>,
}

impl Paint {
    fn new(style: &impl BackendStyle, fill: bool) -> Self {
        Paint {
            color: Color(style.color()),
            width: (!fill).then(|| style.stroke_width()),
        }
    }
}

impl Display for Paint {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let color = &self.color;
        match self.width {
            None => write!(f, " fill=\"{color}\""),
            Some(width) => {
                let width = Pixels(width as i32);
                write!(f, " stroke=\"{color}\" stroke-width=\"{width}\"")
            }
        }
    }
}

/// Text as XML takes it; control characters, which it does not take at all, become spaces.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_tenths_of_a_pixel() {
        let shown = [0, 7, 120, -35, 1234].map(|tenths| Pixels(tenths).to_string());
        assert_eq!(shown, ["0", "0.7", "12", "-3.5", "123.4"]);
    }

    /// The examples of RFC 4648.
    #[test]
    fn bytes_become_base64() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    #[test]
    fn text_is_safe_in_xml() {
        let shown = Escaped("a<b & \"c\"\u{1b}[0m é").to_string();
        assert_eq!(shown, "a&lt;b &amp; &quot;c&quot; [0m é");
    }
}
