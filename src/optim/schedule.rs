//! Schedules of the learning rate.

use std::f64::consts::PI;

/// A learning rate that depends on the progress of training. From d2l's chapter *Learning Rate
/// Scheduling*; each rule is PyTorch's.
///
/// Time is counted in epochs by [`Trainer::schedule`](crate::train::Trainer::schedule), in steps by
/// [`Trainer::schedule_steps`](crate::train::Trainer::schedule_steps).
///
/// ```
/// use taper::prelude::*;
///
/// let schedule = Schedule::cosine(10).warmup(2);
/// let lrs: Vec<f64> = (0..4).map(|epoch| schedule.lr(0.1, epoch)).collect();
/// assert_eq!(lrs[..3], [0.0, 0.05, 0.1]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// A constant learning rate.
    Constant,
    /// Multiplied by `gamma` at regular intervals.
    Step {
        /// The length of an interval.
        every: usize,
        /// The factor.
        gamma: f64,
    },
    /// Multiplied by `gamma` after each epoch.
    Exponential {
        /// The factor.
        gamma: f64,
    },
    /// Half a period of a cosine, down to `min_lr`, then constant. From Loshchilov and Hutter, 2017.
    Cosine {
        /// The duration of the decrease.
        total: usize,
        /// The learning rate at the end.
        min_lr: f64,
    },
    /// Multiplied by a factor that changes linearly, then stays constant.
    Linear {
        /// The factor at the beginning.
        from: f64,
        /// The factor at the end.
        to: f64,
        /// The duration of the change.
        total: usize,
    },
    /// A linear increase from 0, then another schedule.
    Warmup {
        /// The duration of the increase.
        total: usize,
        /// The schedule after the increase, which begins at time 0.
        then: Box<Schedule>,
    },
}

impl Schedule {
    /// Multiplies the learning rate by `gamma` after every `every` epochs, as PyTorch's `StepLR`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Schedule::step(30, 0.5).lr(0.1, 60), 0.025);
    /// ```
    pub fn step(every: usize, gamma: f64) -> Self {
        Self::Step { every, gamma }
    }

    /// Multiplies the learning rate by `gamma` after each epoch, as PyTorch's `ExponentialLR`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Schedule::exponential(0.5).lr(0.1, 2), 0.025);
    /// ```
    pub fn exponential(gamma: f64) -> Self {
        Self::Exponential { gamma }
    }

    /// Decreases the learning rate to 0 in `total` epochs along a cosine, as PyTorch's
    /// `CosineAnnealingLR`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!((Schedule::cosine(10).lr(0.1, 5) - 0.05).abs() < 1e-12);
    /// ```
    pub fn cosine(total: usize) -> Self {
        Self::Cosine { total, min_lr: 0.0 }
    }

    /// Changes the learning rate linearly from `from` times to `to` times its value in `total`
    /// epochs, as PyTorch's `LinearLR`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!((Schedule::linear(1.0, 0.0, 10).lr(0.1, 5) - 0.05).abs() < 1e-12);
    /// ```
    pub fn linear(from: f64, to: f64, total: usize) -> Self {
        Self::Linear { from, to, total }
    }

    /// Puts a linear increase from 0, which takes `total` epochs, before the schedule.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let schedule = Schedule::Constant.warmup(4);
    /// assert_eq!(schedule.lr(0.1, 1), 0.025);
    /// assert_eq!(schedule.lr(0.1, 9), 0.1);
    /// ```
    pub fn warmup(self, total: usize) -> Self {
        let then = Box::new(self);
        Self::Warmup { total, then }
    }

    /// Returns the learning rate at a time, for an optimiser that began with `base`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Schedule::Constant.lr(0.1, 1000), 0.1);
    /// ```
    pub fn lr(&self, base: f64, time: usize) -> f64 {
        let part = |total: usize| (time as f64 / total.max(1) as f64).min(1.0);
        match self {
            Self::Constant => base,
            Self::Step { every, gamma } => base * gamma.powf((time / (*every).max(1)) as f64),
            Self::Exponential { gamma } => base * gamma.powf(time as f64),
            Self::Cosine { total, min_lr } => {
                min_lr + (base - min_lr) * (1.0 + (PI * part(*total)).cos()) / 2.0
            }
            Self::Linear { from, to, total } => base * (from + (to - from) * part(*total)),
            Self::Warmup { total, .. } if time < *total => base * part(*total),
            Self::Warmup { total, then } => then.lr(base, time - total),
        }
    }
}
