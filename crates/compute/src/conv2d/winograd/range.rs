//! Whether the transforms keep the digits of a convolution.

use crate::simd::{Float, multiversion};
use crate::sums::{LANES, fold_lanes, sum_all, sum_terms};
use crate::threads::map_chunks;

/// The largest accepted pixel, in multiples of a typical one. The rounding error of a pixel reaches outputs that the
/// pixel does not meet.
const SPREAD: f64 = 1024.0;
/// The values of one task.
const TASK: usize = 1 << 16;

/// Returns whether all values are finite, no pixel is far larger than a typical one, and sums of transformed
/// values are in the range of the type.
pub(super) fn keeps_digits<T: Float>(x: &[T], weight: &[T], channels: usize) -> bool {
    let (pixels, weights) = (Magnitudes::of(x), Magnitudes::of(weight));
    // A transform of pixels adds 4 of them, one of weights at most 9 / 4, and the last one 9 sums.
    let bound = T::of(81.0 * channels as f64) * pixels.largest * weights.largest;
    let finite = |value: T| !(value * T::ZERO).is_nan();
    finite(pixels.sum)
        && finite(weights.sum)
        && finite(bound)
        && pixels.largest.into() <= SPREAD * pixels.typical()
}

struct Magnitudes<T> {
    largest: T,
    sum: T,
    sum_of_roots: T,
    /// The number of values that are not 0.
    count: T,
}

impl<T: Float> Magnitudes<T> {
    fn of(values: &[T]) -> Self {
        let parts = map_chunks(values, TASK, magnitudes);
        let sum = |of: usize| sum_all(parts.iter().map(|part| part[of]));
        Magnitudes {
            largest: parts.iter().map(|part| part[0]).fold(T::ZERO, larger),
            sum: sum(1),
            sum_of_roots: sum(2),
            count: sum(3),
        }
    }

    /// Returns the square of the mean square root of the magnitudes, in which a few large values weigh little.
    fn typical(&self) -> f64 {
        let [roots, count]: [f64; 2] = [self.sum_of_roots, self.count].map(Into::into);
        let mean = roots / count.max(1.0);
        mean * mean
    }
}

#[inline(always)]
fn larger<T: Float>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

multiversion! {
    /// Returns the largest magnitude, the sums of the magnitudes and of their square roots, and the number of values
    /// that are not 0.
    fn magnitudes<T: Float>(values: &[T]) -> [T; 4] {
        let (blocks, rest) = values.as_chunks::<LANES>();
        let mut lanes = [T::ZERO; LANES];
        for block in blocks {
            for i in 0..LANES {
                lanes[i] = larger(block[i].abs(), lanes[i]);
            }
        }
        let mut largest = fold_lanes(lanes, larger);
        for value in rest {
            largest = larger(value.abs(), largest);
        }
        let [sum, roots, count] = sum_terms(values, |value| {
            let magnitude = value.abs();
            let one = if magnitude > T::ZERO { T::ONE } else { T::ZERO };
            [magnitude, magnitude.sqrt(), one]
        });
        [largest, sum, roots, count]
    }
}
