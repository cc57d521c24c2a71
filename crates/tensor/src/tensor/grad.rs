//! Computing without recording for gradients.

use super::context::{self, Field, Scope};
use super::raw::{Key, Raw};
use crate::erased::Erased;
use crate::error::{OrRaise, refuse};
use crate::tensor::Tensor;
use candle_core::Result;
use std::collections::HashMap;

/// Runs `compute` without recording the operations for gradients, which saves memory and some time: for
/// validation and inference, and for changing parameters by hand.
///
/// Within `compute`, on this thread, the parameters of a model are constants, so nothing that is computed
/// from them has gradients.
///
/// ```
/// use taper::prelude::*;
///
/// let net = seq![Linear::new(4, 2), ReLU];
/// let x = ones((1, 4));
/// let y = no_grad(|| net.forward(&x)); // (1, 2)
/// assert!(!y.track_op());
/// assert!(net.forward(&x).track_op()); // recorded again
/// ```
pub fn no_grad<T>(compute: impl FnOnce() -> T) -> T {
    let _scope = Scope::new(Field::IsRecorded(false));
    compute()
}

/// Runs `compute` with or without recording.
pub(crate) fn with_recording<T>(is_recorded: bool, compute: impl FnOnce() -> T) -> T {
    let _scope = Scope::new(Field::IsRecorded(is_recorded));
    compute()
}

/// Returns whether computations on this thread are recorded for gradients: outside of [`no_grad`].
///
/// ```
/// use taper::prelude::*;
///
/// assert!(is_grad_enabled());
/// assert!(!no_grad(is_grad_enabled));
/// ```
pub fn is_grad_enabled() -> bool {
    context::is_recorded()
}

/// The gradients of a loss, which [`backward`](crate::ops::backward) returns.
///
/// ```
/// use taper::prelude::*;
///
/// let x = Parameter::new(&tensor(&[1.0, 2.0])).tensor(); // (2,)
/// let gradients = x.sqr().sum_all().backward();
/// assert_eq!(gradients.of(&x).to_vec1::<f32>(), [2.0, 4.0]);
/// ```
pub struct GradStore(Erased<HashMap<Key, Tensor>>);

impl GradStore {
    /// Returns a store without gradients.
    #[doc(hidden)]
    pub fn empty() -> Self {
        Self(HashMap::new().into())
    }

    pub(crate) fn from_all(gradients: HashMap<Key, Raw>) -> Self {
        let gradients = gradients.into_iter();
        let all: HashMap<Key, Tensor> = gradients.map(|(key, x)| (key, x.into())).collect();
        Self(all.into())
    }

    /// Returns the gradient of a tensor, if the loss depends on it.
    pub fn get(&self, x: &Tensor) -> Option<&Tensor> {
        self.0.get(&x.raw().key()?)
    }

    /// Returns the gradient of a parameter, or zeros if the loss does not depend on it; so too of a constant.
    ///
    /// The gradient of what was computed from parameters is kept only if [`retain_grad`](Tensor::retain_grad) has
    /// asked for it.
    ///
    /// # Panics
    /// If the tensor was computed from a parameter, and its gradient was not kept, or the loss does not depend on it.
    #[inline]
    #[track_caller]
    pub fn of(&self, x: &Tensor) -> Tensor {
        self.found(x).or_raise()
    }

    fn found(&self, x: &Tensor) -> Result<Tensor> {
        match self.get(x) {
            Some(gradient) => Ok(gradient.clone()),
            None if x.raw().track_op() && !x.raw().is_variable() => refuse!(
                ("of: no gradient was kept of this tensor of shape {:?}, which was computed from parameters",
                 x.raw().dims());
                "Ask for it before the loss is computed, let h = h.retain_grad(), or use grad(&loss, &[&h])"),
            None => x.raw().zeros_like().map(Tensor::from_raw),
        }
    }

    /// Sets the gradient of a tensor. Returns the one before, if there was one; a constant has no gradient.
    pub fn insert(&mut self, x: &Tensor, gradient: Tensor) -> Option<Tensor> {
        self.0.insert(x.raw().key()?, gradient)
    }

    /// Removes the gradient of a tensor, and returns it.
    pub fn remove(&mut self, x: &Tensor) -> Option<Tensor> {
        self.0.remove(&x.raw().key()?)
    }

    /// Returns all gradients.
    #[doc(hidden)]
    pub fn all(&self) -> impl Iterator<Item = &Tensor> {
        self.0.values()
    }
}

/// The gradients of variables, for Candle's own optimisers.
impl From<GradStore> for candle_core::backprop::GradStore {
    fn from(gradients: GradStore) -> Self {
        let mut all = Self::default();
        for (key, gradient) in gradients.0.into_inner() {
            if let Key::Variable(id) = key {
                all.insert_id(id, gradient.into());
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_before_is_restored_also_after_a_panic() {
        no_grad(|| no_grad(|| ()));
        assert!(is_grad_enabled());
        no_grad(|| {
            let _ = std::panic::catch_unwind(|| no_grad(|| panic!("on purpose")));
            assert!(!is_grad_enabled());
        });
        assert!(is_grad_enabled());
    }

    #[test]
    fn other_threads_record() {
        no_grad(|| std::thread::scope(|s| s.spawn(|| assert!(is_grad_enabled())).join()).unwrap());
    }
}
