//! Taper's schedules of the learning rate by PyTorch's names.

use crate::arguments::{Args, Expressed, missing};
use crate::functions::Outputs;
use crate::samples::Sample;
use taper::Tensor;
use taper::optim::{LrSchedule, OneCycle, ReduceOnPlateau, Schedule};

const STEPS: usize = 60;

/// Returns the learning rates of all steps.
pub(crate) fn run(name: &str, sample: &Sample) -> Outputs {
    let base = sample.args.float("lr")?.unwrap_or(0.0);
    let values = sample.forward.maybe_tensor("values")?;
    let values = values.map(|values| values.to_dtype(taper::candle_core::DType::F64).to_vec());
    let values: Vec<f64> = values.unwrap_or_default();
    let schedule = schedule(name, &sample.args)?;
    let rates = (0..STEPS).map(|t| schedule.lr_after(&values[..t.min(values.len())], base, t));
    let rates: Vec<f64> = rates.collect();
    Ok(vec![Tensor::from_vec(rates, STEPS)])
}

fn schedule(name: &str, a: &Args) -> Expressed<Box<dyn LrSchedule>> {
    let float = |name: &str, default: f64| Ok(a.float(name)?.unwrap_or(default));
    let size = |name: &str, default: usize| Ok(a.size(name)?.unwrap_or(default));
    Ok(Box::new(match name {
        "StepLR" => Schedule::step(size("step_size", 0)?, float("gamma", 0.1)?),
        "MultiStepLR" => {
            let milestones = a.sizes("milestones")?.unwrap_or_default();
            Schedule::multi_step(&milestones, float("gamma", 0.1)?)
        }
        "ExponentialLR" => Schedule::exponential(float("gamma", 0.0)?),
        "CosineAnnealingLR" => Schedule::Cosine {
            total: size("T_max", 0)?,
            min_lr: float("eta_min", 0.0)?,
        },
        "LinearLR" => {
            let (from, to) = (float("start_factor", 1.0 / 3.0)?, float("end_factor", 1.0)?);
            Schedule::linear(from, to, size("total_iters", 5)?)
        }
        "PolynomialLR" => Schedule::polynomial(size("total_iters", 5)?, float("power", 1.0)?),
        "CosineAnnealingWarmRestarts" => {
            let mut restarts = Schedule::warm_restarts(size("T_0", 0)?, size("T_mult", 1)?);
            if let Schedule::WarmRestarts { min_lr, .. } = &mut restarts {
                *min_lr = float("eta_min", 0.0)?;
            }
            restarts
        }
        "SequentialLR" => {
            let then = match a.size("T_max")? {
                Some(total) => Schedule::cosine(total),
                None => Schedule::exponential(float("gamma", 0.0)?),
            };
            then.warmup_from(float("start_factor", 0.0)?, size("total_iters", 0)?)
        }
        "OneCycleLR" => return one_cycle(a),
        _ => return plateau(a),
    }))
}

fn one_cycle(a: &Args) -> Expressed<Box<dyn LrSchedule>> {
    let mut cycle = OneCycle::new(a.size("total_steps")?.unwrap_or(0));
    if let Some(share) = a.float("pct_start")? {
        cycle = cycle.pct_start(share);
    }
    if let Some(factor) = a.float("div_factor")? {
        cycle = cycle.div_factor(factor);
    }
    if let Some(factor) = a.float("final_div_factor")? {
        cycle = cycle.final_div_factor(factor);
    }
    if a.text("anneal_strategy")?.as_deref() == Some("linear") {
        cycle = cycle.linear();
    }
    if a.flag("three_phase", false)? {
        cycle = cycle.three_phase(true);
    }
    Ok(Box::new(cycle))
}

fn plateau(a: &Args) -> Expressed<Box<dyn LrSchedule>> {
    let is_max = a.text("mode")?.as_deref() == Some("max");
    let mut plateau = ReduceOnPlateau::new("metric").larger_is_better(is_max);
    if let Some(factor) = a.float("factor")? {
        plateau = plateau.factor(factor);
    }
    if let Some(patience) = a.size("patience")? {
        plateau = plateau.patience(patience);
    }
    let threshold = a.float("threshold")?.unwrap_or(1e-4);
    plateau = match a.text("threshold_mode")?.as_deref() {
        None => plateau.threshold(threshold),
        Some("abs") => plateau.absolute_threshold(threshold),
        Some(mode) => return missing(format!("`threshold_mode`: {mode}")),
    };
    if let Some(cooldown) = a.size("cooldown")? {
        plateau = plateau.cooldown(cooldown);
    }
    if let Some(min_lr) = a.float("min_lr")? {
        plateau = plateau.min_lr(min_lr);
    }
    if let Some(eps) = a.float("eps")? {
        plateau = plateau.eps(eps);
    }
    Ok(Box::new(plateau))
}
