//! The weight and the bias of a layer that is an affine function, with PyTorch's initial values.

use crate::nn::spec::Spec;
use crate::nn::{Parameter, Parameters};
use crate::tensor::{Tensor, uniform};
use candle_core::{Device, Shape};

/// Draws values uniformly between `-1/√fan_in` and `1/√fan_in`.
#[doc(hidden)]
#[track_caller]
pub fn initial(fan_in: f64, shape: impl Into<Shape>) -> Tensor {
    let bound = 1.0 / fan_in.sqrt();
    uniform(-bound, bound, shape)
}

/// A weight `(…, inputs of an output…)`, and a bias.
#[derive(Parameters)]
pub(super) struct Affine {
    pub(super) weight: Parameter,
    pub(super) bias: Option<Parameter>,
}

impl Affine {
    /// Creates parameters that wait for [`init`](Self::init). `sizes` are the sizes of the weight that are known.
    pub(super) fn lazy(sizes: &[Option<usize>], outputs: usize) -> Self {
        Self {
            weight: Parameter::lazy_as(Spec::f32(sizes)),
            bias: Some(lazy_bias(outputs)),
        }
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.weight.is_initialized()
    }

    /// Draws the parameters that have no values yet: a weight of this shape, and a bias of this size.
    #[track_caller]
    pub(super) fn init(&self, shape: &[usize], outputs: usize, device: &Device) {
        let fan_in = shape[1..].iter().map(|size| *size as f64).product();
        self.weight.init(device, || initial(fan_in, shape));
        if let Some(bias) = &self.bias {
            bias.init(device, || initial(fan_in, outputs));
        }
    }

    /// Removes the bias, or adds one with random values.
    #[track_caller]
    pub(super) fn set_bias(&mut self, bias: bool, outputs: usize) {
        if bias != self.bias.is_some() {
            self.bias = bias.then(|| lazy_bias(outputs));
            if self.is_initialized() {
                self.init(self.weight.shape().dims(), outputs, &self.weight.device());
            }
        }
    }

    /// Returns the values of the weight and the bias.
    #[track_caller]
    pub(super) fn tensors(&self) -> (Tensor, Option<Tensor>) {
        let bias = self.bias.as_ref().map(Parameter::tensor);
        (self.weight.tensor(), bias)
    }
}

fn lazy_bias(outputs: usize) -> Parameter {
    Parameter::lazy_as(Spec::f32(&[Some(outputs)]))
}
