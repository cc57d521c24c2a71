//! Runs the tests of a cell. The kernel turns `%test` into a call of [`run`].

use super::check_interrupt;
use crate::error::{Error, Result};
use std::fmt::Debug;

/// A test of a cell.
pub struct Test {
    pub name: &'static str,
    pub ignored: bool,
    pub should_panic: bool,
    /// Runs the test and returns its error; `None` if the test returns without one.
    pub run: fn() -> Option<String>,
}

/// The return value of a test: `()` or a `Result`.
pub trait Outcome {
    /// Returns the error, if there is one.
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<T, E: Debug> Outcome for std::result::Result<T, E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| format!("{error:?}"))
    }
}

/// Runs tests and prints their results as `cargo test` does. Each test runs in a thread with the name of the
/// test, so that the message of a panic contains that name.
///
/// # Errors
/// Returns an error if a test fails or the user interrupts the cell.
pub fn run(tests: &[Test]) -> Result<()> {
    let (mut failed, mut ignored) = (0, 0);
    for test in tests {
        check_interrupt()?;
        if test.ignored {
            ignored += 1;
            println!("test {} ... ignored", test.name);
            continue;
        }
        match failure_of(test) {
            None => println!("test {} ... ok", test.name),
            Some(why) => {
                failed += 1;
                println!("test {} ... FAILED{why}", test.name);
            }
        }
    }
    let passed = tests.len() - failed - ignored;
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {passed} passed; {failed} failed; {ignored} ignored");
    match failed {
        0 => Ok(()),
        _ => Err(Error::msg(format_args!(
            "{failed} of {} tests failed",
            tests.len() - ignored
        ))),
    }
}

/// Returns the reason why a test failed, as the text after `FAILED`; `None` if it passed.
fn failure_of(test: &Test) -> Option<String> {
    let thread = std::thread::Builder::new().name(test.name.to_owned());
    let ended = match thread.spawn(test.run) {
        Ok(thread) => thread.join(),
        Err(error) => return Some(format!(": {error}")),
    };
    match (ended, test.should_panic) {
        (Ok(None), false) | (Err(_), true) => None,
        (Ok(None), true) => Some(": test did not panic as expected".to_owned()),
        (Ok(Some(error)), _) => Some(format!(": {error}")),
        // The message of the panic has been shown.
        (Err(_), false) => Some(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(run: fn() -> Option<String>) -> Test {
        Test {
            name: "one",
            ignored: false,
            should_panic: false,
            run,
        }
    }

    #[test]
    fn a_test_fails_by_a_panic_or_an_error() {
        let passes = test(|| ().failure());
        let errs = test(|| "x".parse::<i32>().failure());
        let panics = test(|| panic!("on purpose"));
        assert!(run(&[passes]).is_ok());
        assert_eq!(failure_of(&panics).as_deref(), Some(""));
        assert!(failure_of(&errs).is_some_and(|why| why.contains("InvalidDigit")));
        let error = run(&[errs, panics]).unwrap_err().to_string();
        assert!(error.starts_with("2 of 2 tests failed"), "{error}");
    }

    #[test]
    fn a_test_that_should_panic_passes_by_a_panic() {
        let should_panic = |run| Test {
            should_panic: true,
            ..test(run)
        };
        assert_eq!(failure_of(&should_panic(|| panic!("on purpose"))), None);
        assert!(failure_of(&should_panic(|| None)).is_some());
    }
}
