//! Layers without settings: activation functions, softmax, and the layer that flattens.

use crate::error::{OrRaise, raise};
use crate::nn::fusible::Fusible;
use crate::nn::summary::record_output;
use crate::nn::{Layer, Parameters, check};
use crate::ops;
use crate::tensor::Tensor;

/// Defines layers without parameters, each with the function that it applies.
macro_rules! activations {
    ($($(#[$doc:meta])* $name:ident: $function:expr;)*) => {$(
        #[derive(Clone, Copy, Default, Parameters)]
        $(#[$doc])*
        pub struct $name;

        impl Layer for $name {
            $crate::nn::layer::boxed_here!();

            fn forward(&self, input: &Tensor) -> Tensor {
                let function: fn(&Tensor) -> Tensor = $function;
                record_output(self, function(input))
            }

            fn fusible(&self) -> Fusible {
                Fusible::of_activation(stringify!($name))
            }
        }
    )*};
}

activations! {
    /// The rectified linear unit: `max(x, 0)`. Any shape; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = ReLU.forward(&tensor(&[-2.0, 3.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 3.0]);
    /// ```
    ReLU: ops::relu;

    /// The sigmoid function, with values between 0 and 1: `1 / (1 + exp(-x))`. Any shape; the output has
    /// the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Sigmoid.forward(&tensor(&[0.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [0.5]);
    /// ```
    Sigmoid: ops::sigmoid;

    /// The hyperbolic tangent, with values between -1 and 1. Any shape; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Tanh.forward(&tensor(&[0.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [0.0]);
    /// ```
    Tanh: ops::tanh;

    /// The Gaussian error linear unit: `x` times the probability that a standard normal variable is less
    /// than `x`. From Hendrycks and Gimpel, 2016. Any shape; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = GELU.forward(&tensor(&[0.0, 10.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 10.0]);
    /// ```
    GELU: ops::gelu;

    /// [`GELU`] with a hyperbolic tangent in place of the normal distribution, as in GPT-2: PyTorch's
    /// `GELU(approximate="tanh")`. Any shape; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = GELUTanh.forward(&tensor(&[0.0, 10.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 10.0]);
    /// ```
    GELUTanh: ops::gelu_tanh;

    /// The sigmoid linear unit: `x · sigmoid(x)`, also called Swish. Any shape; the output has the same
    /// shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = SiLU.forward(&tensor(&[0.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [0.0]);
    /// ```
    SiLU: ops::silu;

    /// `x` times a line that rises from 0 at -3 to 1 at 3: [`SiLU`] without an exponential. From Howard et al., 2019. Any
    /// shape; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Hardswish.forward(&tensor(&[-4.0, 0.0, 4.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 0.0, 4.0]);
    /// ```
    Hardswish: ops::hardswish;

    /// `x · tanh(softplus(x))`. From Misra, 2019. Any shape; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Mish.forward(&tensor(&[0.0, 30.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 30.0]);
    /// ```
    Mish: ops::mish;

    /// A gated linear unit with SiLU: the first half of the features, through SiLU, times the second half, as in the
    /// feed-forward part of Llama. From Shazeer, 2020.
    ///
    /// # Shapes
    /// `(…, 2 n)` to `(…, n)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let block = seq![Linear::new(4, 2 * 16).bias(false), SwiGLU, Linear::new(16, 4).bias(false)];
    /// assert_eq!(block.forward(&ones((3, 4))).dims(), [3, 4]);
    /// ```
    SwiGLU: |input| {
        let y = ops::swiglu_as(&check::name(&SwiGLU), input.raw());
        y.or_raise().into()
    };

    /// Turns logits into probabilities, which sum to 1 along the last dimension. From d2l's chapter
    /// *Softmax Regression*. Any shape with at least one dimension; the output has the same shape.
    ///
    /// A model that is trained with [`cross_entropy`](crate::nn::cross_entropy) must end without it, because
    /// that loss takes logits.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Softmax.forward(&tensor(&[[3.0, 3.0]]));
    /// assert_eq!(y.to_vec2::<f32>(), [[0.5, 0.5]]);
    /// ```
    Softmax: |input| {
        let y = ops::softmax_as(&check::name(&Softmax), input.raw(), (-1).into());
        y.or_raise().into()
    };

    /// Merges all dimensions but the first, the batch, into one.
    ///
    /// # Shapes
    /// `(batch, a, b, …)` to `(batch, a · b · …)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Flatten.forward(&zeros((8, 1, 28, 28))); // (8, 784)
    /// assert_eq!(y.dims(), [8, 784]);
    /// ```
    #[describe(start_dim = 1, end_dim = -1)]
    Flatten: |input| match input.rank() {
        0 => raise(check::refused(&Flatten, input, "It needs a batch: (batch, …)")),
        1 => input.unsqueeze(1),
        _ => input.flatten_from(1),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{tensor, zeros};

    #[test]
    fn no_activation_hides_a_nan() {
        let x = tensor(&[f64::NAN]);
        let layers: [&dyn Layer; 9] = [
            &ReLU, &Sigmoid, &Tanh, &GELU, &GELUTanh, &SiLU, &Hardswish, &Mish, &Softmax,
        ];
        for layer in layers {
            let y = layer.forward(&x).to_vec1::<f32>();
            assert!(y[0].is_nan(), "{layer:?}");
        }
    }

    #[test]
    fn they_print_as_in_pytorch() {
        assert_eq!(
            format!("{ReLU:?} {Sigmoid:?} {Tanh:?}"),
            "ReLU() Sigmoid() Tanh()"
        );
    }

    #[test]
    fn the_batch_stays() {
        for (input, output) in [
            (vec![2, 3], vec![2, 3]),
            (vec![2, 3, 4], vec![2, 12]),
            (vec![5], vec![5, 1]),
        ] {
            let y = Flatten.forward(&zeros(input));
            assert_eq!(y.dims(), output);
        }
    }
}
