//! A learning rate that is reduced when a metric no longer improves.

use super::ADVICE;
use crate::error::raise;
use crate::optim::{LrSchedule, is_better_larger};

/// Multiplies the learning rate by a factor when a metric has not improved for some epochs, as PyTorch's
/// `ReduceLROnPlateau`.
///
/// ```
/// use taper::prelude::*;
///
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// let schedule = ReduceOnPlateau::new("val_loss").patience(0).threshold(0.9);
/// let history = Trainer::new(3).schedule(schedule).fit(&mut model, &Digits::new())?;
/// assert_eq!(history.epochs[1].lr, 0.1); // an epoch without improvement is needed first
/// assert!((history.epochs[2].lr - 0.01).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReduceOnPlateau {
    name: String,
    larger_is_better: bool,
    factor: f64,
    patience: usize,
    threshold: f64,
    absolute: bool,
    cooldown: usize,
    min_lr: f64,
    eps: f64,
}

impl ReduceOnPlateau {
    /// Creates a schedule that watches a metric of the history, such as `"val_loss"`. The factor is 0.1, the
    /// patience 10 epochs.
    ///
    /// The metric must decrease. It must increase if its name ends in `accuracy`, `acc`, `auc`, `auroc`, `dice`,
    /// `f1`, `iou`, `precision`, `psnr`, `r2`, `recall` or `ssim`, with or without `_score` after it. For other
    /// names, see [`larger_is_better`](Self::larger_is_better).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let schedule = ReduceOnPlateau::new("val_accuracy");
    /// assert!(format!("{schedule:?}").contains("larger_is_better: true"));
    /// ```
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            larger_is_better: is_better_larger(name),
            factor: 0.1,
            patience: 10,
            threshold: 1e-4,
            absolute: false,
            cooldown: 0,
            min_lr: 0.0,
            eps: 1e-8,
        }
    }

    setters! {
        /// Sets whether the metric must increase: PyTorch's `mode="max"`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = ReduceOnPlateau::new("val_reward").larger_is_better(true).patience(0);
        /// assert_eq!(schedule.lr_after(&[0.5, 0.6], 0.1, 2), 0.1);
        /// ```
        pub fn larger_is_better(self, larger_is_better: bool): self.larger_is_better = larger_is_better;

        /// Sets the factor of each reduction.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = ReduceOnPlateau::new("val_loss").factor(0.5).patience(0);
        /// assert_eq!(schedule.lr_after(&[0.5, 0.5], 0.1, 2), 0.05);
        /// ```
        ///
        /// # Panics
        /// If the factor is not below 1, or negative.
        #[track_caller]
        pub fn factor(self, factor: f64): {
            raise!(if !(0.0..1.0).contains(&factor); argument("ReduceOnPlateau", factor);
                "a factor from 0 to below 1", ADVICE);
            self.factor = factor;
        };

        /// Sets how many epochs without improvement are allowed: the next one reduces the learning rate.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = ReduceOnPlateau::new("val_loss").patience(1);
        /// assert_eq!(schedule.lr_after(&[0.5, 0.5], 0.1, 2), 0.1);
        /// assert!(schedule.lr_after(&[0.5, 0.5, 0.5], 0.1, 3) < 0.1);
        /// ```
        pub fn patience(self, patience: usize): self.patience = patience;

        /// Sets by which share of its best value the metric must improve.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = ReduceOnPlateau::new("val_loss").threshold(0.1).patience(0);
        /// assert!(schedule.lr_after(&[0.50, 0.46], 0.1, 2) < 0.1); // 8 % are too little
        /// ```
        pub fn threshold(self, threshold: f64): (self.threshold, self.absolute) = (threshold, false);

        /// Sets by how much the metric must improve: PyTorch's `threshold_mode="abs"`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = ReduceOnPlateau::new("val_loss").absolute_threshold(0.1).patience(0);
        /// assert!(schedule.lr_after(&[0.50, 0.41], 0.1, 2) < 0.1);
        /// ```
        pub fn absolute_threshold(self, threshold: f64): (self.threshold, self.absolute) = (threshold, true);

        /// Sets for how many epochs after a reduction an epoch without improvement does not count.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = ReduceOnPlateau::new("val_loss").patience(0).cooldown(5).factor(0.5);
        /// assert_eq!(schedule.lr_after(&[0.5; 7], 0.1, 7), 0.05);
        /// ```
        pub fn cooldown(self, cooldown: usize): self.cooldown = cooldown;

        /// Sets the smallest learning rate.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = ReduceOnPlateau::new("val_loss").patience(0).min_lr(0.02);
        /// assert_eq!(schedule.lr_after(&[0.5; 7], 0.1, 7), 0.02);
        /// ```
        pub fn min_lr(self, min_lr: f64): self.min_lr = min_lr;

        /// Sets the smallest change of the learning rate: a smaller reduction is ignored.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = ReduceOnPlateau::new("val_loss").patience(0).eps(1.0);
        /// assert_eq!(schedule.lr_after(&[0.5; 7], 0.1, 7), 0.1);
        /// ```
        pub fn eps(self, eps: f64): self.eps = eps;
    }

    fn improves(&self, value: f64, best: f64) -> bool {
        let Self {
            threshold,
            absolute,
            larger_is_better,
            ..
        } = *self;
        match (larger_is_better, absolute) {
            (true, true) => value > best + threshold,
            (true, false) => value > best * (1.0 + threshold),
            (false, true) => value < best - threshold,
            (false, false) => value < best * (1.0 - threshold),
        }
    }
}

impl LrSchedule for ReduceOnPlateau {
    fn lr(&self, base: f64, _: usize) -> f64 {
        base
    }

    fn metric(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn lr_after(&self, values: &[f64], base: f64, _: usize) -> f64 {
        let mut best = match self.larger_is_better {
            true => f64::NEG_INFINITY,
            false => f64::INFINITY,
        };
        let (mut lr, mut waited, mut cooling) = (base, 0, 0);
        for &value in values {
            match self.improves(value, best) {
                true => (best, waited) = (value, 0),
                false => waited += 1,
            }
            if cooling > 0 {
                (cooling, waited) = (cooling - 1, 0);
            }
            if waited > self.patience {
                (cooling, waited) = (self.cooldown, 0);
                let reduced = (lr * self.factor).max(self.min_lr);
                if lr - reduced > self.eps {
                    lr = reduced;
                }
            }
        }
        lr
    }
}
