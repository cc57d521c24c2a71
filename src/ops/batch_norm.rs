//! Batch normalisation.

use super::check;
use super::engine::autograd::{Backward, has_kernel, record};
use super::engine::simd::{Element, multiversion};
use super::engine::threads::map_tasks;
use super::engine::{CpuView, dispatch_dtype, sum, vec_by_chunks};
use candle_core::{Result, Tensor};
use std::fmt::Display;
use std::mem::MaybeUninit;

/// The least elements of a channel in one example for which the kernel is used; with fewer, Candle's
/// operations are as fast.
const LEAST_AREA: usize = 8;

/// A normalised batch, with the statistics that were used.
pub(crate) struct BatchNormOutput {
    pub(crate) y: Tensor,
    /// The mean of each channel, `(channels,)`, without a gradient.
    pub(crate) mean: Tensor,
    /// The biased variance of each channel, `(channels,)`, without a gradient.
    pub(crate) var: Tensor,
}

/// Normalises each channel of `x` `(batch, channels, …)`, then scales it by `weight` and shifts it by
/// `bias`, both `(channels,)`. The statistics are those of `x` (training), or the given mean and
/// variance, which are constants (evaluation).
///
/// # Errors
/// If the shapes, types or devices do not fit, or in training a channel has fewer than two values.
pub(crate) fn batch_norm(
    caller: &dyn Display,
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    statistics: Option<(&Tensor, &Tensor)>,
    eps: f64,
) -> Result<BatchNormOutput> {
    let channels = weight.elem_count();
    if x.dims().get(1) != Some(&channels) {
        let expected = format!("Its second dimension must be {channels}");
        return Err(check::wrong_shape(caller, x, expected));
    }
    check::same_place(caller, x, weight)?;
    match statistics {
        None if x.elem_count() < 2 * channels => {
            let expected = "In training it needs two values or more of each feature: a larger batch, or model.eval()";
            return Err(check::wrong_shape(caller, x, expected));
        }
        Some((mean, var)) if x.elem_count() == 0 => {
            return Ok(BatchNormOutput {
                y: x.clone(),
                mean: mean.clone(),
                var: var.clone(),
            });
        }
        _ => {}
    }
    match suits_kernel(x, weight, bias, statistics) {
        true => dispatch_dtype!(x, forward(x, weight, bias, statistics, eps)),
        false => batch_norm_with_candle(x, weight, bias, statistics, eps),
    }
}

fn suits_kernel(
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    statistics: Option<(&Tensor, &Tensor)>,
) -> bool {
    let area: usize = x.dims()[2..].iter().product();
    has_kernel(&[x, weight, bias])
        && x.elem_count() > 0
        && area >= LEAST_AREA
        && statistics
            .is_none_or(|(mean, var)| mean.dtype() == x.dtype() && var.dtype() == x.dtype())
}

fn batch_norm_with_candle(
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    statistics: Option<(&Tensor, &Tensor)>,
    eps: f64,
) -> Result<BatchNormOutput> {
    let shape = (1, weight.elem_count(), 1);
    let dims = x.dims();
    let x = x.reshape((x.dim(0)?, weight.elem_count(), ()))?; // (batch, channels, area)
    let (mean, var) = match statistics {
        Some((mean, var)) => (mean.reshape(shape)?, var.reshape(shape)?),
        None => {
            let mean = channel_means(&x)?; // (1, channels, 1)
            let var = channel_means(&x.broadcast_sub(&mean)?.sqr()?)?;
            (mean, var)
        }
    };
    let scale = (weight.reshape(shape)? / (&var + eps)?.sqrt()?)?;
    let y = x.broadcast_sub(&mean)?.broadcast_mul(&scale)?;
    Ok(BatchNormOutput {
        y: y.broadcast_add(&bias.reshape(shape)?)?.reshape(dims)?,
        mean: mean.flatten_all()?.detach(),
        var: var.flatten_all()?.detach(),
    })
}

/// Returns the mean of each channel of `(batch, channels, area)`: `(1, channels, 1)`.
fn channel_means(x: &Tensor) -> Result<Tensor> {
    x.mean_keepdim(2)?.mean_keepdim(0)
}

fn forward<T: Element>(
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    statistics: Option<(&Tensor, &Tensor)>,
    eps: f64,
) -> Result<BatchNormOutput> {
    let input = x.contiguous()?;
    let layout = Layout::of(&input)?;
    let (mean, var) = match statistics {
        Some((mean, var)) => (mean.to_vec1::<T>()?, var.to_vec1::<T>()?),
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
        layout.map(view.as_slice::<T>()?, None, |channel| {
            let factor = weights[channel] * scale[channel];
            [factor, T::ZERO, biases[channel] - mean[channel] * factor]
        })
    };
    let tensor = |values: &[T]| Tensor::from_slice(values, layout.channels, x.device());
    let (mean_tensor, var_tensor) = (tensor(&mean)?, tensor(&var)?);
    let y = record(&[x, weight, bias], y, x.shape(), || Back {
        x: input.detach(),
        layout,
        batch_statistics: statistics.is_none(),
        weights,
        mean,
        scale,
    })?;
    Ok(BatchNormOutput {
        y,
        mean: mean_tensor,
        var: var_tensor,
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
    fn of(x: &Tensor) -> Result<Self> {
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

    /// Returns the mean and the biased variance of a channel.
    fn statistics<T: Element>(&self, x: &[T], channel: usize) -> (T, T) {
        let count = T::of((self.batch * self.area) as f64);
        let mean = self.planes(x, channel).map(sum).sum::<T>() / count;
        let squares = self.planes(x, channel).map(|x| squared_deviations(x, mean));
        (mean, squares.sum::<T>() / count)
    }

    /// Returns `a·x + b·other + c`, where `factors` returns `[a, b, c]` for a channel.
    fn map<T: Element>(
        &self,
        x: &[T],
        other: Option<&[T]>,
        factors: impl Fn(usize) -> [T; 3] + Sync,
    ) -> Vec<T> {
        // SAFETY: the slices have the same length, and `combine` initialises one element for each that
        // it reads.
        unsafe {
            vec_by_chunks(x.len(), self.area, |first, out| {
                let range = first..first + self.area;
                let other = other.map(|other| &other[range.clone()]);
                let factors = factors(first / self.area % self.channels);
                combine(&x[range], other, factors, out);
            })
        }
    }
}

multiversion! {
    fn squared_deviations<T: Element>(x: &[T], mean: T) -> T {
        let mut sums = [T::ZERO; 32];
        let chunks = x.chunks_exact(32);
        let rest = chunks.remainder();
        for chunk in chunks {
            for (sum, x) in sums.iter_mut().zip(chunk) {
                *sum += (*x - mean) * (*x - mean);
            }
        }
        let rest = rest.iter().map(|x| (*x - mean) * (*x - mean)).sum::<T>();
        sums.into_iter().sum::<T>() + rest
    }
}

multiversion! {
    /// Returns the sum of the gradient, and the sum of its product with the deviation from the mean.
    fn gradient_sums<T: Element>(gradient: &[T], x: &[T], mean: T) -> (T, T) {
        let mut sums = ([T::ZERO; 32], [T::ZERO; 32]);
        let chunks = gradient.chunks_exact(32);
        let done = gradient.len() / 32 * 32;
        for (g, x) in chunks.zip(x.chunks_exact(32)) {
            for i in 0..32 {
                sums.0[i] += g[i];
                sums.1[i] += g[i] * (x[i] - mean);
            }
        }
        let mut rest = (T::ZERO, T::ZERO);
        for (g, x) in gradient[done..].iter().zip(&x[done..]) {
            rest.0 += *g;
            rest.1 += *g * (*x - mean);
        }
        (sums.0.into_iter().sum::<T>() + rest.0, sums.1.into_iter().sum::<T>() + rest.1)
    }
}

multiversion! {
    fn combine<T: Element>(x: &[T], other: Option<&[T]>, factors: [T; 3], out: &mut [MaybeUninit<T>]) {
        let [a, b, c] = factors;
        match other {
            None => {
                for (out, x) in out.iter_mut().zip(x) {
                    out.write(*x * a + c);
                }
            }
            Some(other) => {
                for ((out, x), other) in out.iter_mut().zip(x).zip(other) {
                    out.write(*x * a + *other * b + c);
                }
            }
        }
    }
}

struct Back<T> {
    x: Tensor,
    layout: Layout,
    /// Whether the statistics are those of `x`, so that gradients flow through them.
    batch_statistics: bool,
    weights: Vec<T>,
    mean: Vec<T>,
    /// The reciprocal of the standard deviation.
    scale: Vec<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        wanted: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let (g, x) = (CpuView::of(gradient)?, CpuView::of(&self.x)?);
        let (g, x) = (g.as_slice::<T>()?, x.as_slice::<T>()?);
        let layout = self.layout;
        let sums: Vec<(T, T)> = map_tasks(layout.channels, |channel| {
            let planes = layout.planes(g, channel).zip(layout.planes(x, channel));
            let sums = planes.map(|(g, x)| gradient_sums(g, x, self.mean[channel]));
            sums.fold((T::ZERO, T::ZERO), |(a, b), (c, d)| (a + c, b + d))
        });
        let count = T::of((layout.batch * layout.area) as f64);
        let of_x = wanted[0].then(|| {
            layout.map(g, Some(x), |channel| {
                let scale = self.scale[channel];
                let factor = self.weights[channel] * scale;
                if !self.batch_statistics {
                    return [factor, T::ZERO, T::ZERO];
                }
                let (sum, product) = sums[channel];
                let slope = -factor * scale * scale * product / count;
                [
                    factor,
                    slope,
                    -factor * sum / count - slope * self.mean[channel],
                ]
            })
        });
        let of_weight = sums
            .iter()
            .zip(&self.scale)
            .map(|((_, product), scale)| *product * *scale);
        let of_bias = sums.iter().map(|(sum, _)| *sum);
        let of_channels =
            |values: Vec<T>| Tensor::from_vec(values, layout.channels, self.x.device());
        let of_x = of_x.map(|of_x| Tensor::from_vec(of_x, self.x.shape(), self.x.device()));
        Ok([
            of_x.transpose()?,
            Some(of_channels(of_weight.collect())?).filter(|_| wanted[1]),
            Some(of_channels(of_bias.collect())?).filter(|_| wanted[2]),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{rand, randn};
    use candle_core::Device;

    const CPU: Device = Device::Cpu;

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("batch_norm", 60, |case| {
            let channels = case.between(1, 9);
            let shape = (
                case.between(1, 6),
                channels,
                case.between(3, 20),
                case.between(3, 20),
            );
            let inputs = vec![
                case.input(randn(shape, &CPU)),
                case.input(rand(channels, &CPU)),
                case.input(randn(channels, &CPU)),
            ];
            let given = case.one_of(&[true, false]).then(|| {
                (
                    case.input(randn(channels, &CPU)),
                    case.input(rand(channels, &CPU)),
                )
            });
            let statistics = given.clone();
            let kernel = move |x: &[Tensor]| {
                let statistics = statistics.as_ref().map(|(mean, var)| (mean, var));
                Ok(batch_norm(&"batch_norm", &x[0], &x[1], &x[2], statistics, 1e-5)?.y)
            };
            let candle = move |x: &[Tensor]| {
                let statistics = given.as_ref().map(|(mean, var)| (mean, var));
                Ok(batch_norm_with_candle(&x[0], &x[1], &x[2], statistics, 1e-5)?.y)
            };
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
