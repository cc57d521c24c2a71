//! A function as a layer.

use crate::nn::layer::boxed_here;
use crate::nn::{Layer, Parameters};
use crate::tensor::Tensor;
use std::sync::Arc;

/// A function from one tensor to one as a layer, such as a change of the shape between two layers of a
/// [`seq!`](crate::seq). It has no parameters.
///
/// ```
/// use taper::prelude::*;
///
/// let net = seq![Linear::new(2, 12), Lambda::new(|x| x.reshape(((), 3, 2, 2))), Conv2d::new(3, 1, 2)];
/// assert_eq!(net.forward(&zeros((5, 2))).dims(), [5, 1, 1, 1]);
/// ```
#[derive(Parameters)]
pub struct Lambda {
    #[parameters(skip)]
    function: Function,
}

type Function = Arc<dyn Fn(&Tensor) -> Tensor + Send + Sync>;

impl Lambda {
    /// Creates a layer that calls a function.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Lambda::new(|x| x * 2.0).forward(&tensor(&[3.0]));
    /// assert_eq!(y.item(), 6.0);
    /// ```
    pub fn new(function: impl Fn(&Tensor) -> Tensor + Send + Sync + 'static) -> Self {
        let function = Arc::new(function);
        Self { function }
    }
}

impl Layer for Lambda {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        (self.function)(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::ParametersExt;
    use crate::tensor::ones;
    use candle_core::Device;

    #[test]
    fn it_prints_and_is_copied() {
        let net = crate::seq![Lambda::new(|x| -x)];
        assert_eq!(net[0].describe(), "Lambda()");
        let copy = net.replicate(&Device::Cpu);
        assert_eq!(copy.forward(&ones(1)).item(), -1.0);
    }
}
