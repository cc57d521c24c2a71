//! Recurrent networks for one step at a time.

use crate::error::{OrRaise, raise};
use crate::nn::layers::affine::initial;
use crate::nn::layers::gates::Gates;
use crate::nn::layers::rnn::Nonlinearity;
use crate::nn::{Parameter, Parameters, check};
use crate::ops::{self, Cell};
use crate::tensor::{Tensor, with_device, zeros};

impl Gates {
    #[track_caller]
    fn of_cell(name: &str, count: usize, input_size: usize, hidden_size: usize) -> Self {
        let sizes = [("input_size", input_size), ("hidden_size", hidden_size)];
        check::positive(name, &sizes);
        Self::new(count, [input_size, hidden_size], true, None)
    }

    #[track_caller]
    fn set_bias(&mut self, bias: bool) {
        let weight = self.weight_hh.tensor();
        let new = || Parameter::new(&initial(weight.dim(1) as f64, weight.dim(0)));
        for parameter in [&mut self.bias_ih, &mut self.bias_hh] {
            if bias != parameter.is_some() {
                *parameter = bias.then(new);
            }
        }
    }

    fn hidden_size(&self) -> usize {
        self.weight_hh.size(1).unwrap_or_default()
    }

    /// Returns what the gates get from the input and from the state, `(batch, gates · hidden_size)` each.
    #[track_caller]
    fn inputs(&self, cell: &dyn Parameters, x: &Tensor, h: Option<&Tensor>) -> [Tensor; 2] {
        let (inputs, hidden) = (self.weight_ih.size(1), self.hidden_size());
        if !matches!(x.rank(), 1 | 2) || x.dims().last().copied() != inputs {
            let expected = format!("Expected one step (batch, {})", inputs.unwrap_or_default());
            raise(check::refused(cell, x, expected))
        }
        let shape = [&x.dims()[..x.rank() - 1], &[hidden]].concat();
        let h = match h {
            Some(h) if h.dims() != shape => raise(check::refused(
                cell,
                h,
                format!("The state must have the shape {shape:?}"),
            )),
            Some(h) => h.clone(),
            None => with_device(x.device(), || zeros(shape)).to_dtype(x.dtype()),
        };
        let linear = |x: &Tensor, weight: &Parameter, bias: &Option<Parameter>| {
            let (weight, bias) = (weight.tensor(), bias.as_ref().map(Parameter::tensor));
            let bias = bias.as_ref().map(Tensor::raw);
            let y = ops::linear_as(&check::name(cell), x.raw(), weight.raw(), bias);
            y.or_raise().into()
        };
        [
            linear(x, &self.weight_ih, &self.bias_ih),
            linear(&h, &self.weight_hh, &self.bias_hh),
        ]
    }
}

/// Implements the constructor and the settings of a cell.
macro_rules! cell {
    ($name:ident, $gates:literal $(, $field:ident: $value:expr)?) => {
        impl $name {
            /// Creates a cell with random parameters, on the default device. As in PyTorch, all are drawn uniformly
            /// between `-1/√hidden_size` and `1/√hidden_size`.
            ///
            /// # Panics
            /// If one of the sizes is 0.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let cell = ", stringify!($name), "::new(3, 4);")]
            /// assert_eq!(cell.parameter("weight_hh").size(1), Some(4));
            /// ```
            #[track_caller]
            pub fn new(input_size: usize, hidden_size: usize) -> Self {
                let name = stringify!($name);
                let parameters = Gates::of_cell(name, $gates, input_size, hidden_size);
                Self { parameters $(, $field: $value)? }
            }

            setters! {
                /// Sets whether the cell has biases, as by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("assert_eq!(", stringify!($name), "::new(3, 4).bias(false).parameters().len(), 2);")]
                /// ```
                #[track_caller]
                pub fn bias(self, bias: bool): self.parameters.set_bias(bias);
            }
        }
    };
}

/// One step of an [`RNN`](crate::nn::RNN): `h' = tanh(weight_ih · x + bias_ih + weight_hh · h + bias_hh)`.
///
/// ```
/// use taper::prelude::*;
///
/// let cell = RNNCell::new(3, 4);
/// let mut h = cell.forward(&randn((2, 3)), None); // (2, 4)
/// h = cell.forward(&randn((2, 3)), Some(&h));
/// assert_eq!(h.dims(), [2, 4]);
/// ```
#[derive(Parameters)]
#[describe(self.parameters.weight_ih.size(1), self.parameters.hidden_size())]
pub struct RNNCell {
    #[parameters(flatten)]
    parameters: Gates,
    #[parameters(skip)]
    nonlinearity: Nonlinearity,
}

cell!(RNNCell, 1, nonlinearity: crate::nn::Tanh.into());

impl RNNCell {
    setters! {
        /// Sets the activation function: `Tanh`, as by default, or `ReLU`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let h = RNNCell::new(3, 4).nonlinearity(ReLU).forward(&ones((2, 3)), None);
        /// assert!(h.min_all().item() >= 0.0);
        /// ```
        pub fn nonlinearity(self, nonlinearity: impl Into<Nonlinearity>): self.nonlinearity = nonlinearity.into();
    }

    /// Returns the new state, `(batch, hidden_size)`, for the input of one step, `(batch, input_size)`, and the state
    /// `h` before it; `None` means zeros. The batch may be missing.
    ///
    /// # Panics
    /// If the shapes do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let h = RNNCell::new(3, 4).forward(&ones((2, 3)), None);
    /// assert_eq!(h.dims(), [2, 4]);
    /// ```
    #[track_caller]
    pub fn forward(&self, x: &Tensor, h: Option<&Tensor>) -> Tensor {
        let [of_x, of_h] = self.parameters.inputs(self, x, h);
        self.nonlinearity.apply(&(of_x + of_h))
    }
}

/// One step of a [`GRU`](crate::nn::GRU).
///
/// ```
/// use taper::prelude::*;
///
/// let cell = GRUCell::new(3, 4);
/// let mut h = cell.forward(&randn((2, 3)), None); // (2, 4)
/// h = cell.forward(&randn((2, 3)), Some(&h));
/// assert_eq!(h.dims(), [2, 4]);
/// ```
#[derive(Parameters)]
#[describe(self.parameters.weight_ih.size(1), self.parameters.hidden_size())]
pub struct GRUCell {
    #[parameters(flatten)]
    parameters: Gates,
}

cell!(GRUCell, 3);

impl GRUCell {
    /// Returns the new state, `(batch, hidden_size)`, for the input of one step, `(batch, input_size)`, and the state
    /// `h` before it; `None` means zeros. The batch may be missing.
    ///
    /// # Panics
    /// If the shapes do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let h = GRUCell::new(3, 4).forward(&ones((2, 3)), None);
    /// assert_eq!(h.dims(), [2, 4]);
    /// ```
    #[track_caller]
    pub fn forward(&self, x: &Tensor, h: Option<&Tensor>) -> Tensor {
        let [of_x, of_h] = self.parameters.inputs(self, x, h);
        let h = h
            .cloned()
            .unwrap_or_else(|| of_h.chunk(3, -1)[0].zeros_like());
        Cell::Gru.step(&of_x, &of_h, &[h]).remove(0)
    }
}

/// One step of an [`LSTM`](crate::nn::LSTM), whose state is a pair `(h, c)`.
///
/// ```
/// use taper::prelude::*;
///
/// let cell = LSTMCell::new(3, 4);
/// let mut state = cell.forward(&randn((2, 3)), None); // (2, 4) each
/// state = cell.forward(&randn((2, 3)), Some(&state));
/// assert_eq!(state.0.dims(), [2, 4]);
/// ```
#[derive(Parameters)]
#[describe(self.parameters.weight_ih.size(1), self.parameters.hidden_size())]
pub struct LSTMCell {
    #[parameters(flatten)]
    parameters: Gates,
}

cell!(LSTMCell, 4);

impl LSTMCell {
    /// Returns the new state `(h, c)`, `(batch, hidden_size)` each, for the input of one step, `(batch, input_size)`, and
    /// the state before it; `None` means zeros. The batch may be missing.
    ///
    /// # Panics
    /// If the shapes do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (h, c) = LSTMCell::new(3, 4).forward(&ones((2, 3)), None);
    /// assert_eq!((h.dims(), c.dims()), (&[2, 4][..], &[2, 4][..]));
    /// ```
    #[track_caller]
    pub fn forward(&self, x: &Tensor, state: Option<&(Tensor, Tensor)>) -> (Tensor, Tensor) {
        let [of_x, of_h] = self.parameters.inputs(self, x, state.map(|(h, _)| h));
        let (h, c) = match state {
            Some(state) => state.clone(),
            None => [0, 1].map(|_| of_h.chunk(4, -1)[0].zeros_like()).into(),
        };
        if c.dims() != h.dims() {
            let expected = "The states h and c must have the same shape";
            raise(check::refused(self, &c, expected))
        }
        let mut state = Cell::Lstm.step(&of_x, &of_h, &[h, c]).into_iter();
        state.next().zip(state.next()).expect("the states h and c")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::tests::message_of;
    use crate::nn::{GRU, LSTM, ParametersExt, RNN, ReLU};
    use crate::tensor::randn;

    /// Copies the parameters of a layer to a cell.
    fn copied(layer: &dyn Parameters, cell: &dyn Parameters) {
        for (name, parameter) in cell.named_parameters() {
            parameter.set(&layer.parameter(&format!("{name}_l0")).tensor());
        }
    }

    fn assert_close(a: &Tensor, b: &Tensor) {
        assert!((a - b).abs().max_all().item() < 1e-6);
    }

    #[test]
    fn the_steps_of_cells_are_those_of_the_layers() {
        let x = randn((5, 2, 3));
        let rnn = RNN::new(3, 4).nonlinearity(ReLU);
        let cell = RNNCell::new(3, 4).nonlinearity(ReLU);
        copied(&rnn, &cell);
        let mut h = None;
        for i in 0..5 {
            h = Some(cell.forward(&x.i(i), h.as_ref()));
        }
        assert_close(&h.unwrap(), &rnn.forward(&x, None).1.i(0));

        let (gru, cell) = (GRU::new(3, 4), GRUCell::new(3, 4));
        copied(&gru, &cell);
        let mut h = None;
        for i in 0..5 {
            h = Some(cell.forward(&x.i(i), h.as_ref()));
        }
        assert_close(&h.unwrap(), &gru.forward(&x, None).1.i(0));

        let (lstm, cell) = (LSTM::new(3, 4), LSTMCell::new(3, 4));
        copied(&lstm, &cell);
        let mut state = None;
        for i in 0..5 {
            state = Some(cell.forward(&x.i(i), state.as_ref()));
        }
        let (h, c) = state.unwrap();
        let (_, want) = lstm.forward(&x, None);
        assert_close(&h, &want.0.i(0));
        assert_close(&c, &want.1.i(0));
    }

    #[test]
    fn wrong_inputs_are_explained() {
        let cell = LSTMCell::new(3, 4);
        assert_eq!(
            message_of(|| cell.forward(&zeros((2, 4)), None)),
            "LSTMCell(3, 4) cannot take an input of shape [2, 4]\nExpected one step (batch, 3)"
        );
        let state = (zeros((1, 4)), zeros((1, 4)));
        let message = message_of(|| cell.forward(&zeros((2, 3)), Some(&state)));
        assert!(message.ends_with("must have the shape [2, 4]"), "{message}");
        assert_eq!(cell.forward(&zeros(3), None).0.dims(), [4]);
    }
}
