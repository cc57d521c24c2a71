//! The layout of a heat map, and how its parts are drawn.

use super::spec::Heatmap;
use crate::image::RgbImage;
use crate::notebook::Show;
use crate::plot::axis::{Axis, AxisSpec};
use crate::plot::colormap::{color, ink_on};
use crate::plot::number::{decade, fixed, short};
use crate::plot::render::UNIT;
use crate::plot::render::palette::INK;
use crate::plot::render::scene::Scene;
use crate::plot::render::text::{
    FONT, ROW, centred, row_height, shortened, text_width, text_width_at_most,
};
use plotters::style::RGBColor;
use plotters_backend::text_anchor::HPos;
use std::iter;

/// The gap between parts. All lengths of this module are in plotters' units, unless stated otherwise.
const GAP: i32 = 6 * UNIT;
/// The width of the colour bar.
const BAR: i32 = 12 * UNIT;
/// The side of the matrix in pixels, unless its cells would be too small or too large.
const TARGET: i32 = 230;
/// The maximum width of a cell that is widened for its text, and of a row of such cells.
const MAX_CELL_WIDTH: i32 = 70 * UNIT;
const MAX_ROW_WIDTH: i32 = 400 * UNIT;
/// The maximum number of cells with values: in more cells, the values would be too small to read.
const MAX_CELL_TEXTS: usize = 400;
/// The width to which names of rows are shortened.
const MAX_NAME_WIDTH: i32 = 250 * UNIT;

/// The positions of the parts of a heat map.
pub(super) struct HeatmapLayout<'a> {
    map: &'a Heatmap,
    colors: Vec<RGBColor>,
    /// The width and the height of a cell.
    cell: (i32, i32),
    left: i32,
    top: i32,
    row_names: Vec<(usize, String)>,
    column_names: Vec<(usize, String)>,
    /// The values as texts, if they are written into the cells.
    cell_texts: Option<Vec<String>>,
    /// Ticks of the colour bar: values and labels.
    ticks: Vec<(f64, String)>,
}

impl<'a> HeatmapLayout<'a> {
    pub(super) fn new(map: &'a Heatmap) -> Self {
        let (width, height, cell_texts) = cells(map);
        // If a column has room for six letters, every column has a name. If columns are narrower, only
        // some have a name, which may be longer.
        let name_room = match width {
            width if width >= 45 * UNIT => width - GAP,
            _ => 77 * UNIT,
        };
        let cut = |names: &[String], room: i32| -> Vec<String> {
            names.iter().map(|name| shortened(name, room)).collect()
        };
        let row_names = cut(&map.row_names, MAX_NAME_WIDTH);
        let column_names = cut(&map.column_names, name_room);
        let row_names = names(&row_names, map.rows, height, |_| ROW);
        let column_names = names(&column_names, map.columns, width, |name| {
            text_width(name, FONT) + GAP
        });
        let written: Vec<String> = row_names.iter().map(|(_, name)| name.clone()).collect();
        let (low, high) = map.range();
        let spec = AxisSpec {
            limits: Some((low, high)),
            ..AxisSpec::default()
        };
        let max_ticks = (height * map.rows as i32 / (24 * UNIT)).max(3) as usize;
        let ticks = match high > low {
            true => Axis::new(&spec, iter::empty(), max_ticks).ticks().to_vec(),
            false => vec![(low, short(low))],
        };
        HeatmapLayout {
            map,
            colors: map.colors(),
            cell: (width, height),
            left: row_height(&map.ylabel) + name_width(&written),
            top: row_height(&map.title) + GAP,
            row_names,
            column_names,
            cell_texts,
            ticks,
        }
    }

    pub(super) fn draw(&self) -> Scene {
        let (map, (width, height)) = (self.map, self.cell);
        let right = self.left + width * map.columns as i32;
        let bottom = self.top + height * map.rows as i32;
        let widths = self.ticks.iter().map(|(_, text)| text_width(text, FONT));
        let end = right + 3 * GAP + BAR + widths.max().unwrap_or(0) + GAP;
        let note = match map.annotated && self.cell_texts.is_none() {
            true => "no room for the values",
            false => "",
        };
        let foot = bottom + ROW + GAP + row_height(&map.xlabel) + row_height(note);
        let size = (end / UNIT + 1, foot / UNIT + 1);

        let title = map.show_text().replace('\n', "; ");
        let mut scene = Scene::new((size.0 as u32, size.1 as u32), title);
        scene.draw_image(
            &self.pixels(),
            (self.left, self.top),
            (right - self.left, bottom - self.top),
        );
        self.write_values(&mut scene);
        let middle = ((self.left + right) / 2, (self.top + bottom) / 2);
        let write_row = |scene: &mut Scene, text: &str, y: i32| {
            let text = centred(text, middle.0, end);
            scene.write(&text, (middle.0, y), HPos::Center, INK);
        };
        write_row(&mut scene, &map.title, ROW / 2 + GAP / 2);
        for (i, name) in &self.row_names {
            let y = self.top + height * *i as i32 + height / 2;
            scene.write(name, (self.left - GAP, y), HPos::Right, INK);
        }
        for (i, name) in &self.column_names {
            let x = self.left + width * *i as i32 + width / 2;
            scene.write(name, (x, bottom + ROW / 2 + GAP / 2), HPos::Center, INK);
        }
        let below = bottom + ROW + ROW / 2 + GAP / 2;
        write_row(&mut scene, &map.xlabel, below);
        write_row(&mut scene, note, below + row_height(&map.xlabel));
        let ylabel = centred(&map.ylabel, middle.1, foot);
        scene.write_upwards(&ylabel, (ROW / 2 + GAP / 2, middle.1), INK);
        self.draw_color_bar(&mut scene, right + 2 * GAP, bottom);
        scene
    }

    fn pixels(&self) -> RgbImage {
        RgbImage {
            width: self.map.columns,
            height: self.map.rows,
            rgb: self
                .colors
                .iter()
                .flat_map(|&RGBColor(r, g, b)| [r, g, b])
                .collect(),
        }
    }

    fn write_values(&self, scene: &mut Scene) {
        let (width, height) = self.cell;
        for (i, text) in self.cell_texts.iter().flatten().enumerate() {
            let (row, column) = ((i / self.map.columns) as i32, (i % self.map.columns) as i32);
            let position = (
                self.left + column * width + width / 2,
                self.top + row * height + height / 2,
            );
            scene.write(text, position, HPos::Center, ink_on(self.colors[i]));
        }
    }

    fn draw_color_bar(&self, scene: &mut Scene, left: i32, bottom: i32) {
        let rgb = (0..64).rev().map(|i| color(f64::from(i) / 63.0));
        let bar = RgbImage {
            width: 1,
            height: 64,
            rgb: rgb.flat_map(|RGBColor(r, g, b)| [r, g, b]).collect(),
        };
        scene.draw_image(&bar, (left, self.top), (BAR, bottom - self.top));
        let (low, high) = self.map.range();
        for (value, text) in &self.ticks {
            let fraction = if high > low {
                (value - low) / (high - low)
            } else {
                0.5
            };
            let y = bottom - (fraction * f64::from(bottom - self.top)) as i32;
            scene.write(text, (left + BAR + GAP, y), HPos::Left, INK);
        }
    }
}

/// Returns the width and the height of a cell, and the texts of the cells if there is room for them.
fn cells(map: &Heatmap) -> (i32, i32, Option<Vec<String>>) {
    let count = map.rows.max(map.columns).max(1) as i32;
    if count > TARGET {
        let side = (UNIT * TARGET / count).max(1);
        return (side, side, None);
    }
    let few = map.annotated && map.values.len() <= MAX_CELL_TEXTS;
    // Four digits, or a short name, fit into a cell that is at least this wide.
    let smallest = if few { 26 } else { 1 };
    let side = (TARGET / count).clamp(smallest, 60) * UNIT;
    if !few {
        return (side, side, None);
    }
    let names = (widest(&map.column_names) + GAP).min(MAX_CELL_WIDTH);
    let least = side.max(names);
    let most = MAX_CELL_WIDTH.min(MAX_ROW_WIDTH / map.columns as i32);
    let width = |texts: &[String]| match widest(texts) {
        needed if needed > least => needed + GAP,
        _ => least,
    };
    let texts = cell_texts(map, |texts| width(texts) <= most.max(least));
    (texts.as_deref().map_or(least, width), side, texts)
}

/// Formats the values so that they fit: with four significant digits, or else with equally many
/// decimals in all cells, if that leaves the largest value at least two digits.
fn cell_texts(map: &Heatmap, fits: impl Fn(&[String]) -> bool) -> Option<Vec<String>> {
    let texts = |text: &dyn Fn(f64) -> String| -> Vec<String> {
        map.values.iter().map(|&value| text(value)).collect()
    };
    let (low, high) = map.range();
    let exponent = decade(low.abs().max(high.abs()));
    let fewer = (1..=3)
        .rev()
        .filter(|decimals| (1 - decimals..7).contains(&exponent));
    let fewer = fewer.map(|decimals| texts(&|value| fixed(value, decimals as usize)));
    iter::once(texts(&short))
        .chain(fewer)
        .find(|texts| fits(texts))
}

fn widest(texts: &[String]) -> i32 {
    let widths = texts.iter().map(|text| text_width(text, FONT));
    widths.max().unwrap_or(0)
}

/// Returns the width of the names of rows and the gaps around them. The names end at the matrix, so a name
/// that is too long would be cut off at its beginning.
fn name_width(names: &[String]) -> i32 {
    let widths = names.iter().map(|name| text_width_at_most(name, FONT));
    (widest(names) + 2 * GAP).max(widths.max().unwrap_or(0) + GAP)
}

/// Returns the names of rows or columns that are written: every name or, where names would overlap,
/// every second, third, … name. Empty names need no room. Rows and columns without names are numbered.
fn names(
    given: &[String],
    count: usize,
    cell: i32,
    needs: impl Fn(&str) -> i32,
) -> Vec<(usize, String)> {
    let name = |i: usize| given.get(i).cloned().unwrap_or_else(|| i.to_string());
    let widest = (0..count).map(|i| needs(&name(i))).max().unwrap_or(1);
    let fit = (widest as usize).div_ceil(cell as usize).max(1);
    let written: Vec<_> = (0..count).map(|i| (i, name(i))).collect();
    let written: Vec<_> = written.into_iter().filter(|it| !it.1.is_empty()).collect();
    if written.windows(2).all(|pair| pair[1].0 - pair[0].0 >= fit) {
        return written;
    }
    // Indices are written in round steps.
    let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
    let step = match given.is_empty() {
        true => steps.into_iter().find(|&step| step >= fit).unwrap_or(fit),
        false => fit,
    };
    (0..count).step_by(step).map(|i| (i, name(i))).collect()
}
