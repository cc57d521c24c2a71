//! Recurrent networks for one step at a time.

use crate::error::{OrRaise, raise};
use crate::nn::{Gates, Nonlinearity, Parameter, Parameters, State, check, initial};
use crate::ops::{self, Cell};
use crate::tensor::{Tensor, with_device, zeros};

/// One step of a recurrent network, with the parameters for it.
#[derive(Parameters)]
#[describe(self.gates.weight_ih.size(1), self.hidden_size())]
struct Step {
    #[parameters(skip)]
    cell: Cell,
    #[parameters(flatten)]
    gates: Gates,
}

impl Step {
    #[track_caller]
    fn new(name: &str, cell: Cell, [input_size, hidden_size]: [usize; 2]) -> Self {
        let sizes = [("input_size", input_size), ("hidden_size", hidden_size)];
        check::positive(name, &sizes);
        let gates = Gates::new(cell.gates(), [input_size, hidden_size], true, None);
        Self { cell, gates }
    }

    #[track_caller]
    fn set_bias(&mut self, bias: bool) {
        let weight = self.gates.weight_hh.tensor();
        let new = || Parameter::new(&initial(weight.dim(1) as f64, weight.dim(0)));
        for parameter in [&mut self.gates.bias_ih, &mut self.gates.bias_hh] {
            if bias != parameter.is_some() {
                *parameter = bias.then(new);
            }
        }
    }

    fn hidden_size(&self) -> usize {
        self.gates.weight_hh.size(1).unwrap_or_default()
    }

    #[track_caller]
    fn forward<S: State>(&self, layer: &dyn Parameters, x: &Tensor, state: Option<&S>) -> S {
        let state = state.map(State::parts);
        let [of_x, of_h] = self.inputs(layer, x, state.as_ref().map(|state| state[0]));
        let state: Vec<Tensor> = match state {
            Some(parts) => parts.into_iter().cloned().collect(),
            None => {
                let zeros = of_h.narrow(-1, 0, self.hidden_size()).zeros_like();
                vec![zeros; self.cell.states()]
            }
        };
        if let [h, c] = &state[..]
            && c.dims() != h.dims()
        {
            let expected = "The states h and c must have the same shape";
            raise(check::refused(layer, c, expected))
        }
        S::of(self.cell.step(&of_x, &of_h, &state))
    }

    /// Returns what the gates get from the input and from the state, `(batch, gates · hidden_size)` each.
    #[track_caller]
    fn inputs(&self, cell: &dyn Parameters, x: &Tensor, h: Option<&Tensor>) -> [Tensor; 2] {
        let (inputs, hidden) = (self.gates.weight_ih.size(1), self.hidden_size());
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
            linear(x, &self.gates.weight_ih, &self.gates.bias_ih),
            linear(&h, &self.gates.weight_hh, &self.gates.bias_hh),
        ]
    }
}

/// Defines a cell: its name, the type of its state, and the formula of its step.
macro_rules! cell {
    ($(#[$doc:meta])* $name:ident($state:ty), $cell:expr) => {
        $(#[$doc])*
        #[derive(Parameters)]
        pub struct $name {
            #[parameters(flatten)]
            step: Step,
        }

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
                let step = Step::new(stringify!($name), $cell, [input_size, hidden_size]);
                Self { step }
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
                pub fn bias(self, bias: bool): self.step.set_bias(bias);
            }

            /// Returns the new state for the input of one step, `(batch, input_size)`, and the state before it; `None` means
            /// zeros. Each tensor of a state is `(batch, hidden_size)`. The batch may be missing.
            ///
            /// # Panics
            /// If the shapes do not match.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let cell = ", stringify!($name), "::new(3, 4);")]
            /// let state = cell.forward(&ones((2, 3)), None);
            /// let state = cell.forward(&ones((2, 3)), Some(&state));
            /// ```
            #[track_caller]
            pub fn forward(&self, x: &Tensor, state: Option<&$state>) -> $state {
                self.step.forward(self, x, state)
            }
        }
    };
}

cell! {
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
    RNNCell(Tensor), Cell::Tanh
}

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
        pub fn nonlinearity(self, nonlinearity: impl Into<Nonlinearity>): self.step.cell = nonlinearity.into().0;
    }
}

cell! {
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
    GRUCell(Tensor), Cell::Gru
}

cell! {
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
    LSTMCell((Tensor, Tensor)), Cell::Lstm
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{GRU, LSTM, ParametersExt, RNN, ReLU};
    use crate::tensor::randn;
    use taper_tensor::testing::message_of;

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
