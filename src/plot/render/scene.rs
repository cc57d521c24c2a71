//! The scene: everything in a figure. All but images is kept as the elements of the SVG file.

use super::UNIT;
use super::decimate::Point;
use super::palette::{INK, Rgb, Stroke};
use super::svg::{self, Frame, Length, line, outline};
use super::text::FONT;
use crate::image::RgbImage;
use crate::notebook::Escaped;

/// A list of items, drawn in the order of the list. Coordinates and sizes are in tenths of a pixel.
pub(in crate::plot) struct Scene {
    /// The width and the height in pixels.
    pub(in crate::plot) size: (u32, u32),
    /// A description for screen readers.
    pub(super) title: String,
    pub(super) items: Vec<Item>,
}

/// An item of a scene.
pub(super) enum Item {
    /// An image, which is also saved as PNG.
    Image { image: RgbImage, frame: Frame },
    /// An element of an SVG file.
    Element(String),
}

/// The horizontal part of a text that is at its position.
#[derive(Clone, Copy)]
pub(in crate::plot) enum Anchor {
    Start,
    Middle,
    End,
}

/// The part of a line's height that is at the position of a text.
#[derive(Clone, Copy)]
pub(in crate::plot) enum Line {
    Top,
    Middle,
    Bottom,
}

impl Scene {
    /// Creates an empty scene of this size in pixels.
    pub(in crate::plot) fn new(size: (u32, u32), title: impl Into<String>) -> Self {
        Scene {
            size,
            title: title.into(),
            items: Vec::new(),
        }
    }

    /// Returns the scene as the text of an SVG file. Its title is for screen readers.
    pub(in crate::plot) fn svg(&self) -> String {
        let ((width, height), title) = (self.size, Escaped(&self.title));
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" fill=\"none\" \
             font-family=\"sans-serif\" stroke-linejoin=\"round\">\n<title>{title}</title>\n"
        );
        for item in &self.items {
            text += &match item {
                Item::Element(element) => format!("{element}\n"),
                Item::Image { image, frame } => svg::image(image, *frame) + "\n",
            };
        }
        text + "</svg>\n"
    }

    fn push(&mut self, element: String) {
        self.items.push(Item::Element(element));
    }

    /// Clips what follows to a rectangle.
    pub(in crate::plot) fn begin_clip(&mut self, (left, top): Point, (right, bottom): Point) {
        // The id contains the rectangle, so two figures on one page may share it.
        let id = format!("clip-{left}-{top}-{right}-{bottom}");
        let frame = Frame((left, top), (right - left, bottom - top));
        self.push(format!(
            "<clipPath id=\"{id}\"><rect {frame}/></clipPath>\n<g clip-path=\"url(#{id})\">"
        ));
    }

    pub(in crate::plot) fn end_clip(&mut self) {
        self.push("</g>".to_owned());
    }

    /// Draws all segments of a line as one path, so that gaps cost nothing. A single point becomes a
    /// dot.
    pub(in crate::plot) fn draw_segments(&mut self, segments: &[Vec<Point>], stroke: Stroke) {
        let color = stroke.color;
        for (x, y) in segments.iter().filter(|p| p.len() == 1).flatten() {
            let [x, y, radius] = [*x, *y, 22].map(Length);
            self.push(format!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{color}\"/>"
            ));
        }
        let lines = segments.iter().filter(|segment| segment.len() > 1);
        let path: String = lines.map(|segment| line(segment)).collect();
        if !path.is_empty() {
            self.draw_path(&path, &color.to_string(), 20, stroke.dashes);
        }
    }

    /// Draws a path, with lengths of dashes and gaps in turn, in pixels.
    fn draw_path(&mut self, path: &str, color: &str, width: i32, dashes: &[f64]) {
        let dashes: Vec<String> = dashes.iter().map(f64::to_string).collect();
        let dashes = match dashes.is_empty() {
            true => String::new(),
            false => format!(" stroke-dasharray=\"{}\"", dashes.join(" ")),
        };
        let width = Length(width);
        self.push(format!(
            "<path d=\"{path}\" stroke=\"{color}\" stroke-width=\"{width}\"{dashes}/>"
        ));
    }

    /// Draws markers of one shape; see [`marker`](super::palette::marker).
    pub(in crate::plot) fn draw_markers(
        &mut self,
        points: &[Point],
        marker: usize,
        stroke: Stroke,
    ) {
        if points.is_empty() {
            return;
        }
        let (outline, color) = (outline(marker), stroke.color);
        let marker = |(x, y): &Point| format!("M{} {}{outline}", Length(*x), Length(*y));
        let path: String = points.iter().map(marker).collect();
        self.push(format!("<path d=\"{path}\" fill=\"{color}\"/>"));
    }

    /// Draws bars between two corners: the upper left and the lower right one, or for a negative bar
    /// the lower left and the upper right one.
    pub(in crate::plot) fn draw_bars(&mut self, bars: &[(Point, Point)], stroke: Stroke) {
        for &((left, top), (right, bottom)) in bars {
            // Leaves a gap between neighbours that are wider than a pixel.
            let gap = match right - left {
                width if width > UNIT => (width / 8).min(UNIT / 2),
                _ => 0,
            };
            let corner = (left + gap, top.min(bottom));
            let frame = Frame(corner, (right - left - 2 * gap, (bottom - top).abs()));
            self.push(format!("<rect {frame} fill=\"{}\"/>", stroke.color));
        }
    }

    /// Draws a line of an axis.
    pub(in crate::plot) fn draw_rule(&mut self, from: Point, to: Point) {
        self.draw_path(&line(&[from, to]), &INK.to_string(), UNIT, &[]);
    }

    /// Draws a line of the grid, a quarter as strong.
    pub(in crate::plot) fn draw_grid_line(&mut self, from: Point, to: Point) {
        self.draw_path(&line(&[from, to]), &format!("{INK}40"), UNIT * 7 / 10, &[]);
    }

    /// Draws the outline of a rectangle.
    pub(in crate::plot) fn draw_frame(
        &mut self,
        (left, top): Point,
        (width, height): Point,
        color: Rgb,
        dashes: &[f64],
    ) {
        let (right, bottom) = (left + width, top + height);
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
        self.draw_path(&(line(&corners) + "Z"), &color.to_string(), UNIT, dashes);
    }

    /// Draws an image into a rectangle. Pixels keep sharp edges at every size.
    pub(in crate::plot) fn draw_image(&mut self, image: &RgbImage, corner: Point, size: Point) {
        let (image, frame) = (image.clone(), Frame(corner, size));
        self.items.push(Item::Image { image, frame });
    }

    /// Writes a line of text. The position is at half the height of the line.
    pub(in crate::plot) fn write(
        &mut self,
        text: &str,
        position: Point,
        anchor: Anchor,
        color: Rgb,
    ) {
        self.write_at(text, position, (anchor, Line::Middle), color, "");
    }

    /// Writes a line of text whose middle is at the position.
    pub(in crate::plot) fn write_centred(&mut self, text: &str, position: Point, line: Line) {
        self.write_at(text, position, (Anchor::Middle, line), INK, "");
    }

    /// Writes a line of text from bottom to top, whose middle is at the position.
    pub(in crate::plot) fn write_upwards(&mut self, text: &str, position: Point, line: Line) {
        let (x, y) = (Length(position.0), Length(position.1));
        let turned = format!(" transform=\"rotate(270 {x} {y})\"");
        self.write_at(text, position, (Anchor::Middle, line), INK, &turned);
    }

    fn write_at(
        &mut self,
        text: &str,
        position: Point,
        (anchor, line): (Anchor, Line),
        color: Rgb,
        transform: &str,
    ) {
        if text.is_empty() {
            return;
        }
        let [x, y, size] = [position.0, position.1, FONT as i32].map(Length);
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        // How far the baseline is below the position, as a fraction of the font size.
        let down = match line {
            Line::Top => 0.8,
            Line::Middle => 0.35,
            Line::Bottom => -0.25,
        };
        let text = Escaped(text);
        self.push(format!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"{down}em\" text-anchor=\"{anchor}\" \
             font-size=\"{size}\" fill=\"{color}\"{transform}>{text}</text>"
        ));
    }
}
