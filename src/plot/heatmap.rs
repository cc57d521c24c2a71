//! A matrix as colours.

mod layout;

use super::colormap::color;
use super::number::short;
use super::render::output::{self, Graphic};
use super::render::scene::Scene;
use super::values::Values;
use crate::error::{Result, explain};
use crate::notebook::Show;
use crate::notebook::{MimeBundle, display};
use candle_core::Tensor;
use layout::Layout;
use plotters::style::RGBColor;
use std::path::Path;

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
    if classes == 0 {
        return Err(explain(
            "confusion_matrix: there are no classes",
            "Name at least one, as in [\"cat\", \"dog\"]",
        ));
    }
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

    /// Whether each number is written into its cell. Where they need more room than there is, a line
    /// below the picture says that they are left out.
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
        output::svg(self)
    }

    /// Writes the picture to a file whose name ends in `.svg` or `.png`; see [`Figure::save`](super::Figure::save).
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
        output::save(self, path.as_ref())
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
        display(&self.show_bundle());
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

impl Graphic for Heatmap {
    fn scene(&self) -> Scene {
        Layout::new(self).draw()
    }

    fn words(&self) -> String {
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

    fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}

impl Show for Heatmap {
    fn show_text(&self) -> String {
        output::text(self)
    }

    fn show_bundle(&self) -> MimeBundle {
        output::bundle(self)
    }
}

#[cfg(test)]
mod tests;
