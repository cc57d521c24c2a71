//! The steps of optimisers, each in one pass over a parameter and what is remembered of it.

use super::engine::autograd::fits;
use super::engine::shared::Shared;
use super::engine::simd::{Element, multiversion};
use super::engine::{Numbers, for_type_of, threads::for_each_task};
use crate::tensor::TensorExt;
use candle_core::{CpuStorage, InplaceOp1, Layout, Result, Tensor, bail};
use std::cell::Cell;

/// Numbers that one thread takes at a time.
const PIECE: usize = 1 << 15;

/// Gradient descent, as PyTorch's `SGD`.
#[derive(Clone, Copy)]
pub(crate) struct Descent {
    pub(crate) lr: f64,
    pub(crate) momentum: f64,
    pub(crate) nesterov: bool,
    pub(crate) weight_decay: f64,
}

/// Adam, as PyTorch's `Adam` and `AdamW`.
#[derive(Clone, Copy)]
pub(crate) struct Moments {
    /// Steps done, with this one.
    pub(crate) step: f64,
    pub(crate) lr: f64,
    pub(crate) betas: (f64, f64),
    pub(crate) eps: f64,
    pub(crate) weight_decay: f64,
    /// Whether weight decay acts on the value itself, as in `AdamW`.
    pub(crate) decoupled: bool,
}

/// One step of descent in the memory of the value, and of its `buffer` where there is momentum;
/// `false` where there is no kernel, and then nothing has changed.
pub(crate) fn descend(
    value: &Tensor,
    gradient: &Tensor,
    buffer: Option<&Tensor>,
    rule: Descent,
) -> Result<bool> {
    let kept: &[&Tensor] = buffer.as_slice();
    if !suits(value, gradient, kept) {
        return Ok(false);
    }
    for_type_of!(value, descend_in(value, gradient, buffer, rule))?;
    Ok(true)
}

/// One step of Adam in the memory of the value and of both means; `false` as above.
pub(crate) fn adapt(
    value: &Tensor,
    gradient: &Tensor,
    [mean, square]: [&Tensor; 2],
    rule: Moments,
) -> Result<bool> {
    if !suits(value, gradient, &[mean, square]) {
        return Ok(false);
    }
    for_type_of!(value, adapt_in(value, gradient, mean, square, rule))?;
    Ok(true)
}

/// Whether there is a kernel, and all that is changed has memory of its own.
fn suits(value: &Tensor, gradient: &Tensor, kept: &[&Tensor]) -> bool {
    let all = [&[gradient, value], kept].concat();
    let apart = |i: usize| {
        all[..i]
            .iter()
            .all(|other| !all[i].shares_storage_with(other))
    };
    fits(&all)
        && all.iter().all(|tensor| tensor.dims() == value.dims())
        && (1..all.len()).all(|i| all[i].is_contiguous() && apart(i))
}

fn descend_in<T: Element>(
    value: &Tensor,
    gradient: &Tensor,
    buffer: Option<&Tensor>,
    rule: Descent,
) -> Result<()> {
    let gradient = gradient.contiguous()?;
    let numbers = Numbers::of(&gradient)?;
    let gradient = numbers.slice::<T>()?;
    edit(value, |value: &mut [T]| match buffer {
        None => {
            in_pieces([value], gradient, |[value], gradient| {
                descend_piece(value, gradient, rule);
            });
            Ok(())
        }
        Some(buffer) => edit(buffer, |buffer| {
            in_pieces([value, buffer], gradient, |[value, buffer], gradient| {
                roll_piece(value, buffer, gradient, rule);
            });
            Ok(())
        }),
    })
}

fn adapt_in<T: Element>(
    value: &Tensor,
    gradient: &Tensor,
    mean: &Tensor,
    square: &Tensor,
    rule: Moments,
) -> Result<()> {
    let gradient = gradient.contiguous()?;
    let numbers = Numbers::of(&gradient)?;
    let gradient = numbers.slice::<T>()?;
    edit(value, |value: &mut [T]| {
        edit(mean, |mean| {
            edit(square, |square| {
                let all = [value, mean, square];
                in_pieces(all, gradient, |[value, mean, square], gradient| {
                    adapt_piece(value, mean, square, gradient, rule);
                });
                Ok(())
            })
        })
    })
}

multiversion! {
    fn descend_piece<T: Element>(value: &mut [T], gradient: &[T], rule: Descent) {
        let (lr, decay) = (T::of(rule.lr), T::of(rule.weight_decay));
        for (value, gradient) in value.iter_mut().zip(gradient) {
            *value += -((*gradient + *value * decay) * lr);
        }
    }
}

multiversion! {
    fn roll_piece<T: Element>(value: &mut [T], buffer: &mut [T], gradient: &[T], rule: Descent) {
        let [lr, decay, momentum] = [rule.lr, rule.weight_decay, rule.momentum].map(T::of);
        for ((value, buffer), gradient) in value.iter_mut().zip(buffer).zip(gradient) {
            let slope = *gradient + *value * decay;
            *buffer = *buffer * momentum + slope;
            let ahead = slope + *buffer * momentum;
            let direction = if rule.nesterov { ahead } else { *buffer };
            *value += -(direction * lr);
        }
    }
}

multiversion! {
    fn adapt_piece<T: Element>(value: &mut [T], mean: &mut [T], square: &mut [T], gradient: &[T], rule: Moments) {
        let Moments { step, lr, betas, eps, weight_decay, decoupled } = rule;
        let (kept, pull) = match decoupled {
            true => (1.0 - lr * weight_decay, 0.0),
            false => (1.0, weight_decay),
        };
        let size = lr / (1.0 - betas.0.powf(step));
        let correction = 1.0 / (1.0 - betas.1.powf(step)).sqrt();
        let [kept, pull, size, correction, eps] = [kept, pull, size, correction, eps].map(T::of);
        let [first, first_new, second, second_new] =
            [betas.0, 1.0 - betas.0, betas.1, 1.0 - betas.1].map(T::of);
        let all = value.iter_mut().zip(mean).zip(square).zip(gradient);
        for (((value, mean), square), gradient) in all {
            let slope = *gradient + *value * pull;
            *mean = *mean * first + slope * first_new;
            *square = *square * second + slope * slope * second_new;
            let scale = square.sqrt() * correction + eps;
            *value = *value * kept - *mean * size / scale;
        }
    }
}

/// Calls `work` for pieces of all numbers, each with the same places.
fn in_pieces<T: Element, const N: usize>(
    mut changed: [&mut [T]; N],
    gradient: &[T],
    work: impl Fn([&mut [T]; N], &[T]) + Sync,
) {
    let count = gradient.len();
    assert!(changed.iter().all(|numbers| numbers.len() == count));
    let changed = changed.each_mut().map(|numbers| Shared::new(numbers));
    for_each_task(count.div_ceil(PIECE), |i| {
        let (first, end) = (i * PIECE, ((i + 1) * PIECE).min(count));
        // SAFETY: the pieces lie in the slices, and those of two tasks do not overlap.
        let pieces = changed.map(|all| unsafe { all.part(first, end - first) });
        work(pieces, &gradient[first..end]);
    });
}

/// Calls `work` with the numbers of a contiguous tensor, to change them where they are.
fn edit<T: Element>(tensor: &Tensor, work: impl FnOnce(&mut [T]) -> Result<()>) -> Result<()> {
    struct Edit<F>(Cell<Option<F>>);

    impl<F: for<'a> FnOnce(&'a mut CpuStorage, &'a Layout) -> Result<()>> InplaceOp1 for Edit<F> {
        fn name(&self) -> &'static str {
            "optimiser-step"
        }

        fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
            match self.0.take() {
                Some(work) => work(storage, layout),
                None => bail!("an optimiser's step is done once"),
            }
        }
    }

    tensor.inplace_op1(&Edit(Cell::new(Some(
        |storage: &mut CpuStorage, layout: &Layout| {
            let Some((from, to)) = layout.contiguous_offsets() else {
                bail!("an optimiser was given a tensor that is not contiguous");
            };
            work(&mut T::numbers_mut(storage)?[from..to])
        },
    ))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{manual_seed, randn, uniform};
    use candle_core::{DType, Device};
    use rand::{Rng, SeedableRng};

    fn numbers(tensor: &Tensor) -> Vec<f64> {
        let tensor = tensor.to_dtype(DType::F64).unwrap();
        tensor.flatten_all().unwrap().to_vec1().unwrap()
    }

    /// Rules of all kinds, for tensors of all sizes, whose gradient is sometimes not contiguous.
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

    /// The numbers at each place.
    fn together<const N: usize>(all: &[Vec<f64>; N]) -> impl Iterator<Item = [f64; N]> {
        (0..all[0].len()).map(|i| all.each_ref().map(|numbers| numbers[i]))
    }

    fn turned(tensor: &Tensor) -> Tensor {
        tensor.t().unwrap().contiguous().unwrap().t().unwrap()
    }

    fn assert_close(got: &Tensor, want: &[f64], tolerance: f64) {
        for (got, want) in numbers(got).iter().zip(want) {
            let off = (got - want).abs();
            assert!(
                off <= tolerance * want.abs().max(1.0),
                "{got} is not {want}"
            );
        }
    }

    /// Runs a step on copies, on all threads and on one; gives what it changed.
    fn run(tensors: &[&Tensor], step: impl Fn(&[Tensor]) -> bool + Sync) -> Vec<Tensor> {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let run = || {
            let copies: Vec<Tensor> = tensors.iter().map(|t| t.copy().unwrap()).collect();
            assert!(step(&copies), "there is a kernel");
            copies
        };
        let (changed, by_one) = (run(), alone.unwrap().install(run));
        for (a, b) in changed.iter().zip(&by_one) {
            assert_eq!(numbers(a), numbers(b), "it depends on the threads");
        }
        changed
    }

    #[test]
    fn descent_follows_its_rule() {
        sweep(|random, [value, gradient, buffer, _], tolerance| {
            let rule = Descent {
                lr: random.random_range(0.0..1.0),
                momentum: random.random_range(0.1..1.0),
                nesterov: random.random(),
                weight_decay: [0.0, 0.1][random.random_range(0..2)],
            };
            let all = [numbers(&value), numbers(&gradient), numbers(&buffer)];
            let (mut plain, mut rolled, mut rolling) = (vec![], vec![], vec![]);
            for [value, gradient, buffer] in together(&all) {
                let slope = gradient + rule.weight_decay * value;
                let buffer = rule.momentum * buffer + slope;
                let ahead = slope + rule.momentum * buffer;
                plain.push(value - rule.lr * slope);
                rolled.push(value - rule.lr * if rule.nesterov { ahead } else { buffer });
                rolling.push(buffer);
            }
            let gradient = turned(&gradient);
            let changed = run(&[&value], |t| {
                descend(&t[0], &gradient, None, rule).unwrap()
            });
            assert_close(&changed[0], &plain, tolerance);
            let changed = run(&[&value, &buffer], |t| {
                descend(&t[0], &gradient, Some(&t[1]), rule).unwrap()
            });
            assert_close(&changed[0], &rolled, tolerance);
            assert_close(&changed[1], &rolling, tolerance);
        });
    }

    #[test]
    fn adam_follows_its_rule() {
        sweep(|random, [value, gradient, mean, square], tolerance| {
            let rule = Moments {
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
            let all = [&value, &gradient, &mean, &square].map(numbers);
            let mut wanted = [vec![], vec![], vec![]];
            for [value, gradient, mean, square] in together(&all) {
                let decay = rule.weight_decay * value;
                let slope = gradient + if rule.decoupled { 0.0 } else { decay };
                let mean = rule.betas.0 * mean + (1.0 - rule.betas.0) * slope;
                let square = rule.betas.1 * square + (1.0 - rule.betas.1) * slope * slope;
                let unbiased = [
                    mean / (1.0 - rule.betas.0.powf(rule.step)),
                    square / (1.0 - rule.betas.1.powf(rule.step)),
                ];
                let pull = if rule.decoupled { decay } else { 0.0 };
                let step = unbiased[0] / (unbiased[1].sqrt() + rule.eps) + pull;
                wanted[0].push(value - rule.lr * step);
                wanted[1].push(mean);
                wanted[2].push(square);
            }
            let gradient = turned(&gradient);
            let changed = run(&[&value, &mean, &square], |t| {
                adapt(&t[0], &gradient, [&t[1], &t[2]], rule).unwrap()
            });
            for (changed, wanted) in changed.iter().zip(&wanted) {
                assert_close(changed, wanted, tolerance);
            }
        });
    }

    #[test]
    fn what_shares_memory_or_has_another_shape_is_left_alone() {
        let value = Tensor::ones((2, 2), DType::F32, &Device::Cpu).unwrap();
        let (gradient, buffer) = (value.copy().unwrap(), value.copy().unwrap());
        let rule = Descent {
            lr: 1.0,
            momentum: 0.5,
            nesterov: false,
            weight_decay: 0.0,
        };
        let flat = gradient.flatten_all().unwrap();
        let whole = Tensor::ones((2, 2), DType::U32, &Device::Cpu).unwrap();
        for (value, gradient, buffer) in [
            (&value, &value, &buffer),
            (&value, &gradient, &value),
            (&value, &gradient, &gradient),
            (&value, &flat, &buffer),
            (&value, &gradient, &flat),
            (&whole, &gradient, &buffer),
        ] {
            assert!(!descend(value, gradient, Some(buffer), rule).unwrap());
        }
        assert_eq!(numbers(&value), [1.0; 4]);
    }
}
