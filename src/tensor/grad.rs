//! Computing without recording for gradients.

use crate::tensor::Tensor;
use candle_core::Var;
use std::cell::Cell;

thread_local! {
    /// Whether this thread is inside of [`no_grad`].
    static DISABLED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `compute` without recording the operations for gradients, which saves memory and some time: for
/// validation and inference, and for changing parameters by hand.
///
/// Within `compute`, on this thread, the parameters of a model are constants, so nothing that is computed
/// from them has gradients. A [`Var`](candle_core::Var) used directly is still recorded by Candle's own
/// operations; compute with `var.as_detached_tensor()` there.
///
/// ```
/// use taper::prelude::*;
///
/// let net = seq![Linear::new(4, 2), ReLU];
/// let x = ones((1, 4), &cpu());
/// let y = no_grad(|| net.forward(&x)); // (1, 2)
/// assert!(!y.track_op());
/// assert!(net.forward(&x).track_op()); // recorded again
/// ```
pub fn no_grad<T>(compute: impl FnOnce() -> T) -> T {
    let _restore = Restore(DISABLED.replace(true));
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
    !DISABLED.get()
}

/// The gradients of a loss, which [`backward`](crate::ops::backward) returns.
///
/// ```
/// use taper::prelude::*;
///
/// let x = Parameter::new(&tensor(&[1.0, 2.0], &cpu())).tensor(); // (2,)
/// let gradients = x.sqr().sum_all().backward();
/// assert_eq!(gradients.of(&x).to_vec1::<f32>(), [2.0, 4.0]);
/// ```
pub struct GradStore(candle_core::backprop::GradStore);

impl GradStore {
    pub(crate) fn from_raw(gradients: candle_core::backprop::GradStore) -> Self {
        Self(gradients)
    }

    /// Returns the gradient of a tensor, if the loss depends on it.
    ///
    /// It returns `None` also for `x * 0.0`: Candle records nothing for a factor of 0.
    pub fn get(&self, x: &Tensor) -> Option<&Tensor> {
        self.0.get(x.raw()).map(Tensor::from_raw_ref)
    }

    /// Returns the gradient of a tensor, or zeros if the loss does not depend on it.
    #[inline]
    #[track_caller]
    pub fn of(&self, x: &Tensor) -> Tensor {
        match self.get(x) {
            Some(gradient) => gradient.clone(),
            None => x.zeros_like(),
        }
    }

    /// Sets the gradient of a tensor. Returns the one before, if there was one.
    pub fn insert(&mut self, x: &Tensor, gradient: Tensor) -> Option<Tensor> {
        self.0
            .insert(x.raw(), gradient.into())
            .map(Tensor::from_raw)
    }

    /// Removes the gradient of a tensor, and returns it.
    pub fn remove(&mut self, x: &Tensor) -> Option<Tensor> {
        self.0.remove(x.raw()).map(Tensor::from_raw)
    }
}

/// Returns the values of a variable. Gradients flow to it only outside of [`no_grad`].
pub(crate) fn recorded(var: Var) -> Tensor {
    let values = match is_grad_enabled() {
        true => var.into_inner(),
        false => var.as_detached_tensor(),
    };
    values.into()
}

/// Restores the previous state when it is dropped, also after a panic.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        DISABLED.set(self.0);
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
