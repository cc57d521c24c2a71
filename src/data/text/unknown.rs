//! The error of an index that no token has.

use crate::error::{self, Error};

/// Returns the error of an index for which there is no token.
pub(super) fn unknown(operation: &str, index: u32, len: usize) -> Error {
    error::index(
        operation,
        "token",
        i64::from(index),
        len,
        match len {
            0 => "Create it from a text with tokens: it has none".to_owned(),
            _ => format!("Use indices from 0 to {}", len - 1),
        },
    )
}
