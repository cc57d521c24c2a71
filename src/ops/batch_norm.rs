//! Batch normalisation.

use super::engine::autograd::{Backward, Downstream, Recorded, Upstream, has_kernel, record};
use super::engine::simd::{Element, multiversion};
use super::engine::strided::in_order;
use super::engine::sums::{Pairwise, sum, sum_all, sum_pairs, sum_terms};
use super::engine::threads::map_tasks;
use super::engine::{CpuView, dispatch_dtype, vec_by_chunks};
use super::layer_norm::Normal;
use super::{check, contiguous_raw};
use crate::tensor::across;
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Device, Error, Result};
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The least adjacent elements of a channel for which the kernel is used. If an example has fewer, the channels are
/// moved to the front first.
const LEAST_AREA: usize = 8;

/// A normalised batch, with the statistics that were used.
pub(crate) struct BatchNormOutput {
    pub(crate) y: Raw,
    /// The mean of each channel, `(channels,)`, without a gradient.
    pub(crate) mean: Raw,
    /// The biased variance of each channel, `(channels,)`, without a gradient.
    pub(crate) var: Raw,
    /// The number of elements of each channel, in all ranks together if these sum their statistics.
    pub(crate) values: usize,
}

/// Normalises each channel of `x` `(batch, channels, …)`, then scales it by `weight` and shifts it by
/// `bias`, both `(channels,)`. The statistics are those of `x` (training), or the given mean and
/// variance, which are constants (evaluation).
///
/// # Errors
/// If the shapes, types or devices do not fit, or in training a channel has fewer than two values.
pub(crate) fn batch_norm(
    caller: &dyn Display,
    x: &Raw,
    weight: &Raw,
    bias: &Raw,
    statistics: Option<(&Raw, &Raw)>,
    eps: f64,
) -> Result<BatchNormOutput> {
    let channels = weight.elem_count();
    let values = values_of_channel(x, channels);
    if x.dims().get(1) != Some(&channels) {
        let expected = format!("Its second dimension must be {channels}");
        return Err(check::wrong_shape(caller, x, expected));
    }
    check::same_place(caller, x, weight)?;
    match statistics {
        None if values < 2 => {
            let expected = "Expected at least two values of each channel in training; use a larger batch, or call model.eval()";
            return Err(check::wrong_shape(caller, x, expected));
        }
        Some((mean, var)) if x.elem_count() == 0 => {
            return Ok(BatchNormOutput {
                y: x.clone(),
                mean: mean.clone(),
                var: var.clone(),
                values,
            });
        }
        _ => {}
    }
    if check::is_half(x) {
        return in_single(caller, x, weight, bias, statistics, eps);
    }
    if !suits_kernel(x, weight, bias, statistics) {
        return batch_norm_with_candle(x, weight, bias, statistics, eps);
    }
    let (batch, area) = (x.dim(0)?, x.elem_count() / (x.dim(0)? * channels));
    if batch == 1 || area >= LEAST_AREA {
        return dispatch_dtype!(x, forward(x, weight, bias, statistics, eps));
    }
    let rows = contiguous_raw(x)?.reshape((batch, channels, area))?;
    let rows = contiguous_raw(&rows.transpose(0, 1)?)?.reshape((1, channels, batch * area))?;
    let mut output = batch_norm(caller, &rows, weight, bias, statistics, eps)?;
    let y = output.y.reshape((channels, batch, area))?.transpose(0, 1)?;
    output.y = contiguous_raw(&y)?.reshape(x.shape())?;
    Ok(output)
}

/// Computes in `f32`, because sums in 16 bits lose their digits. The returned statistics are `f32`.
fn in_single(
    caller: &dyn Display,
    x: &Raw,
    weight: &Raw,
    bias: &Raw,
    statistics: Option<(&Raw, &Raw)>,
    eps: f64,
) -> Result<BatchNormOutput> {
    let single = |tensor: &Raw| tensor.to_dtype(DType::F32);
    let given = statistics
        .map(|(mean, var)| Ok::<_, Error>((single(mean)?, single(var)?)))
        .transpose()?;
    let given = given.as_ref().map(|(mean, var)| (mean, var));
    let (weight, bias) = (single(weight)?, single(bias)?);
    let mut output = batch_norm(caller, &single(x)?, &weight, &bias, given, eps)?;
    output.y = output.y.to_dtype(x.dtype())?;
    Ok(output)
}

fn suits_kernel(x: &Raw, weight: &Raw, bias: &Raw, statistics: Option<(&Raw, &Raw)>) -> bool {
    has_kernel(&[x, weight, bias])
        && (statistics.is_some() || across().is_none())
        && x.elem_count() > 0
        && statistics
            .is_none_or(|(mean, var)| mean.dtype() == x.dtype() && var.dtype() == x.dtype())
}

fn batch_norm_with_candle(
    x: &Raw,
    weight: &Raw,
    bias: &Raw,
    statistics: Option<(&Raw, &Raw)>,
    eps: f64,
) -> Result<BatchNormOutput> {
    let shape = (1, weight.elem_count(), 1);
    let dims = x.dims();
    let values = values_of_channel(x, weight.elem_count());
    let x = x.reshape((x.dim(0)?, weight.elem_count(), ()))?; // (batch, channels, area)
    let (centred, mean, var) = match statistics {
        Some((mean, var)) => {
            let (mean, var) = (mean.reshape(shape)?, var.reshape(shape)?);
            (x.broadcast_sub(&mean)?, mean, var)
        }
        None => {
            // The mean of the deviations is the rounding error of the first mean.
            let mean = channel_means(&x.detach(), values)?; // (1, channels, 1)
            let near = x.broadcast_sub(&mean)?;
            let rest = channel_means(&near, values)?;
            let centred = near.broadcast_sub(&rest)?;
            let var = channel_means(&centred.sqr()?, values)?;
            (centred, (mean + rest)?, var)
        }
    };
    let scale = (weight.reshape(shape)? / (&var + eps)?.sqrt()?)?;
    let y = centred.broadcast_mul(&scale)?;
    Ok(BatchNormOutput {
        y: y.broadcast_add(&bias.reshape(shape)?)?.reshape(dims)?,
        mean: mean.flatten_all()?.detach(),
        var: var.flatten_all()?.detach(),
        values,
    })
}

/// Returns the number of elements of a channel in `x`, or in all ranks together if these sum their statistics.
fn values_of_channel(x: &Raw, channels: usize) -> usize {
    let own = x.elem_count() / channels.max(1);
    across().map_or(own, |across| own / across.len.max(1) * across.total)
}

/// Returns the mean of each channel of `x` `(batch, channels, area)` in the shape `(1, channels, 1)`. All ranks
/// together have `values` elements of a channel.
fn channel_means(x: &Raw, values: usize) -> Result<Raw> {
    let means = x.mean_keepdim(2)?.mean_keepdim(0)?;
    match across() {
        None => Ok(means),
        Some(across) => {
            let own = x.elem_count() / means.elem_count();
            across.sum(&(means * own as f64)?)? / values as f64
        }
    }
}

fn forward<T: Element>(
    x: &Raw,
    weight: &Raw,
    bias: &Raw,
    statistics: Option<(&Raw, &Raw)>,
    eps: f64,
) -> Result<BatchNormOutput> {
    let input = in_order(x)?;
    let layout = Layout::of(&input)?;
    let (mean, var): (Vec<[T; 2]>, Vec<T>) = match statistics {
        Some((mean, var)) => {
            let mean = mean.to_vec1::<T>()?.into_iter();
            (mean.map(|mean| [mean, T::ZERO]).collect(), var.to_vec1()?)
        }
        None => {
            let view = CpuView::of(&input)?;
            let x = view.as_slice::<T>()?;
            let both = map_tasks(layout.channels, |channel| layout.statistics(x, channel));
            both.into_iter().unzip()
        }
    };
    let scale: Vec<T> = var
        .iter()
        .map(|var| T::ONE / (*var + T::of(eps)).sqrt())
        .collect();
    let (weights, biases) = (weight.to_vec1::<T>()?, bias.to_vec1::<T>()?);
    let y = {
        let view = CpuView::of(&input)?;
        let x = view.as_slice::<T>()?;
        layout.map(x.len(), |channel, range, out| {
            let factor = weights[channel] * scale[channel];
            let [near, rest] = mean[channel];
            let offset = biases[channel] - rest * factor;
            scale_and_shift(&x[range], near, factor, offset, out);
        })
    };
    let tensor = |values: Vec<T>| Raw::from_vec(values, layout.channels, x.device());
    let mean_tensor = tensor(mean.iter().map(|[near, rest]| *near + *rest).collect())?;
    let var_tensor = tensor(var)?;
    let y = record(&[x, weight, bias], y, x.shape(), || Back {
        x: input.detach(),
        layout,
        batch_statistics: statistics.is_none(),
        eps,
        weights,
        mean,
        scale,
    })?;
    Ok(BatchNormOutput {
        y,
        mean: mean_tensor,
        var: var_tensor,
        values: values_of_channel(x, layout.channels),
    })
}

/// The memory layout of the channels.
#[derive(Clone, Copy)]
struct Layout {
    batch: usize,
    channels: usize,
    area: usize,
}

impl Layout {
    fn of(x: &Raw) -> Result<Self> {
        let (batch, channels) = (x.dim(0)?, x.dim(1)?);
        let area = x.elem_count() / (batch * channels);
        Ok(Layout {
            batch,
            channels,
            area,
        })
    }

    /// Returns the elements of a channel, one slice for each example.
    fn planes<'a, T>(
        &self,
        x: &'a [T],
        channel: usize,
    ) -> impl Iterator<Item = &'a [T]> + use<'a, T> {
        let Layout { channels, area, .. } = *self;
        (0..self.batch).map(move |i| &x[(i * channels + channel) * area..][..area])
    }

    /// Returns the mean of a channel, as the sum of two values, and its biased variance. The second value
    /// of the mean is the rounding error of the first.
    fn statistics<T: Element>(&self, x: &[T], channel: usize) -> ([T; 2], T) {
        let count = T::of((self.batch * self.area) as f64);
        let near = sum_all(self.planes(x, channel).map(plane_sum)) / count;
        let (mut rests, mut squares) = (Pairwise::new(), Pairwise::new());
        for plane in self.planes(x, channel) {
            let [rest, square] = deviations(plane, near);
            rests.add(rest);
            squares.add(square);
        }
        let rest = rests.sum() / count;
        ([near, rest], squares.sum() / count - rest * rest)
    }

    /// Returns `count` elements; `compute` initialises those of a plane, from its channel and its range.
    fn map<T: Element>(
        &self,
        count: usize,
        compute: impl Fn(usize, Range<usize>, &mut [MaybeUninit<T>]) + Sync,
    ) -> Vec<T> {
        // SAFETY: the functions that `compute` calls initialise an element for each that they read.
        unsafe {
            vec_by_chunks(count, self.area, |first, out| {
                let channel = first / self.area % self.channels;
                compute(channel, first..first + self.area, out);
            })
        }
    }
}

multiversion! {
    fn plane_sum<T: Element>(x: &[T]) -> T {
        sum(x)
    }
}

multiversion! {
    /// Returns the sum of the deviations from a value near the mean, and the sum of their squares.
    fn deviations<T: Element>(x: &[T], near: T) -> [T; 2] {
        sum_terms(x, |x| {
            let x = x - near;
            [x, x * x]
        })
    }
}

multiversion! {
    /// Returns the sum of the gradient, and the sum of its product with the deviation from `near`.
    fn gradient_sums<T: Element>(gradient: &[T], x: &[T], near: T) -> [T; 2] {
        sum_pairs(gradient, x, |g, x| [g, g * (x - near)])
    }
}

multiversion! {
    /// Writes `(x - near) · factor + offset`.
    fn scale_and_shift<T: Element>(x: &[T], near: T, factor: T, offset: T, out: &mut [MaybeUninit<T>]) {
        for (out, x) in out.iter_mut().zip(x) {
            out.write((*x - near) * factor + offset);
        }
    }
}

multiversion! {
    /// Writes `gradient · factor + (x - near) · slope + offset`.
    fn combine<T: Element>(gradient: &[T], x: &[T], near: T, factors: [T; 3], out: &mut [MaybeUninit<T>]) {
        let [factor, slope, offset] = factors;
        for ((out, g), x) in out.iter_mut().zip(gradient).zip(x) {
            out.write(*g * factor + ((*x - near) * slope + offset));
        }
    }
}

struct Back<T> {
    x: Raw,
    layout: Layout,
    /// Whether the statistics are those of `x`, so that gradients flow through them.
    batch_statistics: bool,
    eps: f64,
    weights: Vec<T>,
    /// The mean of each channel, as the sum of two values.
    mean: Vec<[T; 2]>,
    /// The reciprocal of the standard deviation.
    scale: Vec<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(&self, upstream: Upstream<'_>) -> Result<Downstream> {
        let (gradient, wanted) = (upstream.gradient, upstream.wanted);
        let (g, x) = (CpuView::of(gradient)?, CpuView::of(&self.x)?);
        let (g, x) = (g.as_slice::<T>()?, x.as_slice::<T>()?);
        let layout = self.layout;
        let sums: Vec<(T, T)> = map_tasks(layout.channels, |channel| {
            let [near, rest] = self.mean[channel];
            let (mut sums, mut products) = (Pairwise::new(), Pairwise::new());
            for (g, x) in layout.planes(g, channel).zip(layout.planes(x, channel)) {
                let [sum, product] = gradient_sums(g, x, near);
                sums.add(sum);
                products.add(product);
            }
            (sums.sum(), products.sum() - rest * sums.sum())
        });
        let count = T::of((layout.batch * layout.area) as f64);
        let of_x = wanted[0].then(|| {
            layout.map(g.len(), |channel, range, out| {
                let scale = self.scale[channel];
                let factor = self.weights[channel] * scale;
                if !self.batch_statistics {
                    return scale_and_shift(&g[range], T::ZERO, factor, T::ZERO, out);
                }
                let (sum, product) = sums[channel];
                let [near, rest] = self.mean[channel];
                let slope = -factor * scale * scale * product / count;
                let factors = [factor, slope, -factor * sum / count - slope * rest];
                combine(&g[range.clone()], &x[range], near, factors, out);
            })
        });
        let of_weight = sums
            .iter()
            .zip(&self.scale)
            .map(|((_, product), scale)| *product * *scale);
        let of_bias = sums.iter().map(|(sum, _)| *sum);
        let of_channels = |values: Vec<T>| Raw::from_vec(values, layout.channels, self.x.device());
        let of_x = of_x.map(|of_x| Raw::from_vec(of_x, self.x.shape(), self.x.device()));
        Ok([
            of_x.transpose()?,
            wanted[1].then_some(of_channels(of_weight.collect())?),
            wanted[2].then_some(of_channels(of_bias.collect())?),
        ])
    }

    fn keeps(&self) -> [bool; 3] {
        [true, true, false]
    }

    fn recorded(&self, upstream: &Recorded<'_>) -> Result<Downstream> {
        let Layout {
            batch,
            channels,
            area,
        } = self.layout;
        let (x, shape) = (upstream.x(0)?, (1, channels, 1));
        let [x, g] = [x, upstream.g()].map(|x| x.reshape((batch, channels, area)));
        let weight = upstream.x(1)?.reshape(shape);
        let sum = |terms: Tensor| Raw::from(terms.sum((0, 2)));
        let (y, of_x) = match self.batch_statistics {
            true => {
                let normal = Normal::of(&x, (0, 2), true, self.eps);
                (normal.y.clone(), normal.gradient(&(&g * &weight)))
            }
            false => {
                let channel = |values: Vec<T>| {
                    Raw::from_vec(values, shape, &Device::Cpu).map(Tensor::from_raw)
                };
                let mean = channel(self.mean.iter().map(|[near, rest]| *near + *rest).collect())?;
                let scale = channel(self.scale.clone())?;
                ((&x - mean) * &scale, &g * (&weight * scale))
            }
        };
        let [x_wanted, weight_wanted, bias_wanted] = upstream.wanted;
        let of_x = x_wanted.then(|| of_x.reshape(upstream.gradient.dims()).into());
        let of_weight = weight_wanted.then(|| sum(&g * y));
        Ok([of_x, of_weight, bias_wanted.then(|| sum(g.clone()))])
    }
}

#[cfg(test)]
mod tests;
