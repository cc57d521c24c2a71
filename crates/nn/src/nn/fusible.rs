//! What a layer is to a chain that computes several layers in one pass.

use crate::ops::{Conv2dSpec, PaddingMode};
use crate::tensor::Tensor;

/// See [`Layer::fusible`](crate::nn::Layer::fusible).
#[doc(hidden)]
#[derive(Default)]
pub struct Fusible(pub(super) Option<Kind>);

pub(super) enum Kind {
    Convolution {
        weight: Tensor,
        bias: Option<Tensor>,
        spec: Conv2dSpec,
        padding_mode: PaddingMode,
    },
    /// A batch normalisation with the running statistics.
    Norm {
        weight: Tensor,
        bias: Tensor,
        mean: Tensor,
        var: Tensor,
        eps: f64,
    },
    /// A batch normalisation of each batch by itself, or a chain that ends with one: it has
    /// [`forward_relu`](crate::nn::Layer::forward_relu).
    NormOfBatch,
    Relu,
}

impl Fusible {
    /// Returns the part of an activation function by its name.
    pub(super) fn of_activation(name: &str) -> Fusible {
        Fusible((name == "ReLU").then_some(Kind::Relu))
    }
}
