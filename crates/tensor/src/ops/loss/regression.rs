//! Losses for predictions of continuous values.

use super::elementwise::{element_loss, elementwise_loss, loss};
use crate::error::refuse;
use crate::ops::quantity::Quantity;
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
    MSELoss {} => |_: &MSELoss| Ok::<_, Error>(Square {})
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
    L1Loss {} => |_: &L1Loss| Ok::<_, Error>(Absolute {})
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

element_loss! {
    Square = "mse_loss";
    g, y_hat, y => (y_hat - y) * (y_hat - y); g * ((y_hat - y) * 2.0); g * -((y_hat - y) * 2.0)
}

element_loss! {
    Absolute = "l1_loss";
    g, y_hat, y => (y_hat - y).abs(); g * direction(y_hat - y); g * -direction(y_hat - y)
}

element_loss! {
    Huber(delta: f64) = "huber_loss";
    g, y_hat, y => {
        let distance = (y_hat - y).abs();
        let line = (distance - delta * 0.5) * delta;
        Q::select(distance.lt(delta), distance * distance * 0.5, line)
    };
    g * clamp(y_hat - y, delta); g * -clamp(y_hat - y, delta)
}

impl Huber {
    fn new(delta: f64) -> Result<Self> {
        match delta > 0.0 {
            true => Ok(Huber { delta }),
            false => refuse!(argument("huber_loss", delta);
                "a delta above 0", "Use a positive value; 1.0 is common"),
        }
    }
}

element_loss! {
    SmoothL1(beta: f64) = "smooth_l1_loss";
    g, y_hat, y => {
        let distance = (y_hat - y).abs();
        let line = distance - beta * 0.5;
        Q::select(distance.lt(beta), distance * distance * 0.5 / beta, line)
    };
    g * slope(y_hat - y, beta); g * -slope(y_hat - y, beta)
}

impl SmoothL1 {
    fn new(beta: f64) -> Result<Self> {
        match beta >= 0.0 {
            true => Ok(SmoothL1 { beta }),
            false => refuse!(argument("smooth_l1_loss", beta);
                "a beta of at least 0", "Use a value that is not negative; 1.0 is common"),
        }
    }
}

#[inline(always)]
fn slope<Q: Quantity>(difference: Q, beta: f64) -> Q {
    match beta == 0.0 {
        true => direction(difference),
        false => clamp(difference, beta) / beta,
    }
}

/// Returns −1 or 1, the derivative of the absolute value; NaN stays NaN, and 0 stays 0.
#[inline(always)]
fn direction<Q: Quantity>(x: Q) -> Q {
    let negative = Q::select(x.lt(0.0), -1.0, x.constant());
    Q::select(x.gt(0.0), 1.0, negative)
}

/// Returns the value, limited to the range from `-bound` to `bound`; NaN stays NaN.
#[inline(always)]
fn clamp<Q: Quantity>(x: Q, bound: f64) -> Q {
    let x = Q::select(x.gt(bound), bound, x);
    Q::select(x.lt(-bound), -bound, x)
}

#[cfg(test)]
mod tests;
