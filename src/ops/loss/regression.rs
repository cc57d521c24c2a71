//! Losses for predictions of continuous values.

use super::elementwise::{ElementLoss, elementwise_loss, loss};
use crate::error::{self, OrRaise};
use crate::ops::engine::simd::Element;
use crate::tensor::{Raw, Tensor};
use candle_core::{Error, Result};

elementwise_loss!(
    /// The squared differences; [`mse_loss`] with a choice of the reduction.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (y_hat, y) = (tensor(&[1.0, 2.0]), tensor(&[1.0, 4.0]));
    /// let loss = MSELoss::new().reduction(Reduction::Sum).forward(&y_hat, &y);
    /// assert_eq!(loss.item(), 4.0);
    /// ```
    MSELoss {} => |_: &MSELoss| Ok::<_, Error>(Square)
);

elementwise_loss!(
    /// The absolute differences; [`l1_loss`] with a choice of the reduction.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (y_hat, y) = (tensor(&[1.0, 2.0]), tensor(&[1.0, 4.0]));
    /// let loss = L1Loss::new().reduction(Reduction::Sum).forward(&y_hat, &y);
    /// assert_eq!(loss.item(), 2.0);
    /// ```
    L1Loss {} => |_: &L1Loss| Ok::<_, Error>(Absolute)
);

elementwise_loss!(
    /// The Huber loss; [`huber_loss`] with a choice of the reduction.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (y_hat, y) = (tensor(&[0.0, 0.0]), tensor(&[0.5, 3.0]));
    /// let loss = HuberLoss::new().reduction(Reduction::Sum).forward(&y_hat, &y);
    /// assert_eq!(loss.item(), 0.125 + 2.5);
    /// ```
    HuberLoss {
        /// Sets the difference below which the loss is quadratic, and above which it is linear; 1 by
        /// default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = ones((2, 3));
        /// assert_eq!(HuberLoss::new().delta(0.5).forward(&x, &x).item(), 0.0);
        /// ```
        delta: f64 = 1.0
    } => |loss: &HuberLoss| Huber::new(loss.delta)
);

elementwise_loss!(
    /// The smooth absolute differences; [`smooth_l1_loss`] with a choice of the reduction.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (y_hat, y) = (tensor(&[0.0, 0.0]), tensor(&[0.5, 3.0]));
    /// let loss = SmoothL1Loss::new().reduction(Reduction::Sum).forward(&y_hat, &y);
    /// assert_eq!(loss.item(), 0.125 + 2.5);
    /// ```
    SmoothL1Loss {
        /// Sets the difference below which the loss is quadratic, and above which it is linear; 1 by
        /// default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = ones((2, 3));
        /// assert_eq!(SmoothL1Loss::new().beta(0.5).forward(&x, &x).item(), 0.0);
        /// ```
        beta: f64 = 1.0
    } => |loss: &SmoothL1Loss| SmoothL1::new(loss.beta)
);

functions! {
    /// Returns the mean of the squared differences. From d2l's chapter *Linear Regression*, without its ½.
    ///
    /// # Shapes
    /// Any, the same for both; the loss is a scalar `()`.
    ///
    /// # Panics
    /// If the shapes, types or devices differ, the types are integers, or the batch is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = mse_loss(&tensor(&[1.0, 2.0]), &tensor(&[1.0, 4.0]));
    /// assert_eq!(loss.item(), 2.0);
    /// ```
    pub fn mse_loss(y_hat: &Tensor, y: &Tensor) = MSELoss::new().forward(y_hat, y);

    /// Returns the mean of the absolute differences.
    ///
    /// # Shapes
    /// Any, the same for both; the loss is a scalar `()`.
    ///
    /// # Panics
    /// As for [`mse_loss`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = l1_loss(&tensor(&[1.0, 2.0]), &tensor(&[1.0, 4.0]));
    /// assert_eq!(loss.item(), 1.0);
    /// ```
    pub fn l1_loss(y_hat: &Tensor, y: &Tensor) = L1Loss::new().forward(y_hat, y);

    /// Returns the mean of the Huber loss: half the squared difference where the difference is below `delta`,
    /// and linear beyond, so that outliers count less than with [`mse_loss`]. From Huber, 1964.
    ///
    /// # Shapes
    /// Any, the same for both; the loss is a scalar `()`.
    ///
    /// # Panics
    /// As for [`mse_loss`], and if `delta` is not positive.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = huber_loss(&tensor(&[0.0, 0.0]), &tensor(&[0.5, 3.0]), 1.0);
    /// assert_eq!(loss.item(), (0.125 + 2.5) / 2.0);
    /// ```
    pub fn huber_loss(y_hat: &Tensor, y: &Tensor, delta: f64) = HuberLoss::new().delta(delta).forward(y_hat, y);

    /// Returns the mean of the smooth absolute differences: the Huber loss divided by `beta`, so that its slope
    /// is 1 beyond `beta`. For `beta` 0 it is [`l1_loss`]. From Girshick, 2015.
    ///
    /// # Shapes
    /// Any, the same for both; the loss is a scalar `()`.
    ///
    /// # Panics
    /// As for [`mse_loss`], and if `beta` is negative.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = smooth_l1_loss(&tensor(&[0.0, 0.0]), &tensor(&[1.0, 3.0]), 2.0);
    /// assert_eq!(loss.item(), (0.25 + 2.0) / 2.0);
    /// ```
    pub fn smooth_l1_loss(y_hat: &Tensor, y: &Tensor, beta: f64) = SmoothL1Loss::new().beta(beta).forward(y_hat, y);
}

#[derive(Clone, Copy)]
struct Square;

impl ElementLoss for Square {
    const NAME: &'static str = "mse_loss";

    #[inline(always)]
    fn value<T: Element>(self, y_hat: T, y: T) -> T {
        (y_hat - y) * (y_hat - y)
    }

    #[inline(always)]
    fn derivatives<T: Element>(self, y_hat: T, y: T) -> [T; 2] {
        let slope = (y_hat - y) * T::of(2.0);
        [slope, -slope]
    }

    fn with_candle(self, y_hat: &Raw, y: &Raw) -> Result<Raw> {
        (y_hat - y)?.sqr()
    }
}

#[derive(Clone, Copy)]
struct Absolute;

impl ElementLoss for Absolute {
    const NAME: &'static str = "l1_loss";

    #[inline(always)]
    fn value<T: Element>(self, y_hat: T, y: T) -> T {
        (y_hat - y).abs()
    }

    #[inline(always)]
    fn derivatives<T: Element>(self, y_hat: T, y: T) -> [T; 2] {
        let difference = y_hat - y;
        // NaN stays NaN, and 0 stays 0.
        let negative = if difference < T::ZERO {
            -T::ONE
        } else {
            difference
        };
        let slope = if difference > T::ZERO {
            T::ONE
        } else {
            negative
        };
        [slope, -slope]
    }

    fn with_candle(self, y_hat: &Raw, y: &Raw) -> Result<Raw> {
        absolute(&(y_hat - y)?)
    }
}

#[derive(Clone, Copy)]
struct Huber(f64);

impl Huber {
    fn new(delta: f64) -> Result<Self> {
        match delta > 0.0 {
            true => Ok(Huber(delta)),
            false => Err(error::argument(
                "huber_loss",
                "a delta above 0",
                delta,
                "Use a positive value; 1.0 is common",
            )
            .into()),
        }
    }
}

impl ElementLoss for Huber {
    const NAME: &'static str = "huber_loss";

    #[inline(always)]
    fn value<T: Element>(self, y_hat: T, y: T) -> T {
        let (distance, delta) = ((y_hat - y).abs(), T::of(self.0));
        let line = (distance - delta * T::of(0.5)) * delta;
        let square = distance * distance * T::of(0.5);
        if distance < delta { square } else { line }
    }

    #[inline(always)]
    fn derivatives<T: Element>(self, y_hat: T, y: T) -> [T; 2] {
        let slope = clamp(y_hat - y, T::of(self.0));
        [slope, -slope]
    }

    /// Splits the difference into the part up to `delta`, which is squared, and the rest: the square of the
    /// whole difference could be infinite.
    fn with_candle(self, y_hat: &Raw, y: &Raw) -> Result<Raw> {
        let distance = absolute(&(y_hat - y)?)?;
        let near = distance.broadcast_minimum(&distance.ones_like()?.affine(self.0, 0.0)?)?;
        let rest = (distance - &near)?;
        (near.sqr()? * 0.5)? + (rest * self.0)?
    }
}

#[derive(Clone, Copy)]
struct SmoothL1(f64);

impl SmoothL1 {
    fn new(beta: f64) -> Result<Self> {
        match beta >= 0.0 {
            true => Ok(SmoothL1(beta)),
            false => Err(error::argument(
                "smooth_l1_loss",
                "a beta of at least 0",
                beta,
                "Use a value that is not negative; 1.0 is common",
            )
            .into()),
        }
    }
}

impl ElementLoss for SmoothL1 {
    const NAME: &'static str = "smooth_l1_loss";

    #[inline(always)]
    fn value<T: Element>(self, y_hat: T, y: T) -> T {
        let (distance, beta) = ((y_hat - y).abs(), T::of(self.0));
        let line = distance - beta * T::of(0.5);
        let square = distance * distance * T::of(0.5) / beta;
        if distance < beta { square } else { line }
    }

    #[inline(always)]
    fn derivatives<T: Element>(self, y_hat: T, y: T) -> [T; 2] {
        match self.0 == 0.0 {
            true => Absolute.derivatives(y_hat, y),
            false => {
                let slope = clamp(y_hat - y, T::of(self.0)) / T::of(self.0);
                [slope, -slope]
            }
        }
    }

    fn with_candle(self, y_hat: &Raw, y: &Raw) -> Result<Raw> {
        match self.0 == 0.0 {
            true => Absolute.with_candle(y_hat, y),
            false => Huber(self.0).with_candle(y_hat, y)? / self.0,
        }
    }
}

/// Returns the value, limited to the range from `-bound` to `bound`; NaN stays NaN.
#[inline(always)]
fn clamp<T: Element>(value: T, bound: T) -> T {
    let value = if value > bound { bound } else { value };
    if value < -bound { -bound } else { value }
}

/// Returns `|x|`. Its gradient at 0 is 0, where that of Candle's own `abs` is 1.
fn absolute(x: &Raw) -> Result<Raw> {
    x * x.detach().sign()?
}

#[cfg(test)]
mod tests;
