//! A function as a layer.

use crate::layer;
use crate::tensor::Tensor;
use std::sync::Arc;

layer! {
    /// A function from one tensor to one as a layer, such as a change of the shape between two layers of a
    /// [`seq!`](crate::seq). It has no parameters.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![Linear::new(2, 12), Lambda::new(|x| x.reshape(((), 3, 2, 2))), Conv2d::new(3, 1, 2)];
    /// assert_eq!(net.forward(&zeros((5, 2))).dims(), [5, 1, 1, 1]);
    /// ```
    pub struct Lambda(function: impl Fn(&Tensor) -> Tensor + Send + Sync + 'static) {
        #[parameters(skip)]
        function: Function = Arc::new(function),
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        (self.function)(input)
    }
}

type Function = Arc<dyn Fn(&Tensor) -> Tensor + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Layer;
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
