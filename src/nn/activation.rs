//! The functions between layers, element by element.

use crate::nn::{Layer, Parameters};
use candle_core::{Result, Tensor};
use std::fmt;

macro_rules! activation {
    ($(#[$doc:meta])* $name:ident, $function:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, Parameters)]
        pub struct $name;

        impl Layer for $name {
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                $function(input)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.describe())
            }
        }
    };
}

activation!(
    /// Negative numbers become 0: `max(x, 0)`. Any shape, which stays.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = ReLU.forward(&tensor(&[-2.0, 3.0], &cpu())?)?;
    /// assert_eq!(y.to_vec1::<f32>()?, [0.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ReLU,
    Tensor::relu
);

activation!(
    /// Squeezes numbers between 0 and 1: `1 / (1 + exp(-x))`. Any shape, which stays.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Sigmoid.forward(&tensor(&[0.0], &cpu())?)?;
    /// assert_eq!(y.to_vec1::<f32>()?, [0.5]);
    /// # Ok::<(), Error>(())
    /// ```
    Sigmoid,
    candle_nn::ops::sigmoid
);

activation!(
    /// Squeezes numbers between -1 and 1: the hyperbolic tangent. Any shape, which stays.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Tanh.forward(&tensor(&[0.0], &cpu())?)?;
    /// assert_eq!(y.to_vec1::<f32>()?, [0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    Tanh,
    Tensor::tanh
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::tensor;
    use candle_core::{Device, Var};

    /// Value and derivative at ±1.5, worked out in double precision.
    #[test]
    fn values_and_gradients_are_right() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let check = |layer: &dyn Layer, value: &dyn Fn(f64) -> f64, slope: &dyn Fn(f64) -> f64| {
            let x = tensor(&[-1.5, 1.5], &Device::Cpu).unwrap();
            let x = Var::from_tensor(&x).unwrap();
            let y = layer.forward(&x).unwrap();
            let gradients = y.sum_all().unwrap().backward().unwrap();
            let gradient = gradients.get(&x).unwrap().to_vec1::<f32>().unwrap();
            let y = y.to_vec1::<f32>().unwrap();
            for (i, x) in [-1.5, 1.5].into_iter().enumerate() {
                assert!((y[i] as f64 - value(x)).abs() < 1e-6, "{layer:?} at {x}");
                assert!(
                    (gradient[i] as f64 - slope(x)).abs() < 1e-6,
                    "{layer:?} at {x}"
                );
            }
        };
        check(&ReLU, &|x| x.max(0.0), &|x| if x > 0.0 { 1.0 } else { 0.0 });
        check(&Sigmoid, &sigmoid, &|x| sigmoid(x) * (1.0 - sigmoid(x)));
        check(&Tanh, &f64::tanh, &|x| 1.0 - x.tanh().powi(2));
    }

    #[test]
    fn they_print_as_in_pytorch() {
        assert_eq!(
            format!("{ReLU:?} {Sigmoid:?} {Tanh:?}"),
            "ReLU() Sigmoid() Tanh()"
        );
    }
}
