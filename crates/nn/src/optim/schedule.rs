//! Schedules of the learning rate.

use std::f64::consts::PI;

/// A schedule of the learning rate: [`Schedule`], `OneCycle`, `ReduceOnPlateau`, or your own. A
/// closure that takes the initial learning rate of the optimiser, and the time, is a schedule as well.
///
/// Time is counted from 0: in epochs by `Trainer::schedule`, in
/// steps by `Trainer::schedule_steps`. With several parameter
/// groups, each follows the schedule from its own learning rate.
///
/// ```
/// use taper::prelude::*;
///
/// /// From d2l's chapter *Learning Rate Scheduling*.
/// struct SquareRoot;
///
/// impl LrSchedule for SquareRoot {
///     fn lr(&self, base: f64, time: usize) -> f64 {
///         base / (time as f64 + 1.0).sqrt()
///     }
/// }
///
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// let history = Trainer::new(4).schedule(SquareRoot).fit(&mut model, &Digits::new())?;
/// assert_eq!(history.epochs[3].lr, 0.05);
///
/// let halved = |base: f64, time: usize| base * 0.5_f64.powi(time as i32);
/// assert_eq!(LrSchedule::lr(&halved, 0.1, 2), 0.025);
/// # Ok::<(), Error>(())
/// ```
pub trait LrSchedule: Send {
    /// Returns the learning rate at a time, for parameters whose initial learning rate is `base`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let schedules: [Box<dyn LrSchedule>; 2] = [Box::new(Schedule::step(1, 0.5)), Box::new(OneCycle::new(9))];
    /// assert_eq!(schedules[0].lr(0.1, 2), 0.025);
    /// ```
    fn lr(&self, base: f64, time: usize) -> f64;

    /// Returns the name of the metric on which the schedule depends, if there is one.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(ReduceOnPlateau::new("val_loss").metric(), Some("val_loss"));
    /// ```
    fn metric(&self) -> Option<&str> {
        None
    }

    /// Returns the learning rate at a time, from the `values` of the metric after the epochs so far.
    /// A schedule keeps no state of its own: after a checkpoint it continues from the history.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let schedule = ReduceOnPlateau::new("val_loss").patience(1);
    /// assert_eq!(schedule.lr_after(&[0.9, 0.8], 0.1, 2), 0.1);
    /// assert!((schedule.lr_after(&[0.9, 0.8, 0.8, 0.8], 0.1, 4) - 0.01).abs() < 1e-12);
    /// ```
    fn lr_after(&self, values: &[f64], base: f64, time: usize) -> f64 {
        let _ = values;
        self.lr(base, time)
    }
}

impl<F: Fn(f64, usize) -> f64 + Send> LrSchedule for F {
    fn lr(&self, base: f64, time: usize) -> f64 {
        self(base, time)
    }
}

impl LrSchedule for Schedule {
    fn lr(&self, base: f64, time: usize) -> f64 {
        Schedule::lr(self, base, time)
    }
}

/// A learning rate that depends on the progress of training. From d2l's chapter *Learning Rate
/// Scheduling*; each rule is PyTorch's.
///
/// ```
/// use taper::prelude::*;
///
/// let schedule = Schedule::cosine(10).warmup(3);
/// let lrs: Vec<f64> = (0..4).map(|epoch| schedule.lr(1.0, epoch)).collect();
/// assert_eq!(lrs, [0.25, 0.5, 0.75, 1.0]);
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
    /// Multiplied by `gamma` at each milestone.
    MultiStep {
        /// The times of the changes; a time that occurs twice counts twice.
        milestones: Vec<usize>,
        /// The factor.
        gamma: f64,
    },
    /// Multiplied by `gamma` after each epoch.
    Exponential {
        /// The factor.
        gamma: f64,
    },
    /// A cosine: down to `min_lr` in half a period, then up again. From Loshchilov and Hutter, 2017.
    Cosine {
        /// The duration of the decrease, half a period.
        total: usize,
        /// The lowest learning rate.
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
    /// Multiplied by a power of the share of the time that is left; 0 after that.
    Polynomial {
        /// The duration of the decrease.
        total: usize,
        /// The exponent.
        power: f64,
    },
    /// Half a period of a cosine down to `min_lr`, again and again. From Loshchilov and Hutter, 2017.
    WarmRestarts {
        /// The duration of the first decrease.
        first: usize,
        /// The factor by which each decrease is longer than the one before.
        growth: usize,
        /// The learning rate at the end of each decrease.
        min_lr: f64,
    },
    /// A linear increase, then another schedule.
    Warmup {
        /// The factor at the beginning.
        from: f64,
        /// The duration of the increase.
        total: usize,
        /// The schedule after the increase, which begins at time 0.
        then: Box<Schedule>,
    },
}

/// Panics if a setting of a schedule is wrong: the setting, what was found, and what was expected.
macro_rules! require {
    (if $wrong:expr; $setting:literal, $found:expr; $expected:literal) => {
        $crate::error::raise!(if $wrong; argument($setting, $found);
            $expected, "Change this setting of the schedule")
    };
}

impl Schedule {
    /// Multiplies the learning rate by `gamma` after every `every` epochs, as PyTorch's `StepLR`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Schedule::step(30, 0.5).lr(0.1, 60), 0.025);
    /// ```
    ///
    /// # Panics
    /// If `every` is 0.
    #[track_caller]
    pub fn step(every: usize, gamma: f64) -> Self {
        require!(if every == 0; "Schedule::step", every; "an interval of at least 1");
        Self::Step { every, gamma }
    }

    /// Multiplies the learning rate by `gamma` at each of these epochs, as PyTorch's `MultiStepLR`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let schedule = Schedule::multi_step(&[30, 80], 0.5);
    /// assert_eq!([29, 30, 80].map(|epoch| schedule.lr(0.1, epoch)), [0.1, 0.05, 0.025]);
    /// ```
    pub fn multi_step(milestones: &[usize], gamma: f64) -> Self {
        let milestones = milestones.to_vec();
        Self::MultiStep { milestones, gamma }
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
    /// `CosineAnnealingLR`. After that it rises again; for a run of several decreases, see
    /// [`warm_restarts`](Self::warm_restarts).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!((Schedule::cosine(10).lr(0.1, 5) - 0.05).abs() < 1e-12);
    /// assert!((Schedule::cosine(10).lr(0.1, 15) - 0.05).abs() < 1e-12);
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
    ///
    /// # Panics
    /// If `from` is not above 0, `to` is negative, or one of them is above 1.
    #[track_caller]
    pub fn linear(from: f64, to: f64, total: usize) -> Self {
        // As PyTorch's LinearLR.
        require!(if !(from > 0.0 && from <= 1.0);
            "Schedule::linear", from; "a first factor above 0 and at most 1");
        require!(if !(0.0..=1.0).contains(&to); "Schedule::linear", to; "a last factor from 0 to 1");
        Self::Linear { from, to, total }
    }

    /// Decreases the learning rate to 0 in `total` epochs, in proportion to a power of the share of the
    /// epochs that are left, as PyTorch's `PolynomialLR`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Schedule::polynomial(10, 2.0).lr(0.4, 5), 0.1);
    /// ```
    pub fn polynomial(total: usize, power: f64) -> Self {
        Self::Polynomial { total, power }
    }

    /// Decreases the learning rate to 0 along a cosine in `first` epochs, then starts again; each decrease
    /// takes `growth` times as long as the one before. As PyTorch's `CosineAnnealingWarmRestarts`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let schedule = Schedule::warm_restarts(2, 3); // 2 epochs, 6, 18 …
    /// assert_eq!([0, 2, 8].map(|epoch| schedule.lr(0.1, epoch)), [0.1; 3]);
    /// assert!((schedule.lr(0.1, 5) - 0.05).abs() < 1e-12);
    /// ```
    ///
    /// # Panics
    /// If `first` or `growth` is 0.
    #[track_caller]
    pub fn warm_restarts(first: usize, growth: usize) -> Self {
        require!(if first == 0; "Schedule::warm_restarts", first; "a first decrease of at least 1 epoch");
        require!(if growth == 0; "Schedule::warm_restarts", growth; "a growth of at least 1");
        let min_lr = 0.0;
        Self::WarmRestarts {
            first,
            growth,
            min_lr,
        }
    }

    /// Puts a linear increase, which takes `total` epochs, before the schedule. The first learning rate is
    /// not 0 but as large as one step of the increase, so that the first epoch has an effect.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let schedule = Schedule::Constant.warmup(3);
    /// assert_eq!([0, 1, 2, 3].map(|epoch| schedule.lr(1.0, epoch)), [0.25, 0.5, 0.75, 1.0]);
    /// ```
    pub fn warmup(self, total: usize) -> Self {
        self.warmup_from(1.0 / (total as f64 + 1.0), total)
    }

    /// Puts a linear increase, which takes `total` epochs, before the schedule. The first learning rate is
    /// `from` times the base, as in PyTorch's `LinearLR` with `start_factor`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let schedule = Schedule::Constant.warmup_from(0.5, 2);
    /// assert_eq!([0, 1, 2].map(|epoch| schedule.lr(1.0, epoch)), [0.5, 0.75, 1.0]);
    /// ```
    ///
    /// # Panics
    /// If `from` is not above 0, or above 1.
    #[track_caller]
    pub fn warmup_from(self, from: f64, total: usize) -> Self {
        require!(if !(from > 0.0 && from <= 1.0); "warmup_from", from; "a first factor above 0 and at most 1");
        let then = Box::new(self);
        Self::Warmup { from, total, then }
    }

    /// Returns the learning rate at a time, for an optimiser whose initial learning rate is `base`.
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
            Self::MultiStep { milestones, gamma } => {
                let passed = milestones.iter().filter(|milestone| time >= **milestone);
                base * gamma.powf(passed.count() as f64)
            }
            Self::Exponential { gamma } => base * gamma.powf(time as f64),
            Self::Cosine { total, min_lr } => {
                let share = time as f64 / (*total).max(1) as f64;
                min_lr + (base - min_lr) * (1.0 + (PI * share).cos()) / 2.0
            }
            Self::Polynomial { total, power } => base * (1.0 - part(*total)).powf(*power),
            Self::WarmRestarts {
                first,
                growth,
                min_lr,
            } => {
                let (mut time, mut total) = (time, (*first).max(1));
                while *growth > 1 && time >= total {
                    time -= total;
                    total = total.saturating_mul(*growth);
                }
                time %= total;
                let (total, min_lr) = (total, *min_lr);
                Self::Cosine { total, min_lr }.lr(base, time)
            }
            Self::Linear { from, to, total } => base * (from + (to - from) * part(*total)),
            Self::Warmup { from, total, .. } if time < *total => {
                base * (from + (1.0 - from) * part(*total))
            }
            Self::Warmup { total, then, .. } => then.lr(base, time - total),
        }
    }
}

/// The metrics of which larger values are better.
const LARGER_IS_BETTER: [&str; 11] = [
    "acc",
    "auc",
    "auroc",
    "dice",
    "f1",
    "iou",
    "precision",
    "psnr",
    "r2",
    "recall",
    "ssim",
];

/// Returns whether larger values of the metric with this name are better.
#[doc(hidden)]
pub fn is_better_larger(name: &str) -> bool {
    let name = name.strip_suffix("_score").unwrap_or(name);
    let last = name.rsplit('_').next().unwrap_or(name);
    name.ends_with("accuracy") || LARGER_IS_BETTER.contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of PyTorch's `CosineAnnealingLR(optimizer, 5, eta_min=0.01)`.
    #[test]
    fn a_cosine_rises_again_as_in_pytorch() {
        let (total, min_lr) = (5, 0.01);
        let schedule = Schedule::Cosine { total, min_lr };
        let want = [
            0.1, 0.091406, 0.068906, 0.041094, 0.018594, 0.01, 0.018594, 0.041094, 0.068906,
            0.091406, 0.1, 0.091406, 0.068906,
        ];
        for (time, want) in want.into_iter().enumerate() {
            let got = schedule.lr(0.1, time);
            assert!((got - want).abs() < 1e-6, "{got} is not {want} at {time}");
        }
    }
}
