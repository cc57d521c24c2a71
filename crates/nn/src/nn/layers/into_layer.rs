//! The types that [`seq!`](crate::seq) accepts: Taper's layers, and Candle's.

use crate::error::OrRaise;
use crate::nn::containers::parameters;
use crate::nn::{Layer, Mode, Parameters};
use crate::ops::tape;
use crate::tensor::Tensor;
use candle_core::ModuleT;

/// A type that can be a layer of a [`Sequential`](crate::nn::Sequential): every [`Layer`], and Candle's
/// own layers.
///
/// Candle's layers are not [`Layer`]s themselves: some have an argument `train`, which is true in training
/// mode.
///
/// ```
/// use taper::candle_nn::{self, VarBuilder, VarMap};
/// use taper::prelude::*;
///
/// let vars = VarMap::new();
/// let builder = VarBuilder::from_varmap(&vars, DType::F32, &cpu());
/// let net = seq![candle_nn::linear(3, 2, builder)?, ReLU, candle_nn::Dropout::new(0.5)];
/// assert_eq!(net.forward(&zeros((1, 3))).dims(), [1, 2]);
/// assert_eq!(net.num_parameters(), 8);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer",
    label = "does not implement `Layer`",
    note = "write `impl Layer for …` with a `forward` that maps one tensor to one tensor"
)]
pub trait IntoLayer {
    /// Returns the layer as a trait object.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = taper::nn::IntoLayer::into_layer(ReLU);
    /// assert_eq!(layer.describe(), "ReLU()");
    /// ```
    fn into_layer(self) -> Box<dyn Layer>;
}

impl<L: Layer + 'static> IntoLayer for L {
    fn into_layer(self) -> Box<dyn Layer> {
        self.into_box()
    }
}

/// One of Candle's layers, with the switch that its `forward` takes as an argument.
struct Adapter<M> {
    layer: M,
    mode: Mode,
}

impl<M: Parameters + ModuleT + Send + Sync + 'static> Layer for Adapter<M> {
    fn forward(&self, input: &Tensor) -> Tensor {
        let is_training = self.mode.is_training();
        let y = tape::foreign(&[input.raw()], &mut |x| {
            self.layer.forward_t(&x[0], is_training)
        });
        y.or_raise().into()
    }
}

parameters! {
    [M: Parameters] Adapter<M>: |self, visitor|
        {
            self.layer.visit(visitor);
            self.mode.visit(visitor);
        },
        self.layer.visit_mut(visitor),
        Self { layer: self.layer.shallow_copy(), mode: self.mode.clone() };
}

macro_rules! into_layer {
    ($($layer:ident)*) => {$(
        impl IntoLayer for candle_nn::$layer {
            fn into_layer(self) -> Box<dyn Layer> {
                let mode = Mode::new();
                Box::new(Adapter { layer: self, mode })
            }
        }
    )*};
}

into_layer!(
    Activation BatchNorm Conv1d Conv2d ConvTranspose1d ConvTranspose2d Dropout Embedding LayerNorm Linear
    PReLU RmsNorm
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::nn::ParametersExt;
    use crate::tensor::{ones, rand};
    use candle_core::{DType, Device};
    use candle_nn::{VarBuilder, VarMap};

    #[test]
    fn candles_layers_chain_switch_their_mode_and_are_copied() -> Result<()> {
        let (cpu, vars) = (Device::Cpu, VarMap::new());
        let builder = VarBuilder::from_varmap(&vars, DType::F32, &cpu);
        let mut net = crate::seq![
            candle_nn::conv2d(1, 2, 3, Default::default(), builder.pp("conv"))?,
            candle_nn::batch_norm(2, 1e-5, builder.pp("norm"))?,
            candle_nn::Activation::Relu,
            crate::nn::Flatten,
            candle_nn::Dropout::new(0.5),
            candle_nn::linear(8, 3, builder.pp("linear"))?,
        ];
        let x = rand((5, 1, 4, 4));
        let running_mean = |net: &crate::nn::Sequential| {
            let state = net.state_dict().into_iter();
            let mut named = state.filter(|(name, _)| name == "1.running_mean");
            named.next().expect("a running mean").1.to_vec1::<f32>()
        };
        let before = running_mean(&net);
        let rows = |y: Tensor| y.to_vec2::<f32>();
        let dropped = rows(net.forward(&x));
        assert_ne!(dropped, rows(net.forward(&x)), "dropout is on");
        assert_ne!(running_mean(&net), before);

        net.eval();
        let y = rows(net.forward(&x));
        assert_eq!(rows(net.forward(&x)), y, "dropout is off");
        let copy = net.replicate(&cpu);
        net.parameter("5.bias").set(&ones(3));
        assert_eq!(rows(copy.forward(&x)), y);
        assert!(net[0].describe().starts_with("candle_nn::Conv2d"));
        assert_eq!(net.named_parameters().len(), 6);
        Ok(())
    }
}
