//! Single random values.

use super::{Integer, randint, random_unit, with_device};
use candle_core::Device;

/// Draws a number from `[0, 1)`.
///
/// ```
/// use taper::prelude::*;
///
/// manual_seed(0);
/// let is_random_action = random() < 0.1;
/// assert!(!is_random_action);
/// ```
pub fn random() -> f64 {
    random_unit()
}

/// Draws an integer from `low` to `high - 1`, with equal probability.
///
/// ```
/// use taper::prelude::*;
///
/// let action = random_integer(0, 4);
/// assert!((0..4).contains(&action));
/// ```
///
/// # Panics
/// If `low` is not below `high`.
#[inline]
#[track_caller]
pub fn random_integer(low: impl Into<Integer>, high: impl Into<Integer>) -> i64 {
    drawn_integer(low.into().to_i64(), high.into().to_i64())
}

#[track_caller]
fn drawn_integer(low: i64, high: i64) -> i64 {
    let drawn = with_device(&Device::Cpu, || randint(low, high, ()));
    drawn.to_scalar()
}
