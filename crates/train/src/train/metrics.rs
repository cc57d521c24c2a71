//! Metrics by name.

use crate::erased::Erased;
use crate::notebook::{MimeBundle, Show};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

/// Metrics by name, in alphabetical order: a [`BTreeMap`], to read.
///
/// An [`Epoch`](super::Epoch) and an [`Interval`](super::Interval) contain them, and
/// [`validate`](super::Trainer::validate) and [`test`](super::Trainer::test) return them.
///
/// ```
/// use taper::prelude::*;
///
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// let history = Trainer::new(1).fit(&mut model, &Digits::new())?;
/// let metrics = &history.epochs[0].metrics;
/// assert!(metrics["val_loss"] > 0.0);
/// assert!(metrics.keys().any(|name| name == "train_accuracy"));
/// # Ok::<(), Error>(())
/// ```
pub struct Metrics(Erased<BTreeMap<String, f64>>);

impl Default for Metrics {
    #[inline(never)]
    fn default() -> Self {
        Self::from(BTreeMap::new())
    }
}

impl Clone for Metrics {
    #[inline(never)]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl PartialEq for Metrics {
    #[inline(never)]
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Metrics {
    #[inline(never)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Show for Metrics {
    fn show_text(&self) -> String {
        self.0.show_text()
    }

    fn show_bundle(&self) -> MimeBundle {
        self.0.show_bundle()
    }
}

impl Deref for Metrics {
    type Target = BTreeMap<String, f64>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Metrics {
    type Item = (&'a String, &'a f64);
    type IntoIter = std::collections::btree_map::Iter<'a, String, f64>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl FromIterator<(String, f64)> for Metrics {
    fn from_iter<I: IntoIterator<Item = (String, f64)>>(metrics: I) -> Self {
        Self::from(BTreeMap::from_iter(metrics))
    }
}

impl From<BTreeMap<String, f64>> for Metrics {
    #[inline(never)]
    fn from(metrics: BTreeMap<String, f64>) -> Self {
        Self(Erased::new(metrics))
    }
}
