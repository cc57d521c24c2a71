//! Optimisers and schedules.

use super::{Tensors, assert_close, devices, numbers, read, tolerance};
use crate::nn::Parameter;
use crate::optim::{Adam, AdamW, Optimizer, Schedule, Sgd, clip_gradients};
use candle_core::{Device, Result, Tensor};

type Make = fn(Vec<Parameter>) -> Box<dyn Optimizer>;

#[test]
fn optimisers_agree_with_pytorch() -> Result<()> {
    devices()
        .iter()
        .try_for_each(|device| compare(&read("optimizers", device), tolerance(device)))
}

fn compare(all: &Tensors, near: f64) -> Result<()> {
    let cases: [(&str, Make); 11] = [
        ("sgd", |p| Box::new(Sgd::new(p, 0.1))),
        ("sgd_clipped", |p| Box::new(Sgd::new(p, 0.1))),
        ("sgd_decay", |p| {
            Box::new(Sgd::new(p, 0.1).weight_decay(0.01))
        }),
        ("sgd_momentum", |p| {
            Box::new(Sgd::new(p, 0.1).momentum(0.9).weight_decay(0.01))
        }),
        ("sgd_nesterov", |p| {
            Box::new(Sgd::new(p, 0.1).momentum(0.9).nesterov(true))
        }),
        ("adam", |p| Box::new(Adam::new(p, 0.01))),
        ("adam_decay", |p| {
            Box::new(
                Adam::new(p, 0.01)
                    .betas(0.8, 0.99)
                    .eps(1e-6)
                    .weight_decay(0.1),
            )
        }),
        ("adamw", |p| Box::new(AdamW::new(p, 0.01))),
        ("adamw_settings", |p| {
            Box::new(
                AdamW::new(p, 0.05)
                    .betas(0.7, 0.95)
                    .eps(1e-3)
                    .weight_decay(0.3),
            )
        }),
        ("adam_without", |p| Box::new(Adam::new(p, 0.01))),
        ("sgd_momentum_without", |p| {
            Box::new(Sgd::new(p, 0.1).momentum(0.9))
        }),
    ];
    for (name, make) in cases {
        let start = ["start.0", "start.1"].map(|key| Parameter::new(&all[key]));
        let parameters: Vec<Parameter> = start.into_iter().collect::<Result<_>>()?;
        let mut optimizer = make(parameters.clone());
        for step in 0..5 {
            // The gradient of sum(p · g) is g; in some steps the second parameter has none.
            let count = match name.ends_with("_without") && [0, 1, 3].contains(&step) {
                true => 1,
                false => 2,
            };
            let products = parameters.iter().enumerate().take(count).map(|(i, p)| {
                let gradient = &all[&format!("gradient.{step}.{i}")];
                p.tensor()?.mul(gradient)?.sum_all()
            });
            let products: Vec<Tensor> = products.collect::<Result<_>>()?;
            let mut gradients = Tensor::stack(&products, 0)?.sum_all()?.backward()?;
            if name == "sgd_clipped" {
                clip_gradients(&parameters, &mut gradients, 1.0)?;
            }
            optimizer.step(&gradients)?;
            for (i, parameter) in parameters.iter().enumerate() {
                let key = format!("{name}.{step}.{i}");
                assert_close(&parameter.tensor()?, &all[&key], near, &key);
            }
        }
    }
    Ok(())
}

#[test]
fn schedules_agree_with_pytorch() {
    let all = read("schedules", &Device::Cpu);
    let cosine_min = Schedule::Cosine {
        total: 10,
        min_lr: 0.01,
    };
    for (name, schedule) in [
        ("step", Schedule::step(3, 0.5)),
        ("exponential", Schedule::exponential(0.9)),
        ("cosine", Schedule::cosine(10)),
        ("cosine_min", cosine_min),
        ("linear", Schedule::linear(1.0, 0.1, 5)),
        ("warmup_cosine", Schedule::cosine(6).warmup(4)),
    ] {
        for (time, want) in numbers(&all[name]).into_iter().enumerate() {
            let got = schedule.lr(0.1, time);
            assert!(
                (got - want).abs() < 1e-9,
                "{name} at {time}: {got} is not {want}"
            );
        }
    }
}
