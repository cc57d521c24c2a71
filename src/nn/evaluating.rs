//! Runs a function while a model is in evaluation mode.

use crate::nn::visitor::Visitor;
use crate::nn::{Mode, Parameters};

/// Runs `work` while the model is in evaluation mode, then restores each of the model's modes, also after a
/// panic.
pub(crate) fn evaluating<T, M: Parameters + ?Sized>(model: &M, work: impl FnOnce() -> T) -> T {
    let mut before = Before(Vec::new());
    model.visit(&mut before);
    let _restore = Restore {
        model,
        modes: before.0.into_iter(),
    };
    model.set_training(false);
    work()
}

/// Collects the modes.
struct Before(Vec<bool>);

impl Visitor for Before {
    fn mode(&mut self, mode: &Mode) {
        self.0.push(mode.is_training());
    }
}

/// Sets the modes again when it is dropped.
struct Restore<'a, M: Parameters + ?Sized> {
    model: &'a M,
    modes: std::vec::IntoIter<bool>,
}

impl<M: Parameters + ?Sized> Drop for Restore<'_, M> {
    fn drop(&mut self) {
        self.model.visit(&mut Modes(&mut self.modes));
    }
}

struct Modes<'a>(&'a mut std::vec::IntoIter<bool>);

impl Visitor for Modes<'_> {
    fn mode(&mut self, mode: &Mode) {
        self.0.next().into_iter().for_each(|m| mode.set_training(m));
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
