//! Runs a function while a model is in evaluation mode.

use crate::nn::visitor::Visitor;
use crate::nn::{Mode, Parameters};

/// Runs `work` while the model is in evaluation mode, then restores each of the model's modes.
pub(crate) fn evaluating<T, M: Parameters + ?Sized>(model: &M, work: impl FnOnce() -> T) -> T {
    struct Before(Vec<bool>);
    impl Visitor for Before {
        fn mode(&mut self, mode: &Mode) {
            self.0.push(mode.is_training());
        }
    }
    struct Restore(std::vec::IntoIter<bool>);
    impl Visitor for Restore {
        fn mode(&mut self, mode: &Mode) {
            self.0.next().into_iter().for_each(|m| mode.set_training(m));
        }
    }
    let mut before = Before(Vec::new());
    model.visit(&mut before);
    model.set_training(false);
    let done = work();
    model.visit(&mut Restore(before.0.into_iter()));
    done
}
