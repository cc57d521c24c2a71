//! Layer normalisation and RMS normalisation, both over the last dimension.

use super::check;
use super::dispatch::run;
use super::elementwise::sqr_of;
use super::engine::read::read;
use super::engine::strided::in_order;
use super::engine::{Element, dispatch_dtype};
use super::normalization::{Normalization, Statistics, normalized};
use crate::tensor::{Raw, Tensor};
use candle_core::shape::Dim;
use candle_core::{D, Result};
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::ops::Range;
use taper_compute::shared_slice::{SharedSlice, vec_filled_by};
use taper_compute::simd::multiversion;
use taper_compute::sums::{add_pairwise, sum, sum_pairs, sum_terms};
use taper_compute::threads::map_tasks;
use taper_compute::whole_rows;
use taper_compute::write::{self, Parts};

/// The elements of one task, rounded to whole rows.
const CHUNK: usize = 1 << 13;
/// The largest number of parts into which the rows are divided; each has its own sums of the gradients of
/// weight and bias.
const PARTS: usize = 16;
/// The number of rows of a block, whose gradients are added one after the other.
const ROWS: usize = 64;

functions! {
    /// Normalises each row of `x` to mean 0 and variance 1, then scales it by `weight` and shifts it by `bias`.
    /// `eps` is added to the variance; 1e-5 is common. From Ba, Kiros and Hinton, 2016.
    ///
    /// # Shapes
    /// `x` is `(…, features)`, `weight` and `bias` are `(features,)`; the output has the shape of `x`.
    ///
    /// # Panics
    /// If the shapes, types or devices do not fit.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 3.0]]); // (1, 2)
    /// let y = layer_norm(&x, &ones(2), &zeros(2), 0.0); // (1, 2)
    /// assert_eq!(y.to_vec2::<f32>(), [[-1.0, 1.0]]);
    /// ```
    pub fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) =>
        layer_norm_as(&"layer_norm", x.raw(), weight.raw(), bias.raw(), eps);

    /// Divides each row of `x` by its root mean square, then scales it by `weight`. `eps` is added to the mean
    /// square. From Zhang and Sennrich, 2019.
    ///
    /// # Shapes
    /// `x` is `(…, features)`, `weight` is `(features,)`; the output has the shape of `x`.
    ///
    /// # Panics
    /// If the shapes, types or devices do not fit.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 7.0]]); // (1, 2)
    /// let y = rms_norm(&x, &ones(2), 0.0); // (1, 2)
    /// assert!((y.i((0, 1)).item() - 1.4).abs() < 1e-6);
    /// ```
    pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) => rms_norm_as(&"rms_norm", x.raw(), weight.raw(), eps);
}

/// Computes [`layer_norm`]; errors begin with the name of the caller.
#[doc(hidden)]
pub fn layer_norm_as(
    caller: &dyn Display,
    x: &Raw,
    weight: &Raw,
    bias: &Raw,
    eps: f64,
) -> Result<Raw> {
    check_features(caller, x, weight)?;
    check::bias(caller, Some(bias), weight)?;
    normalize(&[x, weight, bias], eps)
}

/// Computes [`rms_norm`]; errors begin with the name of the caller.
#[doc(hidden)]
pub fn rms_norm_as(caller: &dyn Display, x: &Raw, weight: &Raw, eps: f64) -> Result<Raw> {
    check_features(caller, x, weight)?;
    normalize(&[x, weight], eps)
}

fn check_features(caller: &dyn Display, x: &Raw, weight: &Raw) -> Result<()> {
    let &[features] = weight.dims() else {
        return Err(check::wrong_weight(
            caller,
            weight,
            "Expected a weight (features,)",
        ));
    };
    check::features(caller, x, features)?;
    check::same_place(caller, x, weight)
}

/// Normalises the rows of the inputs: `x`, the weight, and the bias. Without a bias, the mean is not
/// subtracted, as in RMS normalisation.
pub(super) fn normalize(inputs: &[&Raw], eps: f64) -> Result<Raw> {
    let x = inputs[0];
    if x.elem_count() == 0 {
        return Ok(x.clone());
    }
    run(
        inputs,
        |inputs| dispatch_dtype!(inputs[0], forward(inputs, eps)),
        |inputs| normalize_with_candle(inputs, eps),
    )
}

fn normalize_with_candle(inputs: &[&Raw], eps: f64) -> Result<Raw> {
    let (x, bias) = (inputs[0], inputs.get(2));
    let centred = match bias {
        Some(_) => centred(x, D::Minus1)?,
        None => x.clone(),
    };
    let var = sqr_of(&centred)?.mean_keepdim(D::Minus1)?;
    let y = centred.div(&(var + eps)?.sqrt()?)?;
    let y = y.mul(inputs[1])?;
    bias.map_or(Ok(y.clone()), |bias| y.add(bias))
}

/// Returns the deviations from the mean along a dimension. The mean of the deviations from a rounded mean
/// is subtracted too, which restores the digits that rounding took from a large mean.
pub(super) fn centred(x: &Raw, dim: impl Dim + Copy) -> Result<Raw> {
    let x = x.sub(&x.detach().mean_keepdim(dim)?)?;
    x.sub(&x.mean_keepdim(dim)?)
}

fn forward<T: Element>(inputs: &[&Raw], eps: f64) -> Result<Raw> {
    let x = inputs[0];
    let input = in_order(x)?;
    let weights = inputs[1].to_vec1::<T>()?;
    let features = weights.len();
    let (centre, biases) = match inputs.get(2) {
        Some(bias) => (true, bias.to_vec1::<T>()?),
        None => (false, vec![T::ZERO; features]),
    };
    let rule = Rule {
        centre,
        eps: T::of(eps),
    };
    let chunk = whole_rows(CHUNK, features);
    let (y, statistics) = read([&input], |[x]| {
        write::with_results(x.len(), chunk, |first, y| {
            normalize_rows(&x[first..], &weights, &biases, rule, y)
        })
    })?;
    normalized(inputs, &input, y, || Rows {
        weights,
        rule,
        eps,
        statistics: statistics.concat(),
    })
}

/// The settings of the normalisation.
#[derive(Clone, Copy)]
struct Rule<T> {
    /// Whether the mean is subtracted first.
    centre: bool,
    eps: T,
}

impl<T: Element> Statistics<T> {
    /// Returns the statistics of a row.
    #[inline(always)]
    fn of(x: &[T], rule: Rule<T>) -> Self {
        let count = T::of(x.len() as f64);
        let near = if rule.centre { sum(x) / count } else { T::ZERO };
        let [rest, squares] = sum_terms(x, |x| {
            let x = x - near;
            [x, x * x]
        });
        let rest = if rule.centre { rest / count } else { T::ZERO };
        let var = squares / count - rest * rest;
        Statistics {
            mean: [near, rest],
            scale: T::ONE / (var + rule.eps).sqrt(),
        }
    }

    /// Returns the deviation from the mean.
    #[inline(always)]
    fn centred(self, x: T) -> T {
        x - self.mean[0] - self.mean[1]
    }
}

multiversion! {
    /// Normalises some rows; returns their statistics too.
    fn normalize_rows<'a, T: Element>(x: &[T], weights: &[T], biases: &[T], rule: Rule<T>, y: &'a mut [MaybeUninit<T>]) -> (&'a mut [T], Vec<Statistics<T>>) {
        let features = weights.len();
        let mut statistics = Vec::with_capacity(y.len() / features);
        let (biases, x) = (&biases[..features], x[..y.len()].chunks_exact(features));
        let mut rows = Parts::new(y);
        for x in x {
            let row = Statistics::of(x, rule);
            let y = rows.next(features);
            rows.push(write::by_index(y, |i| row.centred(x[i]) * row.scale * weights[i] + biases[i]));
            statistics.push(row);
        }
        (rows.finish(), statistics)
    }
}

/// The normalisation of the rows of a tensor.
struct Rows<T> {
    weights: Vec<T>,
    rule: Rule<T>,
    eps: f64,
    /// Of each row.
    statistics: Vec<Statistics<T>>,
}

impl<T: Element> Normalization<T> for Rows<T> {
    fn gradients(&self, g: &[T], x: &[T], x_wanted: bool) -> (Option<Vec<T>>, [Vec<T>; 2]) {
        let mut sums = vec![];
        // SAFETY: `write_gradients` initialises the gradient of each row.
        let of_x = x_wanted.then(|| unsafe {
            vec_filled_by(g.len(), |out| sums = self.write_gradients(g, x, Some(out)))
        });
        if of_x.is_none() {
            sums = self.write_gradients(g, x, None);
        }
        let of_bias = sums.split_off(self.weights.len());
        (of_x, [sums, of_bias])
    }

    fn composed(&self, inputs: &[Raw]) -> Result<Raw> {
        normalize_with_candle(&inputs.iter().collect::<Vec<_>>(), self.eps)
    }
}

impl<T: Element> Rows<T> {
    /// Writes the gradient of each row to `out`, if there is one. Returns the gradients of weight and bias, one after the
    /// other.
    fn write_gradients(
        &self,
        g: &[T],
        x: &[T],
        out: Option<SharedSlice<MaybeUninit<T>>>,
    ) -> Vec<T> {
        let features = self.weights.len();
        let parts = blocks(g.len() / features);
        let blocks: Vec<&Range<usize>> = parts.iter().flatten().collect();
        let sums = map_tasks(blocks.len(), |i| {
            let (first, end) = (blocks[i].start * features, blocks[i].end * features);
            // SAFETY: the blocks do not overlap.
            let out = out.map(|out| unsafe { out.part(first, end - first) });
            let rows = &self.statistics[blocks[i].clone()];
            let mut sums = vec![T::ZERO; 2 * features];
            let (g, x) = (&g[first..end], &x[first..end]);
            gradients_of_rows(g, x, &self.weights, rows, self.rule, out, &mut sums);
            sums
        });
        let mut sums = sums.into_iter();
        let of_part = |blocks: &Vec<Range<usize>>| add_pairwise(sums.by_ref().take(blocks.len()));
        let of_parts: Vec<Option<Vec<T>>> = parts.iter().map(of_part).collect();
        add_pairwise(of_parts.into_iter()).unwrap_or_default()
    }
}

/// Divides the rows into parts, and each part into blocks; returns the range of rows of each block.
fn blocks(rows: usize) -> Vec<Vec<Range<usize>>> {
    let parts = rows.min(PARTS);
    let blocks_of = |part: usize| {
        let (first, end) = (part * rows / parts, (part + 1) * rows / parts);
        let block = |first: usize| first..end.min(first + ROWS);
        (first..end).step_by(ROWS).map(block).collect()
    };
    (0..parts).map(blocks_of).collect()
}

multiversion! {
    /// Computes the gradients of some rows, and adds the gradients of weight and bias to `sums`.
    fn gradients_of_rows<T: Element>(
        g: &[T],
        x: &[T],
        weights: &[T],
        rows: &[Statistics<T>],
        rule: Rule<T>,
        out: Option<&mut [MaybeUninit<T>]>,
        sums: &mut [T],
    ) {
        let features = weights.len();
        let mut out = out.map(|out| out.chunks_exact_mut(features));
        let (of_weight, of_bias) = sums.split_at_mut(features);
        let both = g.chunks_exact(features).zip(x.chunks_exact(features));
        for ((g, x), row) in both.zip(rows) {
            let sums = of_weight.iter_mut().zip(of_bias.iter_mut());
            let terms = g.iter().zip(x).zip(sums);
            let add = |g: T, x: T, of_weight: &mut T, of_bias: &mut T| {
                *of_weight += g * (row.centred(x) * row.scale);
                *of_bias += g;
            };
            let Some(out) = out.as_mut().and_then(Iterator::next) else {
                terms.for_each(|((g, x), (of_weight, of_bias))| add(*g, *x, of_weight, of_bias));
                continue;
            };
            // The gradient of the normalised row.
            let of_rows = out.iter_mut().zip(weights);
            for (((g, x), (of_weight, of_bias)), (out, weight)) in terms.zip(of_rows) {
                add(*g, *x, of_weight, of_bias);
                out.write(*g * *weight);
            }
            // SAFETY: `out`, `g`, `x`, `weights` and the sums have the length of a row, so the loop has initialised all
            // of `out`.
            gradient_row(x, rule, *row, unsafe { out.assume_init_mut() });
        }
    }
}

/// Computes the gradient of a row from the gradient of the normalised row. Its mean and its component along the row are
/// subtracted: normalisation cancels every change of the row's mean and scale.
#[inline(always)]
fn gradient_row<T: Element>(x: &[T], rule: Rule<T>, row: Statistics<T>, out: &mut [T]) {
    let count = T::of(x.len() as f64);
    let [middle, along] = sum_pairs(out, x, |g, x| [g, g * row.centred(x)]);
    let middle = if rule.centre { middle / count } else { T::ZERO };
    let along = along * row.scale * row.scale / count;
    for (out, x) in out.iter_mut().zip(x) {
        *out = (*out - middle - row.centred(*x) * along) * row.scale;
    }
}

#[cfg(test)]
mod tests;
