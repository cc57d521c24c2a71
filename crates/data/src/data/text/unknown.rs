//! The error of an index that no token has.

use crate::error::{self, Error};

/// Returns the error of an index for which there is no token.
pub(super) fn unknown(operation: &str, index: u32, len: usize) -> Error {
    let empty = "Create it from a text with tokens: it has none";
    error::outside(operation, "token", index as usize, len, empty)
}
