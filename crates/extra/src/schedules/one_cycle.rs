//! One cycle of the learning rate.

use super::ADVICE;
use crate::error::raise;
use crate::optim::LrSchedule;
use std::f64::consts::PI;

/// One cycle: up from a small learning rate to the largest, then down to nearly 0. From Smith and Topin,
/// 2018; follows PyTorch's `OneCycleLR`, except that the momentum stays as it is.
///
/// The largest learning rate is the optimiser's own, or [`max_lr`](Self::max_lr). Time is usually counted
/// in steps: `Trainer::schedule_steps`.
///
/// ```
/// use taper::prelude::*;
///
/// let schedule = OneCycle::new(100);
/// let lrs = [0, 29, 99].map(|step| schedule.lr(0.1, step));
/// assert!((lrs[0] - 0.1 / 25.0).abs() < 1e-12);
/// assert!((lrs[1] - 0.1).abs() < 1e-12);
/// assert!((lrs[2] - 0.1 / 25.0 / 1e4).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OneCycle {
    total_steps: usize,
    max_lr: Option<f64>,
    pct_start: f64,
    linear: bool,
    div_factor: f64,
    final_div_factor: f64,
    three_phase: bool,
}

impl OneCycle {
    /// Creates a cycle of this many steps, of which 30 % are for the increase; both changes follow a
    /// cosine.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let schedule = OneCycle::new(10 * 23); // 10 epochs of 23 steps
    /// assert!(schedule.lr(0.1, 68) > 0.0999);
    /// ```
    ///
    /// # Panics
    /// If `total_steps` is 0.
    #[track_caller]
    pub fn new(total_steps: usize) -> Self {
        raise!(if total_steps == 0; argument("OneCycle", total_steps);
            "at least 1 step", ADVICE);
        Self {
            total_steps,
            max_lr: None,
            pct_start: 0.3,
            linear: false,
            div_factor: 25.0,
            final_div_factor: 1e4,
            three_phase: false,
        }
    }

    setters! {
        /// Sets the largest learning rate, for all parameters.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(OneCycle::new(100).max_lr(0.5).lr(0.1, 29), 0.5);
        /// ```
        pub fn max_lr(self, max_lr: f64): self.max_lr = Some(max_lr);

        /// Sets the share of the steps in which the learning rate increases.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(OneCycle::new(100).pct_start(0.5).lr(0.1, 49), 0.1);
        /// ```
        ///
        /// # Panics
        /// If the share is not from 0 to 1.
        #[track_caller]
        pub fn pct_start(self, pct_start: f64): {
            raise!(if !(0.0..=1.0).contains(&pct_start); argument("OneCycle", pct_start);
                "pct_start from 0 to 1", ADVICE);
            self.pct_start = pct_start;
        };

        /// Changes the learning rate linearly instead of along a cosine: PyTorch's
        /// `anneal_strategy="linear"`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = OneCycle::new(41).pct_start(0.5).div_factor(1.5).linear();
        /// assert!((schedule.lr(0.3, 0) - 0.2).abs() < 1e-12);
        /// assert!((schedule.lr(0.3, 39) - schedule.lr(0.3, 40) - 0.3 / 20.5).abs() < 1e-6);
        /// ```
        pub fn linear(self): self.linear = true;

        /// Sets the factor by which the first learning rate is smaller than the largest.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(OneCycle::new(100).div_factor(2.0).lr(0.1, 0), 0.05);
        /// ```
        pub fn div_factor(self, div_factor: f64): self.div_factor = div_factor;

        /// Sets the factor by which the last learning rate is smaller than the first.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = OneCycle::new(100).div_factor(2.0).final_div_factor(5.0);
        /// assert!((schedule.lr(0.1, 99) - 0.01).abs() < 1e-12);
        /// ```
        pub fn final_div_factor(self, final_div_factor: f64): self.final_div_factor = final_div_factor;

        /// Sets whether the learning rate decreases in two phases: first back to the first learning rate, in as many
        /// steps as the increase, then to the last; `false` by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let schedule = OneCycle::new(100).three_phase(true);
        /// assert!((schedule.lr(0.1, 58) - schedule.lr(0.1, 0)).abs() < 1e-12);
        /// ```
        pub fn three_phase(self, three_phase: bool): self.three_phase = three_phase;
    }
}

impl LrSchedule for OneCycle {
    fn lr(&self, base: f64, time: usize) -> f64 {
        let last = self.total_steps.saturating_sub(1);
        let (time, last) = (time.min(last) as f64, last as f64);
        let max = self.max_lr.unwrap_or(base);
        let first = max / self.div_factor;
        let min = first / self.final_div_factor;
        let peak = self.pct_start * self.total_steps as f64 - 1.0;
        // The end of each phase, and the learning rate there.
        let phases = match self.three_phase {
            true => vec![(peak, max), (2.0 * peak, first), (last, min)],
            false => vec![(peak, max), (last, min)],
        };
        let (mut start, mut from) = (0.0, first);
        for (end, to) in phases {
            if time <= end {
                let part = if end > start {
                    (time - start) / (end - start)
                } else {
                    1.0
                };
                return match self.linear {
                    true => from + (to - from) * part,
                    false => to + (from - to) / 2.0 * (1.0 + (PI * part).cos()),
                };
            }
            (start, from) = (end, to);
        }
        min
    }
}
