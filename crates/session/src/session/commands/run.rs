//! Does what a cell asks the session to do.

use super::request::{self, Line, Request};
use super::{files, format, profile};
use crate::session::variables::descriptions;
use crate::session::{Session, Silent, cells_manifest, diagnostics, shell};
use crate::translations::said;
use serde_json::{Map, Value};
use std::process::Command;
use taper_evaluator::run::Times;
use taper_evaluator::{CellError, Event, Front, MimeBundle, StaleCell};
use taper_host::toolchain;
use taper_rust_cell::commands::table::{self, escaped};

/// The name of the error of a command that is used wrongly.
const USAGE_ERROR: &str = "UsageError";

impl Session {
    /// Runs a cell, or does what its command asks for.
    pub(in crate::session) fn run_request(
        &mut self,
        code: &str,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        match request::of(code).map_err(usage_error)? {
            Request::Cell(code) => self.run_cell(code, front),
            Request::Code(code) => self.run_cell(&code, front),
            Request::Time(code) => {
                let result = self.run_cell(&code, front);
                if let Some(times) = self.times.take() {
                    print(&in_words(times), front);
                }
                result
            }
            Request::Profile(code) => self.run_profiled(&code, front),
            Request::Format(text) => {
                let first = &code[..code.len() - text.len()];
                let formatted = format::formatted(text).map_err(usage_error)?;
                // The command is not needed a second time.
                let before = first.lines().filter(|line| !line.starts_with('%'));
                let before: String = before.map(|line| format!("{line}\n")).collect();
                front.event(Event::NextInput {
                    text: before + &formatted,
                });
                Ok(())
            }
            Request::Bash(script) => self.run_shell(&shell::Script::bash(script), front),
            Request::WriteFile { file, append, text } => {
                print(
                    &files::write(file, append, text).map_err(usage_error)?,
                    front,
                );
                Ok(())
            }
            Request::About { name, with_source } => match self.is_fallible(name) {
                true => self.run_cell(code, front),
                false => self.show_documentation(name, with_source, front),
            },
        }
    }

    /// Runs a cell, and shows what its lines took.
    fn run_profiled(&mut self, code: &str, front: &mut dyn Front) -> Result<(), CellError> {
        if self.own().is_none() {
            return Err(usage_error(
                "This engine does not measure lines. Taper's own engine does: start the kernel without `TAPER_ENGINE`."
                    .to_owned(),
            ));
        }
        self.is_profiled = true;
        let result = self.run_cell(code, front);
        self.is_profiled = false;
        if let Some(profile) = self.profile.take() {
            front.event(Event::Display {
                data: profile::shown(&profile, code),
                metadata: Map::new(),
                display_id: None,
            });
        }
        result
    }

    /// Runs the session's `:` commands, and returns the cell with blank lines in their place.
    pub(in crate::session) fn run_lines(
        &mut self,
        code: &str,
        front: &mut dyn Front,
    ) -> Result<String, CellError> {
        let (lines, rest) = request::lines(code).map_err(usage_error)?;
        for line in lines {
            match line {
                Line::Help => {
                    let (text, page) = (table::help(said), table::help_html(said));
                    result([("text/plain", text), ("text/html", page)], front);
                }
                Line::Documentation(name) => self.show_documentation(name, false, front)?,
                Line::Type(expression) => self.show_type(expression, front)?,
                Line::Variables => self.show_variables(front)?,
                Line::Stale => {
                    let stale = self.own().map(|own| own.stale());
                    print(&in_lines(stale.as_deref()), front);
                }
                Line::Dependencies => print(&cells_manifest::list(&self.folder), front),
                Line::Explain => print(&self.explanation()?, front),
                Line::Option(text) => front.event(Event::stderr(format!(
                    "`{text}` is an option of evcxr. It was ignored.\n"
                ))),
            }
        }
        Ok(rest)
    }

    /// Returns what the compiler says about the last compile error.
    fn explanation(&self) -> Result<String, CellError> {
        let Some(code) = &self.last_error else {
            return Err(usage_error(
                "No cell has failed to compile with an error that has a code.".to_owned(),
            ));
        };
        let toolchain = toolchain::get().map_err(|error| usage_error(format!("{error:#}")))?;
        let output = Command::new(&toolchain.rustc)
            .args(["--explain", code])
            .output();
        let output =
            output.map_err(|error| usage_error(format!("rustc does not start: {error}.")))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Returns whether `name?` is Rust's `?` operator: `name` has a type for which it is defined.
    fn is_fallible(&mut self, name: &str) -> bool {
        let kind = self.engine.type_of(name).unwrap_or_default();
        let path = kind.split('<').next().unwrap_or_default();
        let last = path.rsplit("::").next().unwrap_or_default();
        ["Result", "Option", "Poll", "ControlFlow"].contains(&last)
    }

    fn show_type(&mut self, expression: &str, front: &mut dyn Front) -> Result<(), CellError> {
        let known = self.engine.type_of(expression);
        if let Some(kind) = known.filter(|kind| !kind.contains("{unknown}")) {
            let text = format!("{expression}: {kind}");
            result([("text/plain", text)], front);
            return Ok(());
        }
        // The compiler reports what is wrong with the expression.
        let never = format!("if false {{ let _ = {{ {expression} }}; }}");
        if let Err(error) = self.run(&never, &mut Silent) {
            return Err(usage_error(format!(
                "the type of `{expression}` is not known: {}",
                error.message
            )));
        }
        Err(usage_error(format!(
            "the type of `{expression}` is not known before it is evaluated."
        )))
    }

    fn show_variables(&mut self, front: &mut dyn Front) -> Result<(), CellError> {
        let mut variables = self.engine.variables();
        variables.sort();
        if variables.is_empty() {
            print("There are no variables.\n", front);
            return Ok(());
        }
        let table = descriptions(&variables);
        self.run(&table, front)
    }

    fn show_documentation(
        &mut self,
        name: &str,
        with_source: bool,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        let source = self.names.source_of(name).filter(|_| with_source);
        let source = source.map(str::to_owned);
        let editor = self.engine.editor();
        let documentation = editor.inspect(name, name.len());
        if documentation.is_none() && source.is_none() {
            return Err(usage_error(match editor.is_ready() {
                true => format!(
                    "nothing named `{name}` is known: check the spelling, or run the cell that defines it."
                ),
                false => "the documentation is still being read: ask again in a moment.".to_owned(),
            }));
        }
        let mut bundle = documentation.unwrap_or_default();
        if let Some(source) = source {
            let page = format!("<pre><code>{}</code></pre>", escaped(&source));
            for (kind, text) in [("text/plain", source), ("text/html", page)] {
                let before = bundle.get(kind).and_then(Value::as_str).unwrap_or_default();
                bundle.insert(kind.to_owned(), format!("{before}\n\n{text}").into());
            }
        }
        display(bundle, front);
        Ok(())
    }
}

fn usage_error(sentence: String) -> CellError {
    diagnostics::error(USAGE_ERROR, &sentence, None)
}

fn print(text: &str, front: &mut dyn Front) {
    front.event(Event::stdout(text));
}

fn result<const N: usize>(bundle: [(&str, String); N], front: &mut dyn Front) {
    let bundle = bundle.into_iter();
    display(
        bundle
            .map(|(kind, text)| (kind.to_owned(), text.into()))
            .collect(),
        front,
    );
}

fn display(data: MimeBundle, front: &mut dyn Front) {
    let metadata = Map::new();
    front.event(Event::Result { data, metadata });
}

/// Returns the lines of `:stale`: a cell each, and why it is stale.
fn in_lines(stale: Option<&[StaleCell]>) -> String {
    let Some(stale) = stale else {
        return "This engine does not know which cells are stale. Taper's own engine does: start the kernel without `TAPER_ENGINE`.\n"
            .to_owned();
    };
    if stale.is_empty() {
        return "No cell is stale.\n".to_owned();
    }
    let line = |cell: &StaleCell| {
        let StaleCell { number, line, .. } = cell;
        format!("[{number}] {line}\n    {}\n", cell.reasons.join("; "))
    };
    stale.iter().map(line).collect()
}

/// Returns the lines of `%time`, as IPython prints them.
fn in_words(times: Times) -> String {
    let [wall, user, system, total] = [
        times.wall,
        times.user,
        times.system,
        times.user + times.system,
    ]
    .map(readable);
    format!("CPU times: user {user}, sys: {system}, total: {total}\nWall time: {wall}\n")
}

/// Formats nanoseconds with three significant digits; from 1000 s on, in seconds.
fn readable(nanoseconds: u64) -> String {
    // Rounded first: 999.9 ms are 1.00 s.
    let digits = nanoseconds.checked_ilog10().map_or(1, |log| log + 1);
    let step = 10_u64.pow(digits.saturating_sub(3).min(9));
    let nanoseconds = (nanoseconds + step / 2) / step * step;
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let unit = units.into_iter().find(|(size, _)| nanoseconds >= *size);
    let Some((size, unit)) = unit else {
        return format!("{nanoseconds} ns");
    };
    let value = nanoseconds as f64 / size as f64;
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_like_ipythons() {
        let times = Times {
            wall: 1_234_567,
            user: 2_000,
            system: 999,
        };
        let expected = "CPU times: user 2.00 µs, sys: 999 ns, total: 3.00 µs\nWall time: 1.23 ms\n";
        assert_eq!(in_words(times), expected);
    }

    #[test]
    fn times_have_three_digits_after_rounding_too() {
        for (nanoseconds, expected) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (9_996, "10.0 µs"),
            (999_499_999, "999 ms"),
            (999_999_999, "1.00 s"),
            (99_960_000_000, "100 s"),
            (1_234_400_000_000, "1234 s"),
        ] {
            assert_eq!(readable(nanoseconds), expected);
        }
    }
}
