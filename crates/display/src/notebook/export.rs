//! The runtime of programs made by `taper export`.
//!
//! Such a program runs the cells of a notebook in order. On a terminal it prints their outputs as text.
//! If standard output is a file, it writes a log instead; `taper run NOTEBOOK --outputs LOG` copies
//! figures, values and text from the log into the notebook. Of several processes that train together, only
//! the first prints, as on a terminal.

use crate::distributed::world;
use crate::error::of_any;
use crate::notebook::{MimeBundle, Show, display, hooks, record};
use serde_json::json;
use std::fmt::Debug;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// The result of running cells: `()`, or the error of the `?` that failed, of any type.
pub type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Runs the cells and returns the exit code of the program: 1 if a cell fails. The error is written to
/// the log or, on a terminal, to standard error.
///
/// ```
/// use taper::notebook::export::run;
///
/// let code = run(|| {
///     taper::notebook::export::cell("sum", "5f1c");
///     let sum = 1 + 2;
///     taper::show_value!(sum);
///     Ok(())
/// });
/// assert_eq!(code, std::process::ExitCode::SUCCESS);
/// ```
pub fn run(cells: impl FnOnce() -> Outcome) -> ExitCode {
    without_backtraces_of_errors();
    let size = match world() {
        Ok(world) => {
            if world.rank > 0 {
                print_nothing();
            }
            world.size
        }
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    if size == 1 && !std::io::stdout().is_terminal() {
        record::begin_log();
    }
    hooks::taper_attach();
    let code = match cells() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            failed(&of_any(&*error));
            ExitCode::FAILURE
        }
    };
    hooks::taper_flush();
    code
}

/// Removes backtraces from errors if `RUST_BACKTRACE` is set, so that cells print errors as in a
/// notebook. Panics keep their backtraces. The standard library reads `RUST_LIB_BACKTRACE` only once, so
/// the program sets that variable and starts again.
#[cfg(unix)]
fn without_backtraces_of_errors() {
    use std::os::unix::process::CommandExt;
    const ERRORS: &str = "RUST_LIB_BACKTRACE";
    let is_set = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    if !is_set || std::env::var_os(ERRORS).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let mut again = std::process::Command::new(program);
        again.args(std::env::args_os().skip(1)).env(ERRORS, "0");
        let error = again.exec();
        eprintln!("cannot remove backtraces from errors: {error}");
    }
}

#[cfg(not(unix))]
fn without_backtraces_of_errors() {}

/// Redirects standard output to `/dev/null`. The cells of all ranks have the same outputs, so only rank 0
/// prints them. Standard error is unchanged.
#[cfg(unix)]
fn print_nothing() {
    use std::os::fd::AsRawFd;
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        // SAFETY: both descriptors are open.
        unsafe { libc::dup2(null.as_raw_fd(), libc::STDOUT_FILENO) };
    }
}

#[cfg(not(unix))]
fn print_nothing() {}

/// Begins a cell, with its id in the notebook and a digest of its source. The reader of the log compares
/// the digest with the notebook to find out whether the cell has changed.
///
/// ```
/// let code = taper::notebook::export::run(|| {
///     taper::notebook::export::cell("first-tensor", "5f1c");
///     Ok(())
/// });
/// assert_eq!(code, std::process::ExitCode::SUCCESS);
/// ```
pub fn cell(id: &str, digest: &str) {
    hooks::taper_flush();
    hooks::taper_begin_cell();
    record::send_record(&json!({ "event": "cell", "id": id, "digest": digest }));
    if record::is_recorded() {
        eprintln!("cell {id}");
    }
}

/// Runs a cell that may fail because of its tag `raises-exception`. The next cell runs in any case.
///
/// ```
/// use taper::prelude::*;
///
/// let mut reached_the_end = false;
/// taper::notebook::export::may_fail(|| {
///     device("abacus")?;
///     reached_the_end = true;
///     Ok(())
/// });
/// assert!(!reached_the_end);
/// ```
pub fn may_fail(cell: impl FnOnce() -> Outcome) {
    // The panic hook has printed or logged the message of a panic.
    if let Ok(Err(error)) = catch_unwind(AssertUnwindSafe(cell)) {
        failed(&of_any(&*error));
    }
}

/// Shows the value of a cell as a notebook does: with [`Show`] if its type implements it, otherwise with
/// `{:?}`.
///
/// ```
/// let sum = 1 + 2;
/// taper::show_value!(sum); // prints 3
/// assert_eq!(sum, 3);
/// ```
#[macro_export]
macro_rules! show_value {
    ($value:expr) => {{
        #[allow(unused_imports)]
        use $crate::notebook::export::ShowValue as _;
        (&$crate::notebook::export::Value(&$value)).show_value();
    }};
}

/// The value of a cell, for [`show_value!`](crate::show_value).
#[doc(hidden)]
pub struct Value<'a, T: ?Sized>(pub &'a T);

/// Implemented for types with [`Show`], and behind one more reference for types with `Debug`: the compiler chooses the
/// second only if the first does not apply.
#[doc(hidden)]
pub trait ShowValue {
    fn show_value(&self);
}

impl<T: Show + ?Sized> ShowValue for Value<'_, T> {
    fn show_value(&self) {
        if record::is_recorded() {
            // For the unit type this shows nothing.
            self.0.evcxr_display();
        } else {
            print(&self.0.show_text());
        }
    }
}

impl<T: Debug + ?Sized> ShowValue for &Value<'_, T> {
    fn show_value(&self) {
        let text = format!("{:?}", self.0);
        if record::is_recorded() {
            display::result(&MimeBundle::text(text));
        } else {
            print(&text);
        }
    }
}

fn print(text: &str) {
    if text != "()" {
        println!("{text}");
    }
}

fn failed(message: &str) {
    if record::is_recorded() {
        record::send_record(&json!({ "event": "failed", "message": message }));
    } else {
        eprintln!("{message}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::testing::records;

    #[derive(Debug)]
    struct Plain;

    #[test]
    fn a_log_contains_cells_values_and_errors_in_order() {
        let records = records(
            "notebook::export::tests::a_log_contains_cells_values_and_errors_in_order",
            || {
                cell("one", "aa");
                show_value!(vec![1, 2]);
                show_value!(());
                cell("two", "bb");
                show_value!(Plain);
                may_fail(|| Err("no".into()));
                may_fail(|| panic!("oh"));
            },
        );
        let lines: Vec<String> = records
            .iter()
            .map(|r| match r["event"].as_str().unwrap() {
                "cell" => format!("cell {} {}", r["id"], r["digest"]),
                "result" => format!("result {}", r["data"]["text/plain"]),
                event => format!("{event} {}", r["message"]),
            })
            .collect();
        assert_eq!(
            lines,
            [
                "cell \"one\" \"aa\"",
                "result \"[1, 2]\"",
                "cell \"two\" \"bb\"",
                "result \"Plain\"",
                "failed \"no\"",
                "panic \"oh\"",
            ]
        );
    }
}
