//! The fully connected layer.

use crate::error::raise;
use crate::nn::layer::boxed_here;
use crate::nn::layers::affine::Affine;
use crate::nn::summary::output_of;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::tensor::{Tensor, default_device};
use candle_core::Device;

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
/// let weight = tensor(&[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]); // (2, 3)
/// let layer = Linear::from_tensors(&weight, Some(&tensor(&[0.5, 0.0])));
/// let y = layer.forward(&tensor(&[[1.0, 2.0, 3.0]])); // (1, 2)
/// assert_eq!(y.to_vec2::<f32>(), [[1.5, 5.0]]);
/// ```
#[derive(Parameters)]
#[parameters(name = if self.affine.is_initialized() { "Linear" } else { "LazyLinear" })]
#[describe(
    in_features = self.affine.weight.size(1),
    out_features = self.outputs(),
    bias = self.affine.bias.is_some()
)]
pub struct Linear {
    #[parameters(flatten)]
    affine: Affine,
}

impl Linear {
    /// Creates a layer with random weights and bias, on the default device.
    ///
    /// # Panics
    /// If one of the sizes is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// manual_seed(7);
    /// let first = Linear::new(3, 2);
    /// manual_seed(7);
    /// let second = Linear::new(3, 2);
    /// let x = ones((1, 3));
    /// assert_eq!(first.forward(&x).to_vec2::<f32>(), second.forward(&x).to_vec2::<f32>());
    /// ```
    #[track_caller]
    pub fn new(in_features: usize, out_features: usize) -> Self {
        let layer = LazyLinear::new(out_features);
        layer.init(in_features, &default_device());
        layer
    }

    setters! {
        /// Sets whether the layer has a bias, as by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Linear::new(3, 2).bias(false).num_parameters(), 6);
        /// ```
        #[inline]
        #[track_caller]
        pub fn bias(self, bias: bool): self.set_bias(bias);
    }

    #[track_caller]
    pub(super) fn set_bias(&mut self, bias: bool) {
        self.affine.set_bias(bias, self.outputs());
    }

    /// Creates a layer with copies of this weight, `(out_features, in_features)`, and this bias,
    /// `(out_features,)`, on their device.
    ///
    /// # Panics
    /// If the shapes are others.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let halves = Linear::from_tensors(&full((1, 2), 0.5), None);
    /// assert_eq!(halves.forward(&tensor(&[3.0, 5.0])).item(), 4.0);
    /// ```
    #[track_caller]
    pub fn from_tensors(weight: &Tensor, bias: Option<&Tensor>) -> Self {
        check_shapes("Linear::from_tensors", weight, bias);
        Self::of(Parameter::new(weight), bias.map(Parameter::new))
    }

    /// Creates a layer with these parameters themselves, not with copies: what is shared with another layer is trained
    /// together, counted once and saved once.
    ///
    /// # Panics
    /// If the shapes are not `(out_features, in_features)` and `(out_features,)`, or a parameter is lazy and has no
    /// values yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let tokens = Embedding::new(100, 16);
    /// let head = Linear::from_parameters(tokens.parameter("weight"), None); // tied
    /// let net = seq![tokens, head];
    /// assert_eq!(net.forward(&tensor(&[[5]])).dims(), [1, 1, 100]);
    /// assert_eq!(net.num_parameters(), 1600);
    /// ```
    #[track_caller]
    pub fn from_parameters(weight: Parameter, bias: Option<Parameter>) -> Self {
        let values = bias.as_ref().map(Parameter::tensor);
        check_shapes("Linear::from_parameters", &weight.tensor(), values.as_ref());
        Self::of(weight, bias)
    }

    fn of(weight: Parameter, bias: Option<Parameter>) -> Self {
        let affine = Affine { weight, bias };
        Self { affine }
    }

    /// Sets the bias to zeros.
    pub(super) fn clear_bias(&self) {
        if let Some(bias) = &self.affine.bias {
            bias.set(&bias.tensor().zeros_like());
        }
    }

    /// Initialises the parameters of a lazy layer.
    #[track_caller]
    fn init(&self, inputs: usize, device: &Device) {
        let outputs = self.outputs();
        let sizes = [("in_features", inputs), ("out_features", outputs)];
        check::positive("Linear", &sizes);
        self.affine.init(&[outputs, inputs], outputs, device);
    }

    fn outputs(&self) -> usize {
        self.affine.weight.size(0).unwrap_or_default()
    }

    /// Creates a layer without bias that shares its weight with another one.
    #[doc(hidden)]
    pub fn tied(weight: Parameter) -> Self {
        Self::of(weight, None)
    }
}

/// Checks that a weight is a matrix, and that a bias has an element for each of its rows.
#[track_caller]
fn check_shapes(caller: &str, weight: &Tensor, bias: Option<&Tensor>) {
    let &[out_features, _] = weight.dims() else {
        raise!(shape(caller, weight.dims());
            "a weight (out_features, in_features)",
            "Add a dimension of size 1: weight.unsqueeze(0)")
    };
    if let Some(bias) = bias
        && bias.dims() != [out_features]
    {
        raise!(shape(caller, bias.dims());
            "a bias ({out_features},)",
            "Pass a bias with an element for each row of the weight, or None")
    }
}

impl Layer for Linear {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        let (Affine { weight, bias }, features) = (&self.affine, input.dims().last());
        match (weight.size(1), features) {
            (None, None) => {
                let wanted = "It needs at least one dimension: (…, features)";
                raise(check::refused(self, input, wanted))
            }
            (None, Some(features)) => self.init(*features, input.device()),
            (Some(inputs), _) if features == Some(&inputs) => {}
            // The operation would refuse it, too, but does not know of the lazy layer.
            (Some(inputs), _) => {
                let outputs = self.outputs();
                let wanted = format!(
                    "Its last dimension must be {inputs}; \
                     or build the layer for it: LazyLinear::new({outputs})"
                );
                raise(check::refused(self, input, wanted))
            }
        }
        let bias = bias.as_ref().map(Parameter::tensor);
        let bias = bias.as_ref().map(Tensor::raw);
        let y = weight.linear(&check::name(self), input.raw(), bias);
        output_of(self, y) // (…, out)
    }
}

/// Creates a [`Linear`] layer that takes its number of input features from the first input.
///
/// Its parameters are created then, on the device that `to_device` has set, or else on the input's.
///
/// # Shapes
/// `(…, in_features)` to `(…, out_features)`.
///
/// ```
/// use taper::prelude::*;
///
/// let layer: Linear = LazyLinear::new(2);
/// assert_eq!(layer.describe(), "LazyLinear(out_features=2, bias=true)");
/// let y = layer.forward(&ones((4, 3))); // (4, 2)
/// assert_eq!(layer.describe(), "Linear(in_features=3, out_features=2, bias=true)");
/// ```
pub enum LazyLinear {}

impl LazyLinear {
    /// Creates a layer with this many output features.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![LazyLinear::new(256), ReLU, LazyLinear::new(10)];
    /// assert_eq!(net.num_parameters(), 0); // until the first input
    /// ```
    #[allow(clippy::new_ret_no_self)]
    pub fn new(out_features: usize) -> Linear {
        let affine = Affine::lazy(&[Some(out_features), None], out_features);
        Linear { affine }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::ParametersExt;
    use crate::nn::tests::message_of;
    use crate::tensor::{ones, tensor, zeros};
    use candle_core::DType;

    const CPU: Device = Device::Cpu;

    fn elements(t: &Tensor) -> Vec<f32> {
        t.flatten_all().to_vec1()
    }

    fn with_known_weights() -> Linear {
        let weight = tensor(&[[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]);
        Linear::from_tensors(&weight, Some(&tensor(&[0.7, -0.8])))
    }

    /// Worked out by hand: y = x wᵀ + b, and for the loss Σ y², ∂w = 2 yᵀ x, ∂b = Σ 2 y, ∂x = 2 y w.
    #[test]
    fn values_and_gradients_are_right() {
        let layer = with_known_weights();
        let x = tensor(&[[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]]);
        let x = Parameter::new(&x).tensor();
        let y = layer.forward(&x);
        assert_close(&y, &[1.3, -1.2, 1.1, -2.15]);

        let gradients = y.sqr().sum_all().backward();
        let gradient = |t: &Tensor| gradients.get(t).unwrap().clone();
        let weight = gradient(&layer.affine.weight.tensor());
        assert_close(&weight, &[0.4, 6.3, 12.2, 1.9, -6.95, -15.8]);
        let bias = gradient(&layer.affine.bias.as_ref().unwrap().tensor());
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
    fn a_shared_parameter_is_trained_by_both_layers() {
        let first = Linear::new(3, 3).bias(false);
        let second = Linear::from_parameters(first.affine.weight.clone(), None);
        let net = crate::seq![first, second];
        assert_eq!(net.parameters().len(), 1);
        let weight = net.parameter("0.weight");
        weight.set(&(crate::tensor::eye(3) * 2.0));
        assert_eq!(net.forward(&ones((1, 3))).to_vec2::<f32>(), [[4.0; 3]]);
        let gradient = net.forward(&ones((1, 3))).sum_all().backward();
        // ∂/∂w₀₀ of Σ (w w x) is 2 from each layer.
        assert_eq!(gradient.of(&weight.tensor()).to_vec2::<f32>()[0][0], 4.0);
        let copy = net.replicate(&CPU);
        assert_eq!(copy.num_parameters(), 9);
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
            let y = layer.forward(&zeros(input));
            assert_eq!(y.dims(), output);
        }
        let view = zeros((3, 4)).t();
        assert_eq!(layer.forward(&view).dims(), [4, 2]);
    }

    #[test]
    fn initial_weights_fill_their_range() {
        let layer = Linear::new(100, 200);
        let weight = elements(&layer.affine.weight.tensor());
        assert!(weight.iter().all(|w| w.abs() <= 0.1));
        assert!(weight.iter().any(|w| *w > 0.099) && weight.iter().any(|w| *w < -0.099));
    }

    #[test]
    fn a_bias_can_be_removed_and_added_again() {
        let layer = Linear::new(3, 2).bias(true).bias(false);
        assert_eq!(
            layer.describe(),
            "Linear(in_features=3, out_features=2, bias=false)"
        );
        let layer = layer.bias(true);
        let bias = elements(&layer.parameter("bias").tensor());
        assert!(bias.len() == 2 && bias.iter().all(|b| b.abs() <= 1.0 / 3f32.sqrt()));

        let lazy = LazyLinear::new(2).bias(false).bias(true);
        assert_eq!(lazy.parameter("bias").size(0), Some(2));
        assert!(!lazy.parameter("bias").is_initialized());
    }

    #[test]
    fn a_wrong_input_is_explained() {
        let layer = with_known_weights();
        let message = |x: Tensor| message_of(|| layer.forward(&x));
        assert_eq!(
            message(zeros((2, 4))),
            "Linear(in_features=3, out_features=2, bias=true) cannot take an input of shape [2, 4]\n\
             Its last dimension must be 3; or build the layer for it: LazyLinear::new(2)"
        );
        assert!(message(zeros(())).contains("shape []"));
        let message = message(zeros((1, 3)).to_dtype(DType::I64));
        assert!(
            message.contains("computes in f32, but its input is i64\n"),
            "{message}"
        );
        assert!(message.ends_with("x.to_dtype(DType::F32)"), "{message}");
        let message = message_of(|| Linear::new(0, 1));
        assert!(message.starts_with("Linear: in_features is 0\n"));
        let message = message_of(|| Linear::new(1, 0));
        assert!(message.starts_with("Linear: out_features is 0\n"));
        let (row, matrix) = (zeros(3), zeros((2, 3)));
        for (weight, bias) in [(&row, None), (&matrix, Some(&row))] {
            let message = message_of(|| Linear::from_tensors(weight, bias));
            assert!(message.contains("found shape [3]\n"), "{message}");
        }
    }

    #[test]
    fn a_lazy_layer_is_initialised_by_its_first_input() {
        let mut layer = LazyLinear::new(2);
        layer.to_device(&CPU);
        let names: Vec<String> = layer.named_parameters().into_iter().map(|p| p.0).collect();
        assert_eq!(names, ["weight", "bias"]);

        let x = ones((4, 3));
        let first = layer.forward(&x).to_vec2::<f32>();
        let second = layer.forward(&x).to_vec2::<f32>();
        assert_eq!(first, second);
        assert_eq!(layer.num_parameters(), 8);

        assert!(attempt(|| LazyLinear::new(0).forward(&x)).is_err());
        let message = message_of(|| layer.forward(&zeros((4, 5))));
        assert!(message.contains("must be 3"), "{message}");
    }
}
