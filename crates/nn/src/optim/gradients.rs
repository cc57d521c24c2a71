//! Gradients between `backward` and the optimiser's step: clipping and accumulation.

use crate::error::{OrRaise, Result, attempt, refuse};
use crate::nn::Parameter;
use crate::tensor::{GradStore, Tensor};
use candle_core::{DType, Device};
use std::collections::HashSet;

/// Scales all gradients together so that their norm, over all parameters, is at most `max_norm`. Returns
/// the norm before the scaling, as a scalar on the device of the gradients: nothing is copied to the CPU.
/// From d2l's chapter *Recurrent Neural Network Implementation*; follows PyTorch's `clip_grad_norm_`.
///
/// The norm is computed in double precision, so it does not overflow (in single precision on a Mac's GPU,
/// which has no double precision). Without gradients, the norm is 0. A parameter that is listed twice counts
/// once (in PyTorch, twice).
///
/// If a gradient has NaN or infinite elements, so is the norm that is returned. Such a gradient stays what it is, and the
/// others are scaled by their own norm (in PyTorch, all become NaN). Make no step then, as `norm.item().is_finite()` is
/// `false`; on a GPU, `item` waits for the device.
///
/// # Panics
/// If `max_norm` is not positive, or the parameters are on different devices.
///
/// ```
/// use taper::prelude::*;
///
/// let w = Parameter::new(&tensor(&[3.0, 4.0]));
/// let mut gradients = (w.tensor().sqr().sum_all() * 0.5).backward(); // [3, 4], norm 5
/// let norm = clip_gradients(&[w.clone()], &mut gradients, 1.0);
/// assert_eq!(norm.to_scalar::<f64>(), 5.0);
/// let clipped = gradients.get(&w.tensor()).unwrap().to_vec1::<f32>();
/// assert!((clipped[0] - 0.6).abs() < 1e-5);
/// ```
#[track_caller]
pub fn clip_gradients(
    parameters: &[Parameter],
    gradients: &mut GradStore,
    max_norm: f64,
) -> Tensor {
    try_clip(parameters, gradients, max_norm).or_raise()
}

/// Does what [`clip_gradients`] does.
#[doc(hidden)]
pub fn try_clip(
    parameters: &[Parameter],
    gradients: &mut GradStore,
    max_norm: f64,
) -> Result<Tensor> {
    match max_norm > 0.0 {
        true => attempt(|| clip(&variables(parameters), gradients, max_norm)),
        false => refuse!(argument("clip_gradients", max_norm);
            "a positive norm", "Choose one such as 1.0"),
    }
}

fn clip(variables: &[Tensor], gradients: &mut GradStore, max_norm: f64) -> Tensor {
    let found = variables.iter().filter_map(|x| gradients.get(x));
    let squares: Vec<Tensor> = found.map(sum_of_squares).collect();
    if squares.is_empty() {
        return Tensor::from_vec_on(vec![0f64], (), &Device::Cpu);
    }
    let squares = Tensor::stack(&squares, 0);
    // A gradient that is not finite must not spread to the others.
    let of_finite = (&squares * 0.0).eq(0.0).where_cond(&squares, 0.0);
    let scale = (max_norm / (of_finite.sum_all().sqrt() + 1e-6)).minimum(1.0);
    let norm = squares.sum_all().sqrt();
    for x in variables {
        if let Some(gradient) = gradients.get(x) {
            let scaled = gradient * scale.to_dtype(gradient.dtype());
            gradients.insert(x, scaled);
        }
    }
    norm
}

/// Returns the sum of the squared elements. In double precision, the squares of large values do not
/// overflow.
fn sum_of_squares(gradient: &Tensor) -> Tensor {
    let wide = match gradient.device() {
        Device::Metal(_) => DType::F32,
        _ => DType::F64,
    };
    gradient.to_dtype(wide).sqr().sum_all()
}

/// Adds the gradients of another batch to `sums`, so that one step follows several batches. In PyTorch,
/// `backward` itself adds them. For the mean over the batches, divide each loss by their number.
///
/// `Trainer::accumulate_grad_batches` does this.
///
/// # Panics
/// If two gradients of a parameter differ in shape, type or device. `sums` is then unchanged.
///
/// ```
/// use taper::prelude::*;
///
/// let w = Parameter::new(&tensor(&[3.0, 4.0]));
/// let loss = || w.tensor().sqr().sum_all();
/// let mut sums = loss().backward(); // [6, 8]
/// accumulate_gradients(&[w.clone()], &mut sums, &loss().backward());
/// assert_eq!(sums.get(&w.tensor()).unwrap().to_vec1::<f32>(), [12.0, 16.0]);
/// ```
#[track_caller]
pub fn accumulate_gradients(parameters: &[Parameter], sums: &mut GradStore, gradients: &GradStore) {
    try_accumulate(parameters, sums, gradients).or_raise();
}

/// Does what [`accumulate_gradients`] does.
#[doc(hidden)]
pub fn try_accumulate(
    parameters: &[Parameter],
    sums: &mut GradStore,
    gradients: &GradStore,
) -> Result<()> {
    let variables = variables(parameters).into_iter();
    let sum = |x: Tensor| {
        let gradient = gradients.get(&x)?;
        let sum = match sums.get(&x) {
            Some(sum) => added(sum, gradient),
            None => Ok(gradient.clone()),
        };
        Some(sum.map(|sum| (x, sum.detach())))
    };
    let new: Vec<_> = variables.filter_map(sum).collect::<Result<_>>()?;
    for (x, sum) in new {
        sums.insert(&x, sum);
    }
    Ok(())
}

fn added(sum: &Tensor, gradient: &Tensor) -> Result<Tensor> {
    let described = |x: &Tensor| format!("{:?} {}", x.dims(), x.dtype().as_str());
    refuse!(if described(sum) != described(gradient);
        argument("accumulate_gradients", described(gradient));
        ("a gradient of {}, as in the sum", described(sum)),
        "Add gradients of the same parameters, as backward() returns them");
    attempt(|| sum + gradient)
}

/// Returns the values of the parameters that have some, each once. With them, a [`GradStore`] finds gradients.
#[doc(hidden)]
pub fn variables(parameters: &[Parameter]) -> Vec<Tensor> {
    let mut seen = HashSet::new();
    let vars = parameters.iter().filter_map(|p| p.try_var().ok());
    let distinct = vars.filter(|var| seen.insert(var.id()));
    distinct.map(|var| Tensor::from(&var)).collect()
}
