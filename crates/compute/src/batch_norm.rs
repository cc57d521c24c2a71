//! Batch normalisation: where the channels of a batch are in memory, and what is computed for each of them.

mod columns;
mod planes;

/// The normalisation of an element, with the same bits in each kernel.
#[inline(always)]
pub(crate) fn scaled<T: Float>(x: T, [near, factor, offset]: [T; 3]) -> T {
    (x - near) * factor + offset
}

/// As the kernel of ReLU, which keeps NaN.
#[inline(always)]
pub(crate) fn relu<T: Float>(x: T) -> T {
    if x <= T::ZERO { T::ZERO } else { x }
}

/// Returns the gradient before a ReLU from that behind it, and from the ReLU's input.
#[inline(always)]
fn before_relu<T: Float>(g: T, y: T) -> T {
    if y <= T::ZERO { T::ZERO } else { g }
}

pub use planes::{LEAST_AREA, combine, gradient_sums, scale_and_shift, statistics_of};

use crate::simd::Float;
use crate::sums::Pairwise;
use crate::threads::map_tasks;
use crate::write;
use columns::Columns;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The sizes of a batch `(batch, channels, …)`.
#[derive(Clone, Copy)]
pub struct Layout {
    /// The number of examples.
    pub batch: usize,
    /// The number of channels.
    pub channels: usize,
    /// The adjacent elements of a channel.
    pub area: usize,
}

impl Layout {
    /// Returns the batch as a matrix if a channel of an example has few elements.
    fn columns(&self) -> Option<Columns> {
        (self.batch > 1 && self.area < LEAST_AREA)
            .then(|| Columns::of(self.batch, self.channels, self.area))
    }

    /// Returns the elements of a channel, one slice for each example.
    fn planes<'a, T>(
        &self,
        x: &'a [T],
        channel: usize,
    ) -> impl Iterator<Item = &'a [T]> + Clone + use<'a, T> {
        let Layout { channels, area, .. } = *self;
        (0..self.batch).map(move |i| &x[(i * channels + channel) * area..][..area])
    }

    /// Returns the mean of each channel, as the sum of two values, and its biased variance. The second value of the mean
    /// is the rounding error of the first.
    pub fn statistics<T: Float>(&self, x: &[T]) -> (Vec<[T; 2]>, Vec<T>) {
        if let Some(columns) = self.columns() {
            return columns.statistics(x);
        }
        let count = self.batch * self.area;
        let of_channel = |channel| statistics_of(self.planes(x, channel), count);
        map_tasks(self.channels, of_channel).into_iter().unzip()
    }

    /// Returns for each channel the sum of the gradient, and the sum of its product with the deviation from the mean.
    /// Where a ReLU follows, `factors` are the last two values of [`scaled`](Self::scaled), and the gradient is the ReLU's.
    pub fn gradient_sums<T: Float>(
        &self,
        g: &[T],
        x: &[T],
        mean: &[[T; 2]],
        factors: Option<&[[T; 2]]>,
    ) -> Vec<[T; 2]> {
        if let Some(columns) = self.columns() {
            return columns.gradient_sums(g, x, mean, factors);
        }
        map_tasks(self.channels, |channel| {
            let [near, rest] = mean[channel];
            let factors = factors.map(|factors| factors[channel]);
            let (mut sums, mut products) = (Pairwise::new(), Pairwise::new());
            for (g, x) in self.planes(g, channel).zip(self.planes(x, channel)) {
                let [sum, product] = gradient_sums(g, x, near, factors);
                sums.add(sum);
                products.add(product);
            }
            [sums.sum(), products.sum() - rest * sums.sum()]
        })
    }

    /// Returns `(x - near) · factor + offset` with the three values of each channel, or the ReLU of it.
    pub fn scaled<T: Float>(
        &self,
        x: &[T],
        with_relu: bool,
        of_channel: impl Fn(usize) -> [T; 3] + Sync,
    ) -> Vec<T> {
        if let Some(columns) = self.columns() {
            return columns.scaled(x, with_relu, of_channel);
        }
        self.map(x.len(), |channel, range, out| {
            scale_and_shift(&x[range], of_channel(channel), with_relu, out)
        })
    }

    /// Returns `g · factor + (x - near) · slope + offset` with the values `near`, `factor`, `slope` and `offset` of each
    /// channel. Where a ReLU follows `(x - near) · factor + shift`, `g` is the ReLU's gradient, and `shift` the fifth value.
    pub fn combined<T: Float>(
        &self,
        g: &[T],
        x: &[T],
        with_relu: bool,
        of_channel: impl Fn(usize) -> [T; 5] + Sync,
    ) -> Vec<T> {
        if let Some(columns) = self.columns() {
            return columns.combined(g, x, with_relu, of_channel);
        }
        self.map(x.len(), |channel, range, out| {
            combine(
                &g[range.clone()],
                &x[range],
                of_channel(channel),
                with_relu,
                out,
            )
        })
    }

    /// Returns `count` elements; `compute` initialises the elements of a plane, from its channel and its range.
    fn map<T: Float>(
        &self,
        count: usize,
        compute: impl for<'a> Fn(usize, Range<usize>, &'a mut [MaybeUninit<T>]) -> &'a mut [T] + Sync,
    ) -> Vec<T> {
        write::by_chunks(count, self.area, |first, out| {
            let channel = first / self.area % self.channels;
            compute(channel, first..first + self.area, out)
        })
    }
}

#[cfg(test)]
mod tests;
