//! A tensor that a layer changes itself.

use crate::nn::Parameter;
use crate::nn::spec::Spec;
use crate::tensor::Tensor;
use candle_core::{Device, Var};

/// A tensor of a model's state that no optimiser changes, such as the running mean of a batch
/// normalisation. It is moved, copied, saved and loaded with the model.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct Counter { count: Buffer }
///
/// let counter = Counter { count: Buffer::new(&zeros(1)) };
/// counter.count.set(&(counter.count.tensor() + 1.0));
/// assert_eq!(counter.num_parameters(), 0);
/// assert_eq!(counter.state_dict()[0].0, "count");
/// ```
#[derive(Clone, Debug)]
pub struct Buffer(Parameter);

impl Buffer {
    /// Creates a buffer with a copy of these values, on their device.
    ///
    /// # Panics
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mean = Buffer::new(&zeros(3)); // (3,)
    /// ```
    #[track_caller]
    pub fn new(values: &Tensor) -> Self {
        Self(Parameter::new(values))
    }

    /// Creates a buffer that gets values of this spec later, in [`init`](Buffer::init).
    pub(super) fn lazy_as(spec: Spec) -> Self {
        Self(Parameter::lazy_as(spec))
    }

    /// Sets the values of a lazy buffer; see [`Parameter::init`].
    #[track_caller]
    pub(super) fn init(&self, default: &Device, values: impl FnOnce() -> Tensor) {
        self.0.init(default, values);
    }

    /// Returns the values; no gradient flows back to them.
    ///
    /// # Panics
    /// If the buffer has no values yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Buffer::new(&ones(3)).tensor().dims(), [3]);
    /// ```
    #[track_caller]
    pub fn tensor(&self) -> Tensor {
        self.0.tensor().detach()
    }

    /// Replaces the values, in place and on the buffer's own device.
    ///
    /// # Panics
    /// If `values` has another shape or type than the buffer.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mean = Buffer::new(&zeros(3));
    /// mean.set(&ones(3));
    /// assert_eq!(mean.tensor().to_vec1::<f32>(), [1.0; 3]);
    /// ```
    #[track_caller]
    pub fn set(&self, values: &Tensor) {
        self.0.set(values);
    }

    /// Creates a buffer from the variable that one of Candle's layers holds.
    pub(super) fn of_var(var: Var) -> Self {
        Self(Parameter::of_var(var))
    }

    pub(super) fn parameter(&self) -> &Parameter {
        &self.0
    }

    pub(super) fn parameter_mut(&mut self) -> &mut Parameter {
        &mut self.0
    }
}
