//! Layer normalisation.

use super::engine::autograd::{Backward, fits, record};
use super::engine::simd::{Element, multiversion};
use super::engine::threads::map_tasks;
use super::engine::{Numbers, for_type_of, make, sum_of};
use candle_core::{Result, Tensor};
use std::mem::MaybeUninit;

/// Numbers that one thread takes at a time, at least one row.
const PIECE: usize = 1 << 13;
/// Sums over rows are made in so many parts, by the shapes alone.
const PARTS: usize = 16;

/// Normalises each row of `x` `(…, features)`, then scales by `weight` and shifts by `bias`, both
/// `(features,)`; `None` where there is no kernel.
pub(crate) fn layer_norm(
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    eps: f64,
) -> Result<Option<Tensor>> {
    if !fits(&[x, weight, bias]) || x.elem_count() == 0 {
        return Ok(None);
    }
    for_type_of!(x, forward(x, weight, bias, eps)).map(Some)
}

fn forward<T: Element>(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor> {
    let input = x.contiguous()?;
    let numbers = Numbers::of(&input)?;
    let from = numbers.slice::<T>()?;
    let (weights, biases) = (weight.to_vec1::<T>()?, bias.to_vec1::<T>()?);
    let features = weights.len();
    // SAFETY: `one_row` writes its row, and pieces are whole rows.
    let y = unsafe {
        make(from.len(), piece(features), |first, y| {
            let rows = from[first..].chunks_exact(features);
            for (x, y) in rows.zip(y.chunks_exact_mut(features)) {
                one_row(x, &weights, &biases, T::of(eps), y);
            }
        })
    };
    drop(numbers);
    record(&[x, weight, bias], y, x.shape(), || Back {
        x: input.detach(),
        weights,
        eps: T::of(eps),
    })
}

fn piece(features: usize) -> usize {
    (PIECE / features).max(1) * features
}

multiversion! {
    fn one_row<T: Element>(x: &[T], weights: &[T], biases: &[T], eps: T, y: &mut [MaybeUninit<T>]) {
        let (mean, scale) = statistics(x, eps);
        let factors = weights.iter().zip(biases);
        for ((y, x), (weight, bias)) in y.iter_mut().zip(x).zip(factors) {
            y.write((*x - mean) * scale * *weight + *bias);
        }
    }
}

/// The mean, and one by the standard deviation.
#[inline(always)]
fn statistics<T: Element>(x: &[T], eps: T) -> (T, T) {
    let count = T::of(x.len() as f64);
    let mean = sum_of(x) / count;
    let var = sum_of_products(x, |x| x - mean, x, |x| x - mean) / count;
    (mean, T::ONE / (var + eps).sqrt())
}

/// The sum of `f(a) · h(b)`, in strands that the compiler can make vectors of.
#[inline(always)]
fn sum_of_products<T: Element>(a: &[T], f: impl Fn(T) -> T, b: &[T], h: impl Fn(T) -> T) -> T {
    let mut sums = [T::ZERO; 16];
    let done = a.len() / 16 * 16;
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for i in 0..16 {
            sums[i] += f(a[i]) * h(b[i]);
        }
    }
    let rest = a[done..].iter().zip(&b[done..]);
    sums.into_iter().sum::<T>() + rest.map(|(a, b)| f(*a) * h(*b)).sum::<T>()
}

struct Back<T> {
    x: Tensor,
    weights: Vec<T>,
    eps: T,
}

impl<T: Element> Backward for Back<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        [x_wanted, weight_wanted, bias_wanted]: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let (g, x) = (Numbers::of(gradient)?, Numbers::of(&self.x)?);
        let (g, x) = (g.slice::<T>()?, x.slice::<T>()?);
        let device = gradient.device();
        let mut gradients = [None, None, None];
        if x_wanted {
            let features = self.weights.len();
            // SAFETY: `slopes` writes its row, and pieces are whole rows.
            let of_x = unsafe {
                make(g.len(), piece(features), |first, out| {
                    let rows = g[first..].chunks_exact(features);
                    let rows = rows.zip(x[first..].chunks_exact(features));
                    for ((g, x), out) in rows.zip(out.chunks_exact_mut(features)) {
                        slopes(g, x, &self.weights, self.eps, out);
                    }
                })
            };
            gradients[0] = Some(Tensor::from_vec(of_x, gradient.shape(), device)?);
        }
        if weight_wanted || bias_wanted {
            let (of_weight, of_bias) = self.sums(g, x);
            let count = self.weights.len();
            gradients[1] = weight_wanted
                .then(|| Tensor::from_vec(of_weight, count, device))
                .transpose()?;
            gradients[2] = bias_wanted
                .then(|| Tensor::from_vec(of_bias, count, device))
                .transpose()?;
        }
        Ok(gradients)
    }
}

impl<T: Element> Back<T> {
    /// The gradients of weight and bias.
    fn sums(&self, g: &[T], x: &[T]) -> (Vec<T>, Vec<T>) {
        let features = self.weights.len();
        let rows = g.len() / features;
        let parts = rows.min(PARTS);
        let mut parts = map_tasks(parts, |part| {
            let (first, end) = (part * rows / parts, (part + 1) * rows / parts);
            let mut sums = (vec![T::ZERO; features], vec![T::ZERO; features]);
            let range = first * features..end * features;
            let rows = g[range.clone()].chunks_exact(features);
            for (g, x) in rows.zip(x[range].chunks_exact(features)) {
                add_row(g, x, self.eps, &mut sums.0, &mut sums.1);
            }
            sums
        })
        .into_iter();
        let mut sums = parts.next().unwrap_or_default();
        for (of_weight, of_bias) in parts {
            let add = |sums: &mut [T], part: Vec<T>| {
                sums.iter_mut()
                    .zip(part)
                    .for_each(|(sum, part)| *sum += part);
            };
            add(&mut sums.0, of_weight);
            add(&mut sums.1, of_bias);
        }
        sums
    }
}

multiversion! {
    fn add_row<T: Element>(g: &[T], x: &[T], eps: T, of_weight: &mut [T], of_bias: &mut [T]) {
        let (mean, scale) = statistics(x, eps);
        let sums = of_weight.iter_mut().zip(of_bias);
        for ((g, x), (of_weight, of_bias)) in g.iter().zip(x).zip(sums) {
            *of_weight += *g * ((*x - mean) * scale);
            *of_bias += *g;
        }
    }
}

multiversion! {
    fn slopes<T: Element>(g: &[T], x: &[T], weights: &[T], eps: T, out: &mut [MaybeUninit<T>]) {
        let (mean, scale) = statistics(x, eps);
        let count = T::of(x.len() as f64);
        // The gradient of the normalised row, and how much of it lies along the row.
        for ((out, g), weight) in out.iter_mut().zip(g).zip(weights) {
            out.write(*g * *weight);
        }
        // SAFETY: all have just been written; the slices have the same length.
        let out = unsafe { out.assume_init_mut() };
        let middle = sum_of(out) / count;
        let along = sum_of_products(out, |g| g, x, |x| x - mean) * scale * scale / count;
        for (out, x) in out.iter_mut().zip(x) {
            *out = (*out - middle - (*x - mean) * along) * scale;
        }
    }
}
