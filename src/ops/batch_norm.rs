//! Batch normalisation.

use super::engine::autograd::{Backward, fits, record};
use super::engine::simd::{Element, multiversion};
use super::engine::threads::map_tasks;
use super::engine::{Numbers, for_type_of, make, sum_of};
use candle_core::{Result, Tensor};
use std::mem::MaybeUninit;

/// Numbers of one channel in one example; with fewer, Candle's operations are as fast.
const LEAST: usize = 8;

/// What a batch was normalised with.
pub(crate) struct Normalized {
    pub(crate) y: Tensor,
    /// The mean of each channel, `(channels,)`; without a gradient.
    pub(crate) mean: Tensor,
    /// Its variance, by the number of values.
    pub(crate) var: Tensor,
}

/// Normalises `x` `(batch, channels, …)` for each channel, then scales by `weight` and shifts by
/// `bias`: with the statistics of `x`, or with a given mean and variance, which are constants.
/// `None` where there is no kernel.
pub(crate) fn batch_norm(
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    statistics: Option<(&Tensor, &Tensor)>,
    eps: f64,
) -> Result<Option<Normalized>> {
    let shape = x.dims().get(2..).unwrap_or_default();
    let area: usize = shape.iter().product();
    if !fits(&[x, weight, bias]) || x.elem_count() == 0 || area < LEAST {
        return Ok(None);
    }
    if let Some((mean, var)) = statistics
        && (mean.dtype() != x.dtype() || var.dtype() != x.dtype())
    {
        return Ok(None);
    }
    for_type_of!(x, forward(x, weight, bias, statistics, eps)).map(Some)
}

fn forward<T: Element>(
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    statistics: Option<(&Tensor, &Tensor)>,
    eps: f64,
) -> Result<Normalized> {
    let input = x.contiguous()?;
    let layout = Layout::of(&input)?;
    let (mean, var) = match statistics {
        Some((mean, var)) => (mean.to_vec1::<T>()?, var.to_vec1::<T>()?),
        None => {
            let numbers = Numbers::of(&input)?;
            let x = numbers.slice::<T>()?;
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
        let numbers = Numbers::of(&input)?;
        layout.map(numbers.slice::<T>()?, None, |channel| {
            let factor = weights[channel] * scale[channel];
            [factor, T::ZERO, biases[channel] - mean[channel] * factor]
        })
    };
    let tensor = |values: &[T]| Tensor::from_slice(values, layout.channels, x.device());
    let (mean_tensor, var_tensor) = (tensor(&mean)?, tensor(&var)?);
    let y = record(&[x, weight, bias], y, x.shape(), || Back {
        x: input.detach(),
        layout,
        of_batch: statistics.is_none(),
        weights,
        mean,
        scale,
    })?;
    Ok(Normalized {
        y,
        mean: mean_tensor,
        var: var_tensor,
    })
}

/// How the channels lie.
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

    /// The numbers of a channel, example by example.
    fn parts<'a, T>(
        &self,
        x: &'a [T],
        channel: usize,
    ) -> impl Iterator<Item = &'a [T]> + use<'a, T> {
        let Layout { channels, area, .. } = *self;
        (0..self.batch).map(move |i| &x[(i * channels + channel) * area..][..area])
    }

    /// The mean and the variance of a channel.
    fn statistics<T: Element>(&self, x: &[T], channel: usize) -> (T, T) {
        let count = T::of((self.batch * self.area) as f64);
        let mean = self.parts(x, channel).map(sum_of).sum::<T>() / count;
        let squares = self.parts(x, channel).map(|x| squares_around(x, mean));
        (mean, squares.sum::<T>() / count)
    }

    /// `a·x + b·other + c`, with the numbers that `factors` gives for a channel.
    fn map<T: Element>(
        &self,
        x: &[T],
        other: Option<&[T]>,
        factors: impl Fn(usize) -> [T; 3] + Sync,
    ) -> Vec<T> {
        // SAFETY: `combine` writes as many numbers as it reads.
        unsafe {
            make(x.len(), self.area, |first, out| {
                let range = first..first + self.area;
                let other = other.map(|other| &other[range.clone()]);
                let factors = factors(first / self.area % self.channels);
                combine(&x[range], other, factors, out);
            })
        }
    }
}

multiversion! {
    fn squares_around<T: Element>(x: &[T], mean: T) -> T {
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
    /// The sum of the gradient, and that of the gradient times the distance from the mean.
    fn sums_of_gradient<T: Element>(gradient: &[T], x: &[T], mean: T) -> (T, T) {
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
    /// Whether the statistics are those of `x`, so that it moves them.
    of_batch: bool,
    weights: Vec<T>,
    mean: Vec<T>,
    /// One by the standard deviation.
    scale: Vec<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        wanted: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let (g, x) = (Numbers::of(gradient)?, Numbers::of(&self.x)?);
        let (g, x) = (g.slice::<T>()?, x.slice::<T>()?);
        let layout = self.layout;
        let sums: Vec<(T, T)> = map_tasks(layout.channels, |channel| {
            let parts = layout.parts(g, channel).zip(layout.parts(x, channel));
            let sums = parts.map(|(g, x)| sums_of_gradient(g, x, self.mean[channel]));
            sums.fold((T::ZERO, T::ZERO), |(a, b), (c, d)| (a + c, b + d))
        });
        let count = T::of((layout.batch * layout.area) as f64);
        let of_x = wanted[0].then(|| {
            layout.map(g, Some(x), |channel| {
                let scale = self.scale[channel];
                let factor = self.weights[channel] * scale;
                if !self.of_batch {
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
