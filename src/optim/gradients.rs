//! Gradients between `backward` and the optimiser's step: clipping and accumulation.

use crate::error;
use crate::nn::Parameter;
use candle_core::backprop::GradStore;
use candle_core::{DType, Device, Result, Tensor};
use std::collections::HashSet;

/// Scales all gradients together so that their norm, over all parameters, is at most `max_norm`. Returns
/// the norm before the scaling, as a scalar on the device of the gradients: nothing is copied to the CPU.
/// From d2l's chapter *Recurrent Neural Network Implementation*; follows PyTorch's `clip_grad_norm_`.
///
/// The norm is computed in double precision, so it does not overflow (in single precision on a Mac's GPU,
/// which has no double precision). Without gradients, the norm is 0. A parameter that is listed twice counts
/// once (in PyTorch, twice).
///
/// # Errors
/// If `max_norm` is not positive, or the parameters are on different devices.
///
/// ```
/// use taper::prelude::*;
///
/// let w = Parameter::new(&tensor(&[3.0, 4.0], &cpu())?)?;
/// let mut gradients = (w.tensor()?.sqr()?.sum_all()? * 0.5)?.backward()?; // [3, 4], norm 5
/// let norm = clip_gradients(&[w.clone()], &mut gradients, 1.0)?;
/// assert_eq!(norm.to_scalar::<f64>()?, 5.0);
/// let clipped = gradients.get(&w.tensor()?).unwrap().to_vec1::<f32>()?;
/// assert!((clipped[0] - 0.6).abs() < 1e-5);
/// # Ok::<(), Error>(())
/// ```
pub fn clip_gradients(
    parameters: &[Parameter],
    gradients: &mut GradStore,
    max_norm: f64,
) -> Result<Tensor> {
    if max_norm.is_nan() || max_norm <= 0.0 {
        return Err(error::argument(
            "clip_gradients",
            "a positive norm",
            max_norm,
            "Choose one such as 1.0",
        ));
    }
    let mut seen = HashSet::new();
    let vars = parameters.iter().filter_map(|p| p.var().ok());
    let vars: Vec<_> = vars.filter(|var| seen.insert(var.id())).collect();
    let found = vars.iter().filter_map(|var| gradients.get(var));
    let squares: Vec<Tensor> = found.map(sum_of_squares).collect::<Result<_>>()?;
    if squares.is_empty() {
        return Tensor::new(0.0, &Device::Cpu);
    }
    let norm = Tensor::stack(&squares, 0)?.sum_all()?.sqrt()?;
    let scale = ((&norm + 1e-6)?.recip()? * max_norm)?;
    let scale = scale.broadcast_minimum(&scale.ones_like()?)?;
    for var in &vars {
        if let Some(gradient) = gradients.get(var) {
            let scaled = gradient.broadcast_mul(&scale.to_dtype(gradient.dtype())?)?;
            gradients.insert(var, scaled);
        }
    }
    Ok(norm)
}

/// Returns the sum of the squared elements. In double precision, the squares of large values do not
/// overflow.
fn sum_of_squares(gradient: &Tensor) -> Result<Tensor> {
    let wide = match gradient.device() {
        Device::Metal(_) => DType::F32,
        _ => DType::F64,
    };
    gradient.to_dtype(wide)?.sqr()?.sum_all()
}

/// Adds the gradients of another batch to `sums`, so that one step follows several batches. In PyTorch,
/// `backward` itself adds them. For the mean over the batches, divide each loss by their number.
///
/// [`Trainer::accumulate_grad_batches`](crate::train::Trainer::accumulate_grad_batches) does this.
///
/// # Errors
/// If two gradients of a parameter differ in shape, type or device. `sums` is then unchanged.
///
/// ```
/// use taper::prelude::*;
///
/// let w = Parameter::new(&tensor(&[3.0, 4.0], &cpu())?)?;
/// let loss = || w.tensor()?.sqr()?.sum_all();
/// let mut sums = loss()?.backward()?; // [6, 8]
/// accumulate_gradients(&[w.clone()], &mut sums, &loss()?.backward()?)?;
/// assert_eq!(sums.get(&w.tensor()?).unwrap().to_vec1::<f32>()?, [12.0, 16.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn accumulate_gradients(
    parameters: &[Parameter],
    sums: &mut GradStore,
    gradients: &GradStore,
) -> Result<()> {
    let vars = parameters.iter().filter_map(|p| p.var().ok());
    let sum = |var: candle_core::Var| {
        let sum = match (sums.get(&var), gradients.get(&var)?) {
            (Some(sum), gradient) => sum + gradient,
            (None, gradient) => Ok(gradient.clone()),
        };
        Some(sum.map(|sum| (var, sum.detach())))
    };
    let new: Vec<_> = vars.filter_map(sum).collect::<Result<_>>()?;
    for (var, sum) in new {
        sums.insert(&var, sum);
    }
    Ok(())
}
