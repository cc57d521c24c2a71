//! The layer that changes nothing.

use crate::nn::layer::boxed_here;
use crate::nn::{Layer, Parameters};
use crate::tensor::Tensor;

/// Returns its input unchanged: a placeholder for another layer, such as the head of a backbone or an
/// optional normalisation. Any shape.
///
/// ```
/// use taper::prelude::*;
///
/// let net = seq![Identity, Linear::new(3, 2)];
/// assert_eq!(net.forward(&zeros((1, 3))).dims(), [1, 2]);
/// ```
#[derive(Clone, Copy, Default, Parameters)]
pub struct Identity;

impl Layer for Identity {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        input.clone()
    }
}
