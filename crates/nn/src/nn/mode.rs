//! The switch between training and evaluation.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The switch between training and evaluation mode.
///
/// A layer that behaves differently in the two modes, as dropout does, has a field of this type. It
/// starts in training mode, and follows the model's `train()` and `eval()`, but stays in evaluation mode
/// while the layer is [frozen](crate::nn::ParametersExt::freeze).
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct Doubler { mode: Mode }
///
/// impl Layer for Doubler {
///     fn forward(&self, x: &Tensor) -> Tensor {
///         if self.mode.is_training() { x * 2.0 } else { x.clone() }
///     }
/// }
///
/// let x = ones(1);
/// let mut net = seq![Doubler { mode: Mode::new() }];
/// assert_eq!(net.forward(&x).to_vec1::<f32>(), [2.0]);
/// net.eval();
/// assert_eq!(net.forward(&x).to_vec1::<f32>(), [1.0]);
/// ```
#[derive(Default)]
pub struct Mode {
    evaluating: AtomicBool,
    frozen: AtomicBool,
}

impl Mode {
    /// Creates a switch in training mode.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Mode::new().is_training());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether the model is in training mode.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut mode = Mode::new();
    /// mode.eval();
    /// assert!(!mode.is_training());
    /// ```
    pub fn is_training(&self) -> bool {
        !self.evaluating.load(Ordering::Relaxed)
    }

    /// Switches the mode, unless it is frozen.
    pub(super) fn set_training(&self, training: bool) {
        if !self.frozen.load(Ordering::Relaxed) {
            self.evaluating.store(!training, Ordering::Relaxed);
        }
    }

    /// Switches to evaluation mode and keeps it, or lets the next `train()` switch it again.
    pub(super) fn set_frozen(&self, frozen: bool) {
        self.set_training(self.is_training() && !frozen);
        self.frozen.store(frozen, Ordering::Relaxed);
    }
}

/// A clone is an independent switch in the same mode.
impl Clone for Mode {
    fn clone(&self) -> Self {
        let clone = Self::new();
        clone.set_training(self.is_training());
        clone.set_frozen(self.frozen.load(Ordering::Relaxed));
        clone
    }
}

impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_training() { "train" } else { "eval" })
    }
}
