//! A matrix as colours.

use super::axis::{Axis, AxisSpec};
use super::colormap::{color, ink_on};
use super::number::short;
use super::palette::INK;
use super::save::save_svg;
use super::svg::{self, Anchor, Svg, UNIT};
use super::values::Values;
use crate::display::{self, MimeBundle};
use crate::error::{Result, explain};
use crate::image::Pixels;
use crate::show::Show;
use candle_core::{Error, Tensor};
use plotters::style::RGBColor;
use std::path::Path;

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

/// A matrix in which colours stand for numbers, from dark blue for the lowest to yellow for the
/// highest. Made by [`heatmap`] and [`confusion_matrix`].
///
/// ```
/// use taper::prelude::*;
///
/// let picture: Heatmap = heatmap(&rand((8, 8), &cpu())?).title("attention").xlabel("keys");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a picture is shown as the value of a cell, or by .show()"]
pub struct Heatmap {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
    title: String,
    xlabel: String,
    ylabel: String,
    row_names: Vec<String>,
    column_names: Vec<String>,
    annotated: bool,
    problem: Option<String>,
}

/// Draws a matrix, `(rows, columns)`, of any type and on any device; the first row on top.
///
/// ```
/// use taper::prelude::*;
///
/// let weights = tensor(&[[0.1, 0.9], [0.5, 0.5]], &cpu())?;
/// let picture = heatmap(&weights).title("attention").annotate(true);
/// assert_eq!(picture.show_text(), "attention: a heat map of 2 by 2, from 0.1 to 0.9");
/// # Ok::<(), Error>(())
/// ```
pub fn heatmap(matrix: &Tensor) -> Heatmap {
    let found = match matrix.dims() {
        &[rows, columns] if rows > 0 && columns > 0 => {
            matrix.values().map(|values| (rows, columns, values))
        }
        dims => Err(explain(
            format_args!("heatmap: a tensor of shape {dims:?} is no matrix"),
            "Give it two dimensions, such as with .squeeze(0)? or .get(0)?",
        )),
    };
    Heatmap::new(found)
}

/// Counts how often each class was taken for each other one: a row for each true class, a column
/// for each predicted one.
///
/// Both are classes as numbers from 0, such as `(n,)` of `u32`.
///
/// ```
/// use taper::prelude::*;
///
/// let truth = [0, 0, 1, 1, 1];
/// let predicted = tensor(&[0_u32, 1, 1, 1, 1], &cpu())?;
/// let picture = confusion_matrix(&truth, &predicted, ["cat", "dog"]);
/// assert_eq!(
///     picture.show_text(),
///     "predicted over true: a heat map of 2 by 2, from 0 to 3\ncat: 1, 1\ndog: 0, 3"
/// );
/// # Ok::<(), Error>(())
/// ```
pub fn confusion_matrix<L: Into<String>>(
    truth: &dyn Values,
    predicted: &dyn Values,
    classes: impl IntoIterator<Item = L>,
) -> Heatmap {
    let names: Vec<String> = classes.into_iter().map(Into::into).collect();
    let counted = count_pairs(truth, predicted, names.len());
    Heatmap::new(counted.map(|counts| (names.len(), names.len(), counts)))
        .row_names(names.clone())
        .column_names(names)
        .xlabel("predicted")
        .ylabel("true")
        .annotate(true)
}

fn count_pairs(truth: &dyn Values, predicted: &dyn Values, classes: usize) -> Result<Vec<f64>> {
    let (truth, predicted) = (truth.values()?, predicted.values()?);
    if truth.len() != predicted.len() {
        return Err(explain(
            format_args!(
                "confusion_matrix: {} true classes, but {} predicted ones",
                truth.len(),
                predicted.len()
            ),
            "Give both for the same examples",
        ));
    }
    let class = |value: f64| match value {
        value if value >= 0.0 && value.fract() == 0.0 && value < classes as f64 => {
            Ok(value as usize)
        }
        _ => Err(explain(
            format_args!("confusion_matrix: there is no class {value} among {classes}"),
            "Classes are whole numbers from 0; name all of them",
        )),
    };
    let mut counts = vec![0.0; classes * classes];
    for (truth, predicted) in truth.into_iter().zip(predicted) {
        counts[class(truth)? * classes + class(predicted)?] += 1.0;
    }
    Ok(counts)
}

impl Heatmap {
    fn new(found: Result<(usize, usize, Vec<f64>)>) -> Self {
        let (found, problem) = match found {
            Ok(found) => (found, None),
            Err(error) => ((0, 0, Vec::new()), Some(error.to_string())),
        };
        Heatmap {
            rows: found.0,
            columns: found.1,
            values: found.2,
            title: String::new(),
            xlabel: String::new(),
            ylabel: String::new(),
            row_names: Vec::new(),
            column_names: Vec::new(),
            annotated: false,
            problem,
        }
    }

    /// Writes a title above the picture.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let picture = heatmap(&eye(3, &cpu())?).title("identity");
    /// assert!(picture.show_text().starts_with("identity: "));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Says what the columns are.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let picture = heatmap(&eye(3, &cpu())?).xlabel("keys").ylabel("queries");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn xlabel(mut self, label: impl Into<String>) -> Self {
        self.xlabel = label.into();
        self
    }

    /// Says what the rows are; see [`xlabel`](Self::xlabel).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let picture = heatmap(&eye(3, &cpu())?).ylabel("queries");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn ylabel(mut self, label: impl Into<String>) -> Self {
        self.ylabel = label.into();
        self
    }

    /// Names the rows, which are numbered from 0 otherwise.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let picture = heatmap(&eye(2, &cpu())?).row_names(["cat", "dog"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn row_names<L: Into<String>>(mut self, names: impl IntoIterator<Item = L>) -> Self {
        self.row_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Names the columns, which are numbered from 0 otherwise.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let picture = heatmap(&eye(2, &cpu())?).column_names(["cat", "dog"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn column_names<L: Into<String>>(mut self, names: impl IntoIterator<Item = L>) -> Self {
        self.column_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Whether each number is written into its cell, where there is room.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let picture = heatmap(&eye(2, &cpu())?).annotate(true);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn annotate(mut self, annotate: bool) -> Self {
        self.annotated = annotate;
        self
    }

    /// The picture as the text of an SVG file.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(heatmap(&eye(2, &cpu())?).svg().starts_with("<svg "));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn svg(&self) -> String {
        Layout::new(self).draw()
    }

    /// Writes the picture to a file whose name ends in `.svg`; see [`Figure::save`](super::Figure::save).
    ///
    /// # Errors
    /// If the tensor is no matrix, the name ends differently, or the file cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = heatmap(&zeros(3, &cpu())?).save("map.svg").unwrap_err();
    /// assert!(error.to_string().starts_with("heatmap: a tensor of shape [3] is no matrix\n"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        match &self.problem {
            Some(problem) => Err(Error::Msg(problem.clone())),
            None => save_svg(path.as_ref(), &self.svg()),
        }
    }

    /// Shows the picture now, where it is not the value of its cell.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// heatmap(&eye(2, &cpu())?).show();
    /// # Ok::<(), Error>(())
    /// ```
    pub fn show(&self) {
        display::display(&self.show_bundle());
    }

    /// The lowest and the highest number.
    fn range(&self) -> (f64, f64) {
        let finite = || {
            self.values
                .iter()
                .copied()
                .filter(|value| value.is_finite())
        };
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        if low <= high { (low, high) } else { (0.0, 0.0) }
    }

    /// The colour of each number.
    fn colors(&self) -> Vec<RGBColor> {
        let (low, high) = self.range();
        let part = |value: f64| match high > low {
            true => (value - low) / (high - low),
            false => value * 0.0 + 0.5,
        };
        self.values
            .iter()
            .map(|&value| color(part(value)))
            .collect()
    }
}

impl Show for Heatmap {
    fn show_text(&self) -> String {
        if let Some(problem) = &self.problem {
            return problem.clone();
        }
        let about = match (&*self.title, &*self.xlabel, &*self.ylabel) {
            ("", "", _) | ("", _, "") => String::new(),
            ("", x, y) => format!("{x} over {y}: "),
            (title, ..) => format!("{title}: "),
        };
        let (rows, columns) = (self.rows, self.columns);
        let (low, high) = self.range();
        let (low, high) = (short(low), short(high));
        let mut text = format!("{about}a heat map of {rows} by {columns}, from {low} to {high}");
        if self.annotated && rows == self.row_names.len() && rows * columns <= 400 {
            for (name, row) in self.row_names.iter().zip(self.values.chunks(columns)) {
                let row: Vec<String> = row.iter().map(|&value| short(value)).collect();
                text += &format!("\n{name}: {}", row.join(", "));
            }
        }
        text
    }

    fn show_bundle(&self) -> MimeBundle {
        let bundle = MimeBundle::text(self.show_text());
        match self.problem {
            Some(_) => bundle,
            None => bundle.with("image/svg+xml", self.svg()),
        }
    }
}

/// Where the parts of the picture are.
struct Layout<'a> {
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
    fn new(map: &'a Heatmap) -> Self {
        let room = |text: &str| if text.is_empty() { 0 } else { ROW };
        let widest = |names: &[String]| {
            let widths = names.iter().map(|name| svg::text_width(name, FONT));
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
            svg::text_width(name, FONT) + GAP
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

    fn draw(&self) -> String {
        let (map, (width, height)) = (self.map, self.cell);
        let right = self.left + width * map.columns as i32;
        let bottom = self.top + height * map.rows as i32;
        let widths = self
            .scale
            .iter()
            .map(|(_, text)| svg::text_width(text, FONT));
        let end = right + 3 * GAP + BAR + widths.max().unwrap_or(0) + GAP;
        let label = if map.xlabel.is_empty() { 0 } else { ROW };
        let size = (end / UNIT + 1, (bottom + ROW + GAP + label) / UNIT + 1);

        let mut text = String::new();
        let title = map.show_text().replace('\n', "; ");
        let mut picture = Svg::begin(&mut text, (size.0 as u32, size.1 as u32), &title);
        picture.draw_image(
            &self.pixels(),
            (self.left, self.top),
            (right - self.left, bottom - self.top),
        );
        self.write_values(&mut picture);
        let middle = ((self.left + right) / 2, (self.top + bottom) / 2);
        if !map.title.is_empty() {
            picture.write(
                &map.title,
                (middle.0, ROW / 2 + GAP / 2),
                Anchor::Middle,
                INK,
            );
        }
        for (i, name) in &self.row_names {
            let y = self.top + height * *i as i32 + height / 2;
            picture.write(name, (self.left - GAP, y), Anchor::End, INK);
        }
        for (i, name) in &self.column_names {
            let x = self.left + width * *i as i32 + width / 2;
            picture.write(name, (x, bottom + ROW / 2 + GAP / 2), Anchor::Middle, INK);
        }
        if !map.xlabel.is_empty() {
            picture.write(
                &map.xlabel,
                (middle.0, bottom + ROW + ROW / 2 + GAP / 2),
                Anchor::Middle,
                INK,
            );
        }
        picture.write_upwards(&map.ylabel, (ROW / 2 + GAP / 2, middle.1), INK);
        self.draw_scale(&mut picture, right + 2 * GAP, bottom);
        svg::end(&mut text);
        text
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

    fn write_values(&self, picture: &mut Svg) {
        let (width, height) = self.cell;
        if !self.map.annotated || height < CELL_WITH_TEXT {
            return;
        }
        for (i, &value) in self.map.values.iter().enumerate() {
            let (row, column) = ((i / self.map.columns) as i32, (i % self.map.columns) as i32);
            let text = short(value);
            if svg::text_width(&text, FONT) <= width {
                let place = (
                    self.left + column * width + width / 2,
                    self.top + row * height + height / 2,
                );
                picture.write(&text, place, Anchor::Middle, ink_on(self.colors[i]));
            }
        }
    }

    fn draw_scale(&self, picture: &mut Svg, left: i32, bottom: i32) {
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

#[cfg(test)]
mod tests;
