//! A picture as a list of what is on it, into which plotters draws too.
//!
//! From the list come the text of an SVG file and pixels. Plotters has backends for both, but its
//! SVG places everything on whole pixels, knows no dashes and no clipping and rounds widths, and its
//! pixels take a font from the system. Here plotters' unit is a tenth of a pixel.

use super::UNIT;
use super::decimate::Place;
use super::palette::Stroke;
use super::text::text_width;
use crate::image::Pixels;
use plotters::style::RGBColor;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};
use std::convert::Infallible;

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

/// A picture of this size in pixels.
pub(in crate::plot) struct Scene {
    pub(in crate::plot) size: (u32, u32),
    /// What is to be seen on it, in words.
    pub(in crate::plot) title: String,
    pub(in crate::plot) items: Vec<Item>,
}

/// Places and sizes are in units.
pub(in crate::plot) enum Item {
    Rect {
        corner: Place,
        size: Place,
        paint: Paint,
    },
    Circle {
        centre: Place,
        radius: i32,
        paint: Paint,
    },
    Path {
        pieces: Vec<Vec<Place>>,
        closed: bool,
        paint: Paint,
        /// In pixels: drawn, left out, drawn, …
        dashes: &'static [f64],
    },
    /// The same mark in many places.
    Marks {
        places: Vec<Place>,
        mark: usize,
        color: BackendColor,
    },
    Image {
        pixels: Pixels,
        corner: Place,
        size: Place,
    },
    Text(Text),
    /// What follows is seen within a rectangle only.
    BeginClip {
        from: Place,
        to: Place,
    },
    EndClip,
}

/// Filled, or a line of this width.
#[derive(Clone, Copy)]
pub(in crate::plot) struct Paint {
    pub(in crate::plot) color: BackendColor,
    pub(in crate::plot) width: Option<i32>,
}

/// One line of text at a place.
pub(in crate::plot) struct Text {
    pub(in crate::plot) text: String,
    pub(in crate::plot) place: Place,
    /// Which part of the text is at the place.
    pub(in crate::plot) anchor: (Anchor, VPos),
    /// In pixels.
    pub(in crate::plot) size: f64,
    /// Clockwise, in degrees.
    pub(in crate::plot) angle: i32,
    pub(in crate::plot) color: BackendColor,
}

/// Which end of a text is at its place.
#[derive(Clone, Copy)]
pub(in crate::plot) enum Anchor {
    Start,
    Middle,
    End,
}

impl Scene {
    pub(in crate::plot) fn new(size: (u32, u32), title: impl Into<String>) -> Self {
        Scene {
            size,
            title: title.into(),
            items: Vec::new(),
        }
    }

    pub(in crate::plot) fn begin_clip(&mut self, from: Place, to: Place) {
        self.items.push(Item::BeginClip { from, to });
    }

    pub(in crate::plot) fn end_clip(&mut self) {
        self.items.push(Item::EndClip);
    }

    /// One path for all pieces, so that a gap costs nothing; a lone point is a dot.
    pub(in crate::plot) fn draw_pieces(&mut self, pieces: &[Vec<Place>], stroke: Stroke) {
        let color = opaque(stroke.color);
        for &centre in pieces.iter().filter(|p| p.len() == 1).flatten() {
            let (radius, paint) = (22, Paint::filled(color));
            self.items.push(Item::Circle {
                centre,
                radius,
                paint,
            });
        }
        let lines = pieces.iter().filter(|piece| piece.len() > 1);
        let pieces: Vec<Vec<Place>> = lines.cloned().collect();
        if !pieces.is_empty() {
            self.items.push(Item::Path {
                pieces,
                closed: false,
                paint: Paint {
                    color,
                    width: Some(16),
                },
                dashes: stroke.dashes,
            });
        }
    }

    /// Marks that look alike; `number` says which.
    pub(in crate::plot) fn draw_marks(&mut self, places: &[Place], number: usize, stroke: Stroke) {
        if !places.is_empty() {
            self.items.push(Item::Marks {
                places: places.to_vec(),
                mark: number,
                color: opaque(stroke.color),
            });
        }
    }

    /// Bars from their upper left to their lower right corner, or to the foot above them.
    pub(in crate::plot) fn draw_bars(&mut self, bars: &[(Place, Place)], stroke: Stroke) {
        for &((left, top), (right, bottom)) in bars {
            // Neighbours do not touch, unless they are no wider than a pixel.
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

    /// Pixels in a rectangle, each with sharp edges however large it becomes.
    pub(in crate::plot) fn draw_image(&mut self, pixels: &Pixels, corner: Place, size: Place) {
        let pixels = pixels.clone();
        self.items.push(Item::Image {
            pixels,
            corner,
            size,
        });
    }

    /// One line of text of the usual size, at the middle of its height.
    pub(in crate::plot) fn write(
        &mut self,
        text: &str,
        place: Place,
        anchor: Anchor,
        color: RGBColor,
    ) {
        self.write_turned(text, place, anchor, color, 0);
    }

    /// The same from bottom to top.
    pub(in crate::plot) fn write_upwards(&mut self, text: &str, place: Place, color: RGBColor) {
        self.write_turned(text, place, Anchor::Middle, color, 270);
    }

    fn write_turned(
        &mut self,
        text: &str,
        place: Place,
        anchor: Anchor,
        color: RGBColor,
        angle: i32,
    ) {
        if !text.is_empty() {
            self.items.push(Item::Text(Text {
                text: text.to_owned(),
                place,
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

    fn new(style: &impl BackendStyle, fill: bool) -> Self {
        Paint {
            color: style.color(),
            width: (!fill).then(|| style.stroke_width() as i32),
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
        self.items.push(Item::Rect {
            corner: (left, top),
            size: (right - left, bottom - top),
            paint: Paint::new(style, fill),
        });
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.items.push(Item::Path {
            pieces: vec![path.into_iter().collect()],
            closed: false,
            paint: Paint::new(style, false),
            dashes: &[],
        });
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        centre: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        self.items.push(Item::Circle {
            centre,
            radius: radius as i32,
            paint: Paint::new(style, fill),
        });
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Drawn {
        self.items.push(Item::Path {
            pieces: vec![corners.into_iter().collect()],
            closed: true,
            paint: Paint::new(style, true),
            dashes: &[],
        });
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        place: BackendCoord,
    ) -> Drawn {
        // Plotters writes also the names that the axes do not have.
        if text.is_empty() {
            return Ok(());
        }
        let anchor = match style.anchor().h_pos {
            HPos::Left => Anchor::Start,
            HPos::Center => Anchor::Middle,
            HPos::Right => Anchor::End,
        };
        self.items.push(Item::Text(Text {
            text: text.to_owned(),
            place,
            anchor: (anchor, style.anchor().v_pos),
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

/// What marks look like, drawn around their place: discs, or these corners.
pub(in crate::plot) enum Mark {
    Disc(i32),
    Corners(&'static [Place]),
}

/// As many as there are colours, so that a mark belongs to a colour.
pub(in crate::plot) fn mark(number: usize) -> Mark {
    match number % 6 {
        0 => Mark::Disc(28),
        1 => Mark::Corners(&[(-25, -25), (25, -25), (25, 25), (-25, 25)]),
        2 => Mark::Corners(&[(0, -34), (32, 22), (-32, 22)]),
        3 => Mark::Corners(&[(0, -36), (33, 0), (0, 36), (-33, 0)]),
        4 => Mark::Corners(&[(0, 34), (32, -22), (-32, -22)]),
        _ => Mark::Corners(&[
            (-11, -33),
            (11, -33),
            (11, -11),
            (33, -11),
            (33, 11),
            (11, 11),
            (11, 33),
            (-11, 33),
            (-11, 11),
            (-33, 11),
            (-33, -11),
            (-11, -11),
        ]),
    }
}
