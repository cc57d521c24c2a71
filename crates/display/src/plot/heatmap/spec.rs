//! The values and the labels of a heat map.

use crate::erased::{Erased, outlined};
use crate::error::Result;
use crate::plot::colormap::color;
use crate::plot::number::finite_range;
use plotters::style::RGBColor;

/// A heat map: a matrix whose values are drawn as colours, from dark purple for the lowest to yellow for
/// the highest. Returned by [`heatmap`](super::heatmap) and
/// [`confusion_matrix`](super::confusion_matrix).
///
/// ```
/// use taper::prelude::*;
///
/// let map = heatmap(&eye(8)).title("attention").xlabel("keys");
/// assert_eq!(map.show_text(), "attention: a heat map of 8 by 8, from 0 to 1");
/// ```
#[must_use = "a figure is shown as the value of a cell, or by .show()"]
pub struct Heatmap {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: Vec<f64>,
    pub(super) title: String,
    pub(super) xlabel: String,
    pub(super) ylabel: String,
    pub(super) row_names: Erased<Vec<String>>,
    pub(super) column_names: Erased<Vec<String>>,
    pub(super) annotated: bool,
    pub(super) problem: Option<String>,
}

outlined!(Clone Debug for Heatmap { rows, columns, values, title, xlabel, ylabel, row_names, column_names, annotated, problem });

impl Heatmap {
    pub(super) fn new(found: Result<(usize, usize, Vec<f64>)>) -> Self {
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
            row_names: Vec::new().into(),
            column_names: Vec::new().into(),
            annotated: false,
            problem,
        }
    }

    /// Returns the lowest and the highest value.
    pub(super) fn range(&self) -> (f64, f64) {
        finite_range(self.values.iter().copied()).unwrap_or((0.0, 0.0))
    }

    /// Returns the colour of each value.
    pub(super) fn colors(&self) -> Vec<RGBColor> {
        let (low, high) = self.range();
        let part = |value: f64| match high > low {
            true => (value - low) / (high - low),
            // Stays NaN for a value that is not finite.
            false => value * 0.0 + 0.5,
        };
        self.values
            .iter()
            .map(|&value| color(part(value)))
            .collect()
    }
}
