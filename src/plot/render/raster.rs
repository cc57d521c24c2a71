//! A picture as pixels, for a PNG file.

mod fill;
mod font;
mod stroke;

use super::UNIT;
use super::decimate::Place;
use super::scene::{Anchor, Item, Mark, Paint, Scene, Text, mark};
use super::svg::below_place;
use crate::image::Pixels;
use fill::Sheet;
use plotters_backend::BackendColor;

/// A place in pixels.
type Point = (f32, f32);

/// Closed lines; what an odd way round them encloses is a hole.
type Outlines = Vec<Vec<Point>>;

/// A PNG has so many pixels for each of the SVG: sharp on fine screens and on paper.
const SCALE: f32 = 2.0;

impl Scene {
    /// The picture on white paper.
    pub(in crate::plot) fn pixels(&self) -> Pixels {
        let size = [self.size.0, self.size.1].map(|side| (side as f32 * SCALE) as usize);
        let mut sheet = Sheet::new(size[0], size[1]);
        for item in &self.items {
            sheet.draw(item);
        }
        sheet.into_pixels()
    }
}

/// From units to pixels.
fn point((x, y): Place) -> Point {
    (length(x), length(y))
}

fn length(units: i32) -> f32 {
    units as f32 / UNIT as f32 * SCALE
}

impl Sheet {
    fn draw(&mut self, item: &Item) {
        match item {
            Item::Rect {
                corner: (x, y),
                size: (width, height),
                paint,
            } => {
                let (right, bottom) = (x + width, y + height);
                let corners = [(*x, *y), (right, *y), (right, bottom), (*x, bottom)];
                self.draw_outline(corners.map(point).to_vec(), *paint);
            }
            Item::Circle {
                centre,
                radius,
                paint,
            } => self.draw_outline(stroke::disc(point(*centre), length(*radius)), *paint),
            Item::Path {
                pieces,
                closed,
                paint,
                dashes,
            } => {
                let mut outlines = Vec::new();
                for piece in pieces {
                    let line: Vec<Point> = piece.iter().copied().map(point).collect();
                    match paint.width {
                        _ if *closed => outlines.push(line),
                        Some(width) => outlines.extend(stroke::line(&line, length(width), dashes)),
                        None => {}
                    }
                }
                self.fill(&outlines, paint.color);
            }
            Item::Marks {
                places,
                mark,
                color,
            } => self.draw_marks(places, *mark, *color),
            Item::Image {
                pixels,
                corner,
                size,
            } => self.copy(pixels, point(*corner), point(*size)),
            Item::Text(text) => self.fill(&letters(text), text.color),
            Item::BeginClip { from, to } => self.clip(point(*from), point(*to)),
            Item::EndClip => self.unclip(),
        }
    }

    fn draw_outline(&mut self, mut corners: Vec<Point>, paint: Paint) {
        match paint.width {
            None => self.fill(&[corners], paint.color),
            Some(width) => {
                corners.extend(corners.first().copied());
                self.fill(&stroke::line(&corners, length(width), &[]), paint.color);
            }
        }
    }

    fn draw_marks(&mut self, places: &[Place], number: usize, color: BackendColor) {
        for &(x, y) in places {
            let outline = match mark(number) {
                Mark::Disc(radius) => stroke::disc(point((x, y)), length(radius)),
                Mark::Corners(corners) => corners
                    .iter()
                    .map(|(dx, dy)| point((x + dx, y + dy)))
                    .collect(),
            };
            self.fill(&[outline], color);
        }
    }
}

/// The outlines of a line of text, at its place and turned.
fn letters(text: &Text) -> Outlines {
    let size = text.size as f32 * SCALE;
    let (outlines, width) = font::outlines(&text.text);
    let start = match text.anchor.0 {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let down = below_place(text.anchor.1) as f32;
    let (sine, cosine) = (text.angle as f32).to_radians().sin_cos();
    let (left, top) = point(text.place);
    let placed = |(x, y): Point| {
        let (x, y) = ((x + start) * size, (down - y) * size);
        (left + x * cosine - y * sine, top + x * sine + y * cosine)
    };
    let outlines = outlines.into_iter();
    outlines
        .map(|outline| outline.into_iter().map(placed).collect())
        .collect()
}

#[cfg(test)]
mod tests;
