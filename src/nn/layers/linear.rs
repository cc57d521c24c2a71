//! The fully connected layer.

use crate::nn::layers::lazy::lazy_form;
use crate::nn::spec::Spec;
use crate::nn::summary::seen;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops;
use crate::tensor::uniform;
use candle_core::{Device, Result, Tensor};

/// A fully connected layer: `y = x · weightᵀ + bias`.
///
/// `weight` has the shape `(out_features, in_features)`, `bias` the shape `(out_features,)`. As in
/// PyTorch, both are initialised uniformly between `-1/√in_features` and `1/√in_features`.
///
/// # Shapes
/// `(…, in_features)` to `(…, out_features)`.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = Linear::new(3, 2)?;
/// layer.parameter("weight")?.set(&tensor(&[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], &cpu())?)?;
/// layer.parameter("bias")?.set(&tensor(&[0.5, 0.0], &cpu())?)?;
/// let y = layer.forward(&tensor(&[[1.0, 2.0, 3.0]], &cpu())?)?; // (1, 2)
/// assert_eq!(y.to_vec2::<f32>()?, [[1.5, 5.0]]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Parameters)]
#[describe(
    in_features = self.weight.size(1),
    out_features = self.weight.size(0),
    bias = self.bias.is_some()
)]
pub struct Linear {
    weight: Parameter,
    bias: Option<Parameter>,
}

impl Linear {
    /// Creates a layer with random weights and bias, on the CPU.
    ///
    /// # Errors
    /// If one of the sizes is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// manual_seed(7);
    /// let first = Linear::new(3, 2)?;
    /// manual_seed(7);
    /// let second = Linear::new(3, 2)?;
    /// let x = ones((1, 3), &cpu())?;
    /// assert_eq!(first.forward(&x)?.to_vec2::<f32>()?, second.forward(&x)?.to_vec2::<f32>()?);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(in_features: usize, out_features: usize) -> Result<Self> {
        let layer = Self::lazy(out_features);
        layer.init(in_features, out_features, &Device::Cpu)?;
        Ok(layer)
    }

    /// Creates a layer without a bias: `y = x · weightᵀ`.
    ///
    /// # Errors
    /// If one of the sizes is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Linear::without_bias(3, 2)?.num_parameters(), 6);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn without_bias(in_features: usize, out_features: usize) -> Result<Self> {
        let layer = Self {
            bias: None,
            ..Self::lazy(out_features)
        };
        layer.init(in_features, out_features, &Device::Cpu)?;
        Ok(layer)
    }

    /// Creates a layer whose parameters wait for [`init`](Self::init).
    pub(super) fn lazy(out_features: usize) -> Self {
        Self {
            weight: Parameter::lazy_as(Spec::f32(&[Some(out_features), None])),
            bias: Some(Parameter::lazy_as(Spec::f32(&[Some(out_features)]))),
        }
    }

    /// Initialises the parameters of a lazy layer.
    pub(super) fn init(&self, inputs: usize, outputs: usize, device: &Device) -> Result<()> {
        let sizes = [("in_features", inputs), ("out_features", outputs)];
        check::positive("Linear", &sizes)?;
        let bound = 1.0 / (inputs as f64).sqrt();
        let weight = |device: &Device| uniform(-bound, bound, (outputs, inputs), device);
        self.weight.init(device, weight)?;
        let bias = |device: &Device| uniform(-bound, bound, outputs, device);
        self.bias.iter().try_for_each(|b| b.init(device, bias))
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.weight.is_initialized()
    }

    /// Checks the number of features before the operation does, so that the error suggests the lazy layer.
    fn check(&self, input: &Tensor, weight: &Tensor) -> Result<()> {
        let (outputs, inputs) = weight.dims2()?;
        if input.dims().last() != Some(&inputs) {
            let wanted = format!(
                "Its last dimension must be {inputs}; \
                 or build the layer for it: LazyLinear::new({outputs})"
            );
            return Err(check::refused(self, input, wanted));
        }
        Ok(())
    }
}

impl Layer for Linear {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let weight = self.weight.tensor()?; // (out, in)
        self.check(input, &weight)?;
        let bias = self.bias.as_ref().map(Parameter::tensor).transpose()?;
        let output = ops::linear_as(&check::name(self), input, &weight, bias.as_ref())?;
        seen(self, output) // (…, out)
    }
}

/// A [`Linear`] layer that takes its number of input features from the first input.
///
/// Its parameters are created then, on the device that `to_device` has set, or else on the input's.
///
/// # Shapes
/// `(…, in_features)` to `(…, out_features)`.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = LazyLinear::new(2);
/// assert_eq!(layer.describe(), "LazyLinear(out_features=2, bias=true)");
/// let y = layer.forward(&ones((4, 3), &cpu())?)?; // (4, 2)
/// assert_eq!(layer.describe(), "Linear(in_features=3, out_features=2, bias=true)");
/// # Ok::<(), Error>(())
/// ```
pub struct LazyLinear {
    linear: Linear,
    out_features: usize,
}

impl LazyLinear {
    /// Creates a layer with this many output features.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![LazyLinear::new(256), ReLU, LazyLinear::new(10)];
    /// assert_eq!(net.num_parameters(), 0); // until the first input
    /// ```
    pub fn new(out_features: usize) -> Self {
        Self {
            linear: Linear::lazy(out_features),
            out_features,
        }
    }

    /// Removes the bias.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyLinear::new(2).without_bias();
    /// layer.forward(&ones((1, 3), &cpu())?)?;
    /// assert_eq!(layer.num_parameters(), 6);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn without_bias(mut self) -> Self {
        self.linear.bias = None;
        self
    }
}

impl Layer for LazyLinear {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        if !self.linear.is_initialized() {
            let Some(&in_features) = input.dims().last() else {
                let wanted = "It needs at least one dimension: (…, features)";
                return Err(check::refused(self, input, wanted));
            };
            self.linear
                .init(in_features, self.out_features, input.device())?;
        }
        self.linear.forward(input)
    }
}

lazy_form!(LazyLinear {
    linear,
    out_features
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::ParametersExt;
    use crate::tensor::{ones, tensor, zeros};
    use candle_core::DType;

    const CPU: Device = Device::Cpu;

    fn elements(t: &Tensor) -> Vec<f32> {
        t.flatten_all().unwrap().to_vec1().unwrap()
    }

    fn with_known_weights() -> Linear {
        let layer = Linear::new(3, 2).unwrap();
        let weight = tensor(&[[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]], &CPU).unwrap();
        layer.weight.set(&weight).unwrap();
        let bias = tensor(&[0.7, -0.8], &CPU).unwrap();
        layer.bias.as_ref().unwrap().set(&bias).unwrap();
        layer
    }

    /// Worked out by hand: y = x wᵀ + b, and for the loss Σ y², ∂w = 2 yᵀ x, ∂b = Σ 2 y, ∂x = 2 y w.
    #[test]
    fn values_and_gradients_are_right() {
        let layer = with_known_weights();
        let x = tensor(&[[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]], &CPU).unwrap();
        let x = candle_core::Var::from_tensor(&x).unwrap();
        let y = layer.forward(&x).unwrap();
        assert_close(&y, &[1.3, -1.2, 1.1, -2.15]);

        let gradients = y.sqr().unwrap().sum_all().unwrap().backward().unwrap();
        let gradient = |t: &Tensor| gradients.get(t).unwrap().clone();
        let weight = gradient(&layer.weight.tensor().unwrap());
        assert_close(&weight, &[0.4, 6.3, 12.2, 1.9, -6.95, -15.8]);
        let bias = gradient(&layer.bias.as_ref().unwrap().tensor().unwrap());
        assert_close(&bias, &[4.8, -6.7]);
        assert_close(&gradient(&x), &[-0.7, -1.72, 2.22, -1.5, -2.59, 3.24]);
    }

    fn assert_close(got: &Tensor, want: &[f32]) {
        let got = elements(got);
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() < 1e-5, "{got} is not {want}");
        }
    }

    #[test]
    fn leading_dimensions_stay() {
        let layer = with_known_weights();
        for (input, output) in [
            (vec![3], vec![2]),
            (vec![4, 3], vec![4, 2]),
            (vec![2, 5, 3], vec![2, 5, 2]),
            (vec![0, 3], vec![0, 2]),
        ] {
            let y = layer.forward(&zeros(input, &CPU).unwrap()).unwrap();
            assert_eq!(y.dims(), output);
        }
        let view = zeros((3, 4), &CPU).unwrap().t().unwrap();
        assert_eq!(layer.forward(&view).unwrap().dims(), [4, 2]);
    }

    #[test]
    fn initial_weights_fill_their_range() {
        let layer = Linear::new(100, 200).unwrap();
        let weight = elements(&layer.weight.tensor().unwrap());
        assert!(weight.iter().all(|w| w.abs() <= 0.1));
        assert!(weight.iter().any(|w| *w > 0.099) && weight.iter().any(|w| *w < -0.099));
    }

    #[test]
    fn a_wrong_input_is_explained() {
        let layer = with_known_weights();
        let message = |x: Tensor| layer.forward(&x).unwrap_err().to_string();
        assert_eq!(
            message(zeros((2, 4), &CPU).unwrap()),
            "Linear(in_features=3, out_features=2, bias=true) cannot take an input of shape [2, 4]\n\
             Its last dimension must be 3; or build the layer for it: LazyLinear::new(2)"
        );
        assert!(message(zeros((), &CPU).unwrap()).contains("shape []"));
        let integers = Tensor::zeros((1, 3), DType::I64, &CPU).unwrap();
        let message = message(integers);
        assert!(
            message.contains("computes in f32, but its input is i64\n"),
            "{message}"
        );
        assert!(message.ends_with("x.to_dtype(DType::F32)?"), "{message}");
        for (wrong, name) in [
            (Linear::new(0, 1), "in_features"),
            (Linear::without_bias(1, 0), "out_features"),
        ] {
            let message = wrong.err().unwrap().to_string();
            assert!(
                message.starts_with(&format!("Linear: {name} is 0\n")),
                "{message}"
            );
        }
    }

    #[test]
    fn a_lazy_layer_is_initialised_by_its_first_input() {
        let mut layer = LazyLinear::new(2);
        layer.to_device(&CPU).unwrap();
        let names: Vec<String> = layer.named_parameters().into_iter().map(|p| p.0).collect();
        assert_eq!(names, ["weight", "bias"]);

        let x = ones((4, 3), &CPU).unwrap();
        let first = layer.forward(&x).unwrap().to_vec2::<f32>().unwrap();
        let second = layer.forward(&x).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(first, second);
        assert_eq!(layer.num_parameters(), 8);

        assert!(LazyLinear::new(0).forward(&x).is_err());
        let message = layer.forward(&zeros((4, 5), &CPU).unwrap());
        assert!(message.unwrap_err().to_string().contains("must be 3"));
    }
}
