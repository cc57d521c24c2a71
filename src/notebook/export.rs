//! What the programs that `taper export` makes stand on.
//!
//! Such a program runs the cells of a notebook in order. On a terminal it prints what they show, as
//! text. With its output in a file it writes a log, out of which `taper run NOTEBOOK --outputs LOG`
//! puts figures, values and text back into the notebook.

use crate::notebook::Show;
use crate::notebook::{MimeBundle, display, hooks, record};
use serde_json::json;
use std::fmt::Debug;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// How the cells of a notebook end: with the error of a failing `?`, whatever its type is.
pub type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Runs the cells. The program's exit code is 1 if one of them fails; a log names the error.
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
    if !std::io::stdout().is_terminal() {
        record::begin_log();
    }
    hooks::taper_attach();
    let outcome = cells();
    let code = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            failed(&error.to_string());
            ExitCode::FAILURE
        }
    };
    hooks::taper_flush();
    code
}

/// Errors as short as in a notebook, where RUST_BACKTRACE is set: what a cell prints of an error is
/// then the same. Panics keep their backtraces. The standard library reads the variable once, so
/// the program begins again with it.
#[cfg(unix)]
fn without_backtraces_of_errors() {
    use std::os::unix::process::CommandExt;
    const ERRORS: &str = "RUST_LIB_BACKTRACE";
    let asked_for = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    if !asked_for || std::env::var_os(ERRORS).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let mut again = std::process::Command::new(program);
        again.args(std::env::args_os().skip(1)).env(ERRORS, "0");
        let error = again.exec();
        eprintln!("errors keep their backtraces: {error}");
    }
}

#[cfg(not(unix))]
fn without_backtraces_of_errors() {}

/// Begins a cell: its id in the notebook, and a digest of its source by which the log's reader
/// knows that it is still the same.
///
/// ```
/// taper::notebook::export::cell("first-tensor", "5f1c");
/// ```
pub fn cell(id: &str, digest: &str) {
    hooks::taper_flush();
    hooks::taper_begin_cell();
    record::send_record(&json!({ "op": "cell", "id": id, "digest": digest }));
    if record::is_recorded() {
        eprintln!("cell {id}");
    }
}

/// Runs a cell that may fail, as its tag `raises-exception` allows: the next one runs nevertheless.
///
/// ```
/// use taper::prelude::*;
///
/// taper::notebook::export::may_fail(|| {
///     device("abacus")?;
///     Ok(())
/// });
/// ```
pub fn may_fail(cell: impl FnOnce() -> Outcome) {
    // The text of a panic has been printed, or logged, by the hook.
    if let Ok(Err(error)) = catch_unwind(AssertUnwindSafe(cell)) {
        failed(&error.to_string());
    }
}

/// Shows the value of a cell as a notebook does: with [`Show`] if its type has it, else with `{:?}`.
///
/// ```
/// taper::show_value!(1 + 2);
/// ```
#[macro_export]
macro_rules! show_value {
    ($value:expr) => {{
        #[allow(unused_imports)]
        use $crate::notebook::export::{ViaDebug as _, ViaShow as _};
        (&$crate::notebook::export::Value(&$value)).show_value();
    }};
}

/// The value of a cell, for [`show_value!`](crate::show_value).
#[doc(hidden)]
pub struct Value<'a, T: ?Sized>(pub &'a T);

#[doc(hidden)]
pub trait ViaShow {
    fn show_value(&self);
}

impl<T: Show + ?Sized> ViaShow for Value<'_, T> {
    fn show_value(&self) {
        if record::is_recorded() {
            // The unit type knows that it shows nothing.
            self.0.evcxr_display();
        } else {
            print(&self.0.show_text());
        }
    }
}

/// Found by the compiler only where [`ViaShow`] does not fit, since it is one reference further.
#[doc(hidden)]
pub trait ViaDebug {
    fn show_value(&self);
}

impl<T: Debug + ?Sized> ViaDebug for &Value<'_, T> {
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
    // Where RUST_BACKTRACE is set, Candle prints one behind its message.
    let message = message.split("\n   0: ").next().unwrap_or_default();
    if record::is_recorded() {
        record::send_record(&json!({ "op": "failed", "message": message }));
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
    fn a_log_has_cells_values_and_errors_in_order() {
        let told = records(
            "notebook::export::tests::a_log_has_cells_values_and_errors_in_order",
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
        let told: Vec<String> = told
            .iter()
            .map(|r| match r["op"].as_str().unwrap() {
                "cell" => format!("cell {} {}", r["id"], r["digest"]),
                "result" => format!("result {}", r["data"]["text/plain"]),
                op => format!("{op} {}", r["message"]),
            })
            .collect();
        assert_eq!(
            told,
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
