//! A history as columns of metrics, the form in which a checkpoint keeps it.

use super::{Epoch, History, Interval};
use crate::error::Result;
use crate::tensor::Tensor;
use candle_core::Device;
use std::collections::{BTreeMap, HashMap};

/// The metrics of one epoch or interval, by name.
type Row = BTreeMap<String, f64>;

const METRIC: &str = "metric.";
/// Marks a metric that a row does not have: a NaN that no computation returns, since a metric may be
/// NaN as well.
const MISSING: f64 = f64::from_bits(0x7ff8_0000_0000_7a9e);

impl History {
    /// Returns the metrics, one tensor for each name.
    pub(crate) fn to_tensors(&self) -> Vec<(String, Tensor)> {
        let epochs = columns("epochs", self.epochs.iter().map(Epoch::to_row).collect());
        let intervals = columns(
            "intervals",
            self.intervals.iter().map(Interval::to_row).collect(),
        );
        let all = epochs.into_iter().chain(intervals);
        let tensor = |column: Vec<f64>| {
            let rows = column.len();
            Tensor::from_vec_on(column, rows, &Device::Cpu)
        };
        all.map(|(name, column)| (name, tensor(column))).collect()
    }

    /// Returns the history from which [`to_tensors`](Self::to_tensors) created these tensors. Without
    /// tensors, it is empty.
    pub(crate) fn of_tensors(tensors: &HashMap<String, Tensor>) -> Result<Self> {
        let epochs = rows("epochs", tensors)?;
        let intervals = rows("intervals", tensors)?;
        Ok(Self {
            epochs: epochs.into_iter().map(Epoch::of_row).collect(),
            intervals: intervals.into_iter().map(Interval::of_row).collect(),
        })
    }
}

/// Writes the numbers of an epoch or interval as a row, the first of them an integer, and reads them.
macro_rules! row {
    ($type:ident: $count:ident $($number:ident)*) => {
        impl $type {
            fn to_row(&self) -> Row {
                let mut row = with_metrics(&self.metrics);
                row.insert(stringify!($count).to_owned(), self.$count as f64);
                $(row.insert(stringify!($number).to_owned(), self.$number);)*
                row
            }

            fn of_row(row: Row) -> Self {
                Self {
                    $count: of(&row, stringify!($count)) as usize,
                    $($number: of(&row, stringify!($number)),)*
                    metrics: metrics(row).into(),
                }
            }
        }
    };
}

row!(Epoch: epoch samples_per_second seconds lr);
row!(Interval: step epoch samples_per_second lr);

fn with_metrics(metrics: &BTreeMap<String, f64>) -> Row {
    let named = metrics.iter();
    named
        .map(|(name, value)| (format!("{METRIC}{name}"), *value))
        .collect()
}

fn metrics(row: Row) -> BTreeMap<String, f64> {
    let metric =
        |(name, value): (String, f64)| Some((name.strip_prefix(METRIC)?.to_owned(), value));
    row.into_iter().filter_map(metric).collect()
}

fn of(row: &Row, name: &str) -> f64 {
    row.get(name).copied().unwrap_or_default()
}

/// Returns the column of each metric, with [`MISSING`] in the rows that do not have it.
fn columns(table: &str, rows: Vec<Row>) -> BTreeMap<String, Vec<f64>> {
    let mut columns = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        for (name, value) in row {
            let column = columns.entry(format!("{table}.{name}"));
            column.or_insert_with(|| vec![MISSING; rows.len()])[i] = *value;
        }
    }
    columns
}

fn rows(table: &str, tensors: &HashMap<String, Tensor>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, tensor) in tensors {
        let Some(name) = name
            .strip_prefix(table)
            .and_then(|rest| rest.strip_prefix('.'))
        else {
            continue;
        };
        for (i, value) in tensor.raw().to_vec1::<f64>()?.into_iter().enumerate() {
            if rows.len() <= i {
                rows.push(Row::new());
            }
            if value.to_bits() != MISSING.to_bits() {
                rows[i].insert(name.to_owned(), value);
            }
        }
    }
    Ok(rows)
}
