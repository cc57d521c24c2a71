//! Optimisers and schedules.

use super::{Tensors, assert_close, devices, numbers, read, tolerance};
use crate::nn::Parameter;
use crate::optim::*;
use crate::tensor::Tensor;
use candle_core::{DType, Device};

type Make = fn(Vec<Parameter>) -> Box<dyn Optimizer>;

/// The optimiser of each case that `make.py` writes.
const CASES: [(&str, Make); 23] = [
    ("sgd", |p| Box::new(SGD::new(p, 0.1))),
    ("sgd_clipped", |p| Box::new(SGD::new(p, 0.1))),
    ("sgd_decay", |p| {
        Box::new(SGD::new(p, 0.1).weight_decay(0.01))
    }),
    ("sgd_momentum", |p| {
        Box::new(SGD::new(p, 0.1).momentum(0.9).weight_decay(0.01))
    }),
    ("sgd_dampening", |p| {
        Box::new(SGD::new(p, 0.1).momentum(0.8).dampening(0.3))
    }),
    ("sgd_nesterov", |p| {
        Box::new(SGD::new(p, 0.1).momentum(0.9).nesterov(true))
    }),
    ("sgd_without", |p| {
        Box::new(SGD::new(p, 0.1).momentum(0.9).dampening(0.1))
    }),
    ("adam", |p| Box::new(Adam::new(p, 0.01))),
    ("adam_settings", |p| {
        Box::new(
            Adam::new(p, 0.01)
                .betas(0.8, 0.99)
                .eps(1e-6)
                .weight_decay(0.1),
        )
    }),
    ("adam_without", |p| Box::new(Adam::new(p, 0.01))),
    ("adamw", |p| Box::new(AdamW::new(p, 0.01))),
    ("adamw_settings", |p| {
        Box::new(
            AdamW::new(p, 0.05)
                .betas(0.7, 0.95)
                .eps(1e-3)
                .weight_decay(0.3),
        )
    }),
    ("adamw_without", |p| Box::new(AdamW::new(p, 0.05))),
    ("rmsprop", |p| Box::new(RMSprop::new(p, 0.01))),
    ("rmsprop_settings", |p| {
        Box::new(RMSprop::new(p, 0.05).alpha(0.9).eps(1e-4).weight_decay(0.1))
    }),
    ("rmsprop_momentum", |p| {
        Box::new(RMSprop::new(p, 0.02).momentum(0.9))
    }),
    ("rmsprop_centered", |p| {
        Box::new(RMSprop::new(p, 0.02).alpha(0.8).centered(true))
    }),
    ("rmsprop_all", |p| {
        let all = RMSprop::new(p, 0.01).alpha(0.7).momentum(0.5);
        Box::new(all.centered(true).weight_decay(0.2))
    }),
    ("adagrad", |p| Box::new(Adagrad::new(p, 0.01))),
    ("adagrad_settings", |p| {
        Box::new(
            Adagrad::new(p, 0.1)
                .lr_decay(0.05)
                .weight_decay(0.1)
                .eps(1e-4),
        )
    }),
    ("adagrad_initial", |p| {
        Box::new(
            Adagrad::new(p, 0.1)
                .initial_accumulator_value(0.5)
                .lr_decay(0.2),
        )
    }),
    ("adamw_matrices", |p| {
        Box::new(AdamW::new(p, 0.05).weight_decay(0.3).decay_matrices_only())
    }),
    ("sgd_groups", |p| {
        let second = SGD::new(p[1..].to_vec(), 0.02).momentum(0.5);
        Box::new(SGD::new(p, 0.1).momentum(0.9).add_param_group(second))
    }),
];

/// The cases in which the second parameter has no gradient in some steps.
const WITHOUT: [&str; 5] = [
    "sgd_without",
    "adam_without",
    "adamw_without",
    "rmsprop_all",
    "adagrad_initial",
];

/// Returns the matrix `(3, 2)` and the vector `(4,)` that are stored one after the other in a row.
fn parts(row: &Tensor, dtype: DType) -> [Tensor; 2] {
    let row = row.to_dtype(dtype);
    [row.narrow(0, 0, 6).reshape((3, 2)), row.narrow(0, 6, 4)]
}

#[test]
fn optimisers_agree_with_pytorch() {
    for (name, make) in CASES {
        compare(
            &read("optimizers", &Device::Cpu),
            name,
            make,
            DType::F64,
            1e-12,
        );
        for device in devices() {
            let near = tolerance(&device);
            compare(&read("optimizers", &device), name, make, DType::F32, near);
        }
    }
    let all = read("optimizers", &Device::Cpu);
    assert_eq!(all.len(), CASES.len() + 2, "the file has other cases");
}

fn compare(all: &Tensors, name: &str, make: Make, dtype: DType, near: f64) {
    let start = parts(&all["start"], dtype);
    let parameters = Vec::from_iter(start.iter().map(Parameter::new));
    let mut optimizer = make(parameters.clone());
    let base = optimizer.lrs();
    let schedule = Schedule::Cosine {
        total: 25,
        min_lr: 0.01,
    };
    for step in 0..all["gradients"].dims()[0] {
        if name == "sgd_groups" {
            let lrs: Vec<f64> = base.iter().map(|lr| schedule.lr(*lr, step)).collect();
            optimizer.set_lrs(&lrs);
        }
        let missing = WITHOUT.contains(&name) && [0, 1, 3].contains(&step);
        let slopes = parts(&all["gradients"].get(step), dtype);
        // The gradient of sum(p · g) is g.
        let products = parameters
            .iter()
            .zip(&slopes)
            .take(if missing { 1 } else { 2 });
        let products = products.map(|(p, slope)| (p.tensor() * slope).sum_all());
        let products: Vec<Tensor> = products.collect();
        let mut gradients = Tensor::stack(&products, 0).sum_all().backward();
        let largest = match name {
            "sgd_clipped" => 1.0,
            "adamw_without" => 0.5,
            _ => f64::INFINITY,
        };
        clip_gradients(&parameters, &mut gradients, largest);
        optimizer.step(&gradients);
        let want = parts(&all[name].get(step), DType::F64);
        for (i, (parameter, want)) in parameters.iter().zip(&want).enumerate() {
            let what = format!("{name}, step {step}, parameter {i}, {dtype:?}");
            assert_close(&parameter.tensor(), want, near, &what);
        }
    }
}

fn schedules() -> Vec<(&'static str, Box<dyn LrSchedule>)> {
    let min = |total, min_lr| Schedule::Cosine { total, min_lr };
    let linear = OneCycle::new(25).max_lr(0.5).pct_start(0.45).linear();
    let plateau = || ReduceOnPlateau::new("val_loss");
    let larger = || ReduceOnPlateau::new("val_accuracy");
    vec![
        ("step", Box::new(Schedule::step(3, 0.5))),
        ("step_long", Box::new(Schedule::step(10, 0.1))),
        (
            "multi_step",
            Box::new(Schedule::multi_step(&[4, 9, 9, 20], 0.5)),
        ),
        (
            "multi_step_first",
            Box::new(Schedule::multi_step(&[1, 24], 0.1)),
        ),
        ("exponential", Box::new(Schedule::exponential(0.9))),
        ("cosine", Box::new(Schedule::cosine(25))),
        ("cosine_min", Box::new(min(24, 0.01))),
        ("linear", Box::new(Schedule::linear(1.0, 0.1, 5))),
        ("linear_up", Box::new(Schedule::linear(1.0 / 3.0, 1.0, 20))),
        ("one_cycle", Box::new(OneCycle::new(25))),
        ("one_cycle_short", Box::new(OneCycle::new(7).max_lr(0.5))),
        (
            "one_cycle_linear",
            Box::new(linear.div_factor(10.0).final_div_factor(100.0)),
        ),
        (
            "one_cycle_phases",
            Box::new(OneCycle::new(25).pct_start(0.4).three_phase(true)),
        ),
        ("warmup_cosine", Box::new(Schedule::cosine(21).warmup(4))),
        (
            "warmup_step",
            Box::new(Schedule::step(6, 0.3).warmup_from(1.0 / 3.0, 4)),
        ),
        ("plateau", Box::new(plateau())),
        ("plateau_settings", {
            let settings = plateau().factor(0.5).patience(2).threshold(0.05);
            Box::new(settings.cooldown(2).min_lr(0.004))
        }),
        ("plateau_absolute", {
            Box::new(
                plateau()
                    .factor(0.3)
                    .patience(1)
                    .absolute_threshold(0.01)
                    .eps(1e-3),
            )
        }),
        ("plateau_max", Box::new(larger().factor(0.5).patience(3))),
        (
            "plateau_max_absolute",
            Box::new(larger().patience(0).absolute_threshold(0.02)),
        ),
    ]
}

#[test]
fn schedules_agree_with_pytorch() {
    let all = read("schedules", &Device::Cpu);
    let loss = numbers(&all["metric"]);
    let accuracy: Vec<f64> = loss.iter().map(|loss| 1.0 - loss).collect();
    assert_eq!(all.len(), schedules().len() + 1, "the file has other cases");
    for (name, schedule) in schedules() {
        let values = match schedule.metric() {
            Some("val_accuracy") => &accuracy,
            _ => &loss,
        };
        for (time, want) in numbers(&all[name]).into_iter().enumerate() {
            let got = schedule.lr_after(&values[..time], 0.1, time);
            assert!(
                (got - want).abs() < 1e-14,
                "{name} at {time}: {got} is not {want}"
            );
        }
    }
}
