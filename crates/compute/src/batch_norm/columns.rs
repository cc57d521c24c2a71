//! The kernels for a batch whose channels have few adjacent elements, such as vectors: a matrix, of which each column
//! belongs to a channel.

use super::{before_relu, relu, scaled};
use crate::reduce::sums_along;
use crate::simd::{Float, multiversion};
use crate::sums::{ROWS, add_pairwise, matrix_sums, sum_all};
use crate::whole_rows;
use crate::write::{self, Parts};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The elements of one task, rounded to whole rows.
const CHUNK: usize = 1 << 14;
/// Rows with fewer columns than this are put side by side, so that vectors are full.
const NARROW: usize = 128;

pub(super) struct Columns {
    batch: usize,
    channels: usize,
    /// The adjacent elements of a channel.
    area: usize,
    rows: usize,
    count: usize,
}

impl Columns {
    pub(super) fn of(batch: usize, channels: usize, area: usize) -> Self {
        let (mut rows, mut count) = (batch, channels * area);
        while count < NARROW && rows.is_multiple_of(2) {
            (rows, count) = (rows / 2, count * 2);
        }
        Columns {
            batch,
            channels,
            area,
            rows,
            count,
        }
    }

    pub(super) fn statistics<T: Float>(&self, x: &[T]) -> (Vec<[T; 2]>, Vec<T>) {
        let count = T::of((self.batch * self.area) as f64);
        let mut near = self.of_channels(&sums_along(x, &[self.rows, self.count], &[0]));
        near.iter_mut().for_each(|near| *near /= count);
        let sums = self.sums(None, x, |channel| near[channel], None);
        let of_channel = |(near, [rest, squares]): (&T, &[T; 2])| {
            let rest = *rest / count;
            ([*near, rest], *squares / count - rest * rest)
        };
        near.iter().zip(&sums).map(of_channel).unzip()
    }

    pub(super) fn gradient_sums<T: Float>(
        &self,
        g: &[T],
        x: &[T],
        mean: &[[T; 2]],
        factors: Option<&[[T; 2]]>,
    ) -> Vec<[T; 2]> {
        let mut sums = self.sums(Some(g), x, |channel| mean[channel][0], factors);
        for ([sum, product], [_, rest]) in sums.iter_mut().zip(mean) {
            *product -= *rest * *sum;
        }
        sums
    }

    pub(super) fn scaled<T: Float>(
        &self,
        x: &[T],
        with_relu: bool,
        of_channel: impl Fn(usize) -> [T; 3],
    ) -> Vec<T> {
        let settings = self.spread(of_channel);
        write::by_chunks(x.len(), whole_rows(CHUNK, self.count), |first, out| {
            scale_rows(&x[first..], &settings, with_relu, out)
        })
    }

    pub(super) fn combined<T: Float>(
        &self,
        g: &[T],
        x: &[T],
        with_relu: bool,
        of_channel: impl Fn(usize) -> [T; 5],
    ) -> Vec<T> {
        let settings = self.spread(of_channel);
        write::by_chunks(x.len(), whole_rows(CHUNK, self.count), |first, out| {
            combine_rows(&g[first..], &x[first..], &settings, with_relu, out)
        })
    }

    /// Returns the values of each column's channel.
    fn spread<T: Float, const N: usize>(
        &self,
        of_channel: impl Fn(usize) -> [T; N],
    ) -> [Vec<T>; N] {
        let Columns { channels, area, .. } = *self;
        let mut columns = [const { Vec::new() }; N];
        for column in 0..self.count {
            let values = of_channel(column / area % channels);
            columns
                .iter_mut()
                .zip(values)
                .for_each(|(column, value)| column.push(value));
        }
        columns
    }

    /// Returns the sum of each channel's columns.
    fn of_channels<T: Float>(&self, columns: &[T]) -> Vec<T> {
        let Columns { channels, area, .. } = *self;
        if columns.len() == channels {
            return columns.to_vec();
        }
        let of_channel = |channel: usize| {
            let rows = columns.chunks_exact(channels * area);
            sum_all(rows.flat_map(|row| &row[channel * area..][..area]).copied())
        };
        (0..channels).map(of_channel).collect()
    }

    /// Returns for each channel the sum of `g`, and of its product with the deviation of `x` from `near`; without `g`, the
    /// sum of the deviations and of their squares. Factors and offsets are those of a ReLU's input.
    fn sums<T: Float>(
        &self,
        g: Option<&[T]>,
        x: &[T],
        near: impl Fn(usize) -> T,
        factors: Option<&[[T; 2]]>,
    ) -> Vec<[T; 2]> {
        let [near] = self.spread(|channel| [near(channel)]);
        let factors = factors.map(|factors| self.spread(|channel| factors[channel]));
        let of_block = |_, rows: Range<usize>, columns: Range<usize>| {
            let near = &near[columns.clone()];
            let factors = { factors.as_ref() }
                .map(|[factors, offsets]| [&factors[columns.clone()], &offsets[columns.clone()]]);
            let of_rows = rows.clone().step_by(ROWS).map(|row| {
                let last = rows.end.min(row + ROWS) - 1;
                let range = row * self.count + columns.start..last * self.count + columns.end;
                let mut sums = vec![T::ZERO; 2 * near.len()];
                add_rows(
                    g.map(|g| &g[range.clone()]),
                    &x[range.clone()],
                    self.count,
                    near,
                    factors,
                    &mut sums,
                );
                sums
            });
            add_pairwise(of_rows).unwrap_or_default()
        };
        let (mut first, mut second) = (vec![], vec![]);
        for sums in matrix_sums(1, self.rows, self.count, of_block) {
            let (of_g, of_products) = sums.split_at(sums.len() / 2);
            first.extend_from_slice(of_g);
            second.extend_from_slice(of_products);
        }
        let sums = self
            .of_channels(&first)
            .into_iter()
            .zip(self.of_channels(&second));
        sums.map(|(sum, product)| [sum, product]).collect()
    }
}

multiversion! {
    fn add_rows<T: Float>(g: Option<&[T]>, x: &[T], columns: usize, near: &[T], factors: Option<[&[T]; 2]>, sums: &mut [T]) {
        match (g, factors) {
            (Some(g), None) => add_terms(g, x, columns, near, sums, |_, g, x| [g, g * x]),
            (Some(g), Some([factors, offsets])) => {
                let (factors, offsets) = (&factors[..near.len()], &offsets[..near.len()]);
                add_terms(g, x, columns, near, sums, |i, g, x| {
                    let g = before_relu(g, x * factors[i] + offsets[i]);
                    [g, g * x]
                });
            }
            (None, _) => add_terms(x, x, columns, near, sums, |_, _, x| [x, x * x]),
        }
    }
}

/// Adds two terms of `g` and of the deviation of `x` from `near` to the sums of each column; four rows at once, so that the
/// sums are read and written less often.
#[inline(always)]
fn add_terms<T: Float>(
    g: &[T],
    x: &[T],
    columns: usize,
    near: &[T],
    sums: &mut [T],
    terms: impl Fn(usize, T, T) -> [T; 2],
) {
    let width = near.len();
    let (first, second) = sums.split_at_mut(width);
    let second = &mut second[..width];
    let rows = (x.len() + columns - width) / columns;
    for top in (0..rows / 4 * 4).step_by(4) {
        let (g0, g1, g2, g3) = (
            &g[top * columns..][..width],
            &g[(top + 1) * columns..][..width],
            &g[(top + 2) * columns..][..width],
            &g[(top + 3) * columns..][..width],
        );
        let (x0, x1, x2, x3) = (
            &x[top * columns..][..width],
            &x[(top + 1) * columns..][..width],
            &x[(top + 2) * columns..][..width],
            &x[(top + 3) * columns..][..width],
        );
        for i in 0..width {
            let [a, b] = terms(i, g0[i], x0[i] - near[i]);
            let [c, d] = terms(i, g1[i], x1[i] - near[i]);
            let [e, f] = terms(i, g2[i], x2[i] - near[i]);
            let [g, h] = terms(i, g3[i], x3[i] - near[i]);
            first[i] += (a + c) + (e + g);
            second[i] += (b + d) + (f + h);
        }
    }
    for at in rows / 4 * 4..rows {
        let (g, x) = (&g[at * columns..][..width], &x[at * columns..][..width]);
        for i in 0..width {
            let [a, b] = terms(i, g[i], x[i] - near[i]);
            first[i] += a;
            second[i] += b;
        }
    }
}

multiversion! {
    /// Writes `(x - near) · factor + offset` for each row, or the ReLU of it.
    fn scale_rows<'a, T: Float>(x: &[T], settings: &[Vec<T>; 3], with_relu: bool, out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        let [near, factors, offsets] = settings;
        let columns = near.len();
        let (factors, offsets) = (&factors[..columns], &offsets[..columns]);
        let (x, mut rows) = (x[..out.len()].chunks_exact(columns), Parts::new(out));
        for x in x {
            let out = rows.next(columns);
            let y = |i: usize| scaled(x[i], [near[i], factors[i], offsets[i]]);
            rows.push(match with_relu {
                false => write::by_index(out, y),
                true => write::by_index(out, |i| relu(y(i))),
            });
        }
        rows.finish()
    }
}

multiversion! {
    /// Writes `g · factor + (x - near) · slope + offset` for each row.
    fn combine_rows<'a, T: Float>(g: &[T], x: &[T], settings: &[Vec<T>; 5], with_relu: bool, out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        let [near, factors, slopes, offsets, shifts] = settings;
        let columns = near.len();
        let (factors, slopes, offsets, shifts) = (&factors[..columns], &slopes[..columns], &offsets[..columns], &shifts[..columns]);
        let inputs = g[..out.len()].chunks_exact(columns).zip(x.chunks_exact(columns));
        let mut rows = Parts::new(out);
        for (g, x) in inputs {
            let out = rows.next(columns);
            let combined = |g: T, i: usize| g * factors[i] + ((x[i] - near[i]) * slopes[i] + offsets[i]);
            rows.push(match with_relu {
                false => write::by_index(out, |i| combined(g[i], i)),
                true => write::by_index(out, |i| combined(before_relu(g[i], scaled(x[i], [near[i], factors[i], shifts[i]])), i)),
            });
        }
        rows.finish()
    }
}
