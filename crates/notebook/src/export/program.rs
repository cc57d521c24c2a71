//! The cells of a notebook as one Rust program.

use super::digest;
use crate::run::notebook::{CodeCell, Notebook};
use nbformat::v4::Output;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use syn::spanned::Spanned;
use syn::{Expr, Item, ItemFn, Stmt, UseTree};
use taper_evaluator::commands::{Cell as Commands, blank_out};
use taper_evaluator::event::COMPILE_ERROR;

/// What stands before the cell in the text that is parsed.
const OPEN: &str = "fn cell() {\n";

/// A program, and what it needs besides `taper`.
pub struct Program {
    pub source: String,
    /// Of the cells' `:dep` lines: names, and values as they stand in a Cargo.toml.
    pub dependencies: BTreeMap<String, String>,
    /// Shell lines, which a program cannot have.
    pub left_out: Vec<String>,
}

impl Program {
    pub fn new(name: &str, notebook: &Notebook) -> Program {
        let mut program = Program {
            source: header(name, &notebook.name),
            dependencies: BTreeMap::new(),
            left_out: Vec::new(),
        };
        let mut scope = Scope::default();
        for cell in &notebook.cells {
            let commands = Commands::new(&cell.source);
            program.note(&commands);
            if is_exported(cell) {
                program.add(cell, &rust_of(&commands), &mut scope);
            }
        }
        program.source += "\n    Ok(())\n";
        program.source += &"    }\n".repeat(scope.blocks);
        program.source += "    })\n}\n";
        program
    }

    /// Takes what a cell asks for besides Rust.
    fn note(&mut self, commands: &Commands) {
        for (name, value) in &commands.dependencies {
            if *name != "taper" {
                self.dependencies.insert((*name).into(), (*value).into());
            }
        }
        let shell = commands.shell.iter().map(|command| format!("!{command}"));
        self.left_out.extend(shell);
    }

    fn add(&mut self, cell: &CodeCell, code: &str, scope: &mut Scope) {
        let parsed = Parsed::new(code);
        if scope.must_open(&parsed.names) {
            self.source += "    {\n";
        }
        self.source += &format!(
            "\n        export::cell({:?}, {:?});\n",
            cell.id,
            digest(&cell.source)
        );
        let rust = parsed.with_value_shown(code);
        if cell.tags.raises {
            self.source += &format!("export::may_fail(|| {{\n{rust}\nOk(())\n}});\n");
        } else {
            self.source += &format!("{rust}\n");
        }
    }
}

/// Whether a cell becomes part of the program. One that shows how a mistake is reported at compile
/// time cannot, nor can one without Rust in it, and what is to be skipped is skipped.
pub fn is_exported(cell: &CodeCell) -> bool {
    let does_not_compile =
        |output: &Output| matches!(output, Output::Error(error) if error.ename == COMPILE_ERROR);
    let outputs = cell.stored.as_deref().unwrap_or_default();
    !cell.tags.skip
        && !outputs.iter().any(does_not_compile)
        && !Parsed::new(&rust_of(&Commands::new(&cell.source))).is_empty
}

/// The cell with its commands made blank.
fn rust_of<'a>(commands: &'a Commands) -> Cow<'a, str> {
    let is_command = |line: &str| {
        let line = line.trim_start();
        line.starts_with(':') && !line.starts_with("::")
    };
    blank_out(&commands.rest, is_command)
}

fn header(name: &str, notebook: &str) -> String {
    let notebook = notebook.rsplit('/').next().unwrap_or(notebook);
    format!(
        "//! The cells of {notebook}, in order. Made by `taper export`.
//!
//! To see them on the terminal, to write a log of them, and to put what the log holds into the
//! notebook:
//!
//!     cargo run --release --bin {name}
//!     cargo run --release --bin {name} > {name}.log
//!     taper run {notebook} --outputs {name}.log --inplace

#![allow(warnings)] // as in a notebook

use taper::prelude::*;
use taper::{{notebook::export, show_value}};

fn main() -> std::process::ExitCode {{
    export::run(|| {{
"
    )
}

/// Cells share one scope as long as none defines an item anew: an inner block hides the old one.
#[derive(Default)]
struct Scope {
    names: BTreeSet<String>,
    blocks: usize,
}

impl Scope {
    /// Takes the names of a cell's items; whether the cell begins a block of its own.
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

/// What a parser sees in a cell.
struct Parsed {
    is_empty: bool,
    /// The items that it defines or imports.
    names: BTreeSet<String>,
    /// Where its last expression stands, if no `;` follows.
    value: Option<std::ops::Range<usize>>,
}

impl Parsed {
    /// Code that is no Rust is left as it is: the compiler says what is wrong with it.
    fn new(code: &str) -> Parsed {
        let Ok(function) = syn::parse_str::<ItemFn>(&format!("{OPEN}{code}\n}}")) else {
            return Parsed {
                is_empty: false,
                names: BTreeSet::new(),
                value: None,
            };
        };
        let statements = function.block.stmts;
        let value = statements.last().filter(|last| has_value(last));
        Parsed {
            is_empty: statements.is_empty(),
            names: statements.iter().flat_map(names).collect(),
            value: value.map(|value| {
                let range = value.span().byte_range();
                range.start - OPEN.len()..range.end - OPEN.len()
            }),
        }
    }

    fn with_value_shown(&self, code: &str) -> String {
        let mut shown = code.to_owned();
        if let Some(value) = &self.value {
            shown.insert_str(value.end, ");");
            shown.insert_str(value.start, "show_value!(");
        }
        shown.trim().to_owned()
    }
}

/// Whether a last statement may have something to show: a loop and an `if` alone do not.
fn has_value(last: &Stmt) -> bool {
    match last {
        Stmt::Expr(Expr::ForLoop(_) | Expr::While(_), _) => false,
        Stmt::Expr(Expr::If(expression), None) => expression.else_branch.is_some(),
        Stmt::Expr(_, semicolon) => semicolon.is_none(),
        Stmt::Macro(call) => call.semi_token.is_none(),
        Stmt::Local(_) | Stmt::Item(_) => false,
    }
}

/// The names that an item brings; none for a statement that is no item.
fn names(statement: &Stmt) -> Vec<String> {
    let Stmt::Item(item) = statement else {
        return Vec::new();
    };
    let name = match item {
        Item::Use(used) => {
            let mut names = Vec::new();
            collect_imported(&used.tree, &mut names);
            return names;
        }
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Const(item) => Some(&item.ident),
        Item::Static(item) => Some(&item.ident),
        Item::Mod(item) => Some(&item.ident),
        Item::Macro(item) => item.ident.as_ref(),
        _ => None,
    };
    name.map(ToString::to_string).into_iter().collect()
}

/// The names at the leaves of a `use`; what a `*` brings is not known here, and hides nothing.
fn collect_imported(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => collect_imported(&path.tree, names),
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| collect_imported(tree, names)),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(rename) if rename.rename != "_" => names.push(rename.rename.to_string()),
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

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
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("n.ipynb");
        std::fs::write(&file, notebook.to_string()).expect("it is written");
        Program::new("n", &Notebook::load(&file).expect("it is a notebook"))
    }

    /// The lines of the program after its head, without blanks.
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
    fn the_last_expression_is_shown_and_statements_are_left_alone() {
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
    fn an_item_defined_anew_opens_a_block_and_a_cell_may_fail() {
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
    fn commands_become_dependencies_or_are_named() {
        let program = program(&[
            json!(":dep taper = { path = \"..\" }\n:dep rand = \"0.9\"\nuse rand::Rng;"),
            json!("!ls\n:vars"),
        ]);
        let dependencies: Vec<_> = program.dependencies.into_iter().collect();
        assert_eq!(dependencies, [("rand".into(), "\"0.9\"".into())]);
        assert_eq!(program.left_out, ["!ls"]);
        assert_eq!(program.source.matches("export::cell(").count(), 1);
    }

    #[test]
    fn a_cell_that_shows_a_mistake_is_not_part_of_it() {
        let error = json!({ "output_type": "error", "ename": "CompileError", "evalue": "", "traceback": [] });
        let cell = json!({ "source": "let x: i32 = \"\";", "outputs": [error],
            "metadata": { "tags": ["raises-exception"] } });
        assert_eq!(body(&[cell]), END);
    }
}
