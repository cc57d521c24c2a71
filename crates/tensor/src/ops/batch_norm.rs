//! Batch normalisation.

mod device;
mod fixed;

pub use fixed::RunningStats;

use super::check;
use super::elementwise::sqr_of;
use super::engine::autograd::has_kernel;
use super::engine::strided::in_order;
use super::engine::{CpuView, Element, dispatch_dtype};
use super::normalization::{Normalization, normalized};
use crate::device::suits_kernels;
use crate::tensor::{Raw, Tensor, across};
use candle_core::{DType, Error, Result};
use std::fmt::Display;
use taper_compute::batch_norm::Layout;

/// A normalised batch, with the statistics that were used.
#[doc(hidden)]
pub struct BatchNormOutput {
    pub y: Raw,
    /// The mean of each channel, `(channels,)`, without a gradient.
    pub mean: Raw,
    /// The biased variance of each channel, `(channels,)`, without a gradient.
    pub var: Raw,
    /// The number of elements of each channel, in all ranks together if these sum their statistics.
    pub values: usize,
}

/// Normalises each channel of `x` `(batch, channels, …)`, then scales it by `weight` and shifts it by
/// `bias`, both `(channels,)`. The statistics are those of `x` (training), or the given mean and
/// variance, which are constants (evaluation).
///
/// # Errors
/// If the shapes, types or devices do not fit, or in training a channel has fewer than two values.
#[doc(hidden)]
pub fn batch_norm(
    caller: &dyn Display,
    x: &Raw,
    weight: &Raw,
    bias: &Raw,
    statistics: Option<(&Raw, &Raw)>,
    eps: f64,
) -> Result<BatchNormOutput> {
    batch_norm_with(caller, [x, weight, bias], statistics, eps, false)
}

/// Computes [`batch_norm`] of a training batch and the ReLU of it: with the same bits, in one pass through memory less
/// forward, and without one of its own backward.
#[doc(hidden)]
pub fn batch_norm_relu(
    caller: &dyn Display,
    inputs: [&Raw; 3],
    eps: f64,
) -> Result<BatchNormOutput> {
    batch_norm_with(caller, inputs, None, eps, true)
}

fn batch_norm_with(
    caller: &dyn Display,
    [x, weight, bias]: [&Raw; 3],
    statistics: Option<(&Raw, &Raw)>,
    eps: f64,
    with_relu: bool,
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
            let expected = "Expected at least two values of each channel in training; if the last batch of a DataLoader is too small, \
                            leave it out with .drop_last(true); else use a larger batch, or call model.eval()";
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
    if suits_kernel(x, weight, bias, statistics) {
        return dispatch_dtype!(x, forward(x, weight, bias, statistics, eps, with_relu));
    }
    if check::is_half(x) {
        // Sums in 16 bits lose their digits. The returned statistics are `f32`, too.
        let single = |tensor: &Raw| tensor.to_dtype(DType::F32);
        let inputs = [&single(x)?, &single(weight)?, &single(bias)?];
        let given = statistics.map(|(mean, var)| Ok::<_, Error>((single(mean)?, single(var)?)));
        let given = given.transpose()?;
        let given = given.as_ref().map(|(mean, var)| (mean, var));
        let mut output = batch_norm_with(caller, inputs, given, eps, with_relu)?;
        output.y = output.y.to_dtype(x.dtype())?;
        return Ok(output);
    }
    let mut output = batch_norm_with_candle(x, weight, bias, statistics, eps)?;
    if with_relu {
        output.y = relu(&output.y)?;
    }
    Ok(output)
}

fn relu(y: &Raw) -> Result<Raw> {
    Ok(super::relu(&Tensor::from(y)).into())
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
    if suits_kernels(x.device(), x.dtype())
        && x.elem_count() > 0
        && (statistics.is_some() || across().is_none())
    {
        let planes = x.reshape((x.dim(0)?, weight.elem_count(), ()))?; // (batch, channels, area)
        let (y, mean, var) = device::batch_norm(&planes, weight, bias, statistics, eps)?;
        return Ok(BatchNormOutput {
            y: y.reshape(x.dims())?,
            mean,
            var,
            values: values_of_channel(x, weight.elem_count()),
        });
    }
    composed([x, weight, bias], statistics, eps)
}

/// Computes it from operations, with gradients through the statistics of a batch.
fn composed(
    [x, weight, bias]: [&Raw; 3],
    statistics: Option<(&Raw, &Raw)>,
    eps: f64,
) -> Result<BatchNormOutput> {
    let (dims, channels) = (x.dims(), weight.elem_count());
    let (shape, values) = ((1, channels, 1), values_of_channel(x, channels));
    let x = x.reshape((x.dim(0)?, channels, ()))?; // (batch, channels, area)
    let (centred, mean, var) = match statistics {
        Some((mean, var)) => {
            let own = |values: &Raw| values.to_dtype(x.dtype())?.reshape(shape);
            let (mean, var) = (own(mean)?, own(var)?);
            (x.sub(&mean)?, mean, var)
        }
        None => {
            // The mean of the deviations is the rounding error of the first mean.
            let mean = channel_means(&x.detach(), values)?; // (1, channels, 1)
            let near = x.sub(&mean)?;
            let rest = channel_means(&near, values)?;
            let centred = near.sub(&rest)?;
            let var = channel_means(&sqr_of(&centred)?, values)?;
            (centred, (mean + rest)?, var)
        }
    };
    let scale = (weight.reshape(shape)? / (&var + eps)?.sqrt()?)?;
    let y = centred.mul(&scale)?;
    Ok(BatchNormOutput {
        y: y.add(&bias.reshape(shape)?)?.reshape(dims)?,
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
    with_relu: bool,
) -> Result<BatchNormOutput> {
    let input = in_order(x)?;
    let (batch, channels) = (x.dim(0)?, x.dim(1)?);
    let layout = Layout {
        batch,
        channels,
        area: x.elem_count() / (batch * channels),
    };
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let (mean, var): (Vec<[T; 2]>, Vec<T>) = match statistics {
        Some((mean, var)) => {
            let mean = mean.to_vec1::<T>()?.into_iter();
            (mean.map(|mean| [mean, T::ZERO]).collect(), var.to_vec1()?)
        }
        None => layout.statistics(values),
    };
    let scale = scale_of(&var, eps);
    let (weights, biases) = (weight.to_vec1::<T>()?, bias.to_vec1::<T>()?);
    // The last two values of `scaled`.
    let factors: Vec<[T; 2]> = (0..channels)
        .map(|channel| {
            let factor = weights[channel] * scale[channel];
            [factor, biases[channel] - mean[channel][1] * factor]
        })
        .collect();
    let y = layout.scaled(values, with_relu, |channel| {
        let [factor, offset] = factors[channel];
        [mean[channel][0], factor, offset]
    });
    drop(view);
    let tensor = |values: Vec<T>| Raw::from_vec(values, layout.channels, x.device());
    let mean_tensor = tensor(mean.iter().map(|[near, rest]| *near + *rest).collect())?;
    let var_tensor = tensor(var)?;
    let y = normalized(&[x, weight, bias], &input, y, || Channels {
        layout,
        batch_statistics: statistics.is_none(),
        with_relu,
        eps,
        factors,
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

/// Returns the reciprocal of each standard deviation.
fn scale_of<T: Element>(var: &[T], eps: f64) -> Vec<T> {
    let scale = |var: &T| T::ONE / (*var + T::of(eps)).sqrt();
    var.iter().map(scale).collect()
}

/// The normalisation of the channels of a batch.
struct Channels<T> {
    layout: Layout,
    /// Whether the statistics are those of `x`, so that gradients flow through them.
    batch_statistics: bool,
    with_relu: bool,
    eps: f64,
    /// The factor and the offset of each channel's deviation from the first value of its mean.
    factors: Vec<[T; 2]>,
    /// The mean of each channel, as the sum of two values.
    mean: Vec<[T; 2]>,
    /// The reciprocal of the standard deviation.
    scale: Vec<T>,
}

impl<T: Element> Normalization<T> for Channels<T> {
    fn gradients(&self, g: &[T], x: &[T], x_wanted: bool) -> (Option<Vec<T>>, [Vec<T>; 2]) {
        let layout = self.layout;
        let factors = self.with_relu.then_some(&self.factors[..]);
        let sums = layout.gradient_sums(g, x, &self.mean, factors);
        let count = T::of((layout.batch * layout.area) as f64);
        let of_x = || match self.batch_statistics {
            false => layout.scaled(g, false, |channel| {
                let [factor, _] = self.factors[channel];
                [T::ZERO, factor, T::ZERO]
            }),
            true => layout.combined(g, x, self.with_relu, |channel| {
                let (scale, [sum, product]) = (self.scale[channel], sums[channel]);
                let [factor, shift] = self.factors[channel];
                let [near, rest] = self.mean[channel];
                let slope = -factor * scale * scale * product / count;
                let offset = -factor * sum / count - slope * rest;
                [near, factor, slope, offset, shift]
            }),
        };
        let of_x = x_wanted.then(of_x);
        let scaled = |([_, product], scale): (&[T; 2], &T)| *product * *scale;
        let of_weight = sums.iter().zip(&self.scale).map(scaled).collect();
        let of_bias = sums.iter().map(|[sum, _]| *sum).collect();
        (of_x, [of_weight, of_bias])
    }

    fn composed(&self, inputs: &[Raw]) -> Result<Raw> {
        let channels = self.layout.channels;
        let statistics = match self.batch_statistics {
            true => None,
            false => {
                let mean = self.mean.iter().map(|[near, rest]| *near + *rest).collect();
                let eps = T::of(self.eps);
                let var = self
                    .scale
                    .iter()
                    .map(|scale| T::ONE / (*scale * *scale) - eps);
                let of = |values: Vec<T>| Raw::from_vec(values, channels, inputs[0].device());
                Some((of(mean)?, of(var.collect())?))
            }
        };
        let statistics = statistics.as_ref().map(|(mean, var)| (mean, var));
        let inputs = [&inputs[0], &inputs[1], &inputs[2]];
        let y = composed(inputs, statistics, self.eps)?.y;
        if self.with_relu { relu(&y) } else { Ok(y) }
    }
}

#[cfg(test)]
mod tests;
