//! Long short-term memory: the state is a pair of tensors.

use crate::error::{OrRaise, raise};
use crate::nn::layers::recurrent::Recurrent;
use crate::nn::layers::recurrent_settings::recurrent_settings;
use crate::nn::{Parameters, check};
use crate::ops::{self, Cell};
use crate::tensor::Tensor;

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
#[derive(Parameters)]
pub struct LSTM {
    #[parameters(flatten)]
    layers: Recurrent,
}

recurrent_settings!(LSTM, Cell::Lstm);

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

    /// Returns the outputs of all steps, and the state `(h, c)` after the last step. `state` is the initial
    /// state; `None` means zeros.
    ///
    /// # Panics
    /// If the shapes do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let lstm = LSTM::new(3, 4);
    /// let x = randn((6, 2, 3)); // (steps, batch, features)
    /// let (y, _) = lstm.forward(&x, None);
    /// let (_, state) = lstm.forward(&x.narrow(0, 0, 3), None);
    /// let (rest, _) = lstm.forward(&x.narrow(0, 3, 3), Some(&state)); // goes on
    /// assert_eq!(rest.to_vec3::<f32>(), y.narrow(0, 3, 3).to_vec3::<f32>());
    /// ```
    #[track_caller]
    pub fn forward(
        &self,
        x: &Tensor,
        state: Option<&(Tensor, Tensor)>,
    ) -> (Tensor, (Tensor, Tensor)) {
        self.run(x, None, state)
    }

    /// Returns the outputs and the last state as [`forward`](Self::forward) does, for sequences of unequal
    /// lengths that are padded to the longest: each ends after its own last step. The outputs of the
    /// padding are 0, and the padding may hold anything, also NaN.
    ///
    /// This is what PyTorch computes for a `PackedSequence`. `lengths` are integers, `(batch,)`.
    ///
    /// # Panics
    /// If the shapes do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let lstm = LSTM::new(3, 4);
    /// let x = randn((6, 2, 3)); // (steps, batch, features)
    /// let (_, (h, _)) = lstm.forward_lengths(&x, &tensor(&[6, 2]), None);
    /// let (short, _) = lstm.forward(&x.narrow(0, 0, 2), None);
    /// assert_eq!(h.i((0, 1)).to_vec1::<f32>(), short.i((1, 1)).to_vec1::<f32>());
    /// ```
    #[track_caller]
    pub fn forward_lengths(
        &self,
        x: &Tensor,
        lengths: &Tensor,
        state: Option<&(Tensor, Tensor)>,
    ) -> (Tensor, (Tensor, Tensor)) {
        self.run(x, Some(lengths), state)
    }

    #[track_caller]
    fn run(
        &self,
        x: &Tensor,
        lengths: Option<&Tensor>,
        state: Option<&(Tensor, Tensor)>,
    ) -> (Tensor, (Tensor, Tensor)) {
        if let Some((h, c)) = state {
            ops::check::same_place(&check::name(self), c.raw(), h.raw()).or_raise();
            let fits = match self.layers.proj_size {
                Some(width) => h.rank() == c.rank() && h.dims().last() == Some(&width),
                None => h.dims() == c.dims(),
            };
            if !fits {
                let expected = match self.layers.proj_size {
                    Some(_) => "The state h must have proj_size features, c hidden_size",
                    None => "The states h and c must have the same shape",
                };
                raise(check::refused(self, c, expected))
            }
        }
        let state = state.map(|(h, c)| match self.layers.proj_size {
            // Both have the same size in the layers below.
            Some(width) => {
                let missing = c.dim(-1).saturating_sub(width);
                Tensor::stack(&[&h.pad_with_zeros(-1, 0, missing), c], 0)
            }
            None => Tensor::stack(&[h, c], 0),
        });
        let (y, state) = self.layers.forward(self, x, lengths, state);
        let h = match self.layers.proj_size {
            Some(width) => state.i(0).narrow(-1, 0, width),
            None => state.i(0),
        };
        (y, (h, state.i(1)))
    }
}
