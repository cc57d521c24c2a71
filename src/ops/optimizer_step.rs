//! The steps of optimisers, each in one pass over a parameter and its state, in their own memory.

use super::engine::autograd::has_kernel;
use super::engine::shared_slice::SharedSlice;
use super::engine::simd::{Element, multiversion};
use super::engine::{CpuView, dispatch_dtype, threads::for_each_task};
use crate::tensor::TensorExt;
use candle_core::{CpuStorage, InplaceOp1, Layout, Result, Tensor, bail};
use std::cell::Cell;

/// The elements of one task.
const CHUNK: usize = 1 << 15;

/// A step of gradient descent, as in PyTorch's `SGD`.
#[derive(Clone, Copy)]
pub(crate) struct SgdStep {
    pub(crate) lr: f64,
    pub(crate) momentum: f64,
    pub(crate) nesterov: bool,
    pub(crate) weight_decay: f64,
}

/// A step of Adam, as in PyTorch's `Adam` and `AdamW`.
#[derive(Clone, Copy)]
pub(crate) struct AdamStep {
    /// The number of this step, from 1.
    pub(crate) step: f64,
    pub(crate) lr: f64,
    pub(crate) betas: (f64, f64),
    pub(crate) eps: f64,
    pub(crate) weight_decay: f64,
    /// Whether weight decay acts on the parameter itself, as in `AdamW`.
    pub(crate) decoupled: bool,
}

/// Takes a step of gradient descent in the memory of the value, and of its `buffer` if there is momentum.
/// Returns `false` if there is no kernel; then nothing has changed.
pub(crate) fn sgd_step(
    value: &Tensor,
    gradient: &Tensor,
    buffer: Option<&Tensor>,
    rule: SgdStep,
) -> Result<bool> {
    if !suits_kernel(value, gradient, buffer.as_slice()) {
        return Ok(false);
    }
    dispatch_dtype!(value, sgd_in_place(value, gradient, buffer, rule))?;
    Ok(true)
}

/// Takes a step of Adam in the memory of the value and of both means. Returns `false` if there is no
/// kernel; then nothing has changed.
pub(crate) fn adam_step(
    value: &Tensor,
    gradient: &Tensor,
    [mean, square]: [&Tensor; 2],
    rule: AdamStep,
) -> Result<bool> {
    if !suits_kernel(value, gradient, &[mean, square]) {
        return Ok(false);
    }
    dispatch_dtype!(value, adam_in_place(value, gradient, mean, square, rule))?;
    Ok(true)
}

/// Returns whether the kernel can compute with the tensors: those that it changes must have memory of
/// their own.
fn suits_kernel(value: &Tensor, gradient: &Tensor, state: &[&Tensor]) -> bool {
    let all = [&[gradient, value], state].concat();
    let own_memory = |i: usize| {
        all[..i]
            .iter()
            .all(|other| !all[i].shares_storage_with(other))
    };
    has_kernel(&all)
        && all.iter().all(|tensor| tensor.dims() == value.dims())
        && (1..all.len()).all(|i| all[i].is_contiguous() && own_memory(i))
}

fn sgd_in_place<T: Element>(
    value: &Tensor,
    gradient: &Tensor,
    buffer: Option<&Tensor>,
    rule: SgdStep,
) -> Result<()> {
    let gradient = gradient.contiguous()?;
    let view = CpuView::of(&gradient)?;
    let gradient = view.as_slice::<T>()?;
    edit(value, |value: &mut [T]| match buffer {
        None => {
            in_chunks([value], gradient, |[value], gradient| {
                sgd_chunk(value, gradient, rule);
            });
            Ok(())
        }
        Some(buffer) => edit(buffer, |buffer| {
            in_chunks([value, buffer], gradient, |[value, buffer], gradient| {
                momentum_chunk(value, buffer, gradient, rule);
            });
            Ok(())
        }),
    })
}

fn adam_in_place<T: Element>(
    value: &Tensor,
    gradient: &Tensor,
    mean: &Tensor,
    square: &Tensor,
    rule: AdamStep,
) -> Result<()> {
    let gradient = gradient.contiguous()?;
    let view = CpuView::of(&gradient)?;
    let gradient = view.as_slice::<T>()?;
    edit(value, |value: &mut [T]| {
        edit(mean, |mean| {
            edit(square, |square| {
                let all = [value, mean, square];
                in_chunks(all, gradient, |[value, mean, square], gradient| {
                    adam_chunk(value, mean, square, gradient, rule);
                });
                Ok(())
            })
        })
    })
}

multiversion! {
    fn sgd_chunk<T: Element>(value: &mut [T], gradient: &[T], rule: SgdStep) {
        let (lr, decay) = (T::of(rule.lr), T::of(rule.weight_decay));
        for (value, gradient) in value.iter_mut().zip(gradient) {
            *value += -((*gradient + *value * decay) * lr);
        }
    }
}

multiversion! {
    fn momentum_chunk<T: Element>(value: &mut [T], buffer: &mut [T], gradient: &[T], rule: SgdStep) {
        let [lr, decay, momentum] = [rule.lr, rule.weight_decay, rule.momentum].map(T::of);
        for ((value, buffer), gradient) in value.iter_mut().zip(buffer).zip(gradient) {
            let g = *gradient + *value * decay;
            *buffer = *buffer * momentum + g;
            let ahead = g + *buffer * momentum;
            let direction = if rule.nesterov { ahead } else { *buffer };
            *value += -(direction * lr);
        }
    }
}

multiversion! {
    fn adam_chunk<T: Element>(value: &mut [T], mean: &mut [T], square: &mut [T], gradient: &[T], rule: AdamStep) {
        let AdamStep { step, lr, betas, eps, weight_decay, decoupled } = rule;
        let (shrink, decay) = match decoupled {
            true => (1.0 - lr * weight_decay, 0.0),
            false => (1.0, weight_decay),
        };
        let size = lr / (1.0 - betas.0.powf(step));
        let correction = 1.0 / (1.0 - betas.1.powf(step)).sqrt();
        let [shrink, decay, size, correction, eps] =
            [shrink, decay, size, correction, eps].map(T::of);
        let [first, first_new, second, second_new] =
            [betas.0, 1.0 - betas.0, betas.1, 1.0 - betas.1].map(T::of);
        let all = value.iter_mut().zip(mean).zip(square).zip(gradient);
        for (((value, mean), square), gradient) in all {
            let g = *gradient + *value * decay;
            *mean = *mean * first + g * first_new;
            *square = *square * second + g * g * second_new;
            let scale = square.sqrt() * correction + eps;
            *value = *value * shrink - *mean * size / scale;
        }
    }
}

/// Calls `work` with chunks of all slices that have the same indices.
fn in_chunks<T: Element, const N: usize>(
    mut changed: [&mut [T]; N],
    gradient: &[T],
    work: impl Fn([&mut [T]; N], &[T]) + Sync,
) {
    let count = gradient.len();
    assert!(changed.iter().all(|values| values.len() == count));
    let changed = changed.each_mut().map(|values| SharedSlice::new(values));
    for_each_task(count.div_ceil(CHUNK), |i| {
        let (first, end) = (i * CHUNK, ((i + 1) * CHUNK).min(count));
        // SAFETY: the slices have `count` elements. The chunks of two tasks do not overlap, and the slices
        // are different memory, as each is borrowed mutably.
        let chunks = changed.map(|all| unsafe { all.part(first, end - first) });
        work(chunks, &gradient[first..end]);
    });
}

/// Calls `work` with the elements of a contiguous tensor, to change them in place.
fn edit<T: Element>(tensor: &Tensor, work: impl FnOnce(&mut [T]) -> Result<()>) -> Result<()> {
    struct Edit<F>(Cell<Option<F>>);

    impl<F: for<'a> FnOnce(&'a mut CpuStorage, &'a Layout) -> Result<()>> InplaceOp1 for Edit<F> {
        fn name(&self) -> &'static str {
            "optimiser-step"
        }

        fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
            match self.0.take() {
                Some(work) => work(storage, layout),
                None => bail!("optimiser step: it runs only once"),
            }
        }
    }

    tensor.inplace_op1(&Edit(Cell::new(Some(
        |storage: &mut CpuStorage, layout: &Layout| {
            let Some((from, to)) = layout.contiguous_offsets() else {
                bail!("optimiser step: expected a contiguous tensor");
            };
            work(&mut T::storage_slice_mut(storage)?[from..to])
        },
    ))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{manual_seed, randn, uniform};
    use candle_core::{DType, Device};
    use rand::{Rng, SeedableRng};

    fn values(tensor: &Tensor) -> Vec<f64> {
        let tensor = tensor.to_dtype(DType::F64).unwrap();
        tensor.flatten_all().unwrap().to_vec1().unwrap()
    }

    /// Calls `check` with random tensors of many sizes.
    fn sweep(mut check: impl FnMut(&mut rand_chacha::ChaCha8Rng, [Tensor; 4], f64)) {
        let cases = if cfg!(miri) { 1..5 } else { 0..60 };
        for seed in cases {
            let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
            manual_seed(seed);
            let (dtype, tolerance) = match seed % 2 {
                0 => (DType::F32, 1e-5),
                _ => (DType::F64, 1e-10),
            };
            let shape = match seed % 5 {
                0 => (300, 250),
                _ => (random.random_range(1..40), random.random_range(1..40)),
            };
            let tensors = std::array::from_fn(|i| {
                let tensor = match i {
                    3 => uniform(0.0, 2.0, shape, &Device::Cpu),
                    _ => randn(shape, &Device::Cpu),
                };
                tensor.unwrap().to_dtype(dtype).unwrap()
            });
            check(&mut random, tensors, tolerance);
        }
    }

    /// Returns the elements at each index.
    fn zip_all<const N: usize>(all: &[Vec<f64>; N]) -> impl Iterator<Item = [f64; N]> {
        (0..all[0].len()).map(|i| all.each_ref().map(|values| values[i]))
    }

    fn not_contiguous(tensor: &Tensor) -> Tensor {
        tensor.t().unwrap().contiguous().unwrap().t().unwrap()
    }

    fn assert_close(got: &Tensor, want: &[f64], tolerance: f64) {
        for (got, want) in values(got).iter().zip(want) {
            let off = (got - want).abs();
            assert!(
                off <= tolerance * want.abs().max(1.0),
                "{got} is not {want}"
            );
        }
    }

    /// Runs a step on copies, on all threads and on one; returns what it changed.
    fn run(tensors: &[&Tensor], step: impl Fn(&[Tensor]) -> bool + Sync) -> Vec<Tensor> {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let run = || {
            let copies: Vec<Tensor> = tensors.iter().map(|t| t.copy().unwrap()).collect();
            assert!(step(&copies), "there is a kernel");
            copies
        };
        let (changed, by_one) = (run(), alone.unwrap().install(run));
        for (a, b) in changed.iter().zip(&by_one) {
            assert_eq!(
                values(a),
                values(b),
                "the result depends on the number of threads"
            );
        }
        changed
    }

    #[test]
    fn sgd_follows_its_rule() {
        sweep(|random, [value, gradient, buffer, _], tolerance| {
            let rule = SgdStep {
                lr: random.random_range(0.0..1.0),
                momentum: random.random_range(0.1..1.0),
                nesterov: random.random(),
                weight_decay: [0.0, 0.1][random.random_range(0..2)],
            };
            let all = [values(&value), values(&gradient), values(&buffer)];
            let (mut plain, mut with_momentum, mut buffers) = (vec![], vec![], vec![]);
            for [value, gradient, buffer] in zip_all(&all) {
                let g = gradient + rule.weight_decay * value;
                let buffer = rule.momentum * buffer + g;
                let ahead = g + rule.momentum * buffer;
                plain.push(value - rule.lr * g);
                with_momentum.push(value - rule.lr * if rule.nesterov { ahead } else { buffer });
                buffers.push(buffer);
            }
            let gradient = not_contiguous(&gradient);
            let changed = run(&[&value], |t| {
                sgd_step(&t[0], &gradient, None, rule).unwrap()
            });
            assert_close(&changed[0], &plain, tolerance);
            let changed = run(&[&value, &buffer], |t| {
                sgd_step(&t[0], &gradient, Some(&t[1]), rule).unwrap()
            });
            assert_close(&changed[0], &with_momentum, tolerance);
            assert_close(&changed[1], &buffers, tolerance);
        });
    }

    #[test]
    fn adam_follows_its_rule() {
        sweep(|random, [value, gradient, mean, square], tolerance| {
            let rule = AdamStep {
                step: random.random_range(1..20) as f64,
                lr: random.random_range(0.0..0.1),
                betas: (
                    random.random_range(0.1..0.99),
                    random.random_range(0.1..0.99),
                ),
                eps: 1e-6,
                weight_decay: [0.0, 0.1][random.random_range(0..2)],
                decoupled: random.random(),
            };
            let all = [&value, &gradient, &mean, &square].map(values);
            let mut wanted = [vec![], vec![], vec![]];
            for [value, gradient, mean, square] in zip_all(&all) {
                let decay = rule.weight_decay * value;
                let g = gradient + if rule.decoupled { 0.0 } else { decay };
                let mean = rule.betas.0 * mean + (1.0 - rule.betas.0) * g;
                let square = rule.betas.1 * square + (1.0 - rule.betas.1) * g * g;
                let unbiased = [
                    mean / (1.0 - rule.betas.0.powf(rule.step)),
                    square / (1.0 - rule.betas.1.powf(rule.step)),
                ];
                let decayed = if rule.decoupled { decay } else { 0.0 };
                let step = unbiased[0] / (unbiased[1].sqrt() + rule.eps) + decayed;
                wanted[0].push(value - rule.lr * step);
                wanted[1].push(mean);
                wanted[2].push(square);
            }
            let gradient = not_contiguous(&gradient);
            let changed = run(&[&value, &mean, &square], |t| {
                adam_step(&t[0], &gradient, [&t[1], &t[2]], rule).unwrap()
            });
            for (changed, wanted) in changed.iter().zip(&wanted) {
                assert_close(changed, wanted, tolerance);
            }
        });
    }

    #[test]
    fn tensors_that_share_memory_or_differ_in_shape_have_no_kernel() {
        let value = Tensor::ones((2, 2), DType::F32, &Device::Cpu).unwrap();
        let (gradient, buffer) = (value.copy().unwrap(), value.copy().unwrap());
        let rule = SgdStep {
            lr: 1.0,
            momentum: 0.5,
            nesterov: false,
            weight_decay: 0.0,
        };
        let flat = gradient.flatten_all().unwrap();
        let integers = Tensor::ones((2, 2), DType::U32, &Device::Cpu).unwrap();
        for (value, gradient, buffer) in [
            (&value, &value, &buffer),
            (&value, &gradient, &value),
            (&value, &gradient, &gradient),
            (&value, &flat, &buffer),
            (&value, &gradient, &flat),
            (&integers, &gradient, &buffer),
        ] {
            assert!(!sgd_step(value, gradient, Some(buffer), rule).unwrap());
        }
        assert_eq!(values(&value), [1.0; 4]);
    }
}
