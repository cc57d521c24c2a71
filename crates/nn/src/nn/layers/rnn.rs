//! The recurrent layers: RNN, GRU and LSTM.

use crate::nn::layers::recurrent::Recurrent;
use crate::nn::layers::recurrent_layer::recurrent_layer;
use crate::nn::{Parameters, ReLU, Tanh};
use crate::ops::Cell;
use crate::tensor::Tensor;

recurrent_layer! {
    /// A recurrent network: each step computes `h' = tanh(weight_ih · x + bias_ih + weight_hh · h + bias_hh)`.
    ///
    /// From Elman, 1990, and d2l's chapter *Recurrent Neural Networks*. Parameters have PyTorch's names:
    /// `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0` and `bias_hh_l0`. Those of the direction from the last step
    /// to the first end in `_reverse`.
    ///
    /// # Shapes
    /// `(steps, batch, input_size)` to `(steps, batch, directions · hidden_size)`; states
    /// `(num_layers · directions, batch, hidden_size)`. In `seq!` the initial state is zero.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let rnn = RNN::new(3, 4);
    /// let (y, h) = rnn.forward(&randn((5, 2, 3)), None); // (5, 2, 4), (1, 2, 4)
    /// assert_eq!(y.i(4).to_vec2::<f32>(), h.i(0).to_vec2::<f32>());
    /// ```
    RNN(Tensor), Cell::Tanh, "h"
}

impl RNN {
    setters! {
        /// Sets the activation function of each step: `Tanh`, as by default, or `ReLU`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let rnn = RNN::new(3, 4).nonlinearity(ReLU);
        /// assert_eq!(rnn.describe(), "RNN(3, 4, nonlinearity=\"relu\")");
        /// ```
        pub fn nonlinearity(self, nonlinearity: impl Into<Nonlinearity>): self.layers.cell = nonlinearity.into().0;
    }
}

/// The activation function of an [`RNN`], [`Tanh`] or [`ReLU`].
///
/// ```
/// use taper::nn::Nonlinearity;
/// use taper::prelude::*;
///
/// let nonlinearity: Nonlinearity = ReLU.into();
/// let rnn = RNN::new(3, 4).nonlinearity(nonlinearity);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nonlinearity(#[doc(hidden)] pub Cell);

impl From<Tanh> for Nonlinearity {
    fn from(_: Tanh) -> Self {
        Self(Cell::Tanh)
    }
}

impl From<ReLU> for Nonlinearity {
    fn from(_: ReLU) -> Self {
        Self(Cell::Relu)
    }
}

recurrent_layer! {
    /// A gated recurrent unit: gates decide how much of the state a step replaces.
    ///
    /// From Cho et al., 2014, and d2l's chapter *Gated Recurrent Units*. Parameters have PyTorch's names; the
    /// rows of a weight belong to the reset gate, the update gate and the new gate (the new values), in this
    /// order.
    ///
    /// # Shapes
    /// As for [`RNN`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let gru = GRU::new(3, 4).num_layers(2);
    /// let (y, h) = gru.forward(&randn((5, 2, 3)), None); // (5, 2, 4), (2, 2, 4)
    /// assert_eq!(y.i(4).to_vec2::<f32>(), h.i(1).to_vec2::<f32>());
    /// ```
    GRU(Tensor), Cell::Gru, "h"
}

recurrent_layer! {
    /// Long short-term memory: a recurrent network whose state has a part `c`, the cell state, that is protected
    /// by gates, so that it can keep a value over many steps.
    ///
    /// From Hochreiter and Schmidhuber, 1997, and d2l's chapter *Long Short-Term Memory*. Parameters have
    /// PyTorch's names; the rows of a weight belong to the input gate, the forget gate, the cell gate (the new
    /// values) and the output gate, in this order.
    ///
    /// # Shapes
    /// `(steps, batch, input_size)` to `(steps, batch, directions · hidden_size)`; each of the states `h` and
    /// `c` is `(num_layers · directions, batch, hidden_size)`. With a [`proj_size`](Self::proj_size), the output and `h` have
    /// this size in place of `hidden_size`. The batch may be missing. In `seq!` the initial state is zero.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let lstm = LSTM::new(3, 4);
    /// let (y, (h, _)) = lstm.forward(&randn((5, 2, 3)), None); // (5, 2, 4), (1, 2, 4)
    /// assert_eq!(y.i(4).to_vec2::<f32>(), h.i(0).to_vec2::<f32>());
    /// ```
    LSTM((Tensor, Tensor)), Cell::Lstm, "(h, _)"
}

impl LSTM {
    setters! {
        /// Sets a size below `hidden_size` to which a weight maps the output `h` of each step; 0, as by default, means none.
        /// The weights are initialised again. From Sak et al., 2014.
        ///
        /// # Panics
        /// If `proj_size` is not below `hidden_size`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let lstm = LSTM::new(3, 8).proj_size(4);
        /// let (y, (h, c)) = lstm.forward(&randn((5, 2, 3)), None); // (5, 2, 4), (1, 2, 4), (1, 2, 8)
        /// assert_eq!((y.dims(), h.dims(), c.dims()), (&[5, 2, 4][..], &[1, 2, 4][..], &[1, 2, 8][..]));
        /// ```
        #[track_caller]
        pub fn proj_size(self, proj_size: usize): self.layers.set_proj_size(proj_size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::tests::message_of;
    use crate::nn::{Layer, ParametersExt};
    use crate::tensor::{tensor, zeros};
    use candle_core::Device;

    const CPU: Device = Device::Cpu;

    #[test]
    fn wrong_inputs_are_explained() {
        let rnn = RNN::new(3, 4);
        let x = |shape: &[usize]| zeros(shape);
        let message =
            |shape: &[usize], h: Option<&Tensor>| message_of(|| rnn.forward(&x(shape), h));
        assert_eq!(
            message(&[5, 2, 4], None),
            "RNN(3, 4) cannot take an input of shape [5, 2, 4]\n\
             Expected sequences (steps, batch, 3); or call batch_first(true)"
        );
        assert!(message(&[0, 2, 3], None).contains("sequences without steps"));
        let h = x(&[1, 3, 4]);
        assert_eq!(
            message(&[5, 2, 3], Some(&h)),
            "RNN(3, 4): expected a state of shape [1, 2, 4], found [1, 3, 4]\n\
             Pass a state of shape (num_layers · directions, batch, hidden_size), or None for zeros"
        );
        let lengths = tensor(&[1, 2, 3]);
        let error = message_of(|| rnn.forward_lengths(&x(&[5, 2, 3]), &lengths, None));
        assert!(
            error.contains("there are 3 lengths for 2 examples\n"),
            "{error}"
        );
        let wrong: [fn() -> GRU; 4] = [
            || GRU::new(0, 4),
            || GRU::new(3, 0),
            || GRU::new(3, 4).num_layers(0),
            || GRU::new(3, 4).dropout(2.0),
        ];
        for wrong in wrong {
            assert_eq!(message_of(wrong).lines().count(), 2);
        }
    }

    #[test]
    fn an_empty_batch_stays_empty() {
        let gru = GRU::new(3, 4);
        let (y, h) = gru.forward(&zeros((5, 0, 3)), None);
        assert_eq!((y.dims(), h.dims()), (&[5, 0, 4][..], &[1, 0, 4][..]));
    }

    #[test]
    fn it_chains_copies_and_describes_itself() {
        let gru = GRU::new(3, 4)
            .num_layers(2)
            .bidirectional(true)
            .dropout(0.5)
            .batch_first(true);
        let mut net = crate::seq![gru, crate::nn::Linear::new(8, 1)];
        net.eval();
        let text = "GRU(3, 4, num_layers=2, batch_first=true, dropout=0.5, bidirectional=true)";
        assert_eq!(net[0].describe(), text);
        let (x, copy) = (zeros((2, 5, 3)), net.replicate(&CPU));
        let y = |net: &crate::nn::Sequential| net.forward(&x).to_vec3::<f32>();
        assert_eq!(y(&copy), y(&net));
        assert_eq!(copy.named_parameters().len(), 18);
    }
}
