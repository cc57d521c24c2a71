//! The metrics of a training.

mod columns;

use super::Metrics;
use crate::erased::outlined;
use crate::notebook::{MimeBundle, Show, Table, debug_as_shown};
use crate::plot::ProgressBoard;
use std::collections::BTreeSet;

/// The metrics of a training, shown as a table with a row for each epoch.
///
/// ```
/// use taper::prelude::*;
///
/// let history = History::default();
/// assert!(history.epochs.is_empty());
/// assert_eq!(history.show_text(), "no epochs yet");
/// ```
#[derive(Default, PartialEq)]
pub struct History {
    /// The epochs that were completed.
    pub epochs: Vec<Epoch>,
    /// The intervals, of some steps each, also those of an epoch that was not completed.
    pub intervals: Vec<Interval>,
}

/// The metrics of one pass through the training data, and of the validation after it.
#[derive(Default, PartialEq)]
pub struct Epoch {
    /// The number of the epoch, counted from 1.
    pub epoch: usize,
    /// Means by name: `train_loss`, `val_loss`, `val_accuracy`, and what the model plots.
    pub metrics: Metrics,
    /// Training examples a second, without validation.
    pub samples_per_second: f64,
    /// Its duration in seconds, including validation.
    pub seconds: f64,
    /// The learning rate at its end.
    pub lr: f64,
}

/// The metrics of some steps of training.
#[derive(Default, PartialEq)]
pub struct Interval {
    /// The number of its last step, counted from 1 since training began.
    pub step: usize,
    /// The epochs completed at its end; 1.5 is in the middle of the second.
    pub epoch: f64,
    /// Means by name over these steps: `train_loss` and what the model plots.
    pub metrics: Metrics,
    /// Training examples a second.
    pub samples_per_second: f64,
    /// The learning rate at its end.
    pub lr: f64,
}

outlined!(Clone for History { epochs, intervals });
outlined!(Clone Debug for Epoch { epoch, metrics, samples_per_second, seconds, lr });
outlined!(Clone Debug for Interval { step, epoch, metrics, samples_per_second, lr });

impl History {
    /// Returns a metric of all epochs, `"train_loss"` for instance; epochs without it are left out.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(History::default().values("val_loss").is_empty());
    /// ```
    pub fn values(&self, name: &str) -> Vec<f64> {
        self.epochs
            .iter()
            .filter_map(|epoch| epoch.metric(name))
            .collect()
    }

    /// Returns a metric of the last epoch.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(History::default().last("val_accuracy"), None);
    /// ```
    pub fn last(&self, name: &str) -> Option<f64> {
        self.epochs.last()?.metric(name)
    }

    fn table(&self) -> Table {
        let names: BTreeSet<&String> = self.epochs.iter().flat_map(|e| e.metrics.keys()).collect();
        let mut heads = vec!["epoch".to_owned()];
        heads.extend(names.iter().map(|name| name.to_string()));
        heads.extend(["samples/s", "seconds"].map(str::to_owned));
        let columns = 0..heads.len();
        let mut table = Table::new(heads).right(columns);
        for epoch in &self.epochs {
            let mut cells = vec![epoch.epoch.to_string()];
            let metric = |name: &&String| epoch.metric(name).map(number).unwrap_or_default();
            cells.extend(names.iter().map(metric));
            cells.push(format!("{:.0}", epoch.samples_per_second));
            cells.push(format!("{:.2}", epoch.seconds));
            table.push(cells);
        }
        table
    }
}

impl Epoch {
    /// Returns one of the metrics.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(taper::train::Epoch::default().metric("train_loss"), None);
    /// ```
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }

    /// Draws the validation metrics; the others are drawn for each interval.
    pub(super) fn draw_validation(&self, board: &ProgressBoard) {
        for (name, value) in self
            .metrics
            .iter()
            .filter(|(name, _)| name.starts_with("val_"))
        {
            board.draw(self.epoch as f64, *value, name, 1);
        }
    }
}

impl Interval {
    /// Returns one of the metrics.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Interval::default().metric("train_loss"), None);
    /// ```
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }

    /// Draws the metrics of the interval.
    pub(super) fn draw(&self, board: &ProgressBoard) {
        for (name, value) in &self.metrics {
            board.draw(self.epoch, *value, name, 1);
        }
    }
}

/// Formats a metric.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && !(1e-3..1e5).contains(&size) => format!("{value:.3e}"),
        _ => format!("{value:.4}"),
    }
}

impl Show for History {
    fn show_text(&self) -> String {
        match self.epochs.is_empty() {
            true => "no epochs yet".to_owned(),
            false => self.table().text(),
        }
    }

    fn show_bundle(&self) -> MimeBundle {
        match self.epochs.is_empty() {
            true => MimeBundle::text(self.show_text()),
            false => self.table().bundle(),
        }
    }
}

impl Show for Interval {
    fn show_text(&self) -> String {
        let metrics = self.metrics.iter();
        let metrics: Vec<String> = metrics
            .map(|(name, v)| format!("{name} {}", number(*v)))
            .collect();
        format!(
            "epoch {:.2}, step {}: {}, {:.0} samples/s",
            self.epoch,
            self.step,
            metrics.join(", "),
            self.samples_per_second
        )
    }
}

impl Show for Epoch {
    fn show_text(&self) -> String {
        let epochs = vec![self.clone()];
        History {
            epochs,
            intervals: vec![],
        }
        .show_text()
    }
}

debug_as_shown!(History);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_checkpoint_keeps_nan_and_missing_metrics_apart() -> crate::Result<()> {
        let epoch = |number, metrics: &[(&str, f64)]| Epoch {
            epoch: number,
            metrics: metrics
                .iter()
                .map(|(name, x)| (name.to_string(), *x))
                .collect(),
            samples_per_second: 1.0,
            seconds: 0.5,
            lr: 0.1,
        };
        let history = History {
            epochs: vec![
                epoch(1, &[("val_loss", 1.0)]),
                epoch(2, &[("val_loss", f64::NAN)]),
                epoch(3, &[]),
            ],
            intervals: vec![],
        };
        let again = History::of_tensors(&history.to_tensors().into_iter().collect())?;
        let losses: Vec<_> = again
            .epochs
            .iter()
            .map(|epoch| epoch.metric("val_loss"))
            .collect();
        assert!(
            matches!(losses[..], [Some(1.0), Some(nan), None] if nan.is_nan()),
            "{losses:?}"
        );
        Ok(())
    }

    #[test]
    fn a_history_is_shown_as_a_table() {
        let epoch = |epoch, loss| Epoch {
            epoch,
            metrics: BTreeMap::from([("train_loss".to_owned(), loss)]).into(),
            samples_per_second: 1234.5,
            seconds: 0.5,
            lr: 0.1,
        };
        let history = History {
            epochs: vec![epoch(1, 0.25), epoch(2, 1e-5)],
            intervals: vec![],
        };
        assert_eq!(
            history.show_text(),
            "epoch  train_loss  samples/s  seconds\n    1      0.2500       1234     0.50\n    2    1.000e-5       1234     0.50"
        );
        let bundle = history.show_bundle();
        let html = bundle.get("text/html").unwrap();
        assert!(html.contains("<th>train_loss</th>") && html.contains("<td>0.2500</td>"));
        assert_eq!(history.values("train_loss"), [0.25, 1e-5]);
        assert_eq!(history.last("train_loss"), Some(1e-5));
    }
}
