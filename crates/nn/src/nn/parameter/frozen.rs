//! Frozen parameters, which training does not change.

use super::Parameter;
use std::sync::atomic::Ordering;

impl Parameter {
    /// Returns whether the parameter is frozen, so that training does not change it; see
    /// [`freeze`](crate::nn::ParametersExt::freeze).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut net = seq![Linear::new(4, 8), ReLU, Linear::new(8, 2)];
    /// net[0].freeze();
    /// let trained: Vec<Parameter> = net.parameters().into_iter().filter(|p| !p.is_frozen()).collect();
    /// assert_eq!(trained.len(), 2);
    /// ```
    pub fn is_frozen(&self) -> bool {
        self.shared.frozen.load(Ordering::Relaxed)
    }

    pub(crate) fn set_frozen(&self, frozen: bool) {
        self.shared.frozen.store(frozen, Ordering::Relaxed);
    }
}
