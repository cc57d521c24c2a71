//! The learned scale and shift of a normalisation.

use crate::error::OrRaise;
use crate::nn::summary::output_of;
use crate::nn::{Parameter, Parameters, check};
use crate::ops;
use crate::tensor::{Raw, Tensor, ones, zeros};
use candle_core::Shape;

/// A weight, ones at first, and a bias, zeros at first; or one of them, or none.
#[derive(Parameters)]
pub(super) struct Scale {
    pub(super) weight: Option<Parameter>,
    pub(super) bias: Option<Parameter>,
    #[parameters(skip)]
    pub(super) shape: Shape,
}

impl Scale {
    #[track_caller]
    pub(super) fn new(shape: impl Into<Shape>, weight: bool, bias: bool) -> Self {
        let mut scale = Self {
            weight: None,
            bias: None,
            shape: shape.into(),
        };
        scale.set(weight, bias);
        scale
    }

    /// Creates parameters for the last dimensions of an input.
    #[track_caller]
    pub(super) fn of_features(layer: &str, shape: Shape, weight: bool, bias: bool) -> Self {
        let least = shape.dims().iter().copied().min();
        check::positive(layer, &[("features", least.unwrap_or(0))]);
        Self::new(shape, weight, bias)
    }

    /// Returns the number of features, for the description of a layer that normalises one dimension.
    pub(super) fn features(&self) -> Option<usize> {
        (self.shape.rank() == 1).then(|| self.shape.elem_count())
    }

    /// Returns the shape, for the description of a layer that normalises several dimensions.
    pub(super) fn dims(&self) -> Option<Shape> {
        (self.shape.rank() > 1).then(|| self.shape.clone())
    }

    /// Adds what is missing, and removes what should not be there.
    #[track_caller]
    pub(super) fn set(&mut self, weight: bool, bias: bool) {
        if weight != self.weight.is_some() {
            self.weight = weight.then(|| Parameter::new(&ones(self.shape.clone())));
        }
        if bias != self.bias.is_some() {
            let zeros = || match &self.weight {
                Some(weight) => weight.tensor().zeros_like(),
                None => zeros(self.shape.clone()),
            };
            self.bias = bias.then(|| Parameter::new(&zeros()));
        }
    }

    #[track_caller]
    pub(super) fn set_bias(&mut self, bias: bool) {
        self.set(self.weight.is_some(), bias);
    }

    /// Returns `false` for the description of a layer with a weight that lacks the bias.
    pub(super) fn no_bias(&self) -> Option<bool> {
        (self.weight.is_some() && self.bias.is_none()).then_some(false)
    }

    /// Returns the weight and the bias as vectors, or ones and zeros in their place.
    pub(super) fn tensors(&self, x: &Tensor) -> [Tensor; 2] {
        let features = self.shape.elem_count();
        [(&self.weight, 1.0), (&self.bias, 0.0)]
            .map(|(parameter, value)| value_or(parameter, value, features, x))
    }

    /// Normalises groups of channels.
    #[track_caller]
    pub(super) fn of_groups(
        &self,
        layer: &dyn Parameters,
        x: &Tensor,
        groups: usize,
        eps: f64,
    ) -> Tensor {
        let [weight, bias] = self.tensors(x);
        let (x, weight, bias) = (x.raw(), weight.raw(), bias.raw());
        let y = ops::group_norm_as(&check::name(layer), x, groups, weight, bias, eps);
        output_of(layer, y)
    }
}

/// Returns the values of a parameter, or constants where a layer has none.
pub(super) fn value_or(
    parameter: &Option<Parameter>,
    value: f64,
    features: usize,
    x: &Tensor,
) -> Tensor {
    let constant = || Raw::full(value, features, x.device())?.to_dtype(x.dtype());
    match parameter {
        Some(parameter) if parameter.shape().rank() == 1 => parameter.tensor(),
        Some(parameter) => parameter.tensor().flatten_all(),
        None => constant().or_raise().into(),
    }
}
