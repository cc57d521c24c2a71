//! A step of gradient descent in one pass over the parameter.

use super::Numbers;
use super::chain::fits;
use super::simd::{Element, multiversion};
use crate::tensor::TensorExt;
use candle_core::{CpuStorage, InplaceOp1, Layout, Result, Tensor, bail};

/// `value -= lr · (gradient + weight_decay · value)` in the value's own memory; `false` where there is
/// no kernel, and then nothing has changed.
pub(crate) fn descend(
    value: &Tensor,
    gradient: &Tensor,
    lr: f64,
    weight_decay: f64,
) -> Result<bool> {
    let fitting = fits(&[value, gradient])
        && value.is_contiguous()
        && value.dims() == gradient.dims()
        && !value.shares_storage_with(gradient);
    if !fitting {
        return Ok(false);
    }
    value.inplace_op1(&Descent {
        gradient: gradient.contiguous()?,
        lr,
        weight_decay,
    })?;
    Ok(true)
}

struct Descent {
    gradient: Tensor,
    lr: f64,
    weight_decay: f64,
}

impl InplaceOp1 for Descent {
    fn name(&self) -> &'static str {
        "gradient-descent"
    }

    fn cpu_fwd(&self, value: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let Some((from, to)) = layout.contiguous_offsets() else {
            bail!("gradient descent was given a tensor that is not contiguous");
        };
        let gradient = Numbers::of(&self.gradient)?;
        let (lr, decay) = (self.lr, self.weight_decay);
        match value {
            CpuStorage::F32(value) => {
                step(
                    &mut value[from..to],
                    gradient.slice()?,
                    lr as f32,
                    decay as f32,
                );
            }
            CpuStorage::F64(value) => step(&mut value[from..to], gradient.slice()?, lr, decay),
            _ => bail!("gradient descent was given numbers of another type"),
        }
        Ok(())
    }
}

multiversion! {
    fn step<T: Element>(value: &mut [T], gradient: &[T], lr: T, weight_decay: T) {
        for (value, gradient) in value.iter_mut().zip(gradient) {
            *value += -((*gradient + *value * weight_decay) * lr);
        }
    }
}
