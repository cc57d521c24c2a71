//! The kernels for planes: the adjacent elements of a channel of an example.

use super::{before_relu, relu, scaled};
use crate::simd::{Float, multiversion};
use crate::sums::{Pairwise, sum, sum_all, sum_pairs, sum_terms};
use crate::write;
use std::mem::MaybeUninit;

/// The least elements of a plane for which these kernels are used.
pub const LEAST_AREA: usize = 8;

/// Returns the mean of the `count` elements of some planes, as the sum of two values, and their biased variance. The
/// second value of the mean is the rounding error of the first.
pub fn statistics_of<'a, T: Float>(
    planes: impl Iterator<Item = &'a [T]> + Clone,
    count: usize,
) -> ([T; 2], T) {
    let count = T::of(count as f64);
    let near = sum_all(planes.clone().map(plane_sum)) / count;
    let (mut rests, mut squares) = (Pairwise::new(), Pairwise::new());
    for plane in planes {
        let [rest, square] = deviations(plane, near);
        rests.add(rest);
        squares.add(square);
    }
    let rest = rests.sum() / count;
    ([near, rest], squares.sum() / count - rest * rest)
}

multiversion! {
    fn plane_sum<T: Float>(x: &[T]) -> T {
        sum(x)
    }
}

multiversion! {
    /// Returns the sum of the deviations from a value near the mean, and the sum of their squares.
    fn deviations<T: Float>(x: &[T], near: T) -> [T; 2] {
        sum_terms(x, |x| {
            let x = x - near;
            [x, x * x]
        })
    }
}

multiversion! {
    /// Returns the sum of the gradient, and the sum of its product with the deviation from `near`. With factor and offset,
    /// the gradient is that of a ReLU of the normalised elements.
    pub fn gradient_sums<T: Float>(gradient: &[T], x: &[T], near: T, factors: Option<[T; 2]>) -> [T; 2] {
        match factors {
            None => sum_pairs(gradient, x, |g, x| [g, g * (x - near)]),
            Some([factor, offset]) => sum_pairs(gradient, x, |g, x| {
                let g = before_relu(g, scaled(x, [near, factor, offset]));
                [g, g * (x - near)]
            }),
        }
    }
}

multiversion! {
    /// Writes `(x - near) · factor + offset`, or the ReLU of it.
    pub fn scale_and_shift<'a, T: Float>(x: &[T], factors: [T; 3], with_relu: bool, out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        match with_relu {
            false => write::each(out, x.iter().map(|x| scaled(*x, factors))),
            true => write::each(out, x.iter().map(|x| relu(scaled(*x, factors)))),
        }
    }
}

multiversion! {
    /// Writes `gradient · factor + (x - near) · slope + offset`; the last value is what [`Layout::combined`](super::Layout::combined)
    /// needs for a ReLU.
    pub fn combine<'a, T: Float>(gradient: &[T], x: &[T], factors: [T; 5], with_relu: bool, out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        let [near, factor, slope, offset, shift] = factors;
        let (g, x) = (&gradient[..out.len()], &x[..out.len()]);
        let combined = |g: T, x: T| g * factor + ((x - near) * slope + offset);
        match with_relu {
            false => write::by_index(out, |i| combined(g[i], x[i])),
            true => write::by_index(out, |i| combined(before_relu(g[i], scaled(x[i], [near, factor, shift])), x[i])),
        }
    }
}
