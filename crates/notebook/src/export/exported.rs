//! Which cells a program contains.

use super::rust_cell::RustCell;
use crate::document::notebook::CodeCell;
use nbformat::v4::Output;
use taper_evaluator::event::COMPILE_ERROR;
use taper_rust_cell::commands::percent_command;

/// The Rust code of an exported cell.
pub(super) enum Code {
    Parsed(RustCell),
    /// Exported nevertheless: the compiler may accept syntax that our parser does not.
    Unparsed {
        source: String,
        error: syn::Error,
    },
}

/// The reason why a cell is not exported; `None` if it has nothing to export.
pub(super) struct LeftOut(pub(super) Option<String>);

/// Returns the code of a cell, or why it is not exported: if it is tagged to be skipped, contains no Rust code, or has a
/// compile error among its outputs.
pub(super) fn code_of(cell: &CodeCell) -> Result<Code, LeftOut> {
    let because = |reason: &str| Err(LeftOut(Some(reason.to_owned())));
    let is_compile_error =
        |output: &Output| matches!(output, Output::Error(error) if error.ename == COMPILE_ERROR);
    let outputs = cell.stored.as_deref().unwrap_or_default();
    if cell.tags.skip {
        return because("it is tagged `skip-execution`");
    }
    if outputs.iter().any(is_compile_error) {
        return because("its output is a compile error");
    }
    match RustCell::parse(&cell.source) {
        Ok(parsed) if parsed.is_empty() => Err(LeftOut(not_rust(&cell.source))),
        Ok(parsed) => Ok(Code::Parsed(parsed)),
        // The tag announces an error, and this is the error, even if the outputs were cleared.
        Err(_) if cell.tags.raises => {
            because("it does not parse, and is tagged `raises-exception`")
        }
        Err((source, error)) => Ok(Code::Unparsed { source, error }),
    }
}

/// Returns what a cell without Rust is instead; `None` if it has only comments, dependencies, or lines that are reported one
/// by one.
fn not_rust(source: &str) -> Option<String> {
    if let Some((_, word)) = percent_command(source) {
        return Some(format!("`{word}` is not Rust"));
    }
    let mut words = source
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let command = words.find(|word| word.starts_with(':') && *word != ":dep")?;
    Some(format!("`{command}` is a command of a session"))
}
