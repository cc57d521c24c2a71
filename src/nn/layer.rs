//! The trait that all layers have.

use crate::nn::{Copier, Parameters, Replicate, print_as_described};
use candle_core::{Result, Tensor};

/// A model that maps one tensor to one tensor.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct Scale { factor: Parameter }
///
/// impl Layer for Scale {
///     fn forward(&self, x: &Tensor) -> Result<Tensor> {
///         x.broadcast_mul(&self.factor.tensor()?)
///     }
/// }
///
/// let scale = Scale { factor: Parameter::new(&full(1, 3.0, &cpu())?)? };
/// let net = seq![scale, ReLU];
/// let y = net.forward(&tensor(&[-1.0, 2.0], &cpu())?)?;
/// assert_eq!(y.to_vec1::<f32>()?, [0.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
pub trait Layer: Parameters + ReplicateLayer + Send + Sync {
    /// The layer's output for this input. Each layer says which shapes it takes and gives.
    ///
    /// # Errors
    /// If the input has another shape, type or device than the layer can take.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer: Box<dyn Layer> = Box::new(Tanh);
    /// let y = layer.forward(&zeros((2, 3), &cpu())?)?; // (2, 3)
    /// # Ok::<(), Error>(())
    /// ```
    fn forward(&self, input: &Tensor) -> Result<Tensor>;
}

impl Layer for Box<dyn Layer> {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        (**self).forward(input)
    }
}

/// [`Replicate`] for a layer whose type is not known. Every layer with `Replicate` has it.
///
/// A type that lacks it lacks [`Parameters`] too, and the derive gives it both: it has the same
/// message, word for word, so that a notebook says it once.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "Taper does not know how to find parameters in `{Self}`",
    label = "has no `Parameters`",
    note = "write `#[derive(Parameters)]` above it if it is a part of the model",
    note = "write `#[parameters(skip)]` above a field that training should leave alone"
)]
pub trait ReplicateLayer {
    fn replicate_layer(&self, copier: &mut Copier) -> Result<Box<dyn Layer>>;
}

#[diagnostic::do_not_recommend]
impl<L: Layer + Replicate + 'static> ReplicateLayer for L {
    fn replicate_layer(&self, copier: &mut Copier) -> Result<Box<dyn Layer>> {
        Ok(Box::new(self.replicate_with(copier)?))
    }
}

print_as_described!(dyn Layer + '_);
