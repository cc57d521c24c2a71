//! The first layer in a forward pass whose output is not finite.

use crate::nn::{Parameter, Parameters, state_of};
use crate::ops::all_finite;
use crate::tensor::Tensor;
use std::cell::{Cell, RefCell};

/// A layer whose output is not finite.
pub(crate) struct NotFinite {
    /// The layer's description.
    pub(crate) layer: String,
    /// Its first parameter, by which its place in a model is found.
    pub(crate) parameter: Option<Parameter>,
}

thread_local! {
    /// Whether the outputs of the layers on this thread are looked at. This is ambient state, as in `recorder`.
    static IS_WATCHING: Cell<bool> = const { Cell::new(false) };
    static FIRST: RefCell<Option<NotFinite>> = const { RefCell::new(None) };
}

/// Runs forward passes, and returns the first layer whose output has NaN or infinite elements. Layers do not update
/// their running statistics.
pub(crate) fn first_not_finite(run: impl FnOnce()) -> Option<NotFinite> {
    /// Ends the watch when it is dropped, also after a panic.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            IS_WATCHING.set(false);
        }
    }
    FIRST.take();
    IS_WATCHING.set(true);
    let end = End;
    run();
    drop(end);
    FIRST.take()
}

/// Returns whether the outputs of layers are looked at.
pub(in crate::nn) fn is_watching() -> bool {
    IS_WATCHING.get()
}

/// Looks at the output of a layer, within [`first_not_finite`].
pub(super) fn passed(layer: &dyn Parameters, output: &Tensor) {
    if is_watching()
        && FIRST.with_borrow(Option::is_none)
        && matches!(all_finite(output.raw()), Ok(false))
    {
        let parameter = state_of(layer).into_iter().next();
        FIRST.set(Some(NotFinite {
            layer: layer.describe(),
            parameter: parameter.map(|entry| entry.parameter),
        }));
    }
}
