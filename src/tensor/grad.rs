//! Computing without recording for gradients.

use candle_core::backprop::GradStore;
use candle_core::{Result, Tensor, Var};
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
/// let net = seq![Linear::new(4, 2)?, ReLU];
/// let x = ones((1, 4), &cpu())?;
/// let y = no_grad(|| net.forward(&x))?; // (1, 2)
/// assert!(!y.track_op());
/// assert!(net.forward(&x)?.track_op()); // recorded again
/// # Ok::<(), Error>(())
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

/// Extends Candle's [`GradStore`], which `loss.backward()?` returns.
pub trait GradStoreExt {
    /// Returns the gradient of a tensor, or zeros if the loss does not depend on it.
    ///
    /// Candle's own `get` returns `None` then, also for `x * 0.0`: Candle records nothing for a factor of 0.
    ///
    /// # Errors
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = Parameter::new(&tensor(&[1.0, 2.0], &cpu())?)?.tensor()?; // (2,)
    /// let gradients = (&x * 0.0)?.sum_all()?.backward()?;
    /// assert!(gradients.get(&x).is_none());
    /// assert_eq!(gradients.of(&x)?.to_vec1::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    fn of(&self, x: &Tensor) -> Result<Tensor>;
}

impl GradStoreExt for GradStore {
    fn of(&self, x: &Tensor) -> Result<Tensor> {
        match self.get(x) {
            Some(gradient) => Ok(gradient.clone()),
            None => x.zeros_like(),
        }
    }
}

/// Returns the values of a variable. Gradients flow to it only outside of [`no_grad`].
pub(crate) fn recorded(var: Var) -> Tensor {
    match is_grad_enabled() {
        true => var.into_inner(),
        false => var.as_detached_tensor(),
    }
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
