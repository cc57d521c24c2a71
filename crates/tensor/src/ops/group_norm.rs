//! Group normalisation.

use super::arithmetic::{Arithmetic, arithmetic};
use super::engine::autograd::has_kernel;
use super::engine::read::read;
use super::engine::strided::in_order;
use super::engine::{Element, dispatch_dtype};
use super::layer_norm::normalize;
use super::normalization::{Normalization, Statistics, normalized};
use super::{check, contiguous_raw};
use crate::error::refuse;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;
use std::iter;
use std::mem::MaybeUninit;
use std::ops::Range;
use taper_compute::batch_norm::{
    LEAST_AREA, combine, gradient_sums, scale_and_shift, statistics_of,
};
use taper_compute::sums::sum_all;
use taper_compute::threads::map_tasks;
use taper_compute::write::{self, Parts};

functions! {
    /// Normalises each group of channels of each example to mean 0 and variance 1, then scales each channel by
    /// `weight` and shifts it by `bias`. `eps` is added to the variance. From Wu and He, 2018.
    ///
    /// # Shapes
    /// `x` is `(batch, channels, …)`, `weight` and `bias` are `(channels,)`; the output has the shape of `x`.
    ///
    /// # Panics
    /// If `groups` does not divide the channels, or the shapes, types or devices do not fit.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 3.0, 5.0, 5.0]]); // (1, 4)
    /// let y = group_norm(&x, 2, &ones(4), &zeros(4), 1e-12); // (1, 4)
    /// assert_eq!(y.to_vec2::<f32>(), [[-1.0, 1.0, 0.0, 0.0]]);
    /// ```
    pub fn group_norm(x: &Tensor, groups: usize, weight: &Tensor, bias: &Tensor, eps: f64) =>
        group_norm_as(&"group_norm", x.raw(), groups, weight.raw(), bias.raw(), eps);
}

/// Computes [`group_norm`]; errors begin with the name of the caller.
#[doc(hidden)]
pub fn group_norm_as(
    caller: &dyn Display,
    x: &Raw,
    groups: usize,
    weight: &Raw,
    bias: &Raw,
    eps: f64,
) -> Result<Raw> {
    let &[channels] = weight.dims() else {
        return Err(check::wrong_weight(
            caller,
            weight,
            "Expected a weight (channels,)",
        ));
    };
    check::channels(caller, x, channels)?;
    check::same_place(caller, x, weight)?;
    check::bias(caller, Some(bias), weight)?;
    check::positive(caller, &[("groups", groups)])?;
    refuse!(if !channels.is_multiple_of(groups); argument(caller, groups);
        "a number of groups that divides {channels} channels",
        "Choose a divisor of the number of channels");
    if x.elem_count() == 0 {
        return Ok(x.clone());
    }
    if check::is_half(x) {
        return check::in_single([x, weight, bias], |[x, weight, bias]| {
            group_norm_as(caller, &x, groups, &weight, &bias, eps)
        });
    }
    let sizes = Sizes {
        channels,
        groups,
        area: x.elem_count() / (x.dim(0)? * channels),
    };
    match has_kernel(&[x, weight, bias]) && sizes.area >= LEAST_AREA {
        true => dispatch_dtype!(x, forward([x, weight, bias], sizes, eps)),
        false => of_rows([x, weight, bias], groups, eps),
    }
}

/// Normalises the groups as the rows of a matrix, then scales and shifts the channels.
fn of_rows([x, weight, bias]: [&Raw; 3], groups: usize, eps: f64) -> Result<Raw> {
    let rows = contiguous_raw(x)?.reshape((x.dim(0)? * groups, ()))?; // (batch · groups, elements of a group)
    let one = Raw::ones(rows.dim(1)?, x.dtype(), x.device())?;
    let y = normalize(&[&rows, &one, &one.zeros_like()?], eps)?;
    let mut shape = vec![1; x.rank()];
    shape[1] = x.dim(1)?;
    let y = y.reshape(x.shape())?;
    let y = arithmetic(Arithmetic::Mul, &y, &weight.reshape(shape.as_slice())?)?;
    arithmetic(Arithmetic::Add, &y, &bias.reshape(shape)?)
}

#[derive(Clone, Copy)]
struct Sizes {
    channels: usize,
    groups: usize,
    /// The adjacent elements of a channel of an example, a plane.
    area: usize,
}

impl Sizes {
    /// Returns the indices of the elements of a group of an example: the groups of all examples are counted together.
    fn elements(self, group: usize) -> Range<usize> {
        let count = self.channels / self.groups * self.area;
        group * count..(group + 1) * count
    }

    fn channels(self, group: usize) -> Range<usize> {
        let (count, group) = (self.channels / self.groups, group % self.groups);
        group * count..(group + 1) * count
    }
}

fn forward<T: Element>(inputs: [&Raw; 3], sizes: Sizes, eps: f64) -> Result<Raw> {
    let [x, weight, bias] = inputs;
    let input = in_order(x)?;
    let (weights, biases) = (weight.to_vec1::<T>()?, bias.to_vec1::<T>()?);
    let count = sizes.elements(0).len();
    let (y, statistics) = read([&input], |[x]| {
        write::with_results(x.len(), count, |first, out| {
            let (x, group) = (&x[first..][..count], first / count);
            let (mean, var): ([T; 2], T) = statistics_of(iter::once(x), count);
            let scale = T::ONE / (var + T::of(eps)).sqrt();
            let mut planes = Parts::new(out);
            for (x, channel) in x.chunks_exact(sizes.area).zip(sizes.channels(group)) {
                let factor = weights[channel] * scale;
                let offset = biases[channel] - mean[1] * factor;
                let out = planes.next(sizes.area);
                planes.push(scale_and_shift(x, [mean[0], factor, offset], false, out));
            }
            (planes.finish(), Statistics { mean, scale })
        })
    })?;
    normalized(&inputs, &input, y, || Groups {
        sizes,
        weights,
        eps,
        statistics,
    })
}

/// The normalisation of the groups of channels.
struct Groups<T> {
    sizes: Sizes,
    weights: Vec<T>,
    eps: f64,
    /// Of each group of each example.
    statistics: Vec<Statistics<T>>,
}

impl<T: Element> Groups<T> {
    /// Returns for each plane of a group its gradient and its values.
    fn planes<'a>(
        &self,
        group: usize,
        g: &'a [T],
        x: &'a [T],
    ) -> impl Iterator<Item = (&'a [T], &'a [T])> + use<'a, T> {
        let (range, area) = (self.sizes.elements(group), self.sizes.area);
        let g = g[range.clone()].chunks_exact(area);
        g.zip(x[range].chunks_exact(area))
    }

    /// Returns for each plane of a group the gradients of weight and bias.
    fn sums(&self, group: usize, g: &[T], x: &[T]) -> Vec<[T; 2]> {
        let Statistics {
            mean: [near, rest],
            scale,
        } = self.statistics[group];
        let of_plane = |(g, x)| {
            let [sum, product] = gradient_sums(g, x, near, None);
            [(product - rest * sum) * scale, sum]
        };
        self.planes(group, g, x).map(of_plane).collect()
    }

    /// Writes the gradient of a group, from the [`sums`](Self::sums) of its planes.
    fn gradient<'a>(
        &self,
        group: usize,
        [g, x]: [&[T]; 2],
        sums: &[[T; 2]],
        out: &'a mut [MaybeUninit<T>],
    ) -> &'a mut [T] {
        let Statistics {
            mean: [near, rest],
            scale,
        } = self.statistics[group];
        let weights = &self.weights[self.sizes.channels(group)];
        let count = T::of(out.len() as f64);
        let mean = |i: usize| {
            let terms = sums.iter().zip(weights);
            sum_all(terms.map(|(sums, weight)| sums[i] * *weight)) / count
        };
        let slope = -scale * scale * mean(0);
        let offset = -scale * mean(1) - slope * rest;
        let mut parts = Parts::new(out);
        for ((g, x), weight) in self.planes(group, g, x).zip(weights) {
            let out = parts.next(g.len());
            parts.push(combine(
                g,
                x,
                [near, *weight * scale, slope, offset, T::ZERO],
                false,
                out,
            ));
        }
        parts.finish()
    }
}

impl<T: Element> Normalization<T> for Groups<T> {
    fn gradients(&self, g: &[T], x: &[T], x_wanted: bool) -> (Option<Vec<T>>, [Vec<T>; 2]) {
        let count = self.sizes.elements(0).len();
        let (of_x, of_planes) = match x_wanted {
            true => {
                let (of_x, sums) = write::with_results(g.len(), count, |first, out| {
                    let sums = self.sums(first / count, g, x);
                    (self.gradient(first / count, [g, x], &sums, out), sums)
                });
                (Some(of_x), sums)
            }
            false => {
                let sums = |group| self.sums(group, g, x);
                (None, map_tasks(self.statistics.len(), sums))
            }
        };
        let (of_planes, channels) = (of_planes.concat(), self.sizes.channels);
        let of_parameter = |i: usize| {
            let of_channel = |channel: usize| {
                let examples = of_planes[channel..].iter().step_by(channels);
                sum_all(examples.map(|of_plane| of_plane[i]))
            };
            (0..channels).map(of_channel).collect()
        };
        (of_x, [0, 1].map(of_parameter))
    }

    fn composed(&self, inputs: &[Raw]) -> Result<Raw> {
        let inputs = [&inputs[0], &inputs[1], &inputs[2]];
        of_rows(inputs, self.sizes.groups, self.eps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops::testing::compare;
    use crate::tensor::{full, ones, rand, randn, zeros};

    #[test]
    fn a_wrong_parameter_is_named() {
        let (x, one) = (ones((1, 4)), ones(4));
        let message = |weight: &Tensor, bias: &Tensor| {
            let error = attempt(|| group_norm(&x, 2, weight, bias, 1e-5)).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            message(&one, &ones(3)),
            "group_norm: a bias of shape [3] does not fit the weight\nIt must have the shape (4,)"
        );
        assert_eq!(
            message(&x, &one),
            "group_norm cannot take a weight of shape [1, 4]\nExpected a weight (channels,)"
        );
        let message = message(&ones(3), &one.narrow(0, 0, 3));
        assert!(message.ends_with("the channels, must be 3"), "{message}");
    }

    #[test]
    fn wrong_groups_are_refused() {
        let (one, x) = (ones(5), zeros((1, 5)));
        let message = attempt(|| group_norm(&x, 2, &one, &one, 1e-5)).unwrap_err();
        assert_eq!(
            message.to_string(),
            "group_norm: expected a number of groups that divides 5 channels, found 2\n\
             Choose a divisor of the number of channels"
        );
        let empty = zeros((0, 5, 2));
        assert_eq!(group_norm(&empty, 5, &one, &one, 1e-5).dims(), [0, 5, 2]);
    }

    /// A mean that is off by a rounding error is many standard deviations off here.
    #[test]
    fn a_constant_group_becomes_zero() {
        for value in [254.7, 1000.123, -1e6] {
            let x = full((3, 4, 30, 30), value);
            let y = group_norm(&x, 2, &ones(4), &zeros(4), 1e-5);
            let largest = y.abs().max_all().item();
            assert!(largest < 1e-3, "{value} becomes {largest}");
        }
    }

    #[test]
    fn the_kernel_agrees_with_rows() {
        compare("group_norm", 60, |case| {
            let (groups, each) = (case.between(1, 4), case.between(1, 5));
            let (channels, side) = (groups * each, case.between(3, 20));
            let shape = (case.between(1, 6), channels, side, case.between(3, 20));
            let inputs = vec![
                case.input(randn(shape) * 3.0 + 1.0),
                case.input(rand(channels)),
                case.input(randn(channels)),
            ];
            let kernel =
                move |x: &[Raw]| group_norm_as(&"group_norm", &x[0], groups, &x[1], &x[2], 1e-5);
            let rows = move |x: &[Raw]| of_rows([&x[0], &x[1], &x[2]], groups, 1e-5);
            Some((inputs, Box::new(kernel), Box::new(rows)))
        });
    }
}
