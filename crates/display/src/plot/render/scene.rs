//! The scene: a list of everything in a figure. It is also a drawing backend for plotters.
//!
//! `svg` writes the list as SVG. Plotters' own SVG backend is not enough: it places everything on
//! whole pixels, rounds line widths, and has neither dashes nor clipping. Here a unit of plotters is a
//! tenth of a pixel.

use super::UNIT;
use super::decimate::Point;
use super::palette::{INK, Stroke};
use super::text::text_width;
use crate::image::RgbImage;
use plotters::style::RGBColor;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};
use std::convert::Infallible;

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

/// A list of items, drawn in the order of the list.
pub(in crate::plot) struct Scene {
    /// The width and the height in pixels.
    pub(in crate::plot) size: (u32, u32),
    /// A description for screen readers.
    pub(in crate::plot) title: String,
    pub(in crate::plot) items: Vec<Item>,
}

/// An item of a scene. Coordinates and sizes are in plotters' units.
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
        color: BackendColor,
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
    pub(in crate::plot) color: BackendColor,
    pub(in crate::plot) width: Option<i32>,
}

/// A line of text.
pub(in crate::plot) struct Text {
    pub(in crate::plot) text: String,
    pub(in crate::plot) position: Point,
    /// The part of the text that is at the position.
    pub(in crate::plot) anchor: (HPos, VPos),
    /// The font size in pixels.
    pub(in crate::plot) size: f64,
    /// The rotation in degrees, clockwise.
    pub(in crate::plot) angle: i32,
    pub(in crate::plot) color: BackendColor,
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

    pub(in crate::plot) fn begin_clip(&mut self, from: Point, to: Point) {
        self.items.push(Item::BeginClip { from, to });
    }

    pub(in crate::plot) fn end_clip(&mut self) {
        self.items.push(Item::EndClip);
    }

    /// Draws all segments of a line as one path, so that gaps cost nothing. A single point becomes a
    /// dot.
    pub(in crate::plot) fn draw_segments(&mut self, segments: &[Vec<Point>], stroke: Stroke) {
        let color = opaque(stroke.color);
        for &centre in segments.iter().filter(|p| p.len() == 1).flatten() {
            let (radius, paint) = (22, Paint::filled(color));
            self.items.push(Item::Circle {
                centre,
                radius,
                paint,
            });
        }
        let lines = segments.iter().filter(|segment| segment.len() > 1);
        let segments: Vec<Vec<Point>> = lines.cloned().collect();
        if !segments.is_empty() {
            self.draw_lines(
                segments,
                false,
                Paint::line(stroke.color, 20),
                stroke.dashes,
            );
        }
    }

    fn draw_lines(
        &mut self,
        segments: Vec<Vec<Point>>,
        closed: bool,
        paint: Paint,
        dashes: &'static [f64],
    ) {
        self.items.push(Item::Path {
            segments,
            closed,
            paint,
            dashes,
        });
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
                color: opaque(stroke.color),
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
                paint: Paint::filled(opaque(stroke.color)),
            });
        }
    }

    /// Draws a line of an axis.
    pub(in crate::plot) fn draw_rule(&mut self, from: Point, to: Point) {
        self.draw_lines(vec![vec![from, to]], false, Paint::line(INK, UNIT), &[]);
    }

    /// Draws the outline of a rectangle.
    pub(in crate::plot) fn draw_frame(
        &mut self,
        (left, top): Point,
        (width, height): Point,
        color: RGBColor,
        dashes: &'static [f64],
    ) {
        let (right, bottom) = (left + width, top + height);
        let corners = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
        self.draw_lines(vec![corners], true, Paint::line(color, UNIT), dashes);
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

    /// Writes a line of text in the usual font size. The position is at half the height of the line.
    pub(in crate::plot) fn write(
        &mut self,
        text: &str,
        position: Point,
        anchor: HPos,
        color: RGBColor,
    ) {
        self.write_rotated(text, position, anchor, color, 0);
    }

    /// Writes a line of text from bottom to top.
    pub(in crate::plot) fn write_upwards(&mut self, text: &str, position: Point, color: RGBColor) {
        self.write_rotated(text, position, HPos::Center, color, 270);
    }

    fn write_rotated(
        &mut self,
        text: &str,
        position: Point,
        anchor: HPos,
        color: RGBColor,
        angle: i32,
    ) {
        if !text.is_empty() {
            self.items.push(Item::Text(Text {
                text: text.to_owned(),
                position,
                anchor: (anchor, VPos::Center),
                size: 11.0,
                angle,
                color: opaque(color),
            }));
        }
    }
}

impl Paint {
    pub(in crate::plot) fn filled(color: BackendColor) -> Self {
        Paint { color, width: None }
    }

    fn line(color: RGBColor, width: i32) -> Self {
        let color = opaque(color);
        Paint {
            color,
            width: Some(width),
        }
    }
}

fn opaque(RGBColor(r, g, b): RGBColor) -> BackendColor {
    BackendColor {
        alpha: 1.0,
        rgb: (r, g, b),
    }
}

impl DrawingBackend for &mut Scene {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        let unit = UNIT as u32;
        (self.size.0 * unit, self.size.1 * unit)
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, corner: BackendCoord, color: BackendColor) -> Drawn {
        self.items.push(Item::Rect {
            corner,
            size: (UNIT, UNIT),
            paint: Paint::filled(color),
        });
        Ok(())
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let paint = Paint {
            color: style.color(),
            width: Some(style.stroke_width() as i32),
        };
        self.draw_lines(vec![path.into_iter().collect()], false, paint, &[]);
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        position: BackendCoord,
    ) -> Drawn {
        // Plotters writes the labels of axes even if they are empty.
        if text.is_empty() {
            return Ok(());
        }
        self.items.push(Item::Text(Text {
            text: text.to_owned(),
            position,
            anchor: (style.anchor().h_pos, style.anchor().v_pos),
            size: style.size() / f64::from(UNIT),
            angle: match style.transform() {
                FontTransform::None => 0,
                FontTransform::Rotate90 => 90,
                FontTransform::Rotate180 => 180,
                FontTransform::Rotate270 => 270,
            },
            color: style.color(),
        }));
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
