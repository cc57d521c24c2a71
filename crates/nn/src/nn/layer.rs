//! The trait of all layers.

use crate::nn::Parameters;
use crate::nn::fusible::Fusible;
use crate::nn::parameters::print_as_described;
use crate::tensor::Tensor;

/// A model that maps an input to an output: one tensor to one tensor, unless its type says otherwise.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct Scale { factor: Parameter }
///
/// impl Layer for Scale {
///     fn forward(&self, x: &Tensor) -> Tensor {
///         x * self.factor.tensor()
///     }
/// }
///
/// let scale = Scale { factor: Parameter::new(&full(1, 3.0)) };
/// let net = seq![scale, ReLU];
/// let y = net.forward(&tensor(&[-1.0, 2.0]));
/// assert_eq!(y.to_vec1::<f32>(), [0.0, 6.0]);
/// ```
///
/// A model of several inputs, or of several outputs, names their types: `impl Layer<(Tensor, Tensor)>`
/// takes a pair, `impl Layer<Tensor, (Tensor, Tensor)>` returns one.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct Distance { embedding: Embedding }
///
/// impl Layer<(Tensor, Tensor)> for Distance {
///     fn forward(&self, (a, b): &(Tensor, Tensor)) -> Tensor {
///         let difference = self.embedding.forward(a) - self.embedding.forward(b);
///         difference.sqr().sum(-1) // (batch,)
///     }
/// }
///
/// let distance = Distance { embedding: Embedding::new(10, 4) };
/// let a = tensor(&[1, 7]);
/// assert_eq!(distance.forward(&(a.clone(), a)).to_vec1::<f32>(), [0.0, 0.0]);
/// ```
pub trait Layer<X = Tensor, Y = Tensor>: Parameters + CopyLayer<X, Y> + Send + Sync {
    /// Computes the layer's output. Each layer documents the shapes of its input and output.
    ///
    /// # Panics
    /// If the layer cannot take an input of this shape, of this type or on this device.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer: Box<dyn Layer> = Box::new(Tanh);
    /// let y = layer.forward(&zeros((2, 3))); // (2, 3)
    /// ```
    fn forward(&self, input: &X) -> Y;

    /// Returns the layer as a trait object. The layers of this crate override it with the same: so what a trait
    /// object needs is compiled here, and not in each cell that builds a network.
    #[doc(hidden)]
    fn into_box(self) -> Box<dyn Layer<X, Y>>
    where
        Self: Sized + 'static,
    {
        Box::new(self)
    }

    /// Returns what the layer is to a chain that computes several layers in one pass: nothing, for most.
    #[doc(hidden)]
    fn fusible(&self) -> Fusible {
        Fusible::default()
    }

    /// Computes the layer and the ReLU after it in one pass, if the layer is [fusible](Self::fusible) so.
    #[doc(hidden)]
    fn forward_relu(&self, _: &X) -> Option<Y> {
        None
    }
}

impl Layer for Box<dyn Layer> {
    fn forward(&self, input: &Tensor) -> Tensor {
        (**self).forward(input)
    }

    fn fusible(&self) -> Fusible {
        (**self).fusible()
    }

    fn forward_relu(&self, input: &Tensor) -> Option<Tensor> {
        (**self).forward_relu(input)
    }
}

/// An optional layer: `None` returns its input, as [`Identity`](crate::nn::Identity) does.
impl<L: Layer + 'static> Layer for Option<L> {
    fn forward(&self, input: &Tensor) -> Tensor {
        match self {
            Some(layer) => layer.forward(input),
            None => input.clone(),
        }
    }
}

/// [`Parameters::shallow_copy`] for a trait object. It is implemented for every layer.
#[doc(hidden)]
pub trait CopyLayer<X = Tensor, Y = Tensor> {
    fn copy_layer(&self) -> Box<dyn Layer<X, Y>>;
}

impl<X, Y, L: Layer<X, Y> + 'static> CopyLayer<X, Y> for L {
    fn copy_layer(&self) -> Box<dyn Layer<X, Y>> {
        Box::new(self.shallow_copy())
    }
}

print_as_described!(dyn Layer + '_);

/// Overrides [`Layer::into_box`] for one layer.
macro_rules! boxed_here {
    () => {
        fn into_box(self) -> Box<dyn $crate::nn::Layer> {
            Box::new(self)
        }
    };
}
pub(crate) use boxed_here;
