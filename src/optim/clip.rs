//! Gradient clipping.

use crate::nn::Parameter;
use candle_core::backprop::GradStore;
use candle_core::{DType, Result, Tensor};

/// Scales all gradients together so that their norm, over all parameters, is at most `max_norm`.
/// Nothing is fetched from the device. From d2l's chapter *Recurrent Neural Network
/// Implementation*; follows PyTorch's `clip_grad_norm_`.
///
/// # Errors
/// If the parameters are on different devices.
///
/// ```
/// use taper::prelude::*;
///
/// let w = Parameter::new(&tensor(&[3.0, 4.0], &cpu())?)?;
/// let mut gradients = (w.tensor()?.sqr()?.sum_all()? * 0.5)?.backward()?; // [3, 4], norm 5
/// clip_gradients(&[w.clone()], &mut gradients, 1.0)?;
/// let clipped = gradients.get(&w.tensor()?).unwrap().to_vec1::<f32>()?;
/// assert!((clipped[0] - 0.6).abs() < 1e-5);
/// # Ok::<(), Error>(())
/// ```
pub fn clip_gradients(
    parameters: &[Parameter],
    gradients: &mut GradStore,
    max_norm: f64,
) -> Result<()> {
    let vars: Vec<_> = parameters.iter().filter_map(|p| p.var().ok()).collect();
    let found = vars.iter().filter_map(|var| gradients.get(var));
    let squares: Vec<Tensor> = found
        .map(|gradient| gradient.sqr()?.sum_all()?.to_dtype(DType::F32))
        .collect::<Result<_>>()?;
    if squares.is_empty() {
        return Ok(());
    }
    let norm = Tensor::stack(&squares, 0)?.sum_all()?.sqrt()?;
    let scale = ((norm + 1e-6)?.recip()? * max_norm)?.minimum(1.0)?;
    for var in &vars {
        if let Some(gradient) = gradients.get(var) {
            let scaled = gradient.broadcast_mul(&scale.to_dtype(gradient.dtype())?)?;
            gradients.insert(var, scaled);
        }
    }
    Ok(())
}
