//! Converts the cells of a notebook to one Rust program.

use super::exported::{Code, LeftOut, code_of};
use super::rust_cell::RustCell;
use crate::digest::source_digest;
use crate::document::notebook::{CodeCell, Notebook};
use crate::document::percent;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use taper_rust_cell::commands::{Cell as Commands, without_percent};

/// The source of a program, and its dependencies besides `taper`.
pub struct Program {
    pub(crate) source: String,
    /// The cells' `:dep` lines: the name of each package, and its value as in a Cargo.toml.
    pub(crate) dependencies: BTreeMap<String, String>,
    /// One line for each place where the program differs from the notebook or may not compile.
    pub warnings: Vec<String>,
}

impl Program {
    /// Converts the cells of a notebook to a program with this name.
    pub fn new(name: &str, notebook: &Notebook) -> Program {
        let mut program = Program {
            source: header(name, &notebook.name),
            dependencies: BTreeMap::new(),
            warnings: Vec::new(),
        };
        let mut scope = Scope::default();
        for cell in &notebook.cells {
            program.add_commands(cell);
            match code_of(cell) {
                Ok(code) => program.add_code(cell, code, &mut scope),
                Err(LeftOut(Some(reason))) => {
                    let warning = format!("cell {} is left out: {reason}", cell.id);
                    program.warnings.push(warning);
                }
                Err(LeftOut(None)) => {}
            }
        }
        program.source += "\n    Ok(())\n";
        program.source += &"    }\n".repeat(scope.blocks);
        program.source += "    })\n}\n";
        program
    }

    fn add_commands(&mut self, cell: &CodeCell) {
        let rust = without_percent(&cell.source);
        let commands = Commands::new(&rust);
        for (name, value) in &commands.dependencies {
            if *name != "taper" {
                self.dependencies.insert((*name).into(), (*value).into());
            }
        }
        let left_out = |command| {
            format!(
                "cell {}: left out, because it is not Rust: !{command}",
                cell.id
            )
        };
        self.warnings.extend(commands.shell.iter().map(left_out));
    }

    fn add_code(&mut self, cell: &CodeCell, code: Code, scope: &mut Scope) {
        let (rust, names) = match code {
            Code::Parsed(cell) => (cell.with_value_shown(), cell.names),
            Code::Unparsed { source, error } => {
                self.warnings.push(format!(
                    "cell {} does not parse (line {}: {error}), so the program may not compile",
                    cell.id,
                    RustCell::line_of(&error),
                ));
                (source, BTreeSet::new())
            }
        };
        if scope.must_open(&names) {
            self.source += "    {\n";
        }
        self.source += &format!(
            "\n        export::cell({:?}, {:?});\n",
            cell.id,
            source_digest(&cell.source)
        );
        if cell.tags.raises {
            self.source += &format!("export::may_fail(|| {{\n{rust}\nOk(())\n}});\n");
        } else {
            self.source += &format!("{rust}\n");
        }
    }
}

/// Marks the cells that are not exported as skipped, so that they keep their outputs: the log of a
/// program does not contain these cells.
pub(crate) fn skip_unexported(notebook: &mut Notebook) {
    for cell in &mut notebook.cells {
        cell.tags.skip |= code_of(cell).is_err();
    }
}

fn header(name: &str, notebook: &str) -> String {
    let notebook = notebook.rsplit('/').next().unwrap_or(notebook);
    let argument = shell_word(notebook);
    let destination = match percent::is_script(Path::new(notebook)) {
        true => format!("--output {name}.ipynb"),
        false => "--inplace".to_owned(),
    };
    format!(
        "//! The cells of {notebook}, in order. Made by `taper export`.
//!
//! To show the outputs on the terminal, to write them to a log, and to put those of the log into the
//! notebook:
//!
//!     cargo run --release --bin {name}
//!     cargo run --release --bin {name} > {name}.log
//!     taper run {argument} --outputs {name}.log {destination}

#![allow(warnings)] // as in a notebook

use taper::prelude::*;
use taper::{{notebook::export, show_value}};

fn main() -> std::process::ExitCode {{
    export::run(|| {{
"
    )
}

/// Quotes a text for a shell, unless it consists of letters, digits and `-`, `_` and `.`.
fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || ['-', '_', '.'].contains(&c);
    match text.chars().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")).into(),
    }
}

/// The scope that cells share. A cell that defines an item again begins an inner block.
#[derive(Default)]
struct Scope {
    names: BTreeSet<String>,
    blocks: usize,
}

impl Scope {
    /// Adds the names of a cell's items; returns whether the cell must begin a new block.
    fn must_open(&mut self, names: &BTreeSet<String>) -> bool {
        let is_known = !self.names.is_disjoint(names);
        if is_known {
            self.names.clear();
            self.blocks += 1;
        }
        self.names.extend(names.iter().cloned());
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use taper_evaluator::event::COMPILE_ERROR;

    fn program(cells: &[Value]) -> Program {
        let cell = |(at, cell): (usize, &Value)| {
            let mut cell = cell.clone();
            if let Value::String(source) = cell {
                cell = json!({ "source": source });
            }
            cell["cell_type"] = json!("code");
            cell["id"] = json!(format!("c{at}"));
            cell["execution_count"] = Value::Null;
            for (key, default) in [("metadata", json!({})), ("outputs", json!([]))] {
                cell.as_object_mut()
                    .expect("an object")
                    .entry(key)
                    .or_insert(default);
            }
            cell
        };
        let cells: Vec<Value> = cells.iter().enumerate().map(cell).collect();
        let notebook =
            json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        let bytes = notebook.to_string().into_bytes();
        Program::new("n", &Notebook::read("n.ipynb", bytes).expect("a notebook"))
    }

    /// Returns the lines of the program after its header, without blank lines.
    fn body(cells: &[Value]) -> Vec<String> {
        let source = program(cells).source;
        let (_, body) = source.split_once("export::run(|| {").expect("a head");
        let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.map(|line| match line.starts_with("export::cell(") {
            true => "cell".to_owned(),
            false => line.to_owned(),
        });
        lines.collect()
    }

    const END: [&str; 3] = ["Ok(())", "})", "}"];

    #[test]
    fn the_last_expression_is_shown() {
        let cells = [
            json!("let x = 1; // one\nx + 1 // two"),
            json!("for _ in 0..2 {}"),
            json!("println!(\"é\");"),
        ];
        let expected = [
            &[
                "cell",
                "let x = 1; // one",
                "show_value!(x + 1); // two",
                "cell",
            ],
            &["for _ in 0..2 {}", "cell", "println!(\"é\");", END[0]][..],
            &END[1..],
        ]
        .concat();
        assert_eq!(body(&cells), expected);
    }

    #[test]
    fn an_item_defined_again_opens_a_block_and_a_cell_may_fail() {
        let failing = json!({ "source": "f()?;", "metadata": { "tags": ["raises-exception"] } });
        let cells = [
            json!("use std::fmt::{self, Debug as D};\nfn f() {}"),
            json!("fn f() -> i32 { 1 }"),
            failing,
        ];
        let expected = [
            &[
                "cell",
                "use std::fmt::{self, Debug as D};",
                "fn f() {}",
                "{",
                "cell",
            ][..],
            &[
                "fn f() -> i32 { 1 }",
                "cell",
                "export::may_fail(|| {",
                "f()?;",
                "Ok(())",
                "});",
            ],
            &["Ok(())", "}", "})", "}"],
        ]
        .concat();
        assert_eq!(body(&cells), expected);
        assert_eq!(body(&[json!("use a::b;"), json!("use a::b;")])[2], "{");
    }

    #[test]
    fn commands_become_dependencies_or_warnings() {
        let program = program(&[
            json!(":dep taper = { path = \"..\" }\n:dep rand = \"0.9\"\nuse rand::Rng;"),
            json!("!ls\n:vars"),
        ]);
        let dependencies: Vec<_> = program.dependencies.into_iter().collect();
        assert_eq!(dependencies, [("rand".into(), "\"0.9\"".into())]);
        let expected = [
            "cell c1: left out, because it is not Rust: !ls",
            "cell c1 is left out: `:vars` is a command of a session",
        ];
        assert_eq!(program.warnings, expected);
        assert_eq!(program.source.matches("export::cell(").count(), 1);
    }

    #[test]
    fn cells_that_are_left_out_are_named() {
        let tagged =
            |source: &str, tag: &str| json!({ "source": source, "metadata": { "tags": [tag] } });
        let mut failed = json!({ "source": "let x: u8 = 300;" });
        failed["outputs"] = json!([{ "output_type": "error", "ename": COMPILE_ERROR, "evalue": "", "traceback": [] }]);
        let program = program(&[
            json!("%%bash\n!x\n:dep not = \"1\""),
            json!("// a script\n%%writefile a.txt\nx"),
            json!("%timeit f(x)"),
            tagged("1", "skip-execution"),
            failed,
            tagged("let a = ;", "raises-exception"),
            json!("// a comment\n:dep rand = \"0.9\""),
            json!(""),
            json!("%time 1"),
        ]);
        let expected = [
            "cell c0 is left out: `%%bash` is not Rust",
            "cell c1 is left out: `%%writefile` is not Rust",
            "cell c2 is left out: `%timeit` is not Rust",
            "cell c3 is left out: it is tagged `skip-execution`",
            "cell c4 is left out: its output is a compile error",
            "cell c5 is left out: it does not parse, and is tagged `raises-exception`",
        ];
        assert_eq!(program.warnings, expected);
        assert_eq!(program.dependencies.keys().collect::<Vec<_>>(), ["rand"]);
    }

    #[test]
    fn the_commands_of_the_header_are_quoted_for_the_shell() {
        let command = |notebook: &str| {
            let header = header("n", notebook);
            let line = header.lines().find(|line| line.contains("taper run"));
            line.expect("a command")
                .trim_start_matches("//!")
                .trim()
                .to_owned()
        };
        for (notebook, word) in [
            ("a/01-net_2.ipynb", "01-net_2.ipynb"),
            ("a b/my notebook.ipynb", "'my notebook.ipynb'"),
            ("größe.ipynb", "größe.ipynb"),
            ("Ada's.ipynb", r"'Ada'\''s.ipynb'"),
            ("$HOME.ipynb", "'$HOME.ipynb'"),
        ] {
            let expected = format!("taper run {word} --outputs n.log --inplace");
            assert_eq!(command(notebook), expected);
        }
    }

    #[test]
    fn a_cell_that_does_not_compile_is_not_exported() {
        let error = json!({ "output_type": "error", "ename": "CompileError", "evalue": "", "traceback": [] });
        let cell = json!({ "source": "let x: i32 = \"\";", "outputs": [error],
            "metadata": { "tags": ["raises-exception"] } });
        assert_eq!(body(&[cell]), END);
    }

    #[test]
    fn a_cell_that_does_not_parse_is_named_and_exported() {
        let cells = [
            json!("fn f() {}"),
            json!(":dep rand = \"0.9\"\nlet a = ;"),
            json!("fn f() {}"),
        ];
        let program = program(&cells);
        assert_eq!(
            program.warnings,
            [
                "cell c1 does not parse (line 2: expected an expression), so the program may not compile"
            ]
        );
        let body = body(&cells);
        assert_eq!(body[2..6], ["cell", "let a = ;", "{", "cell"]);
        let meant = json!({ "source": "let a = ;", "metadata": { "tags": ["raises-exception"] } });
        assert_eq!(self::body(&[meant]), END);
    }

    #[test]
    fn every_cell_of_every_chapter_parses() {
        let notebooks = concat!(env!("CARGO_MANIFEST_DIR"), "/../../notebooks");
        let folders = [notebooks.to_owned(), format!("{notebooks}/solutions")];
        let files = folders
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).expect(folder));
        let files = files.map(|entry| entry.expect("an entry").path());
        let mut chapters = 0;
        for file in files.filter(|file| file.extension().is_some_and(|end| end == "ipynb")) {
            let program = Program::new("n", &Notebook::load(&file).expect("a notebook"));
            let parses = |warning: &String| !warning.contains("does not parse");
            assert!(
                program.warnings.iter().all(parses),
                "{:?}",
                program.warnings
            );
            chapters += 1;
        }
        assert!(chapters > 0);
    }
}
