//! The tensors in a value that can be formatted.

use super::raw::Raw;
use std::cell::RefCell;

thread_local! {
    /// The tensors that are formatted; `None` outside of [`collect_formatted`]. This is ambient state, because `Debug` has no
    /// argument for it.
    static FORMATTED: RefCell<Option<Vec<Raw>>> = const { RefCell::new(None) };
}

/// Runs a function that formats a value, and returns the tensors that it formats by `{:?}`.
pub(crate) fn collect_formatted<T>(format: impl FnOnce() -> T) -> (T, Vec<Raw>) {
    let before = FORMATTED.replace(Some(vec![]));
    let result = format();
    (result, FORMATTED.replace(before).unwrap_or_default())
}

/// Adds a tensor that is formatted.
pub(super) fn formatted(x: &Raw) {
    FORMATTED.with_borrow_mut(|all| all.as_mut().map(|all| all.push(x.clone())));
}
