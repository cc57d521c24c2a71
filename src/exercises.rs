//! Exercises that check themselves.
//!
//! The last line of an exercise is `check("tensors.7", shares)?`. [`check()`] finds the cases of the
//! exercise in `cases.json`, which `tests/exercises/make.py` writes from solutions of its own. It calls
//! the answer with the inputs of each case (`answer.rs`), compares the result with the expected one
//! (`judge.rs`), and counts wrong attempts in a file of the user (`progress.rs`), because a hint
//! appears after the second wrong attempt and another after the fourth, translated by `translation.rs`. `value.rs` has
//! the type of inputs and results. Only the call of the answer in `answer.rs` is compiled with a cell.
//!
//! The projects are larger: [`score()`] measures predictions for a test set whose targets only `projects.rs` opens.

mod answer;
mod judge;
mod library;
mod progress;
mod projects;
#[cfg(test)]
mod tests;
mod translation;
mod value;

pub use answer::{Answer, Input, Lend, Output, Own, Plain};
pub use projects::score;
pub use value::Value;

use crate::error::Result;
use library::Exercise;
use progress::Progress;
use translation::Translations;

/// Checks the answer to an exercise and prints the result.
///
/// The answer is a value or a function of up to three arguments. The result is `✓` if it is right for all
/// cases, `✗` with the first case that fails if it is wrong, and `○` while it is still `todo!()`. After
/// two wrong answers, a hint is printed, after four a second one. `cargo taper exercises` lists the solved
/// exercises; in a folder named `solutions`, answers are not counted.
///
/// # Errors
/// If there is no exercise of this name.
///
/// ```
/// use taper::prelude::*;
///
/// # // SAFETY: a doc test is a process of its own, with one thread.
/// # unsafe { std::env::set_var("TAPER_STATE", std::env::temp_dir().join("taper-doc-check")) };
/// fn shares(x: &Tensor) -> Tensor {
///     let e = x.exp(); // (rows, columns)
///     &e / e.sum_keepdim(1)
/// }
/// check("tensors.7", shares)?; // ✓ tensors.7: 4/4
/// assert!(check("tensors.700", shares).is_err());
/// # Ok::<(), Error>(())
/// ```
pub fn check<Kind>(exercise: &str, answer: impl Answer<Kind>) -> Result<()> {
    check_calls(exercise, &|inputs| answer.call(inputs))
}

/// Checks an answer of any type; unlike [`check()`], it is compiled once.
fn check_calls(name: &str, answer: &answer::Call<'_>) -> Result<()> {
    let exercise = Exercise::find(name)?;
    let verdict = judge::judge(&exercise, answer);
    println!("{verdict}");
    match Progress::record(name, verdict.is_right()) {
        Ok(failures) if verdict.is_right() == Some(false) => {
            let translations = Translations::here();
            for hint in exercise.hints(failures) {
                println!("{} {}", translations.of("Hint:"), translations.of(hint));
            }
        }
        Ok(_) => {}
        Err(error) => println!("(This attempt was not counted: {error}.)"),
    }
    Ok(())
}
