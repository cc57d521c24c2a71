//! Where the parts of a heat map are, and how they are drawn.

use super::Heatmap;
use crate::image::Pixels;
use crate::notebook::Show;
use crate::plot::axis::{Axis, AxisSpec};
use crate::plot::colormap::{color, ink_on};
use crate::plot::number::{decade, fixed, short};
use crate::plot::render::UNIT;
use crate::plot::render::palette::INK;
use crate::plot::render::scene::{Anchor, Scene};
use crate::plot::render::text::{FONT, centred, shortened, text_width};
use plotters::style::RGBColor;
use std::iter;

/// In plotters' units, as everything below.
const ROW: i32 = 15 * UNIT;
const GAP: i32 = 6 * UNIT;
/// The strip that says which colour is which value.
const BAR: i32 = 12 * UNIT;
/// How large the matrix is drawn, in pixels, at most and where it can be.
const TARGET: i32 = 230;
/// How wide a cell becomes at most for what is written in it, and all cells together for numbers.
const WIDEST: i32 = 70 * UNIT;
const WIDEST_ROW: i32 = 400 * UNIT;
/// More numbers than this are not written: nobody would read them.
const MOST_NUMBERS: usize = 400;
/// Names of rows are cut where they are wider than this.
const WIDEST_NAME: i32 = 250 * UNIT;

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
    /// The values in the cells, if they are written.
    numbers: Option<Vec<String>>,
    /// The values beside the strip, and their texts.
    scale: Vec<(f64, String)>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(map: &'a Heatmap) -> Self {
        let (width, height, numbers) = cells(map);
        // A cell with room for six letters takes its name. Of narrower ones only some are named, but
        // with more letters.
        let name_room = match width {
            width if width >= 45 * UNIT => width - GAP,
            _ => 77 * UNIT,
        };
        let cut = |names: &[String], room: i32| -> Vec<String> {
            names.iter().map(|name| shortened(name, room)).collect()
        };
        let row_names = cut(&map.row_names, WIDEST_NAME);
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
        let most = (height * map.rows as i32 / (24 * UNIT)).max(3) as usize;
        let scale = match high > low {
            true => Axis::new(&spec, std::iter::empty(), most).into_ticks(),
            false => vec![(low, short(low))],
        };
        Layout {
            map,
            colors: map.colors(),
            cell: (width, height),
            left: room_for(&map.ylabel) + widest(&written) + 2 * GAP,
            top: room_for(&map.title) + GAP,
            row_names,
            column_names,
            numbers,
            scale,
        }
    }

    pub(super) fn draw(&self) -> Scene {
        let (map, (width, height)) = (self.map, self.cell);
        let right = self.left + width * map.columns as i32;
        let bottom = self.top + height * map.rows as i32;
        let widths = self.scale.iter().map(|(_, text)| text_width(text, FONT));
        let end = right + 3 * GAP + BAR + widths.max().unwrap_or(0) + GAP;
        let remark = match map.annotated && self.numbers.is_none() {
            true => "no room for the numbers",
            false => "",
        };
        let foot = bottom + ROW + GAP + room_for(&map.xlabel) + room_for(remark);
        let size = (end / UNIT + 1, foot / UNIT + 1);

        let title = map.show_text().replace('\n', "; ");
        let mut picture = Scene::new((size.0 as u32, size.1 as u32), title);
        picture.draw_image(
            &self.pixels(),
            (self.left, self.top),
            (right - self.left, bottom - self.top),
        );
        self.write_values(&mut picture);
        let middle = ((self.left + right) / 2, (self.top + bottom) / 2);
        let write_row = |picture: &mut Scene, text: &str, y: i32| {
            let text = centred(text, middle.0, end);
            picture.write(&text, (middle.0, y), Anchor::Middle, INK);
        };
        write_row(&mut picture, &map.title, ROW / 2 + GAP / 2);
        for (i, name) in &self.row_names {
            let y = self.top + height * *i as i32 + height / 2;
            picture.write(name, (self.left - GAP, y), Anchor::End, INK);
        }
        for (i, name) in &self.column_names {
            let x = self.left + width * *i as i32 + width / 2;
            picture.write(name, (x, bottom + ROW / 2 + GAP / 2), Anchor::Middle, INK);
        }
        let below = bottom + ROW + ROW / 2 + GAP / 2;
        write_row(&mut picture, &map.xlabel, below);
        write_row(&mut picture, remark, below + room_for(&map.xlabel));
        let ylabel = centred(&map.ylabel, middle.1, foot);
        picture.write_upwards(&ylabel, (ROW / 2 + GAP / 2, middle.1), INK);
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

    fn write_values(&self, picture: &mut Scene) {
        let (width, height) = self.cell;
        for (i, text) in self.numbers.iter().flatten().enumerate() {
            let (row, column) = ((i / self.map.columns) as i32, (i % self.map.columns) as i32);
            let place = (
                self.left + column * width + width / 2,
                self.top + row * height + height / 2,
            );
            picture.write(text, place, Anchor::Middle, ink_on(self.colors[i]));
        }
    }

    fn draw_scale(&self, picture: &mut Scene, left: i32, bottom: i32) {
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

/// A cell's side lengths, and the numbers that are written in the cells.
fn cells(map: &Heatmap) -> (i32, i32, Option<Vec<String>>) {
    let count = map.rows.max(map.columns).max(1) as i32;
    if count > TARGET {
        let side = (UNIT * TARGET / count).max(1);
        return (side, side, None);
    }
    let few = map.annotated && map.values.len() <= MOST_NUMBERS;
    // Short names beside each other, or four digits, fit into a cell of 34 pixels.
    let smallest = if few { 26 } else { 1 };
    let side = (TARGET / count).clamp(smallest, 60) * UNIT;
    if !few {
        return (side, side, None);
    }
    let names = (widest(&map.column_names) + GAP).min(WIDEST);
    let least = side.max(names);
    let most = WIDEST.min(WIDEST_ROW / map.columns as i32);
    let width = |texts: &[String]| match widest(texts) {
        needed if needed > least => needed + GAP,
        _ => least,
    };
    let numbers = numbers(map, |texts| width(texts) <= most.max(least));
    (numbers.as_deref().map_or(least, width), side, numbers)
}

/// The values as texts that fit: four significant digits, or as many decimals in all cells, so that
/// the largest value has two digits or more.
fn numbers(map: &Heatmap, fits: impl Fn(&[String]) -> bool) -> Option<Vec<String>> {
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

/// Room for a row of text, if there is any.
fn room_for(text: &str) -> i32 {
    if text.is_empty() { 0 } else { ROW }
}

fn widest(texts: &[String]) -> i32 {
    let widths = texts.iter().map(|text| text_width(text, FONT));
    widths.max().unwrap_or(0)
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
