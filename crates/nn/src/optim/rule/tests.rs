use super::*;
use crate::ops::{StepTensors, step_in_place};
use crate::optim::adagrad::AdagradRule;
use crate::optim::adam::AdamRule;
use crate::optim::rmsprop::RMSpropRule;
use crate::optim::sgd::SgdRule;
use crate::tensor::{Raw, Tensor, manual_seed, randn, uniform};
use candle_core::{DType, Device, Result};
use rand::{Rng, SeedableRng};

fn values(tensor: &Raw) -> Vec<f64> {
    Tensor::from(tensor).to_dtype(DType::F64).to_vec()
}

fn update(random: &mut rand_chacha::ChaCha8Rng, most: f64) -> Update {
    Update {
        lr: random.random_range(0.0..most),
        weight_decay: [0.0, 0.1][random.random_range(0..2)],
        step: random.random_range(1..20) as f64,
    }
}

/// Calls `check` with random tensors of many sizes.
fn sweep(mut check: impl FnMut(&mut rand_chacha::ChaCha8Rng, [Raw; 4], f64)) {
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
                3 => uniform(0.0, 2.0, shape),
                _ => randn(shape),
            };
            Raw::from(tensor.to_dtype(dtype))
        });
        check(&mut random, tensors, tolerance);
    }
}

/// Returns the elements at each index.
fn zip_all<const N: usize>(all: &[Vec<f64>; N]) -> impl Iterator<Item = [f64; N]> {
    (0..all[0].len()).map(|i| all.each_ref().map(|values| values[i]))
}

/// Returns the tensors of a step: those that change, which begin with the value, and the gradient.
fn step_tensors(changed: &[Raw], gradient: &Raw) -> StepTensors {
    StepTensors {
        value: changed[0].clone(),
        gradient: gradient.clone(),
        state: changed[1..].to_vec(),
    }
}

fn not_contiguous(tensor: &Raw) -> Raw {
    tensor.t().unwrap().contiguous().unwrap().t().unwrap()
}

fn assert_close(got: &Raw, want: &[f64], tolerance: f64) {
    for (got, want) in values(got).iter().zip(want) {
        let off = (got - want).abs();
        assert!(
            off <= tolerance * want.abs().max(1.0),
            "{got} is not {want}"
        );
    }
}

/// Runs a step on copies, on all threads and on one; returns what it changed.
fn run(tensors: &[&Raw], step: impl Fn(&[Raw]) -> Result<()> + Sync) -> Vec<Raw> {
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let run = || {
        let copies: Vec<Raw> = tensors
            .iter()
            .map(|t| t.force_contiguous().unwrap())
            .collect();
        step(&copies).unwrap();
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
        let rule = SgdRule {
            momentum: random.random_range(0.1..1.0),
            dampening: [0.0, 0.3][random.random_range(0..2)],
            nesterov: random.random(),
        };
        let update = update(random, 1.0);
        let share = if update.step == 1.0 {
            1.0
        } else {
            1.0 - rule.dampening
        };
        let all = [values(&value), values(&gradient), values(&buffer)];
        let (mut plain, mut with_momentum, mut buffers) = (vec![], vec![], vec![]);
        for [value, gradient, buffer] in zip_all(&all) {
            let g = gradient + update.weight_decay * value;
            let buffer = rule.momentum * buffer + share * g;
            let ahead = g + rule.momentum * buffer;
            plain.push(value - update.lr * g);
            with_momentum.push(value - update.lr * if rule.nesterov { ahead } else { buffer });
            buffers.push(buffer);
        }
        let gradient = not_contiguous(&gradient);
        let changed = run(&[&value], |t| {
            step_in_place(&[step_tensors(t, &gradient)], &Step { rule, update })
        });
        assert_close(&changed[0], &plain, tolerance);
        let changed = run(&[&value, &buffer], |t| {
            step_in_place(&[step_tensors(t, &gradient)], &Step { rule, update })
        });
        assert_close(&changed[0], &with_momentum, tolerance);
        assert_close(&changed[1], &buffers, tolerance);
    });
}

#[test]
fn adam_follows_its_rule() {
    sweep(|random, [value, gradient, mean, square], tolerance| {
        let rule = AdamRule {
            betas: (
                random.random_range(0.1..0.99),
                random.random_range(0.1..0.99),
            ),
            eps: 1e-6,
            decoupled: random.random(),
            amsgrad: false,
        };
        let update = update(random, 0.1);
        let all = [&value, &gradient, &mean, &square].map(values);
        let mut wanted = [vec![], vec![], vec![]];
        for [value, gradient, mean, square] in zip_all(&all) {
            let decay = update.weight_decay * value;
            let g = gradient + if rule.decoupled { 0.0 } else { decay };
            let mean = rule.betas.0 * mean + (1.0 - rule.betas.0) * g;
            let square = rule.betas.1 * square + (1.0 - rule.betas.1) * g * g;
            let unbiased = [
                mean / (1.0 - rule.betas.0.powf(update.step)),
                square / (1.0 - rule.betas.1.powf(update.step)),
            ];
            let decayed = if rule.decoupled { decay } else { 0.0 };
            let step = unbiased[0] / (unbiased[1].sqrt() + rule.eps) + decayed;
            wanted[0].push(value - update.lr * step);
            wanted[1].push(mean);
            wanted[2].push(square);
        }
        let gradient = not_contiguous(&gradient);
        let changed = run(&[&value, &mean, &square], |t| {
            step_in_place(&[step_tensors(t, &gradient)], &Step { rule, update })
        });
        for (changed, wanted) in changed.iter().zip(&wanted) {
            assert_close(changed, wanted, tolerance);
        }
    });
}

#[test]
fn rmsprop_follows_its_rule() {
    sweep(|random, [value, gradient, buffer, square], tolerance| {
        let rule = RMSpropRule {
            alpha: random.random_range(0.1..0.99),
            eps: 1e-4,
            momentum: [0.0, 0.9][random.random_range(0..2)],
            centered: random.random(),
        };
        let update = update(random, 0.1);
        // The mean is small, so that the variance is positive.
        let mean = (&gradient * 0.01).unwrap();
        let square = (square + 1.0).unwrap();
        let all = [&value, &gradient, &square, &buffer, &mean].map(values);
        let mut wanted = [vec![], vec![], vec![], vec![]];
        for [value, gradient, square, buffer, mean] in zip_all(&all) {
            let g = gradient + update.weight_decay * value;
            let square = rule.alpha * square + (1.0 - rule.alpha) * g * g;
            let mean = rule.alpha * mean + (1.0 - rule.alpha) * g;
            let centre = if rule.centered { mean * mean } else { 0.0 };
            let direction = g / ((square - centre).sqrt() + rule.eps);
            let buffer = rule.momentum * buffer + direction;
            wanted[0].push(
                value
                    - update.lr
                        * if rule.momentum > 0.0 {
                            buffer
                        } else {
                            direction
                        },
            );
            wanted[1].push(square);
            wanted[2].push(buffer);
            wanted[3].push(mean);
        }
        let gradient = not_contiguous(&gradient);
        let needed = [true, true, rule.momentum > 0.0, rule.centered];
        let needed = |i: &usize| needed[*i];
        let tensors = [&value, &square, &buffer, &mean];
        let tensors: Vec<&Raw> = (0..4).filter(needed).map(|i| tensors[i]).collect();
        let changed = run(&tensors, |t| {
            step_in_place(&[step_tensors(t, &gradient)], &Step { rule, update })
        });
        for (changed, i) in changed.iter().zip((0..4).filter(needed)) {
            assert_close(changed, &wanted[i], tolerance);
        }
    });
}

#[test]
fn adagrad_follows_its_rule() {
    sweep(|random, [value, gradient, _, sum], tolerance| {
        let rule = AdagradRule {
            lr_decay: [0.0, 0.1][random.random_range(0..2)],
            initial_accumulator_value: 0.0,
            eps: 1e-4,
        };
        let update = update(random, 0.1);
        let lr = update.lr / (1.0 + (update.step - 1.0) * rule.lr_decay);
        let all = [&value, &gradient, &sum].map(values);
        let mut wanted = [vec![], vec![]];
        for [value, gradient, sum] in zip_all(&all) {
            let g = gradient + update.weight_decay * value;
            let sum = sum + g * g;
            wanted[0].push(value - lr * g / (sum.sqrt() + rule.eps));
            wanted[1].push(sum);
        }
        let gradient = not_contiguous(&gradient);
        let changed = run(&[&value, &sum], |t| {
            step_in_place(&[step_tensors(t, &gradient)], &Step { rule, update })
        });
        for (changed, wanted) in changed.iter().zip(&wanted) {
            assert_close(changed, wanted, tolerance);
        }
    });
}

#[test]
fn tensors_that_share_memory_or_differ_in_shape_have_no_kernel() {
    let value = Raw::ones((2, 2), DType::F32, &Device::Cpu).unwrap();
    let (gradient, buffer) = (
        value.force_contiguous().unwrap(),
        value.force_contiguous().unwrap(),
    );
    let flat = gradient.flatten_all().unwrap();
    let integers = Raw::ones((2, 2), DType::U32, &Device::Cpu).unwrap();
    for (value, gradient, buffer) in [
        (&value, &value, &buffer),
        (&value, &gradient, &value),
        (&value, &gradient, &gradient),
        (&value, &flat, &buffer),
        (&value, &gradient, &flat),
        (&integers, &gradient, &buffer),
    ] {
        let changed = [value.clone(), buffer.clone()];
        assert!(!step_tensors(&changed, gradient).have_kernel());
    }
    assert!(step_tensors(&[value, buffer], &gradient).have_kernel());
}
