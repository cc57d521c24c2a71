//! The scene: a list of everything in a figure, which `svg` writes as SVG. Lengths are tenths of a pixel.

use super::UNIT;
use super::decimate::Point;
use super::palette::{Color, INK, Stroke};
use crate::image::RgbImage;

/// A list of items, drawn in the order of the list.
pub(in crate::plot) struct Scene {
    /// The width and the height in pixels.
    pub(in crate::plot) size: (u32, u32),
    /// A description for screen readers.
    pub(in crate::plot) title: String,
    pub(in crate::plot) items: Vec<Item>,
}

/// An item of a scene. Coordinates and sizes are in tenths of a pixel.
pub(in crate::plot) enum Item {
    Rect {
        corner: Point,
        size: Point,
        paint: Paint,
    },
    Circle {
        centre: Point,
        radius: i32,
        paint: Paint,
    },
    Path {
        segments: Vec<Vec<Point>>,
        closed: bool,
        paint: Paint,
        /// Lengths of dashes and gaps in turn, in pixels.
        dashes: &'static [f64],
    },
    /// The same marker at many points.
    Markers {
        points: Vec<Point>,
        marker: usize,
        color: Color,
    },
    Image {
        image: RgbImage,
        corner: Point,
        size: Point,
    },
    Text(Text),
    /// Clips the items that follow to a rectangle.
    BeginClip {
        from: Point,
        to: Point,
    },
    EndClip,
}

/// A colour that fills a shape or, with a width, strokes its outline.
#[derive(Clone, Copy)]
pub(in crate::plot) struct Paint {
    pub(in crate::plot) color: Color,
    pub(in crate::plot) width: Option<i32>,
    /// From 0, transparent, to 255.
    pub(in crate::plot) alpha: u8,
}

/// A line of text.
pub(in crate::plot) struct Text {
    pub(in crate::plot) text: String,
    pub(in crate::plot) position: Point,
    /// The part of the text that is at the position, and how far the baseline is below it, as a fraction
    /// of the font size.
    pub(in crate::plot) anchor: (Anchor, f64),
    /// The rotation in degrees, clockwise.
    pub(in crate::plot) angle: i32,
    pub(in crate::plot) color: Color,
}

/// The horizontal part of a text that is at its position.
#[derive(Clone, Copy)]
pub(in crate::plot) enum Anchor {
    Start,
    Middle,
    End,
}

/// The baseline of a text below its position, above it, and of a text at half its height.
pub(in crate::plot) const BELOW: f64 = 0.8;
pub(in crate::plot) const ABOVE: f64 = -0.25;
const HALF: f64 = 0.35;

impl Scene {
    /// Creates an empty scene of this size in pixels.
    pub(in crate::plot) fn new(size: (u32, u32), title: impl Into<String>) -> Self {
        Scene {
            size,
            title: title.into(),
            items: Vec::new(),
        }
    }

    pub(in crate::plot) fn begin_clip(&mut self, from: Point, to: Point) {
        self.items.push(Item::BeginClip { from, to });
    }

    pub(in crate::plot) fn end_clip(&mut self) {
        self.items.push(Item::EndClip);
    }

    /// Draws all segments of a line as one path, so that gaps cost nothing. A single point becomes a
    /// dot.
    pub(in crate::plot) fn draw_segments(&mut self, segments: &[Vec<Point>], stroke: Stroke) {
        for &centre in segments.iter().filter(|p| p.len() == 1).flatten() {
            let (radius, paint) = (22, Paint::filled(stroke.color));
            self.items.push(Item::Circle {
                centre,
                radius,
                paint,
            });
        }
        let lines = segments.iter().filter(|segment| segment.len() > 1);
        let segments: Vec<Vec<Point>> = lines.cloned().collect();
        if !segments.is_empty() {
            self.items.push(Item::Path {
                segments,
                closed: false,
                paint: Paint::stroked(stroke.color, 20),
                dashes: stroke.dashes,
            });
        }
    }

    /// Draws markers of one shape; see [`marker`](super::palette::marker).
    pub(in crate::plot) fn draw_markers(
        &mut self,
        points: &[Point],
        marker: usize,
        stroke: Stroke,
    ) {
        if !points.is_empty() {
            self.items.push(Item::Markers {
                points: points.to_vec(),
                marker,
                color: stroke.color,
            });
        }
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
            self.items.push(Item::Rect {
                corner: (left + gap, top.min(bottom)),
                size: (right - left - 2 * gap, (bottom - top).abs()),
                paint: Paint::filled(stroke.color),
            });
        }
    }

    /// Draws a line of an axis.
    pub(in crate::plot) fn draw_rule(&mut self, from: Point, to: Point) {
        self.draw_path(vec![from, to], false, Paint::stroked(INK, UNIT), &[]);
    }

    /// Draws a line of the grid: thin, and faint on every page.
    pub(in crate::plot) fn draw_grid_line(&mut self, from: Point, to: Point) {
        let paint = Paint {
            alpha: 64,
            ..Paint::stroked(INK, 7)
        };
        self.draw_path(vec![from, to], false, paint, &[]);
    }

    /// Draws the outline of a rectangle.
    pub(in crate::plot) fn draw_frame(
        &mut self,
        (left, top): Point,
        (width, height): Point,
        color: Color,
        dashes: &'static [f64],
    ) {
        let (right, bottom) = (left + width, top + height);
        let corners = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
        self.draw_path(corners, true, Paint::stroked(color, UNIT), dashes);
    }

    fn draw_path(
        &mut self,
        points: Vec<Point>,
        closed: bool,
        paint: Paint,
        dashes: &'static [f64],
    ) {
        self.items.push(Item::Path {
            segments: vec![points],
            closed,
            paint,
            dashes,
        });
    }

    /// Draws an image into a rectangle. Pixels keep sharp edges at every size.
    pub(in crate::plot) fn draw_image(&mut self, image: &RgbImage, corner: Point, size: Point) {
        let image = image.clone();
        self.items.push(Item::Image {
            image,
            corner,
            size,
        });
    }

    /// Writes a line of text. The position is at half the height of the line.
    pub(in crate::plot) fn write(
        &mut self,
        text: &str,
        position: Point,
        anchor: Anchor,
        color: Color,
    ) {
        self.write_rotated(text, position, (anchor, HALF), color, 0);
    }

    /// Writes a line of text from bottom to top.
    pub(in crate::plot) fn write_upwards(&mut self, text: &str, position: Point, color: Color) {
        self.write_rotated(text, position, (Anchor::Middle, HALF), color, 270);
    }

    /// Writes a label of an axis.
    pub(in crate::plot) fn place(
        &mut self,
        text: &str,
        position: Point,
        anchor: (Anchor, f64),
        angle: i32,
    ) {
        self.write_rotated(text, position, anchor, INK, angle);
    }

    fn write_rotated(
        &mut self,
        text: &str,
        position: Point,
        anchor: (Anchor, f64),
        color: Color,
        angle: i32,
    ) {
        if !text.is_empty() {
            self.items.push(Item::Text(Text {
                text: text.to_owned(),
                position,
                anchor,
                angle,
                color,
            }));
        }
    }
}

impl Paint {
    fn filled(color: Color) -> Self {
        Paint {
            color,
            width: None,
            alpha: 255,
        }
    }

    fn stroked(color: Color, width: i32) -> Self {
        Paint {
            width: Some(width),
            ..Paint::filled(color)
        }
    }
}
