//! Runs a function while a model is in evaluation mode.

use crate::nn::parameters::EachMode;
use crate::nn::{Mode, Parameters};

/// Runs `work` while the model is in evaluation mode, then restores each of the model's modes, also after a
/// panic.
#[doc(hidden)]
pub fn evaluating<T, M: Parameters + ?Sized>(model: &M, work: impl FnOnce() -> T) -> T {
    let mut before = Vec::new();
    model.visit(&mut EachMode(&mut |mode| before.push(mode.is_training())));
    let _restore = Restore {
        model,
        modes: before.into_iter(),
    };
    model.set_training(false);
    work()
}

/// Sets the modes again when it is dropped.
struct Restore<'a, M: Parameters + ?Sized> {
    model: &'a M,
    modes: std::vec::IntoIter<bool>,
}

impl<M: Parameters + ?Sized> Drop for Restore<'_, M> {
    fn drop(&mut self) {
        let restore = &mut |mode: &Mode| {
            let training = self.modes.next();
            training.into_iter().for_each(|it| mode.set_training(it));
        };
        self.model.visit(&mut EachMode(restore));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn the_modes_are_restored_also_after_a_panic() {
        let modes = vec![Mode::new(), Mode::new()];
        modes[0].set_training(false);
        let panics = || evaluating(&modes, || assert!(modes[1].is_training(), "on purpose"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(format!("{modes:?}"), "[eval, train]");
    }
}
