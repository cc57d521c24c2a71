//! Explains cells that failed while they ran: a failed `?`, a panic, the end of the process.

use super::cell_error::{BLUE, RESET, error};
use crate::session::tokens;
use ra_ap_rustc_lexer::TokenKind;
use taper_evaluator::event::{CellError, Location};

/// A cell that failed while it ran.
pub(crate) struct Failure {
    name: &'static str,
    message: String,
    /// A location in the cell, or (`Err`) a line of the compiled source.
    place: Option<Result<Location, usize>>,
}

impl From<(String, Option<String>, Option<usize>)> for Failure {
    /// Creates the failure of a panic from its message, file and line.
    fn from((message, file, line): (String, Option<String>, Option<usize>)) -> Self {
        let in_cell = file.as_deref() == Some("src/lib.rs");
        Failure {
            name: "Panic",
            message: with_advice(&message),
            place: line.filter(|_| in_cell).map(Err),
        }
    }
}

/// Creates the failure of a `?` from its error's message.
pub(crate) fn failed(message: &str, code: &str) -> Failure {
    Failure {
        name: "Error",
        message: with_advice(message),
        place: only_question_mark(code).map(Ok),
    }
}

impl Failure {
    /// Builds the error; `find` maps a line of the compiled source to the cell.
    pub(crate) fn into_error(
        self,
        find: impl FnOnce(usize) -> Option<Location>,
        code: &str,
    ) -> CellError {
        let location = match self.place {
            Some(Ok(location)) => Some(location),
            Some(Err(line)) => find(line),
            None => None,
        };
        let mut error = error(self.name, &self.message, location);
        let line = location.map(|l| l.line);
        if let Some((line, text)) = line.and_then(|n| Some((n, code.lines().nth(n - 1)?))) {
            let text = text.trim_end();
            error
                .traceback
                .push(format!("{BLUE}{line:>4} |{RESET} {text}"));
        }
        error
    }
}

/// Returns the line of the cell's `?`, if only one line has any.
fn only_question_mark(code: &str) -> Option<Location> {
    let tokens = tokens::with_offsets(code).into_iter();
    let marks = tokens.filter(|(_, kind, _)| *kind == TokenKind::Question);
    let mut lines: Vec<usize> = marks
        .map(|(at, ..)| code[..at].matches('\n').count() + 1)
        .collect();
    lines.dedup();
    match lines[..] {
        [line] => Some(Location { line, column: None }),
        _ => None,
    }
}

/// What to do about errors of Candle and Rust, by a part of their message; the first match counts.
/// These errors arrive only as text. Taper's own errors have a second line already.
#[rustfmt::skip]
const ADVICE: [(&str, &str); 32] = [
    ("called `Result::unwrap()` on an `Err` value", "Write `?` in place of `.unwrap()`: then the cell ends with the error itself."),
    ("called `Option::unwrap()` on a `None` value", "There was no value. Look first, with `if let Some(x) = …`, or give another one with `.unwrap_or(…)`."),
    ("shape mismatch in matmul", "A product needs (…, n, k) times (…, k, m): the two k must be equal. Perhaps one side needs `.t()?`."),
    ("shape mismatch in broadcast", "Compare the shapes from the right: two sizes must be equal, or one of them 1. `.unsqueeze(axis)?` puts a 1 in."),
    ("shape mismatch in cat", "All axes but the one along which they are joined must have equal sizes."),
    ("shape mismatch in", "Both shapes must be equal. To stretch the smaller one, use `broadcast_add`, `broadcast_sub`, `broadcast_mul` or `broadcast_div`."),
    ("Shape mismatch, got buffer of size", "The sizes of a shape must multiply to the number of elements. Write `()` for one size, and it is computed: `(2, ())`."),
    ("cannot broadcast", "Compare the shapes from the right: two sizes must be equal, or the old one 1."),
    ("narrow invalid args", "An index counts from 0 and stays below the size of its axis; `.dims()` returns the sizes."),
    ("dimension index", "Axes count from 0, so a tensor with two axes has 0 and 1. `D::Minus1` is the last one."),
    ("duplicate dim index", "Name each axis once."),
    ("unexpected rank, expected: 0", "Only a tensor without axes is a scalar: add up with `.sum_all()?`, or choose one number with `.i((0, 0))?`."),
    ("unexpected rank, expected: 1", "Make one axis of them first, with `.flatten_all()?`; or use `to_vec2` for two axes, `to_vec3` for three."),
    ("unexpected rank", "The number of axes is wrong. `.dims()` returns the shape; `.reshape`, `.unsqueeze` and `.squeeze` change it."),
    ("unexpected dtype", "Ask for the type that the tensor has, or convert it first: `.to_dtype(DType::F32)?`."),
    ("dtype mismatch", "Both need the same type of number. Convert one: `.to_dtype(DType::F32)?`."),
    ("unsupported dtype", "This operation needs another data type. Convert first: `.to_dtype(DType::U32)?` for indices, `DType::F32` to calculate."),
    ("device mismatch", "Both must be on one device. Bring one over: `x.to_device(y.device())?`."),
    ("invalid index", "Indices count from 0 and stay below the size of the axis."),
    ("has not been built with", "Write `try_gpu(0)`: it returns the GPU where one can be used, and the CPU elsewhere."),
    ("CUDA_ERROR_OUT_OF_MEMORY", "The GPU's memory is full. Use smaller batches, drop tensors of earlier cells with `drop(x)`, or restart the kernel; `nvidia_smi()?` shows what other programs hold."),
    ("CUDA_ERROR_ASSERT", "An index is out of range, and the GPU cannot be used until the kernel is restarted. Then run the cell on `cpu()`, which names the index."),
    ("CUDA_ERROR_ILLEGAL_ADDRESS", "The GPU cannot be used until the kernel is restarted."),
    ("CUDA_ERROR_NOT_FOUND", "The GPU has no kernel for numbers of this type. Convert first, `x.to_dtype(DType::F32)?`, or compute it on the CPU."),
    ("index out of bounds", "Indices count from 0, so the last one is the length less 1."),
    ("attempt to subtract with overflow", "Unsigned integers, such as `usize`, cannot go below 0. Convert first: `x as i64`."),
    ("attempt to divide by zero", "An integer cannot be divided by 0. Check the divisor first, or calculate with `f64`."),
    (" with overflow", "The result does not fit into its type. Use a larger one, such as `i64`, or `f64`."),
    ("already borrowed", "The value is in use elsewhere. Let the first borrow end, with a block `{ … }`, before the next begins."),
    ("is not a char boundary", "Letters may be several bytes long, and text is cut by bytes. Count letters with `.chars()`."),
    ("no entry found for key", "Look first, with `.get(key)`: it returns an `Option`."),
    ("No such file or directory", "Look at the name; a path begins in the folder in which the notebook lies."),
];

/// Adds a line about what to do, unless the message has one.
fn with_advice(message: &str) -> String {
    // With an empty message, only the error's name would be shown.
    if message.trim().is_empty() {
        return "(no message)".to_owned();
    }
    let advice = ADVICE.iter().find(|(text, _)| message.contains(text));
    match advice {
        Some((_, advice)) if message.lines().count() == 1 => format!("{message}\n{advice}"),
        _ => message.to_owned(),
    }
}

/// Says how the cells process ended. `status` is the end of evcxr's message, which has it only as
/// text: `exit status: 3`, `signal: 11 (SIGSEGV)`.
pub(crate) fn ended(status: &str) -> String {
    let status = status.rsplit("status: ").next().unwrap_or(status).trim();
    let what = if let Some(code) = status
        .strip_prefix("exit status: ")
        .or(status.strip_prefix("status: "))
    {
        format!("The cell ended the process in which all cells run (exit status {code}).")
    } else if status.contains("SIGSEGV") {
        "The process in which all cells run crashed: segmentation fault (SIGSEGV). \
         `unsafe` code touched memory that is not its own."
            .to_owned()
    } else if status.contains("SIGABRT") {
        "The process in which all cells run was aborted (SIGABRT): \
         an endless recursion, a panic inside a panic, or `abort`."
            .to_owned()
    } else if status.contains("SIGKILL") {
        "The process in which all cells run was killed (SIGKILL); often because memory ran out."
            .to_owned()
    } else if status.chars().all(|c| c.is_ascii_digit()) {
        format!("The cell ended the process in which all cells run (exit status {status}).")
    } else {
        format!("The process in which all cells run ended ({status}).")
    };
    format!("{what}\nAll variables are lost: run the cells that define them again.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_question_mark_is_located() {
        let line = |code| only_question_mark(code).map(|l| l.line);
        assert_eq!(line("let a = 1;\nf()?;"), Some(2));
        assert_eq!(line("f()?;\ng()?;"), None);
        assert_eq!(line("\"?\""), None);
    }

    #[test]
    fn advice_is_given_once_and_only_where_there_is_none() {
        let advised = with_advice("shape mismatch in matmul, lhs: [2, 3], rhs: [2, 3]");
        assert_eq!(advised.lines().count(), 2);
        assert_eq!(with_advice(&advised), advised);
        assert_eq!(with_advice("what\nwhat to do"), "what\nwhat to do");
        assert_eq!(with_advice("boom"), "boom");
        let full = with_advice(r#"DriverError(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")"#);
        assert!(full.contains("\nThe GPU's memory is full."), "{full}");
    }

    #[test]
    fn the_end_of_the_process_is_explained() {
        let three = ended("Subprocess terminated with status: exit status: 3");
        assert!(three.contains("exit status 3"));
        let crash = ended("Subprocess terminated with status: signal: 11 (SIGSEGV)");
        assert!(crash.contains("segmentation fault"));
    }
}
