//! Layer normalisation.

use super::check;
use super::engine::autograd::{Backward, has_kernel, record};
use super::engine::simd::{Element, multiversion};
use super::engine::threads::map_tasks;
use super::engine::{CpuView, dispatch_dtype, sum, vec_by_chunks};
use candle_core::{D, Result, Tensor};
use std::fmt::Display;
use std::mem::MaybeUninit;

/// The elements of one task, rounded to whole rows.
const CHUNK: usize = 1 << 13;
/// The number of partial sums over rows. It follows from the shapes alone.
const PARTS: usize = 16;

/// Normalises each row of `x` `(…, features)` to mean 0 and variance 1, then scales it by `weight` and
/// shifts it by `bias`, both `(features,)`.
///
/// # Errors
/// If the shapes, types or devices do not fit.
pub(crate) fn layer_norm(
    caller: &dyn Display,
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    eps: f64,
) -> Result<Tensor> {
    let features = weight.elem_count();
    if x.dims().last() != Some(&features) {
        let expected = format!("Its last dimension must be {features}");
        return Err(check::wrong_shape(caller, x, expected));
    }
    check::same_place(caller, x, weight)?;
    match has_kernel(&[x, weight, bias]) && x.elem_count() > 0 {
        true => dispatch_dtype!(x, forward(x, weight, bias, eps)),
        false => layer_norm_with_candle(x, weight, bias, eps),
    }
}

fn layer_norm_with_candle(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor> {
    let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
    let var = centred.sqr()?.mean_keepdim(D::Minus1)?;
    let y = centred.broadcast_div(&(var + eps)?.sqrt()?)?;
    y.broadcast_mul(weight)?.broadcast_add(bias)
}

fn forward<T: Element>(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor> {
    let input = x.contiguous()?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let (weights, biases) = (weight.to_vec1::<T>()?, bias.to_vec1::<T>()?);
    let features = weights.len();
    // SAFETY: `normalize_row` initialises its row, and chunks are whole rows.
    let y = unsafe {
        vec_by_chunks(values.len(), chunk(features), |first, y| {
            let rows = values[first..].chunks_exact(features);
            for (x, y) in rows.zip(y.chunks_exact_mut(features)) {
                normalize_row(x, &weights, &biases, T::of(eps), y);
            }
        })
    };
    drop(view);
    record(&[x, weight, bias], y, x.shape(), || Back {
        x: input.detach(),
        weights,
        eps: T::of(eps),
    })
}

fn chunk(features: usize) -> usize {
    (CHUNK / features).max(1) * features
}

multiversion! {
    fn normalize_row<T: Element>(x: &[T], weights: &[T], biases: &[T], eps: T, y: &mut [MaybeUninit<T>]) {
        let (mean, scale) = statistics(x, eps);
        let factors = weights.iter().zip(biases);
        for ((y, x), (weight, bias)) in y.iter_mut().zip(x).zip(factors) {
            y.write((*x - mean) * scale * *weight + *bias);
        }
    }
}

/// Returns the mean, and the reciprocal of the standard deviation.
#[inline(always)]
fn statistics<T: Element>(x: &[T], eps: T) -> (T, T) {
    let count = T::of(x.len() as f64);
    let mean = sum(x) / count;
    let var = sum_of_products(x, |x| x - mean, x, |x| x - mean) / count;
    (mean, T::ONE / (var + eps).sqrt())
}

/// Returns the sum of `f(a) · h(b)`, from partial sums so that the compiler can vectorise the loop.
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
        let (g, x) = (CpuView::of(gradient)?, CpuView::of(&self.x)?);
        let (g, x) = (g.as_slice::<T>()?, x.as_slice::<T>()?);
        let device = gradient.device();
        let mut gradients = [None, None, None];
        if x_wanted {
            let features = self.weights.len();
            // SAFETY: `gradient_row` initialises its row, and chunks are whole rows.
            let of_x = unsafe {
                vec_by_chunks(g.len(), chunk(features), |first, out| {
                    let rows = g[first..].chunks_exact(features);
                    let rows = rows.zip(x[first..].chunks_exact(features));
                    for ((g, x), out) in rows.zip(out.chunks_exact_mut(features)) {
                        gradient_row(g, x, &self.weights, self.eps, out);
                    }
                })
            };
            gradients[0] = Some(Tensor::from_vec(of_x, gradient.shape(), device)?);
        }
        if weight_wanted || bias_wanted {
            let (of_weight, of_bias) = self.parameter_gradients(g, x);
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
    /// Returns the gradients of weight and bias.
    fn parameter_gradients(&self, g: &[T], x: &[T]) -> (Vec<T>, Vec<T>) {
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
    fn gradient_row<T: Element>(g: &[T], x: &[T], weights: &[T], eps: T, out: &mut [MaybeUninit<T>]) {
        let (mean, scale) = statistics(x, eps);
        let count = T::of(x.len() as f64);
        // The gradient of the normalised row. Its mean and its component along the row are subtracted
        // below: normalisation removes what moves the row's mean and scale.
        for ((out, g), weight) in out.iter_mut().zip(g).zip(weights) {
            out.write(*g * *weight);
        }
        // SAFETY: `out`, `g` and `weights` have the length of a row, so the loop has initialised all of
        // `out`.
        let out = unsafe { out.assume_init_mut() };
        let middle = sum(out) / count;
        let along = sum_of_products(out, |g| g, x, |x| x - mean) * scale * scale / count;
        for (out, x) in out.iter_mut().zip(x) {
            *out = (*out - middle - (*x - mean) * along) * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{rand, randn};
    use candle_core::Device;

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("layer_norm", 40, |case| {
            let features = case.between(2, 300);
            let shape = (case.between(1, 5), case.between(1, 30), features);
            let x = randn(shape, &Device::Cpu).and_then(|x| (x * 3.0)? + 1.0);
            let inputs = vec![
                case.input(x),
                case.input(rand(features, &Device::Cpu)),
                case.input(randn(features, &Device::Cpu)),
            ];
            let kernel = |x: &[Tensor]| layer_norm(&"layer_norm", &x[0], &x[1], &x[2], 1e-5);
            let candle = |x: &[Tensor]| layer_norm_with_candle(&x[0], &x[1], &x[2], 1e-5);
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
