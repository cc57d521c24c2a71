//! Where the parts of a heat map are, and how they are drawn.

use super::Heatmap;
use crate::image::Pixels;
use crate::plot::axis::{Axis, AxisSpec};
use crate::plot::colormap::{color, ink_on};
use crate::plot::number::short;
use crate::plot::page::{Anchor, Page, UNIT, text_width};
use crate::plot::palette::INK;
use crate::show::Show;
use plotters::style::RGBColor;

/// In plotters' units, as everything below.
const FONT: f64 = 11.0 * UNIT as f64;
const ROW: i32 = 15 * UNIT;
const GAP: i32 = 6 * UNIT;
/// The strip that says which colour is which value.
const BAR: i32 = 12 * UNIT;
/// How large the matrix is drawn, in pixels, at most and where it can be.
const TARGET: i32 = 230;
/// A cell must be this high for a number to be written in it.
const CELL_WITH_TEXT: i32 = 16 * UNIT;

/// Where the parts of the picture are.
pub(super) struct Layout<'a> {
    map: &'a Heatmap,
    colors: Vec<RGBColor>,
    /// A cell's side lengths.
    cell: (i32, i32),
    left: i32,
    top: i32,
    row_names: Vec<(usize, String)>,
    column_names: Vec<(usize, String)>,
    /// The values beside the strip, and their texts.
    scale: Vec<(f64, String)>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(map: &'a Heatmap) -> Self {
        let room = |text: &str| if text.is_empty() { 0 } else { ROW };
        let widest = |names: &[String]| {
            let widths = names.iter().map(|name| text_width(name, FONT));
            widths.max().unwrap_or(0)
        };
        let count = map.rows.max(map.columns).max(1) as i32;
        // Short names beside each other, or four digits, fit into a cell of 34 pixels.
        let least = if map.annotated { 26 } else { 1 };
        let side = (TARGET / count).clamp(least, 60);
        let (mut width, mut height) = (side * UNIT, side * UNIT);
        if count > TARGET {
            (width, height) = (UNIT * TARGET / count, UNIT * TARGET / count);
        }
        if map.annotated {
            width = width.max((widest(&map.column_names) + GAP).min(70 * UNIT));
        }
        let (width, height) = (width.max(1), height.max(1));
        let row_names = names(&map.row_names, map.rows, height, |_| ROW);
        let column_names = names(&map.column_names, map.columns, width, |name| {
            text_width(name, FONT) + GAP
        });
        let written: Vec<String> = row_names.iter().map(|(_, name)| name.clone()).collect();
        let (low, high) = map.range();
        let spec = AxisSpec {
            limits: Some((low, high)),
            ..AxisSpec::default()
        };
        let most = (height * map.rows as i32 / (24 * UNIT)).max(3) as usize;
        let scale = match high > low {
            true => Axis::new(&spec, std::iter::empty(), most).into_ticks(),
            false => vec![(low, short(low))],
        };
        Layout {
            map,
            colors: map.colors(),
            cell: (width, height),
            left: room(&map.ylabel) + widest(&written) + 2 * GAP,
            top: room(&map.title) + GAP,
            row_names,
            column_names,
            scale,
        }
    }

    pub(super) fn draw(&self) -> Page {
        let (map, (width, height)) = (self.map, self.cell);
        let right = self.left + width * map.columns as i32;
        let bottom = self.top + height * map.rows as i32;
        let widths = self.scale.iter().map(|(_, text)| text_width(text, FONT));
        let end = right + 3 * GAP + BAR + widths.max().unwrap_or(0) + GAP;
        let label = if map.xlabel.is_empty() { 0 } else { ROW };
        let size = (end / UNIT + 1, (bottom + ROW + GAP + label) / UNIT + 1);

        let title = map.show_text().replace('\n', "; ");
        let mut picture = Page::new((size.0 as u32, size.1 as u32), title);
        picture.draw_image(
            &self.pixels(),
            (self.left, self.top),
            (right - self.left, bottom - self.top),
        );
        self.write_values(&mut picture);
        let middle = ((self.left + right) / 2, (self.top + bottom) / 2);
        let above = (middle.0, ROW / 2 + GAP / 2);
        picture.write(&map.title, above, Anchor::Middle, INK);
        for (i, name) in &self.row_names {
            let y = self.top + height * *i as i32 + height / 2;
            picture.write(name, (self.left - GAP, y), Anchor::End, INK);
        }
        for (i, name) in &self.column_names {
            let x = self.left + width * *i as i32 + width / 2;
            picture.write(name, (x, bottom + ROW / 2 + GAP / 2), Anchor::Middle, INK);
        }
        let below = (middle.0, bottom + ROW + ROW / 2 + GAP / 2);
        picture.write(&map.xlabel, below, Anchor::Middle, INK);
        picture.write_upwards(&map.ylabel, (ROW / 2 + GAP / 2, middle.1), INK);
        self.draw_scale(&mut picture, right + 2 * GAP, bottom);
        picture
    }

    fn pixels(&self) -> Pixels {
        Pixels {
            width: self.map.columns,
            height: self.map.rows,
            rgb: self
                .colors
                .iter()
                .flat_map(|&RGBColor(r, g, b)| [r, g, b])
                .collect(),
        }
    }

    fn write_values(&self, picture: &mut Page) {
        let (width, height) = self.cell;
        if !self.map.annotated || height < CELL_WITH_TEXT {
            return;
        }
        for (i, &value) in self.map.values.iter().enumerate() {
            let (row, column) = ((i / self.map.columns) as i32, (i % self.map.columns) as i32);
            let text = short(value);
            if text_width(&text, FONT) <= width {
                let place = (
                    self.left + column * width + width / 2,
                    self.top + row * height + height / 2,
                );
                picture.write(&text, place, Anchor::Middle, ink_on(self.colors[i]));
            }
        }
    }

    fn draw_scale(&self, picture: &mut Page, left: i32, bottom: i32) {
        let rgb = (0..64).rev().map(|i| color(f64::from(i) / 63.0));
        let strip = Pixels {
            width: 1,
            height: 64,
            rgb: rgb.flat_map(|RGBColor(r, g, b)| [r, g, b]).collect(),
        };
        picture.draw_image(&strip, (left, self.top), (BAR, bottom - self.top));
        let (low, high) = self.map.range();
        for (value, text) in &self.scale {
            let part = if high > low {
                (value - low) / (high - low)
            } else {
                0.5
            };
            let y = bottom - (part * f64::from(bottom - self.top)) as i32;
            picture.write(text, (left + BAR + GAP, y), Anchor::Start, INK);
        }
    }
}

/// What is written at rows or columns: every name, or every second, third, … where they would run
/// into each other. Without names, numbers.
fn names(
    given: &[String],
    count: usize,
    cell: i32,
    needs: impl Fn(&str) -> i32,
) -> Vec<(usize, String)> {
    let name = |i: usize| given.get(i).cloned().unwrap_or_else(|| i.to_string());
    let widest = (0..count).map(|i| needs(&name(i))).max().unwrap_or(1);
    let fit = (widest as usize).div_ceil(cell as usize).max(1);
    // Numbers go in round steps.
    let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
    let step = match given.is_empty() {
        true => steps.into_iter().find(|&step| step >= fit).unwrap_or(fit),
        false => fit,
    };
    (0..count).step_by(step).map(|i| (i, name(i))).collect()
}
