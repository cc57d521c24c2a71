//! Initialisation of weights.

use crate::error::{OrRaise, Result, explain};
use crate::tensor::{Tensor, full, normal, uniform, with_device};
use candle_core::Shape;

/// A rule for initial weights. Layers use PyTorch's defaults; this is for other choices.
///
/// The numbers of inputs and outputs of a weight (fan-in and fan-out) follow from its shape,
/// `(outputs, inputs, …)`. Further dimensions, those of a kernel, multiply both.
///
/// ```
/// use taper::prelude::*;
///
/// manual_seed(1);
/// let w = Init::XavierUniform.tensor((200, 100)); // (200, 100)
/// let bound = (6.0f64 / 300.0).sqrt();
/// assert!(w.abs().max_all().item() <= bound);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// The same value everywhere.
    Constant(f64),
    /// Normal, with mean 0 and this standard deviation, as d2l's `init_normal`.
    Normal(f64),
    /// Uniform, between minus this bound and this bound.
    Uniform(f64),
    /// Uniform, between ±√(6 / (inputs + outputs)). From Glorot and Bengio, 2010.
    XavierUniform,
    /// Normal, with standard deviation √(2 / (inputs + outputs)). From Glorot and Bengio, 2010.
    XavierNormal,
    /// Uniform, between ±√(6 / inputs), for layers before ReLU. From He et al., 2015.
    KaimingUniform,
    /// Normal, with standard deviation √(2 / inputs), for layers before ReLU. From He et al., 2015.
    KaimingNormal,
}

impl Init {
    /// Draws a weight of this shape on the default device, in `f32`.
    ///
    /// # Panics
    /// If the shape has fewer than two dimensions and the rule needs them, or the bound or standard
    /// deviation is not positive.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let w = Init::Constant(0.5).tensor((1, 2)); // (1, 2)
    /// assert_eq!(w.to_vec2::<f32>(), [[0.5, 0.5]]);
    /// assert!(attempt(|| Init::KaimingNormal.tensor(3)).is_err());
    /// ```
    #[track_caller]
    pub fn tensor(self, shape: impl Into<Shape>) -> Tensor {
        self.draw(shape.into())
    }

    #[track_caller]
    fn draw(self, shape: Shape) -> Tensor {
        let spread = match self {
            Self::Constant(value) => return full(shape, value),
            Self::Normal(std) => return normal(0.0, std, shape),
            Self::Uniform(bound) => return uniform(-bound, bound, shape),
            Self::XavierUniform | Self::XavierNormal => {
                let (inputs, outputs) = fans(&shape).or_raise();
                2.0 / (inputs + outputs)
            }
            Self::KaimingUniform | Self::KaimingNormal => 2.0 / fans(&shape).or_raise().0,
        };
        match self {
            Self::XavierUniform | Self::KaimingUniform => {
                let bound = (3.0 * spread).sqrt();
                uniform(-bound, bound, shape)
            }
            _ => normal(0.0, spread.sqrt(), shape),
        }
    }

    /// Draws a weight with the shape, type and device of these values.
    #[track_caller]
    pub(super) fn tensor_like(self, values: &Tensor) -> Tensor {
        with_device(values.device(), || self.tensor(values.shape())).to_dtype(values.dtype())
    }
}

/// Returns the numbers of inputs and outputs of a weight: fan-in and fan-out.
fn fans(shape: &Shape) -> Result<(f64, f64)> {
    let [outputs, inputs, kernel @ ..] = shape.dims() else {
        return Err(explain(
            format!(
                "expected a weight of two dimensions or more, found shape {:?}",
                shape.dims()
            ),
            "Use a shape (outputs, inputs, …), or Init::Normal, Init::Uniform or Init::Constant",
        ));
    };
    let kernel: usize = kernel.iter().product();
    Ok(((inputs * kernel) as f64, (outputs * kernel) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn std(init: Init) -> f64 {
        let w = init.tensor((300, 50, 2, 2));
        w.sqr().mean_all().item().sqrt()
    }

    #[test]
    fn the_standard_deviation_is_that_of_the_papers() {
        let xavier = (2.0f64 / (4.0 * 350.0)).sqrt();
        let kaiming = (2.0f64 / 200.0).sqrt();
        for (init, want) in [
            (Init::XavierUniform, xavier),
            (Init::XavierNormal, xavier),
            (Init::KaimingUniform, kaiming),
            (Init::KaimingNormal, kaiming),
            (Init::Normal(0.3), 0.3),
            (Init::Uniform(3f64.sqrt()), 1.0),
            (Init::Constant(-2.0), 2.0),
        ] {
            assert!((std(init) / want - 1.0).abs() < 0.02, "{init:?}");
        }
    }
}
