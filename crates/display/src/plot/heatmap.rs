//! Heat maps: a matrix drawn as colours.

mod layout;
mod spec;

use crate::tensor::Tensor;
pub use spec::Heatmap;

use super::number::{count_values, short};
use super::render::output::{Graphic, graphic};
use super::render::scene::Scene;
use super::values::Values;
use crate::erased::texts;
use crate::error::{Result, problem, refuse};
use layout::HeatmapLayout;

/// Draws a matrix, `(rows, columns)`, of any type and on any device. The first row is at the top.
///
/// ```
/// use taper::prelude::*;
///
/// let weights = tensor(&[[0.1, 0.9], [0.5, 0.5]]);
/// let map = heatmap(&weights).title("attention").annotate(true);
/// assert_eq!(map.show_text(), "attention: a heat map of 2 by 2, from 0.1 to 0.9");
/// ```
pub fn heatmap(matrix: &Tensor) -> Heatmap {
    let found = match matrix.dims() {
        &[rows, columns] if rows > 0 && columns > 0 => {
            matrix.values().map(|values| (rows, columns, values))
        }
        dims => Err(problem!(
            "heatmap: expected a matrix, found a tensor of shape {dims:?}";
            "Pass a tensor with two dimensions, as from .squeeze(0) or .i(0)")),
    };
    Heatmap::new(found)
}

/// Counts how often each class was predicted for each true class, and draws a row for each true class
/// and a column for each predicted one.
///
/// Both arguments are class indices, such as a tensor `(n,)` of `u32`.
///
/// ```
/// use taper::prelude::*;
///
/// let truth = [0, 0, 1, 1, 1];
/// let predicted = tensor(&[0_u32, 1, 1, 1, 1]);
/// let matrix = confusion_matrix(&truth, &predicted, ["cat", "dog"]);
/// assert_eq!(
///     matrix.show_text(),
///     "predicted over true: a heat map of 2 by 2, from 0 to 3\ncat: 1, 1\ndog: 0, 3"
/// );
/// ```
pub fn confusion_matrix<L: Into<String>>(
    truth: &dyn Values,
    predicted: &dyn Values,
    classes: impl IntoIterator<Item = L>,
) -> Heatmap {
    matrix_of(
        truth,
        predicted,
        texts(&mut classes.into_iter().map(Into::into)),
    )
}

fn matrix_of(truth: &dyn Values, predicted: &dyn Values, names: Vec<String>) -> Heatmap {
    let counted = count_pairs(truth, predicted, names.len());
    Heatmap::new(counted.map(|counts| (names.len(), names.len(), counts)))
        .row_names(names.clone())
        .column_names(names)
        .xlabel("predicted")
        .ylabel("true")
        .annotate(true)
}

fn count_pairs(truth: &dyn Values, predicted: &dyn Values, classes: usize) -> Result<Vec<f64>> {
    refuse!(if classes == 0;
        "confusion_matrix: the list of classes is empty";
        "Name the classes, as in [\"cat\", \"dog\"]");
    let (truth, predicted) = (truth.values()?, predicted.values()?);
    refuse!(if truth.len() != predicted.len();
        ("confusion_matrix: truth has {}, but predicted has {}", count_values(truth.len()), predicted.len());
        "Pass one true and one predicted class for each example");
    let class = |value: f64| match value {
        value if value >= 0.0 && value.fract() == 0.0 && value < classes as f64 => {
            Ok(value as usize)
        }
        _ => Err(problem!(
            "confusion_matrix: expected a class below {classes}, found {value}";
            "Classes are integers from 0; pass a name for each of them")),
    };
    let mut counts = vec![0.0; classes * classes];
    for (truth, predicted) in truth.into_iter().zip(predicted) {
        counts[class(truth)? * classes + class(predicted)?] += 1.0;
    }
    Ok(counts)
}

impl Heatmap {
    setters! {
        /// Sets the title, above the heat map.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let map = heatmap(&eye(3)).title("identity");
        /// assert!(map.show_text().starts_with("identity: "));
        /// ```
        pub fn title(self, title: impl Into<String>): self.title = title.into();

        /// Sets the label of the columns.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let map = heatmap(&eye(3)).xlabel("keys").ylabel("queries");
        /// assert!(map.show_text().starts_with("keys over queries: "));
        /// ```
        pub fn xlabel(self, label: impl Into<String>): self.xlabel = label.into();

        /// Sets the label of the rows; see [`xlabel`](Self::xlabel).
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let map = heatmap(&eye(3)).ylabel("queries");
        /// assert!(map.svg().contains(">queries</text>"));
        /// ```
        pub fn ylabel(self, label: impl Into<String>): self.ylabel = label.into();

        /// Names the rows, which are numbered from 0 otherwise.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let map = heatmap(&eye(2)).row_names(["cat", "dog"]);
        /// assert!(map.svg().contains(">cat</text>"));
        /// ```
        pub fn row_names<L: Into<String>>(self, names: impl IntoIterator<Item = L>):
            *self.row_names = texts(&mut names.into_iter().map(Into::into));

        /// Names the columns, which are numbered from 0 otherwise.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let map = heatmap(&eye(2)).column_names(["cat", "dog"]);
        /// assert!(map.svg().contains(">dog</text>"));
        /// ```
        pub fn column_names<L: Into<String>>(self, names: impl IntoIterator<Item = L>):
            *self.column_names = texts(&mut names.into_iter().map(Into::into));

        /// Sets whether each value is written into its cell. If there is no room for the values, a line
        /// below the heat map says so.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let map = heatmap(&tensor(&[[2, 75], [8, 100]])).annotate(true);
        /// assert!(map.svg().contains(">75</text>"));
        /// ```
        pub fn annotate(self, annotate: bool): self.annotated = annotate;
    }
}

graphic!(Heatmap, "heatmap(&eye(2))");

impl Graphic for Heatmap {
    fn scene(&self) -> Scene {
        HeatmapLayout::new(self).draw()
    }

    fn description(&self) -> String {
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

#[cfg(test)]
mod tests;
