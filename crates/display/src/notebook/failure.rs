//! The report of a `?` that ends a cell. The kernel inserts a call of [`failed`] into the source of each
//! cell.

use super::record::send_record;
use crate::error::{AnyError, described};
use serde_json::json;
use std::fmt::Display;
use std::mem::ManuallyDrop;
use std::panic::Location;

/// Sends the error of a `?`, with advice and with its line in the compiled source. Does not drop the error:
/// a cell fails at most once, and the code that drops Candle's error was half of the code that the compiler
/// had to translate for a cell.
#[track_caller]
#[inline]
pub fn failed<T: Display>(error: T) {
    let error = ManuallyDrop::new(error);
    report(&AnyError::new(&*error), Location::caller());
}

fn report(error: &AnyError<'_>, place: &Location<'_>) {
    send_record(&json!({
        "event": "failed",
        "message": described(error),
        "file": place.file(),
        "line": place.line(),
    }));
}
