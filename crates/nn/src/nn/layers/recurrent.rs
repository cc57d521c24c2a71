//! What RNN, LSTM and GRU share: their parameters, with PyTorch's names, and the forward pass through
//! layers and directions.

use crate::error::{OrRaise, Result, raise, refuse};
use crate::nn::containers::parameters;
use crate::nn::layers::gates::Gates;
use crate::nn::summary::record_output;
use crate::nn::{Mode, Parameter, Parameters, check, visit_field};
use crate::ops::{self, Cell, Recurrence, cat, contiguous};
use crate::tensor::{Raw, Tensor, check_size, with_device, zeros};
use candle_core::Device;

/// The layers of a recurrent network.
#[derive(Parameters)]
#[describe(
    self.input_size,
    self.hidden_size,
    nonlinearity = (self.cell == Cell::Relu).then_some("relu"),
    num_layers = (self.num_layers != 1).then_some(self.num_layers),
    proj_size = self.proj_size,
    bias = (!self.bias).then_some(false),
    batch_first = self.batch_first.then_some(true),
    dropout = (self.dropout != 0.0).then_some(self.dropout),
    bidirectional = self.bidirectional.then_some(true)
)]
pub(super) struct Recurrent {
    name: &'static str,
    #[parameters(skip)]
    pub(super) cell: Cell,
    input_size: usize,
    hidden_size: usize,
    num_layers: usize,
    /// The size of the output after a projection; `None` without one.
    pub(super) proj_size: Option<usize>,
    bias: bool,
    pub(super) batch_first: bool,
    dropout: f64,
    bidirectional: bool,
    #[parameters(flatten)]
    weights: Weights,
    mode: Mode,
}

/// The parameters of each layer and direction, layer by layer.
struct Weights {
    all: Vec<Gates>,
    directions: usize,
}

/// The state of a recurrent layer or cell: one tensor, or the pair `(h, c)` of an LSTM.
#[doc(hidden)]
pub trait State {
    /// Returns the tensors, `h` first.
    fn parts(&self) -> Vec<&Tensor>;

    /// Returns the state with these tensors.
    fn of(parts: Vec<Tensor>) -> Self;
}

impl State for Tensor {
    fn parts(&self) -> Vec<&Tensor> {
        vec![self]
    }

    fn of(mut parts: Vec<Tensor>) -> Self {
        parts.remove(0)
    }
}

impl State for (Tensor, Tensor) {
    fn parts(&self) -> Vec<&Tensor> {
        vec![&self.0, &self.1]
    }

    fn of(mut parts: Vec<Tensor>) -> Self {
        (parts.remove(0), parts.remove(0))
    }
}

impl Recurrent {
    #[track_caller]
    pub(super) fn new(
        name: &'static str,
        cell: Cell,
        input_size: usize,
        hidden_size: usize,
    ) -> Self {
        let sizes = [("input_size", input_size), ("hidden_size", hidden_size)];
        check::positive(name, &sizes);
        let mut layers = Self {
            name,
            cell,
            input_size,
            hidden_size,
            num_layers: 1,
            proj_size: None,
            bias: true,
            batch_first: false,
            dropout: 0.0,
            bidirectional: false,
            weights: Weights {
                all: vec![],
                directions: 1,
            },
            mode: Mode::new(),
        };
        layers.init();
        layers
    }

    #[track_caller]
    pub(super) fn set_num_layers(&mut self, num_layers: usize) {
        check::positive(self.name, &[("num_layers", num_layers)]);
        self.num_layers = num_layers;
        self.init();
    }

    #[track_caller]
    pub(super) fn set_proj_size(&mut self, proj_size: usize) {
        if proj_size >= self.hidden_size {
            let expected = format!("a proj_size below the hidden_size {}", self.hidden_size);
            let advice = "0 means that the output is not projected";
            raise!(argument(self.name, proj_size); expected, advice)
        }
        self.proj_size = (proj_size > 0).then_some(proj_size);
        self.init();
    }

    #[track_caller]
    pub(super) fn set_bidirectional(&mut self, bidirectional: bool) {
        self.bidirectional = bidirectional;
        self.init();
    }

    #[track_caller]
    pub(super) fn set_bias(&mut self, bias: bool) {
        let is_added = bias && !self.bias;
        self.bias = bias;
        if is_added {
            self.init();
        }
        if !bias {
            for weights in &mut self.weights.all {
                (weights.bias_ih, weights.bias_hh) = (None, None);
            }
        }
    }

    #[track_caller]
    pub(super) fn set_dropout(&mut self, p: f64) {
        check::probability(self.name, "dropout", p);
        self.dropout = p;
    }

    /// Creates all parameters again for the current settings, with random values.
    #[track_caller]
    fn init(&mut self) {
        let count = self.cell.gates();
        let rows = count.saturating_mul(self.hidden_size);
        let widest = self.hidden_size.saturating_mul(2).max(self.input_size);
        let all = [self.num_layers, self.directions(), rows, widest];
        check_size(self.name, &all, size_of::<f32>(), &Device::Cpu).or_raise();
        let outputs = self.proj_size.unwrap_or(self.hidden_size);
        let gates = |i: usize| {
            let inputs = match i < self.directions() {
                true => self.input_size,
                false => outputs * self.directions(),
            };
            Gates::new(count, [inputs, self.hidden_size], self.bias, self.proj_size)
        };
        self.weights = Weights {
            all: (0..self.num_layers * self.directions())
                .map(gates)
                .collect(),
            directions: self.directions(),
        };
    }

    fn directions(&self) -> usize {
        1 + self.bidirectional as usize
    }

    /// Returns the output of all steps, and the last state. `layer` is the layer itself, for errors.
    #[track_caller]
    pub(super) fn forward<S: State>(
        &self,
        layer: &dyn Parameters,
        x: &Tensor,
        lengths: Option<&Tensor>,
        state: Option<&S>,
    ) -> (Tensor, S) {
        let states = state.map(|state| self.stacked(layer, &state.parts()));
        let (y, states) = self.run(layer, x, lengths, states);
        let parts = (0..self.cell.states()).map(|i| match (i, self.proj_size) {
            (0, Some(width)) => states.i(0).narrow(-1, 0, width),
            _ => states.i(i as i64),
        });
        (y, S::of(parts.collect()))
    }

    /// Returns the parts of a state as one tensor, `(states, layers · directions, batch, hidden)`.
    #[track_caller]
    fn stacked(&self, layer: &dyn Parameters, parts: &[&Tensor]) -> Tensor {
        let [h, c] = parts else {
            return parts[0].unsqueeze(0);
        };
        ops::check::same_place(&check::name(layer), c.raw(), h.raw()).or_raise();
        let (fits, expected) = match self.proj_size {
            Some(width) => (
                h.rank() == c.rank() && h.dims().last() == Some(&width),
                "The state h must have proj_size features, c hidden_size",
            ),
            None => (
                h.dims() == c.dims(),
                "The states h and c must have the same shape",
            ),
        };
        if !fits {
            raise(check::refused(layer, c, expected))
        }
        // Both have the same size in the layers below.
        let missing = self.proj_size.map(|width| c.dim(-1).saturating_sub(width));
        let h = missing.map_or_else(|| (*h).clone(), |missing| h.pad_with_zeros(-1, 0, missing));
        Tensor::stack(&[&h, c], 0)
    }

    /// Returns the output of all steps, and the last state of all layers and directions,
    /// `(states, layers · directions, batch, hidden)`. `layer` is the layer itself, for errors.
    #[track_caller]
    pub(super) fn run(
        &self,
        layer: &dyn Parameters,
        x: &Tensor,
        lengths: Option<&Tensor>,
        states: Option<Tensor>,
    ) -> (Tensor, Tensor) {
        if x.rank() == 2 {
            return self.forward_one(layer, x, lengths, states);
        }
        self.check(layer, x);
        let mut x = match self.batch_first {
            true => x.transpose(0, 1),
            false => x.clone(),
        }; // (steps, batch, features)
        let (steps, batch, _) = x.dims3();
        let valid = lengths.map(|lengths| valid_steps(layer, lengths, steps, batch));
        let valid = valid.transpose().or_raise();
        if let Some(valid) = &valid {
            // The gradients of the weights would be 0 · NaN for NaN in the padding.
            let padding = Tensor::from_raw_ref(valid).unsqueeze(2).eq(0); // (steps, batch, 1)
            x = x.masked_fill(&padding, 0.0);
        }
        let states = match states {
            Some(states) => self.checked(layer, states, batch),
            None => {
                let states = self.cell.states();
                let shape = (states, self.weights.all.len(), batch, self.hidden_size);
                with_device(x.device(), || zeros(shape)).to_dtype(x.dtype())
            }
        };
        let mut last = vec![];
        for (l, weights) in self.weights.all.chunks(self.directions()).enumerate() {
            if l > 0 && self.mode.is_training() {
                x = ops::dropout(&x, self.dropout);
            }
            let mut outputs = vec![];
            for (direction, weights) in weights.iter().enumerate() {
                let recurrence = Recurrence {
                    cell: self.cell,
                    reverse: direction == 1,
                    valid: valid.clone(),
                    projection: weights.weight_hr.as_ref().map(|hr| hr.tensor().into()),
                };
                let state = states.narrow(1, last.len(), 1).squeeze(1); // (states, batch, hidden)
                let (y, state) = run_direction(weights, layer, &recurrence, &x, &state).or_raise();
                outputs.push(y);
                last.push(state);
            }
            x = match outputs.len() {
                1 => outputs.remove(0),
                _ => cat(&outputs, 2),
            }; // (steps, batch, directions · hidden)
        }
        let y = match self.batch_first {
            true => contiguous(&x.transpose(0, 1)),
            false => x,
        };
        (record_output(layer, y), Tensor::stack(&last, 1))
    }

    /// Computes the outputs for one sequence `(steps, features)`; its states have no batch either.
    #[track_caller]
    fn forward_one(
        &self,
        layer: &dyn Parameters,
        x: &Tensor,
        lengths: Option<&Tensor>,
        states: Option<Tensor>,
    ) -> (Tensor, Tensor) {
        let batch = usize::from(!self.batch_first);
        let states = states.map(|states| match states.rank() {
            3 => states.unsqueeze(2),
            _ => raise!(
                ("{}: one sequence has a state without a batch", check::name(layer));
                "Pass a state of shape (num_layers · directions, hidden_size), or None for zeros"),
        });
        let (y, states) = self.run(layer, &x.unsqueeze(batch), lengths, states);
        (y.squeeze(batch), states.squeeze(2))
    }

    #[track_caller]
    fn check(&self, layer: &dyn Parameters, x: &Tensor) {
        let size = self.input_size;
        if x.rank() != 3 || x.dims()[2] != size {
            let hint = match self.batch_first {
                true => "",
                false => "; or call batch_first(true)",
            };
            let order = check::order(self.batch_first);
            let wanted = format!("Expected sequences ({order}, {size}){hint}");
            raise(check::refused(layer, x, wanted))
        }
    }

    #[track_caller]
    fn checked(&self, layer: &dyn Parameters, states: Tensor, batch: usize) -> Tensor {
        let expected = [self.weights.all.len(), batch, self.hidden_size];
        match states.rank() == 4 && states.dims()[1..] == expected {
            true => states,
            false => raise!(
                ("{}: expected a state of shape {expected:?}, found {:?}", check::name(layer), &states.dims()[1..]);
                "Pass a state of shape (num_layers · directions, batch, hidden_size), or None for zeros"),
        }
    }
}

/// Returns whether each step of each example is valid, that is, not padding: `(steps, batch)`.
fn valid_steps(
    layer: &dyn Parameters,
    lengths: &Tensor,
    steps: usize,
    batch: usize,
) -> Result<Raw> {
    let name = check::name(layer);
    let valid = ops::valid_steps(&name, lengths.raw(), steps)?; // (batch, steps)
    match valid.dims()[0] {
        found if found != batch => refuse!(
            "{name}: there are {found} lengths for {batch} examples";
            "Pass one length for each example: (batch,)"),
        _ => Ok(valid.t()?.contiguous()?),
    }
}

/// Returns the outputs of one direction of a layer, and its last state.
fn run_direction(
    weights: &Gates,
    layer: &dyn Parameters,
    recurrence: &Recurrence,
    x: &Tensor,
    state: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let name = check::name(layer);
    let biases = [&weights.bias_ih, &weights.bias_hh];
    let (of_input, of_state) = match biases.map(|bias| bias.as_ref().map(Parameter::tensor)) {
        // The reset gate is multiplied with the state's bias, too.
        [Some(ih), Some(hh)] if recurrence.cell != Cell::Gru => (Some(ih + hh), None),
        [ih, hh] => (ih, hh),
    };
    let (of_input, of_state) = (
        of_input.as_ref().map(Tensor::raw),
        of_state.as_ref().map(Tensor::raw),
    );
    let (ih, hh) = (weights.weight_ih.tensor(), weights.weight_hh.tensor());
    let gates = ops::linear_as(&name, x.raw(), ih.raw(), of_input)?; // (steps, batch, gates · hidden)
    let (y, state) = ops::rnn(&name, recurrence, &gates, hh.raw(), of_state, state.raw())?;
    let y = match &recurrence.projection {
        Some(projection) => y.narrow(2, 0, projection.dim(0)?)?,
        None => y,
    };
    Ok((y.into(), state.into()))
}

parameters! {
    [] Weights: |self, visitor|
        for (i, weights) in self.all.iter().enumerate() {
            let (layer, direction) = (i / self.directions, i % self.directions);
            let end = format!("_l{layer}{}", ["", "_reverse"][direction]);
            for (name, parameter) in weights.named() {
                visit_field(visitor, &format!("{name}{end}"), parameter);
            }
        },
        self.all.visit_mut(visitor),
        Self { all: self.all.shallow_copy(), ..*self };
}
