//! Panics in the model, the data or the callbacks of the user.

use crate::error::{Result, attempt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// Runs a part of a training that calls the user's code, and returns its panic, so that the training can be
/// ended in order before the panic goes on.
///
/// With other ranks, a panic by an error of Taper is this rank's error: it ends the other ranks too. Without,
/// the panic's message has already named the place in the user's code.
pub(super) fn caught<T>(
    has_ranks: bool,
    work: impl FnOnce() -> Result<T>,
) -> thread::Result<Result<T>> {
    catch_unwind(AssertUnwindSafe(|| match has_ranks {
        true => attempt(work)?,
        false => work(),
    }))
}
