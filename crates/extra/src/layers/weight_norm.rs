//! Layers with a normalised weight.

use crate::error::raise;
use crate::nn::{Buffer, IntoLayer, Layer, Mode, Parameter, Parameters, ParametersExt};
use crate::tensor::{Tensor, no_grad, randn, with_device, with_substitute};

/// A layer whose weight is `g · v / |v|`, with a length `g` and a direction `v` for each output, both of which are learned.
/// From Salimans and Kingma, 2016.
///
/// The layer must have a parameter named `weight`, as [`Linear`](crate::nn::Linear) and
/// [`Conv2d`](crate::nn::Conv2d) have. Parameters have the names of PyTorch's `utils.weight_norm`: `weight_g` and
/// `weight_v`. At first the weight does not change.
///
/// # Shapes
/// The same as for the layer.
///
/// ```
/// use taper::prelude::*;
///
/// let (layer, x) = (Linear::new(3, 2), ones((1, 3)));
/// let before = layer.forward(&x).to_vec::<f32>();
/// let layer = WeightNorm::new(layer);
/// let y = layer.forward(&x).to_vec::<f32>();
/// assert!((y[0] - before[0]).abs() < 1e-5);
/// assert_eq!(layer.parameter("weight_g").shape().dims(), [2, 1]);
/// ```
#[derive(Parameters)]
pub struct WeightNorm {
    weight_v: Parameter,
    weight_g: Parameter,
    #[parameters(flatten)]
    layer: Box<dyn Layer>,
}

impl WeightNorm {
    /// Normalises the weight of a layer.
    ///
    /// # Panics
    /// If the layer has no parameter `weight`, or it is lazy and has no values yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![WeightNorm::new(Conv2d::new(1, 4, 3)), ReLU];
    /// assert_eq!(net.forward(&zeros((1, 1, 5, 5))).dims(), [1, 4, 3, 3]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn new(layer: impl IntoLayer) -> Self {
        Self::of(layer.into_layer())
    }

    #[track_caller]
    fn of(layer: Box<dyn Layer>) -> Self {
        let weight_v = weight_of("WeightNorm", &*layer);
        let weight_g = Parameter::new(&lengths(&weight_v.tensor().detach()));
        Self {
            weight_v,
            weight_g,
            layer,
        }
    }
}

/// Returns the length of each row of a weight, with all its dimensions.
fn lengths(weight: &Tensor) -> Tensor {
    let mut shape = vec![1; weight.rank()];
    shape[0] = weight.dim(0);
    weight.flatten_from(1).norm(1).reshape(shape)
}

impl Layer for WeightNorm {
    fn into_box(self) -> Box<dyn Layer> {
        Box::new(self)
    }

    fn forward(&self, input: &Tensor) -> Tensor {
        let v = self.weight_v.tensor();
        let weight = &v * (self.weight_g.tensor() / lengths(&v));
        let address = self.weight_v.address();
        with_substitute(address, &weight, || self.layer.forward(input))
    }
}

/// A layer whose weight is divided by its largest singular value, so that the layer does not stretch its input. From Miyato
/// et al., 2018, for the discriminator of a GAN.
///
/// The singular value is estimated by a step of power iteration in each forward pass in training mode, from the vectors
/// of the last pass. The layer must have a parameter named `weight`. Names are as in PyTorch's `utils.spectral_norm`:
/// `weight_orig`, and the buffers `weight_u` and `weight_v`.
///
/// # Shapes
/// The same as for the layer.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = SpectralNorm::new(Linear::new(2, 2).bias(false));
/// layer.parameter("weight_orig").set(&(eye(2) * 5.0));
/// let y = layer.forward(&tensor(&[[1.0, 2.0]])).to_vec::<f32>(); // (1, 2)
/// assert!((y[1] - 2.0).abs() < 1e-5);
/// ```
#[derive(Parameters)]
pub struct SpectralNorm {
    weight_orig: Parameter,
    weight_u: Buffer,
    weight_v: Buffer,
    #[parameters(flatten)]
    layer: Box<dyn Layer>,
    mode: Mode,
}

impl SpectralNorm {
    /// Normalises the weight of a layer.
    ///
    /// # Panics
    /// If the layer has no parameter `weight`, or it is lazy and has no values yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![SpectralNorm::new(Conv2d::new(1, 4, 3)), ReLU];
    /// assert_eq!(net.forward(&zeros((1, 1, 5, 5))).dims(), [1, 4, 3, 3]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn new(layer: impl IntoLayer) -> Self {
        Self::of(layer.into_layer())
    }

    #[track_caller]
    fn of(layer: Box<dyn Layer>) -> Self {
        let weight_orig = weight_of("SpectralNorm", &*layer);
        let weight = weight_orig.tensor().flatten_from(1);
        let vector = |size: usize| {
            let drawn = with_device(weight.device(), || randn(size)).to_dtype(weight.dtype());
            Buffer::new(&unit(&drawn))
        };
        Self {
            weight_u: vector(weight.dim(0)),
            weight_v: vector(weight.dim(1)),
            weight_orig,
            layer,
            mode: Mode::new(),
        }
    }

    /// Improves the estimates of the singular vectors by a step.
    fn iterate(&self, matrix: &Tensor) {
        no_grad(|| {
            let matrix = matrix.detach();
            let v = unit(
                &self
                    .weight_u
                    .tensor()
                    .unsqueeze(0)
                    .matmul(&matrix)
                    .squeeze(0),
            );
            self.weight_u.set(&unit(&product(&matrix, &v)));
            self.weight_v.set(&v);
        });
    }
}

fn unit(vector: &Tensor) -> Tensor {
    vector / vector.norm(0).maximum(1e-12)
}

fn product(matrix: &Tensor, vector: &Tensor) -> Tensor {
    matrix.matmul(&vector.unsqueeze(1)).squeeze(1)
}

impl Layer for SpectralNorm {
    fn into_box(self) -> Box<dyn Layer> {
        Box::new(self)
    }

    fn forward(&self, input: &Tensor) -> Tensor {
        let weight = self.weight_orig.tensor();
        let matrix = weight.flatten_from(1);
        if self.mode.is_training() {
            self.iterate(&matrix);
        }
        let stretch =
            (self.weight_u.tensor() * product(&matrix, &self.weight_v.tensor())).sum_all();
        let weight = weight / stretch;
        let address = self.weight_orig.address();
        with_substitute(address, &weight, || self.layer.forward(input))
    }
}

/// Returns the weight of a layer.
#[track_caller]
fn weight_of(wrapper: &str, layer: &dyn Layer) -> Parameter {
    let named = layer.named_parameters();
    let weight = named.iter().find(|(name, _)| name == "weight");
    match weight {
        Some((_, weight)) if weight.is_initialized() && weight.tensor().rank() >= 2 => {
            weight.clone()
        }
        _ => raise!(argument(wrapper, layer.describe().lines().next().unwrap_or_default());
            "a layer with a parameter `weight` of two dimensions or more",
            "Wrap a Linear or a convolution, not a lazy one"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Conv2d, LazyLinear, Linear};
    use crate::tensor::{ones, tensor};
    use candle_core::Device;
    use taper_tensor::testing::message_of;

    #[test]
    fn length_and_direction_have_gradients() {
        let weight = tensor(&[[3.0, 4.0]]);
        let layer = WeightNorm::new(Linear::from_tensors(&weight, None));
        layer.parameter("weight_g").set(&tensor(&[[10.0]]));
        let x = tensor(&[[1.0, 0.0]]);
        let y = layer.forward(&x);
        assert!((y.item() - 6.0).abs() < 1e-5); // 10 · 3 / 5
        let gradients = y.sum_all().backward();
        let of = |name: &str| {
            gradients
                .of(&layer.parameter(name).tensor())
                .to_vec::<f32>()
        };
        assert!((of("weight_g")[0] - 0.6).abs() < 1e-6);
        // 10 · ∂(v₀ / |v|): 10 · (1 - 0.36) / 5 and 10 · (-0.48) / 5.
        let of_v = of("weight_v");
        assert!((of_v[0] - 1.28).abs() < 1e-5 && (of_v[1] + 0.96).abs() < 1e-5);
        let names: Vec<String> = layer.named_parameters().into_iter().map(|p| p.0).collect();
        assert_eq!(names, ["weight_v", "weight_g"]);
        let copy = layer.replicate(&Device::Cpu);
        assert_eq!(copy.forward(&x).item(), y.item());
    }

    #[test]
    fn the_largest_singular_value_becomes_1() {
        let mut layer = SpectralNorm::new(Conv2d::new(2, 3, 3).bias(false));
        for _ in 0..200 {
            layer.forward(&ones((1, 2, 3, 3)));
        }
        layer.eval();
        let before = layer.weight_u.tensor().to_vec::<f32>();
        layer.forward(&ones((1, 2, 3, 3)));
        assert_eq!(layer.weight_u.tensor().to_vec::<f32>(), before);
        let matrix = layer.weight_orig.tensor().flatten_from(1);
        let stretch = product(&matrix, &layer.weight_v.tensor()).norm(0).item();
        let weight = matrix / stretch;
        // No direction is stretched by more than 1.
        for _ in 0..50 {
            let x = unit(&randn(18));
            assert!(product(&weight, &x).norm(0).item() < 1.0 + 1e-4);
        }
    }

    #[test]
    fn a_layer_without_weight_is_refused() {
        assert_eq!(
            message_of(|| WeightNorm::new(crate::nn::ReLU)),
            "WeightNorm: expected a layer with a parameter `weight` of two dimensions or more, found ReLU()\n\
             Wrap a Linear or a convolution, not a lazy one"
        );
        assert!(message_of(|| SpectralNorm::new(LazyLinear::new(2))).contains("LazyLinear"));
    }
}
