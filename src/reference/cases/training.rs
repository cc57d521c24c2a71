//! The optimisers and schedules of the cases.

use super::operations::Outcome;
use crate::nn::Parameter;
use crate::optim::*;
use crate::tensor::Tensor;

/// Makes the steps of a case on a matrix and a vector; the outputs are their values after the last step.
pub(super) fn optimizer(name: &str, s: &[f64], x: &[Tensor]) -> Outcome {
    let parameters = [Parameter::new(&x[0]), Parameter::new(&x[1])];
    let own = &s[10..];
    let on = |i: usize| own[i] != 0.0;
    // The settings that all optimisers have.
    macro_rules! with_common {
        ($new:expr) => {{
            let new = $new;
            let make = |parameters: Vec<Parameter>, lr: f64, decay: f64| {
                let optimizer = new(parameters, lr).weight_decay(decay);
                optimizer.maximize(s[9] != 0.0)
            };
            let mut optimizer = make(parameters.to_vec(), s[0], s[1]);
            if s[2] != 0.0 {
                let second = make(vec![parameters[1].clone()], s[3], s[4]);
                optimizer = optimizer.add_param_group(second);
            }
            if s[5] != 0.0 {
                optimizer = optimizer.decay_matrices_only();
            }
            steps(&mut optimizer, &parameters, s, &x[2]);
        }};
    }
    macro_rules! adam {
        ($name:ident) => {
            with_common!(|p, lr| {
                let optimizer = $name::new(p, lr).betas(own[0], own[1]).eps(own[2]);
                optimizer.amsgrad(on(3))
            })
        };
    }
    match name {
        "SGD" => with_common!(|p, lr| {
            let optimizer = SGD::new(p, lr).momentum(own[0]).dampening(own[1]);
            optimizer.nesterov(on(2))
        }),
        "Adam" => adam!(Adam),
        "AdamW" => adam!(AdamW),
        "RMSprop" => with_common!(|p, lr| {
            let optimizer = RMSprop::new(p, lr).alpha(own[0]).eps(own[1]);
            optimizer.momentum(own[2]).centered(on(3))
        }),
        "Adagrad" => with_common!(|p, lr| {
            let optimizer = Adagrad::new(p, lr).lr_decay(own[0]);
            optimizer.initial_accumulator_value(own[1]).eps(own[2])
        }),
        "Adadelta" => with_common!(|p, lr| Adadelta::new(p, lr).rho(own[0]).eps(own[1])),
        other => panic!("no arm for the optimiser {other}"),
    }
    Outcome {
        outputs: vec![
            parameters[0].tensor().detach(),
            parameters[1].tensor().detach(),
        ],
        sources: x.to_vec(),
    }
}

fn steps(optimizer: &mut impl Optimizer, parameters: &[Parameter], s: &[f64], slopes: &Tensor) {
    let base = optimizer.lrs();
    for t in 0..slopes.dim(0) {
        let row = slopes.get(t);
        let parts = [row.narrow(0, 0, 6).reshape((2, 3)), row.narrow(0, 6, 4)];
        let missing = s[6] as usize >> t & 1 == 1;
        let pairs = parameters.iter().zip(&parts).take(2 - missing as usize);
        // The gradient of sum(p · g) is g.
        let products = pairs.map(|(p, slope)| (p.tensor() * slope).sum_all());
        let products: Vec<Tensor> = products.collect();
        let mut gradients = Tensor::stack(&products, 0).sum_all().backward();
        if s[7] != 0.0 {
            clip_gradients(parameters, &mut gradients, s[7]);
        }
        let lrs: Vec<f64> = base.iter().map(|lr| lr * s[8].powi(t as i32)).collect();
        optimizer.set_lrs(&lrs);
        optimizer.step(&gradients);
    }
}

/// Returns the learning rates of a schedule.
pub(super) fn schedule(kind: &str, s: &[f64], x: &[Tensor]) -> Tensor {
    let n = |i: usize| s[i] as usize;
    let schedule: Box<dyn LrSchedule> = match kind {
        "step" => Box::new(Schedule::step(n(1), s[2])),
        "multi_step" => {
            let milestones: Vec<usize> = s[2..].iter().map(|time| *time as usize).collect();
            Box::new(Schedule::multi_step(&milestones, s[1]))
        }
        "exponential" => Box::new(Schedule::exponential(s[1])),
        "cosine" => Box::new(Schedule::Cosine {
            total: n(1),
            min_lr: s[2],
        }),
        "linear" => Box::new(Schedule::linear(s[1], s[2], n(3))),
        "polynomial" => Box::new(Schedule::polynomial(n(1), s[2])),
        "warm_restarts" => Box::new(Schedule::WarmRestarts {
            first: n(1),
            growth: n(2),
            min_lr: s[3],
        }),
        "warmup" => Box::new(Schedule::step(n(3), s[4]).warmup_from(s[1], n(2))),
        "one_cycle" => {
            let cycle = OneCycle::new(n(1))
                .pct_start(s[2])
                .div_factor(s[4])
                .final_div_factor(s[5]);
            let cycle = if s[3] != 0.0 { cycle.linear() } else { cycle };
            Box::new(cycle.three_phase(s[6] != 0.0))
        }
        "plateau" => {
            let name = if s[4] != 0.0 {
                "val_accuracy"
            } else {
                "val_loss"
            };
            let plateau = ReduceOnPlateau::new(name)
                .factor(s[1])
                .patience(n(2))
                .cooldown(n(3));
            let plateau = match s[5] != 0.0 {
                true => plateau.absolute_threshold(s[6]),
                false => plateau.threshold(s[6]),
            };
            Box::new(plateau.min_lr(s[7]).eps(s[8]))
        }
        other => panic!("no arm for the schedule {other}"),
    };
    let values = x.first().map_or(vec![], super::super::numbers);
    let lr = |time: usize| schedule.lr_after(&values[..time.min(values.len())], s[0], time);
    Tensor::from_vec((0..24).map(lr).collect::<Vec<f64>>(), 24)
}
