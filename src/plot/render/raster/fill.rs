//! Outlines filled with colour, pixel by pixel.

use super::Point;
use crate::image::Pixels;
use plotters_backend::BackendColor;

/// A row of pixels is looked at so many times; along it, coverage is exact.
const LINES_PER_ROW: usize = 5;

/// Pixels that are drawn on.
pub(in crate::plot) struct Sheet {
    pixels: Pixels,
    /// What may be drawn on: from its upper left to its lower right corner.
    window: (Point, Point),
}

/// One side of an outline, from top to bottom.
struct Edge {
    top: Point,
    bottom: Point,
    /// 1 if the outline goes down here, -1 if it goes up.
    turn: i32,
}

impl Sheet {
    /// White paper.
    pub(in crate::plot) fn new(width: usize, height: usize) -> Self {
        let pixels = Pixels::filled(width, height, [255; 3]);
        let window = ((0.0, 0.0), (width as f32, height as f32));
        Sheet { pixels, window }
    }

    pub(in crate::plot) fn into_pixels(self) -> Pixels {
        self.pixels
    }

    pub(in crate::plot) fn clip(&mut self, from: Point, to: Point) {
        self.window = (from, to);
    }

    pub(in crate::plot) fn unclip(&mut self) {
        let (width, height) = (self.pixels.width as f32, self.pixels.height as f32);
        self.window = ((0.0, 0.0), (width, height));
    }

    /// Fills what the outlines go around.
    pub(in crate::plot) fn fill(&mut self, outlines: &[Vec<Point>], color: BackendColor) {
        let edges: Vec<Edge> = outlines.iter().flat_map(|outline| edges(outline)).collect();
        let top = edges
            .iter()
            .map(|edge| edge.top.1)
            .fold(f32::INFINITY, f32::min);
        let bottom = edges.iter().map(|edge| edge.bottom.1).fold(0.0, f32::max);
        let ((_, first), (_, last)) = self.window;
        let mut coverage = vec![0.0; self.pixels.width];
        for row in top.max(first) as usize..bottom.min(last).ceil().max(0.0) as usize {
            let crossed =
                |edge: &&Edge| edge.bottom.1 > row as f32 && edge.top.1 < row as f32 + 1.0;
            let crossed: Vec<&Edge> = edges.iter().filter(crossed).collect();
            coverage.fill(0.0);
            for line in 0..LINES_PER_ROW {
                let y = row as f32 + (line as f32 + 0.5) / LINES_PER_ROW as f32;
                if (first..last).contains(&y) {
                    self.cover(&crossed, y, &mut coverage);
                }
            }
            self.blend(row, &coverage, color);
        }
    }

    /// Adds the parts of a line that lie within the outlines.
    fn cover(&self, edges: &[&Edge], y: f32, coverage: &mut [f32]) {
        let here = edges
            .iter()
            .filter(|edge| edge.top.1 <= y && y < edge.bottom.1);
        let mut crossings: Vec<(f32, i32)> = here.map(|edge| (edge.at(y), edge.turn)).collect();
        crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((left, _), (right, _)) = self.window;
        let mut turns = 0;
        for pair in crossings.windows(2) {
            turns += pair[0].1;
            if turns != 0 {
                let (from, to) = (pair[0].0.max(left), pair[1].0.min(right));
                add(from, to, coverage);
            }
        }
    }

    fn blend(&mut self, row: usize, coverage: &[f32], color: BackendColor) {
        let (r, g, b) = color.rgb;
        let row = &mut self.pixels.rgb[row * coverage.len() * 3..][..coverage.len() * 3];
        for (pixel, &covered) in row.chunks_exact_mut(3).zip(coverage) {
            let part = (covered / LINES_PER_ROW as f32).min(1.0) * color.alpha as f32;
            if part > 0.0 {
                for (old, new) in pixel.iter_mut().zip([r, g, b]) {
                    let mixed = f32::from(*old) * (1.0 - part) + f32::from(new) * part;
                    *old = mixed.round() as u8;
                }
            }
        }
    }

    /// Copies a picture into a rectangle; each of its pixels becomes a little one.
    pub(in crate::plot) fn copy(
        &mut self,
        picture: &Pixels,
        (left, top): Point,
        (width, height): Point,
    ) {
        let bounds = |from: f32, size: f32, most: usize| {
            (from.round().max(0.0) as usize)..((from + size).round().max(0.0) as usize).min(most)
        };
        let columns = bounds(left, width, self.pixels.width);
        for y in bounds(top, height, self.pixels.height) {
            let v = source(y, top, height, picture.height);
            for x in columns.clone() {
                let u = source(x, left, width, picture.width);
                let from = (v * picture.width + u) * 3;
                let to = (y * self.pixels.width + x) * 3;
                self.pixels.rgb[to..to + 3].copy_from_slice(&picture.rgb[from..from + 3]);
            }
        }
    }
}

/// Which of `count` pixels, stretched over a length, is there.
fn source(place: usize, from: f32, length: f32, count: usize) -> usize {
    let part = (place as f32 + 0.5 - from) / length;
    ((part * count as f32).max(0.0) as usize).min(count - 1)
}

/// Adds how much of each pixel lies between two places of a line.
fn add(from: f32, to: f32, coverage: &mut [f32]) {
    let (from, to) = (from.max(0.0), to.min(coverage.len() as f32));
    let first = from as usize;
    for (column, covered) in coverage.iter_mut().enumerate().skip(first) {
        let (left, right) = (column as f32, column as f32 + 1.0);
        if left >= to {
            break;
        }
        *covered += (to.min(right) - from.max(left)).max(0.0);
    }
}

impl Edge {
    /// Where it crosses this height.
    fn at(&self, y: f32) -> f32 {
        let part = (y - self.top.1) / (self.bottom.1 - self.top.1);
        self.top.0 + part * (self.bottom.0 - self.top.0)
    }
}

fn edges(outline: &[Point]) -> Vec<Edge> {
    let next = outline.iter().cycle().skip(1);
    let sides = outline.iter().copied().zip(next.copied());
    let slanted = sides.filter(|(a, b)| a.1 != b.1);
    slanted
        .map(|(a, b)| match a.1 < b.1 {
            true => Edge {
                top: a,
                bottom: b,
                turn: 1,
            },
            false => Edge {
                top: b,
                bottom: a,
                turn: -1,
            },
        })
        .collect()
}
