//! A gather along the rows and the columns of matrices, for padding and resampling: each element of the output is one
//! of the input, or the weighted mean of two.

use super::arithmetic::{Arithmetic, arithmetic};
use super::dispatch::run;
use super::engine::autograd::recorded_linear;
use super::engine::read::read;
use super::engine::{Element, dispatch_dtype};
use super::select::selected;
use crate::tensor::Raw;
use candle_core::{Device, Result};
use std::mem::MaybeUninit;
use std::sync::Arc;
use taper_compute::scratch::with_scratch;
use taper_compute::simd::multiversion;
use taper_compute::whole_rows;
use taper_compute::write::{self, Parts};

/// The elements of one task, rounded to whole rows.
const CHUNK: usize = 1 << 14;
/// The least elements that are copied as a run.
const LEAST_RUN: usize = 4;

/// Where the elements along a dimension of the output come from.
pub(super) struct AxisGather {
    /// The size of the dimension in the input.
    size: usize,
    first: Vec<u32>,
    /// The other element of a mean, and its share.
    second: Option<(Vec<u32>, Vec<f64>)>,
    pattern: Pattern,
}

/// How the first elements are found.
enum Pattern {
    /// Each twice.
    Double,
    /// Adjacent ones: where they are written, where they are read, and how many.
    Runs(Vec<[usize; 3]>),
    Any,
}

impl AxisGather {
    pub(super) fn new(size: usize, first: Vec<u32>) -> Self {
        let is_double = first.len() == 2 * size && first.iter().zip(0..).all(|(x, i)| *x == i / 2);
        let mut runs: Vec<[usize; 3]> = vec![];
        for (to, from) in first.iter().map(|from| *from as usize).enumerate() {
            match runs.last_mut() {
                Some(run) if run[1] + run[2] == from => run[2] += 1,
                _ => runs.push([to, from, 1]),
            }
        }
        let pattern = match is_double {
            true => Pattern::Double,
            false if runs.len() * LEAST_RUN <= first.len() => Pattern::Runs(runs),
            false => Pattern::Any,
        };
        AxisGather {
            size,
            first,
            second: None,
            pattern,
        }
    }

    /// Returns the taps of weighted means, in which the second elements have these shares.
    pub(super) fn means(size: usize, first: Vec<u32>, second: Vec<u32>, shares: Vec<f64>) -> Self {
        AxisGather {
            size,
            first,
            second: Some((second, shares)),
            pattern: Pattern::Any,
        }
    }

    /// Returns the taps of a dimension that does not change.
    pub(super) fn same(size: usize) -> Self {
        Self::new(size, (0..size as u32).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.first.len()
    }

    /// Returns the elements at the places in a dimension.
    fn along(&self, x: &Raw, dim: usize) -> Result<Raw> {
        let at = |places: &[u32]| {
            let places = Raw::from_slice(places, places.len(), x.device())?;
            selected(x, &places, dim.into())
        };
        let Some((second, shares)) = &self.second else {
            return at(&self.first);
        };
        let mut shape = vec![1; x.rank()];
        shape[dim] = shares.len();
        let shares = Raw::from_slice(shares, shape, &Device::Cpu)?.to_dtype(x.dtype())?;
        let shares = shares.to_device(x.device())?;
        let first = arithmetic(
            Arithmetic::Mul,
            &at(&self.first)?,
            &shares.affine(-1.0, 1.0)?,
        )?;
        arithmetic(
            Arithmetic::Add,
            &first,
            &arithmetic(Arithmetic::Mul, &at(second)?, &shares)?,
        )
    }

    /// Returns the second elements with their shares.
    fn seconds<T: Element>(&self) -> Option<(&[u32], Vec<T>)> {
        let (second, shares) = self.second.as_ref()?;
        Some((second, shares.iter().map(|share| T::of(*share)).collect()))
    }
}

/// Returns the matrices in the last two dimensions with the rows and columns of these taps.
pub(super) fn resampled(x: &Raw, taps: [AxisGather; 2]) -> Result<Raw> {
    let last = x.rank() - 1;
    match x.dtype().is_float() && x.device().is_cpu() && x.elem_count() > 0 {
        true => {
            let taps = Arc::new(taps);
            let kernel = |x: &[&Raw]| dispatch_dtype!(x[0], forward(x[0], taps.clone()));
            run(&[x], kernel, |x| {
                taps[1].along(&taps[0].along(x[0], last - 1)?, last)
            })
        }
        false => taps[1].along(&taps[0].along(x, last - 1)?, last),
    }
}

fn forward<T: Element>(x: &Raw, taps: Arc<[AxisGather; 2]>) -> Result<Raw> {
    let [rows, columns] = &*taps;
    let mut shape = x.dims()[..x.rank() - 2].to_vec();
    shape.extend([rows.len(), columns.len()]);
    let count = shape.iter().product();
    let y = read([x], |[x]| Resampling::<T>::of(&taps).forward(x, count))?;
    let y = Raw::from_vec(y, shape, x.device())?;
    Ok(recorded_linear(x, y, || {
        let (taps, shape) = (taps.clone(), x.dims().to_vec());
        move |g: &Raw| adjoint::<T>(g, taps.clone(), &shape)
    }))
}

/// Returns the gradient of the input, which has this shape.
fn adjoint<T: Element>(g: &Raw, taps: Arc<[AxisGather; 2]>, shape: &[usize]) -> Result<Raw> {
    let count = shape.iter().product();
    let x = read([g], |[g]| Resampling::<T>::of(&taps).adjoint(g, count))?;
    let x = Raw::from_vec(x, shape, g.device())?;
    Ok(recorded_linear(g, x, || {
        move |x: &Raw| forward::<T>(x, taps.clone())
    }))
}

/// The taps of rows and columns, with the shares of second elements.
struct Resampling<'a, T> {
    rows: &'a AxisGather,
    columns: &'a AxisGather,
    of_rows: Option<(&'a [u32], Vec<T>)>,
    of_columns: Option<(&'a [u32], Vec<T>)>,
}

impl<'a, T: Element> Resampling<'a, T> {
    fn of([rows, columns]: &'a [AxisGather; 2]) -> Self {
        Resampling {
            rows,
            columns,
            of_rows: rows.seconds(),
            of_columns: columns.seconds(),
        }
    }

    fn forward(&self, x: &[T], count: usize) -> Vec<T> {
        let (height, width) = (self.rows.len(), self.columns.len());
        let size = self.columns.size;
        write::by_chunks(count, whole_rows(CHUNK, width), |first, out| {
            let (mut first_row, mut second_row) = (Row::new(width), Row::new(width));
            let (range, mut lines) = (0..out.len() / width, Parts::new(out));
            for at in range {
                let (plane, i) = ((first / width + at) / height, (first / width + at) % height);
                let row = |place: u32| (plane * self.rows.size + place as usize) * size;
                let from = row(self.rows.first[i]);
                let out = lines.next(width);
                let Some((second, shares)) = &self.of_rows else {
                    lines.push(
                        match at > 0 && i > 0 && self.rows.first[i - 1] == self.rows.first[i] {
                            true => out.write_copy_of_slice(&lines.written()[(at - 1) * width..]),
                            false => self.spread(&x[from..][..size], out),
                        },
                    );
                    continue;
                };
                let to = row(second[i]);
                // The second row is often the first of the next mean.
                if first_row.at != Some(from) && second_row.at == Some(from) {
                    std::mem::swap(&mut first_row, &mut second_row);
                }
                let first = first_row.get(from, |out| self.spread(&x[from..][..size], out));
                let second = second_row.get(to, |out| self.spread(&x[to..][..size], out));
                lines.push(mix(first, second, shares[i], out));
            }
            lines.finish()
        })
    }

    /// Computes a row of the output from one of the input.
    fn spread<'o>(&self, x: &[T], out: &'o mut [MaybeUninit<T>]) -> &'o mut [T] {
        if let Some((second, shares)) = &self.of_columns {
            return mix_columns(x, &self.columns.first, second, shares, out);
        }
        match &self.columns.pattern {
            Pattern::Double => double(x, out),
            Pattern::Runs(runs) => {
                let mut parts = Parts::new(out);
                for &[_, from, count] in runs {
                    match count {
                        1 => parts.put(x[from]),
                        _ => parts.copy(&x[from..][..count]),
                    }
                }
                parts.finish()
            }
            Pattern::Any => {
                let places = self.columns.first.iter();
                write::each(out, places.map(|place| x[*place as usize]))
            }
        }
    }

    /// Returns the gradient of the input, which has `count` elements.
    fn adjoint(&self, g: &[T], count: usize) -> Vec<T> {
        let (height, width) = (self.rows.len(), self.columns.len());
        let [rows, columns] = [self.rows.size, self.columns.size];
        let plane = rows * columns;
        write::by_chunks(count, whole_rows(CHUNK, plane), |first, out| {
            let planes = first / plane..(first + out.len()) / plane;
            let mut lines = Parts::new(out);
            with_scratch(rows * width, |sums: &mut [T]| {
                for i in planes {
                    let g = &g[i * height * width..][..height * width];
                    sums.fill(T::ZERO);
                    self.add_rows(g, sums);
                    for sums in sums.chunks_exact(width) {
                        let out = lines.next(columns);
                        lines.push(self.collect(sums, out));
                    }
                }
            });
            lines.finish()
        })
    }

    /// Adds the gradient of each row to the input row from which it was computed.
    fn add_rows(&self, g: &[T], sums: &mut [T]) {
        let width = self.columns.len();
        for (i, g) in g.chunks_exact(width).enumerate() {
            let first = self.rows.first[i] as usize * width;
            let share = self
                .of_rows
                .as_ref()
                .map_or(T::ZERO, |(_, shares)| shares[i]);
            add_times(g, T::ONE - share, &mut sums[first..][..width]);
            if let Some((second, _)) = &self.of_rows {
                add_times(g, share, &mut sums[second[i] as usize * width..][..width]);
            }
        }
    }

    /// Adds the gradients of a row to the elements from which it was computed.
    fn collect<'o>(&self, g: &[T], out: &'o mut [MaybeUninit<T>]) -> &'o mut [T] {
        if let Pattern::Double = self.columns.pattern {
            return halve(g, out);
        }
        let out = write::fill(out, T::ZERO);
        match (&self.columns.pattern, &self.of_columns) {
            (Pattern::Runs(runs), None) => {
                for &[to, from, count] in runs {
                    let sums = out[from..][..count].iter_mut();
                    sums.zip(&g[to..]).for_each(|(sum, g)| *sum += *g);
                }
            }
            (_, None) => {
                for (g, place) in g.iter().zip(&self.columns.first) {
                    out[*place as usize] += *g;
                }
            }
            (_, Some((second, shares))) => {
                let places = self.columns.first.iter().zip(*second);
                for ((g, share), (first, second)) in g.iter().zip(shares).zip(places) {
                    out[*first as usize] += *g * (T::ONE - *share);
                    out[*second as usize] += *g * *share;
                }
            }
        }
        out
    }
}

/// A row that was computed from the row of the input which begins at this index.
struct Row<T> {
    at: Option<usize>,
    width: usize,
    values: Vec<T>,
}

impl<T: Element> Row<T> {
    fn new(width: usize) -> Self {
        Row {
            at: None,
            width,
            values: vec![],
        }
    }

    /// Returns the row; unless it is there, `compute` initialises it.
    fn get(
        &mut self,
        at: usize,
        compute: impl for<'a> FnOnce(&'a mut [MaybeUninit<T>]) -> &'a mut [T],
    ) -> &[T] {
        if self.at != Some(at) {
            self.at = Some(at);
            write::replace(&mut self.values, self.width, compute);
        }
        &self.values
    }
}

multiversion! {
    /// Writes the weighted mean of two rows.
    fn mix<'a, T: Element>(first: &[T], second: &[T], share: T, out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        let (first, second, rest) = (&first[..out.len()], &second[..out.len()], T::ONE - share);
        write::by_index(out, |i| first[i] * rest + second[i] * share)
    }
}

multiversion! {
    fn mix_columns<'a, T: Element>(x: &[T], first: &[u32], second: &[u32], shares: &[T], out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        let places = first.iter().zip(second).zip(shares);
        let mean = |((first, second), share): ((&u32, &u32), &T)| {
            x[*first as usize] * (T::ONE - *share) + x[*second as usize] * *share
        };
        write::each(out, places.map(mean))
    }
}

multiversion! {
    /// Writes each element twice.
    fn double<'a, T: Element>(x: &[T], out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        assert_eq!(out.len(), 2 * x.len());
        for (out, x) in out.as_chunks_mut::<2>().0.iter_mut().zip(x) {
            *out = [MaybeUninit::new(*x); 2];
        }
        // SAFETY: there are as many pairs as elements of `x`, so the loop has initialised each.
        unsafe { out.assume_init_mut() }
    }
}

multiversion! {
    /// Writes the sums of pairs.
    fn halve<'a, T: Element>(g: &[T], out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        write::each(out, g.as_chunks::<2>().0.iter().map(|[a, b]| *a + *b))
    }
}

multiversion! {
    fn add_times<T: Element>(g: &[T], factor: T, sums: &mut [T]) {
        for (sum, g) in sums.iter_mut().zip(g) {
            *sum += *g * factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::randn;

    #[test]
    fn the_kernel_agrees_with_selections() {
        compare("resampled", 60, |case| {
            let shape = [case.between(1, 9), case.between(1, 40), case.between(1, 90)];
            let taps = [1, 2].map(|dim| {
                let (size, kind) = (shape[dim], case.between(0, 3));
                let count = case.between(1, 100);
                let places = |random: &mut dyn FnMut() -> usize| {
                    (0..count).map(|_| random() as u32).collect::<Vec<_>>()
                };
                let mut place = || case.between(0, size - 1);
                let [first, second] = [places(&mut place), places(&mut place)];
                move || match kind {
                    0 => AxisGather::new(size, (0..2 * size as u32).map(|i| i / 2).collect()),
                    1 => AxisGather::new(
                        size,
                        (0..size as u32).chain(0..size as u32).rev().collect(),
                    ),
                    2 => AxisGather::new(size, first.clone()),
                    _ => {
                        let shares = (0..count).map(|i| (i % 7) as f64 / 7.0).collect();
                        AxisGather::means(size, first.clone(), second.clone(), shares)
                    }
                }
            });
            let x = case.input(randn(shape.as_slice()));
            let taps = Arc::new(taps);
            let of_candle = taps.clone();
            let kernel = move |x: &[Raw]| resampled(&x[0], [taps[0](), taps[1]()]);
            let selections =
                move |x: &[Raw]| of_candle[1]().along(&of_candle[0]().along(&x[0], 1)?, 2);
            Some((vec![x], Box::new(kernel), Box::new(selections)))
        });
    }
}
