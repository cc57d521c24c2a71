//! The settings of a recurrence.

use candle_core::{DType, Result, Tensor};

/// What computes the next state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    Tanh,
    Relu,
    /// Its gates are, in this order, those of input, forgetting, the new values and output.
    Lstm,
    /// Its gates are, in this order, those of reset, update and the new values.
    Gru,
}

impl Cell {
    /// Returns how many products of the size of the state a step needs.
    pub(crate) fn gates(self) -> usize {
        match self {
            Self::Tanh | Self::Relu => 1,
            Self::Lstm => 4,
            Self::Gru => 3,
        }
    }

    /// Returns how many tensors the state consists of.
    pub(crate) fn states(self) -> usize {
        if self == Self::Lstm { 2 } else { 1 }
    }
}

/// The settings of a recurrence.
#[derive(Clone)]
pub(crate) struct Recurrence {
    pub(crate) cell: Cell,
    /// Whether it goes from the last step to the first.
    pub(crate) reverse: bool,
    /// For each step and example `(steps, batch)` 1, or 0 for padding, where the state stays and the
    /// output is 0.
    pub(crate) valid: Option<Tensor>,
}

impl Recurrence {
    /// Returns the steps in the order in which they are computed.
    pub(super) fn order(&self, steps: usize) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let reverse = self.reverse;
        (0..steps).map(move |i| if reverse { steps - 1 - i } else { i })
    }

    /// Returns for each step and example whether it is valid; `None` if all are.
    pub(super) fn valid_steps(&self) -> Result<Option<Vec<bool>>> {
        let flags = |valid: &Tensor| -> Result<Vec<bool>> {
            let valid = valid.to_dtype(DType::U8)?.flatten_all()?.to_vec1::<u8>()?;
            Ok(valid.into_iter().map(|valid| valid != 0).collect())
        };
        self.valid.as_ref().map(flags).transpose()
    }
}
