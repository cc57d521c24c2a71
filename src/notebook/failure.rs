//! The report of a `?` that ends a cell. The kernel puts the call into the source of each cell.

use super::record::send_record;
use super::variables::USER_ERROR_OCCURRED;
use crate::error::{AnyError, described};
use serde_json::json;
use std::fmt::Display;
use std::panic::Location;

/// Sends the error of a `?` with its line in the compiled source, and what to do about it.
#[track_caller]
#[inline]
pub fn failed<T: Display>(error: &T) {
    report(&AnyError::new(error), Location::caller());
}

fn report(error: &AnyError<'_>, place: &Location<'_>) {
    send_record(&json!({
        "op": "failed",
        "message": described(error),
        "file": place.file(),
        "line": place.line(),
    }));
    println!("{USER_ERROR_OCCURRED}");
}
