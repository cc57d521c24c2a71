//! Errors of shape, type, index or device as panics, and back as values.

use super::{Error, Problem, Result};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};

thread_local! {
    /// How many calls of [`attempt`] this thread is in.
    static ATTEMPTS: Cell<usize> = const { Cell::new(0) };
    /// Whether the panic that begins on this thread is an error.
    static IS_ERROR: Cell<bool> = const { Cell::new(false) };
    /// Shows where the error of a panic arises, and returns the same as text.
    static DRAW: Cell<Option<Draw>> = const { Cell::new(None) };
}

type Draw = fn() -> Option<String>;

/// The payload of a panic within [`attempt`], which prints nothing.
struct Raised(Error);

/// Runs `compute`, and returns the error of Taper with which it panicked, if it did.
///
/// A wrong shape, type, index or device is a mistake in the program, so functions on tensors panic, with
/// an error of two lines. Where such an error is expected, as in a server that computes with what its
/// clients send, this turns the panic back into a value. Other panics go on.
///
/// # Errors
/// The error with which `compute` panicked.
///
/// ```
/// use taper::prelude::*;
///
/// let (x, y) = (zeros((2, 3)), zeros(4));
/// assert!(attempt(|| &x + &x).is_ok());
/// let error = attempt(|| &x + &y).unwrap_err();
/// assert!(error.to_string().starts_with("+: "));
/// ```
pub fn attempt<T>(compute: impl FnOnce() -> T) -> Result<T> {
    let (mut compute, mut value) = (Some(compute), None);
    run(&mut || value = compute.take().map(|compute| compute()))?;
    Ok(value.expect("a computation that has ended has a value"))
}

/// Does the part of [`attempt`] that is not generic, so that it is compiled only once.
fn run(compute: &mut dyn FnMut()) -> Result<()> {
    let entered = Entered::new();
    let outcome = catch_unwind(AssertUnwindSafe(compute));
    drop(entered);
    outcome.map_err(error_of)
}

/// Counts a call of [`attempt`] while it lives.
struct Entered;

impl Entered {
    fn new() -> Self {
        ATTEMPTS.set(ATTEMPTS.get() + 1);
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        ATTEMPTS.set(ATTEMPTS.get() - 1);
    }
}

/// Returns the error of a panic that [`raise`] began; continues any other panic.
fn error_of(payload: Box<dyn Any + Send>) -> Error {
    match payload.downcast::<Raised>() {
        Ok(raised) => raised.0,
        Err(payload) => resume_unwind(payload),
    }
}

/// Returns the message of a caught panic.
#[doc(hidden)]
pub fn panic_text(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Panics with an error.
#[cold]
#[track_caller]
#[doc(hidden)]
pub fn raise(error: Error) -> ! {
    #[cfg(test)]
    tests::PLACE.set(Some(std::panic::Location::caller()));
    match ATTEMPTS.get() {
        // The payload is a text, so that every panic hook can print it.
        0 => {
            let mut text = super::described(&super::AnyError::new(&error));
            if let Some(drawing) = drawing(&error) {
                text += &format!("\n\n{drawing}");
            }
            IS_ERROR.set(true);
            panic_any(text)
        }
        // No hook is called: this panic is a value.
        _ => resume_unwind(Box::new(Raised(error))),
    }
}

/// Runs a function that is composed of methods of tensors. If one of them panics, the place is the caller's line.
#[track_caller]
#[doc(hidden)]
pub fn composed<T>(compute: impl FnOnce() -> candle_core::Result<T>) -> T {
    match attempt(compute) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => raise(error.into()),
        Err(error) => raise(error),
    }
}

/// Sets how this thread shows where an error arises.
#[doc(hidden)]
pub fn draw_with(draw: Draw) {
    DRAW.set(Some(draw));
}

fn drawing(error: &Error) -> Option<String> {
    let is_interrupt = { super::of(error) }.is_some_and(|it| it.problem == Problem::Interrupted);
    // Taken, so that a panic while drawing is an ordinary one.
    let draw = DRAW.take().filter(|_| !is_interrupt)?;
    draw()
}

/// Returns whether errors of this thread become values at the moment.
#[doc(hidden)]
pub fn is_attempted() -> bool {
    ATTEMPTS.get() > 0
}

/// Returns whether the panic that begins on this thread is an error. A panic hook calls it once.
#[doc(hidden)]
pub fn is_error() -> bool {
    IS_ERROR.take()
}

/// Turns errors into panics at the border between functions of this crate that return them and functions
/// that do not.
#[doc(hidden)]
pub trait OrRaise<T> {
    /// Returns the value, or panics with the error.
    fn or_raise(self) -> T;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    #[track_caller]
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => raise(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::mse_loss;
    use crate::tensor::{Tensor, zeros};
    use std::panic::Location;

    fn tensors() -> (Tensor, Tensor) {
        (zeros(2), zeros(3))
    }

    fn text(payload: Box<dyn Any + Send>) -> String {
        *payload.downcast::<String>().expect("a text")
    }

    #[test]
    fn an_attempt_in_an_attempt_returns_the_inner_error() {
        let (x, y) = tensors();
        let outer = attempt(|| {
            let inner = attempt(|| &x + &y).map(drop);
            assert!(inner.unwrap_err().to_string().starts_with("+: "));
            &x * &y
        });
        assert!(outer.unwrap_err().to_string().starts_with("*: "));
        assert_eq!(ATTEMPTS.get(), 0);
    }

    #[test]
    fn other_panics_go_on_and_leave_no_attempt() {
        let caught = catch_unwind(|| attempt(|| panic_any("on purpose")));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"on purpose"));
        assert_eq!(ATTEMPTS.get(), 0);
    }

    #[test]
    fn outside_of_an_attempt_the_payload_is_the_text_of_two_lines() {
        let (x, y) = tensors();
        let error = attempt(|| &x + &y).unwrap_err().to_string();
        let caught = catch_unwind(AssertUnwindSafe(|| &x + &y));
        assert_eq!(text(caught.unwrap_err()), error);
        assert_eq!(error.lines().count(), 2);
    }

    #[test]
    fn an_error_without_advice_gets_it() {
        let caught = catch_unwind(|| raise(candle_core::Error::EmptyTensor { op: "max" }.into()));
        let text = text(caught.unwrap_err());
        assert!(
            text.ends_with("\nThe tensor has no elements; `.dims()` returns its shape."),
            "{text}"
        );
    }

    #[test]
    fn another_thread_is_outside_of_the_attempt() {
        let (x, y) = tensors();
        let joined = attempt(|| std::thread::spawn(move || &x + &y).join().map(drop));
        assert!(text(joined.unwrap().unwrap_err()).starts_with("+: "));
    }

    thread_local! {
        /// The place that the last panic of this thread names.
        pub(super) static PLACE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
    }

    fn place_of(compute: impl FnOnce() -> Tensor) -> (&'static str, u32) {
        assert!(attempt(compute).is_err());
        let place = PLACE.get().expect("it panicked");
        (place.file(), place.line())
    }

    #[test]
    fn the_place_is_the_callers_through_operators_and_methods() {
        let (x, y) = tensors();
        let mask = x.gt(0.0);
        assert_eq!(place_of(|| &x + &y), (file!(), line!()));
        assert_eq!(place_of(|| x.clone() - &y), (file!(), line!()));
        assert_eq!(place_of(|| &x * y.clone()), (file!(), line!()));
        assert_eq!(place_of(|| x.clone() / y.clone()), (file!(), line!()));
        assert_eq!(place_of(|| x.matmul(&y)), (file!(), line!()));
        assert_eq!(place_of(|| x.i(7)), (file!(), line!()));
        assert_eq!(place_of(|| x.sum(1)), (file!(), line!()));
        assert_eq!(place_of(|| x.maximum(&y)), (file!(), line!()));
        assert_eq!(place_of(|| mask.where_cond(&x, &y)), (file!(), line!()));
        assert_eq!(place_of(|| mse_loss(&x, &y)), (file!(), line!()));
        let mut sum = x.clone();
        #[rustfmt::skip]
        assert_eq!(place_of(|| { sum += &y; x.clone() }), (file!(), line!()));
    }
}
