//! Computing without recording for gradients.

use candle_core::{Tensor, Var};
use std::cell::Cell;

thread_local! {
    /// Whether this thread is inside of [`no_grad`].
    static DISABLED: Cell<bool> = const { Cell::new(false) };
}

/// Computes without recording what gradients would need, which saves memory and some time: for
/// validation and inference, and for changing parameters by hand.
///
/// Inside, on this thread, the parameters of a model are constants, so nothing that is computed from
/// them has gradients. A [`Var`](candle_core::Var) used directly is still recorded by Candle's own
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

/// Returns the values of a variable, whose gradients are recorded outside of [`no_grad`].
pub(crate) fn recorded(var: Var) -> Tensor {
    match is_grad_enabled() {
        true => var.into_inner(),
        false => var.as_detached_tensor(),
    }
}

/// Restores the state before when it is dropped, also after a panic.
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
