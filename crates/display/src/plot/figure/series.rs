//! The series of a figure.

use crate::error::{Result, refuse};
use crate::plot::chart::{Series, Style};
use crate::plot::number::count_values;
use crate::plot::values::Values;

/// Returns a series for each of `ys` over the same `x`.
pub(super) fn series(
    what: &str,
    x: &dyn Values,
    ys: &[&dyn Values],
    style: Style,
) -> Result<Vec<Series>> {
    let x = x.values()?;
    let mut all = Vec::new();
    for (i, y) in ys.iter().enumerate() {
        let y = y.values()?;
        refuse!(if x.len() != y.len();
            ("{what}: x has {}, but series {} has {}", count_values(x.len()), i + 1, y.len());
            "Pass one y value for each x value");
        let points = x.iter().copied().zip(y).collect();
        all.push(Series {
            style,
            ..Series::new("", points)
        });
    }
    Ok(all)
}
