//! The settings of a recurrence.

use crate::tensor::Raw;
use candle_core::{DType, Result};

/// The kind of cell that computes the next state.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    Tanh,
    Relu,
    /// A long short-term memory, with the gates in PyTorch's order: input, forget, cell (the new values),
    /// output.
    Lstm,
    /// A gated recurrent unit, with the gates in PyTorch's order: reset, update, new.
    Gru,
}

impl Cell {
    /// Returns the number of gates: how many products of the size of the state a step needs.
    pub fn gates(self) -> usize {
        match self {
            Self::Tanh | Self::Relu => 1,
            Self::Lstm => 4,
            Self::Gru => 3,
        }
    }

    /// Returns how many tensors the state consists of.
    pub fn states(self) -> usize {
        if self == Self::Lstm { 2 } else { 1 }
    }
}

/// The settings of a recurrence.
#[doc(hidden)]
#[derive(Clone)]
pub struct Recurrence {
    pub cell: Cell,
    /// Whether the recurrence goes from the last step to the first.
    pub reverse: bool,
    /// `(steps, batch)`: 1 for each step of an example, and 0 for padding, which leaves the state unchanged
    /// and has the output 0.
    pub valid: Option<Raw>,
    /// `(outputs, hidden)`: the weight by which the output of an LSTM is multiplied before it is returned, and before the
    /// next step.
    pub projection: Option<Raw>,
}

impl Recurrence {
    /// Returns the steps in the order in which they are computed.
    pub(super) fn order(&self, steps: usize) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let reverse = self.reverse;
        (0..steps).map(move |i| if reverse { steps - 1 - i } else { i })
    }

    /// Returns for each step and example whether it is valid; `None` if all are.
    pub fn valid_steps(&self) -> Result<Option<Vec<bool>>> {
        let flags = |valid: &Raw| -> Result<Vec<bool>> {
            let valid = valid.to_dtype(DType::U8)?.flatten_all()?.to_vec1::<u8>()?;
            Ok(valid.into_iter().map(|valid| valid != 0).collect())
        };
        self.valid.as_ref().map(flags).transpose()
    }
}
