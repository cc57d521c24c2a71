//! Taper's optimisers by PyTorch's names.

use crate::arguments::{Args, Expressed, Value, missing};
use crate::functions::Outputs;
use crate::samples::Sample;
use taper::Tensor;
use taper::nn::Parameter;
use taper::optim::*;

/// Returns what the optimiser makes of the parameters, with the gradients `a0`, `b0`, `a1`, …
pub(crate) fn run(name: &str, sample: &Sample) -> Outputs {
    let state = sample.state.iter();
    let parameters: Vec<Parameter> = state.map(|(_, x, _)| Parameter::new(x)).collect();
    let mut optimizer = optimizer(name, &sample.args, parameters.clone())?;
    for step in 0.. {
        let Some(first) = sample.forward.maybe_tensor(&format!("a{step}"))? else {
            break;
        };
        let gradients = [first, sample.forward.tensor(&format!("b{step}"))?];
        let terms = parameters.iter().zip(&gradients);
        let terms: Vec<Tensor> = terms.map(|(p, g)| (p.tensor() * g).sum_all()).collect();
        optimizer.step(&(&terms[0] + &terms[1]).backward());
    }
    Ok(parameters
        .iter()
        .map(|p| p.tensor().copy_to(&p.device()))
        .collect())
}

fn optimizer(name: &str, a: &Args, parameters: Vec<Parameter>) -> Expressed<Box<dyn Optimizer>> {
    // Settings with a number, and those that are switched on.
    macro_rules! settings {
        ($optimizer:expr; $($setting:ident)*; $($switch:ident)*) => {{
            let mut optimizer = $optimizer;
            $(if let Some(value) = a.float(stringify!($setting))? {
                optimizer = optimizer.$setting(value);
            })*
            $(optimizer = optimizer.$switch(a.flag(stringify!($switch), false)?);)*
            Ok(Box::new(optimizer))
        }};
    }
    macro_rules! adam {
        ($name:ident) => {{
            let mut optimizer = $name::new(parameters, a.float("lr")?.unwrap_or(1e-3));
            if let Some(Value::List(betas)) = a.get("betas") {
                let [Value::Float(first), Value::Float(second)] = betas[..] else {
                    return missing("`betas`");
                };
                optimizer = optimizer.betas(first, second);
            }
            settings!(optimizer; weight_decay eps; amsgrad maximize)
        }};
    }
    let lr = a.float("lr")?;
    match name {
        "Adam" => adam!(Adam),
        "AdamW" => adam!(AdamW),
        "SGD" => {
            let optimizer =
                SGD::new(parameters, lr.unwrap_or(1e-3)).nesterov(a.flag("nesterov", false)?);
            settings!(optimizer; momentum dampening weight_decay; maximize)
        }
        "RMSprop" => {
            let optimizer =
                RMSprop::new(parameters, lr.unwrap_or(1e-2)).centered(a.flag("centered", false)?);
            settings!(optimizer; alpha eps momentum weight_decay; maximize)
        }
        "Adagrad" => {
            let optimizer = Adagrad::new(parameters, lr.unwrap_or(1e-2));
            settings!(optimizer; lr_decay initial_accumulator_value eps weight_decay; maximize)
        }
        _ => {
            let optimizer = Adadelta::new(parameters, lr.unwrap_or(1.0));
            settings!(optimizer; rho eps weight_decay; maximize)
        }
    }
}
