//! The report of a `?` that ends a cell. The kernel puts the call into the source of each cell.

use super::record::send_record;
use crate::error::described;
use serde_json::json;
use std::fmt::Display;
use std::panic::Location;

/// Sends the error of a `?` with its line in the compiled source, and what to do about it.
#[track_caller]
pub fn failed<T: Display>(error: &T) {
    let place = Location::caller();
    send_record(&json!({
        "op": "failed",
        "message": described(error),
        "file": place.file(),
        "line": place.line(),
    }));
}
