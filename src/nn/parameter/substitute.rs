//! Values that take the place of a parameter's own while a layer computes.
//!
//! A layer reads its parameters itself, so a wrapper that computes its weight, as weight normalisation does, has no
//! argument through which to pass it. The substitutes belong to the thread, and live for one forward pass.

use super::Parameter;
use crate::tensor::Tensor;
use std::cell::RefCell;

thread_local! {
    static SUBSTITUTES: RefCell<Vec<(usize, Tensor)>> = const { RefCell::new(vec![]) };
}

impl Parameter {
    /// Runs `work`, in which [`tensor`](Self::tensor) returns `values`.
    pub(in crate::nn) fn replaced_by<T>(&self, values: &Tensor, work: impl FnOnce() -> T) -> T {
        /// Removes the substitute, also after a panic.
        struct Restore;
        impl Drop for Restore {
            fn drop(&mut self) {
                SUBSTITUTES.with_borrow_mut(Vec::pop);
            }
        }
        SUBSTITUTES.with_borrow_mut(|all| all.push((self.address(), values.clone())));
        let _restore = Restore;
        work()
    }

    /// Returns the values that take the place of the parameter's own, if there are some.
    pub(super) fn substitute(&self) -> Option<Tensor> {
        SUBSTITUTES.with_borrow(|all| {
            let own = all
                .iter()
                .rev()
                .find(|(address, _)| *address == self.address());
            own.map(|(_, values)| values.clone())
        })
    }
}
