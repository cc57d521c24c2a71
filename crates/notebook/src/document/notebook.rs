//! A notebook file, read: its code cells, and the document around them that must not change.
//!
//! `nbformat` reads and checks it. The document is kept beside its view, as the JSON that it is,
//! because the view has no room for everything that Jupyter allows (attachments of a raw cell,
//! outputs of an unknown kind, foreign fields), and all of that must survive a run.

use super::numbers::Tolerance;
use super::problem::{NotebookError, Problem};
use super::tags::Tags;
use jupyter_protocol::media::{Media, MediaType};
use nbformat::v4;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::path::Path;

/// A notebook, ready to be run.
#[derive(Debug)]
pub struct Notebook {
    /// The file as it was named on the command line.
    pub name: String,
    /// Its code cells, in order.
    pub cells: Vec<CodeCell>,
    /// What had to be brought up to format 4.5 while reading, if anything.
    pub upgraded: Option<String>,
    /// The whole file in format 4.5.
    pub document: Value,
    /// The bytes as they were read.
    pub original: Vec<u8>,
}

/// One code cell.
#[derive(Debug)]
pub struct CodeCell {
    /// Its place among all cells of the document, from 0.
    pub position: usize,
    pub id: String,
    pub source: String,
    pub tags: Tags,
    pub tolerance: Tolerance,
    /// The outputs in the file; an error where one of them is not a valid output.
    pub stored: Result<Vec<v4::Output>, String>,
}

impl Notebook {
    /// Reads a notebook; the error names it as `path` does.
    pub fn load(path: &Path) -> Result<Notebook, NotebookError> {
        let name = path.display().to_string();
        let read = || {
            let bytes = std::fs::read(path).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Problem::Missing,
                _ if path.is_dir() => Problem::Directory,
                _ => Problem::Unreadable(error.to_string()),
            })?;
            Notebook::parse(&name, bytes)
        };
        read().map_err(|problem| NotebookError {
            name: name.clone(),
            problem,
        })
    }

    /// Reads a notebook from its text; the error calls it `name`.
    pub fn read(name: &str, original: Vec<u8>) -> Result<Notebook, NotebookError> {
        Notebook::parse(name, original).map_err(|problem| NotebookError {
            name: name.to_owned(),
            problem,
        })
    }

    fn parse(name: &str, original: Vec<u8>) -> Result<Notebook, Problem> {
        let text = std::str::from_utf8(&original).map_err(|error| Problem::NotUtf8 {
            offset: error.valid_up_to(),
        })?;
        let mut document = parse_json(text)?;
        check_format(&document)?;
        check_kernel(&document["metadata"])?;
        let upgraded = upgrade(&mut document);
        let cells = code_cells(&mut document)?;
        Ok(Notebook {
            name: name.to_string(),
            cells,
            upgraded,
            document,
            original,
        })
    }
}

fn parse_json(text: &str) -> Result<Value, Problem> {
    serde_json::from_str(text).map_err(|error| {
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        Problem::NotJson {
            line: error.line(),
            column: error.column(),
            what: what.to_string(),
            merge_conflict: text.lines().any(|line| line.starts_with("<<<<<<<")),
        }
    })
}

/// Looks at the version before anything else, because everything else depends on it.
fn check_format(document: &Value) -> Result<(), Problem> {
    let number = |key| document.get(key).and_then(Value::as_i64);
    let major = number("nbformat").ok_or(Problem::NotANotebook { lacks: "nbformat" })?;
    let minor = number("nbformat_minor").unwrap_or(0);
    match (major, minor) {
        (..=3, _) => Err(Problem::TooOld { version: major }),
        (4, ..=5) if document.get("cells").is_some_and(Value::is_array) => Ok(()),
        (4, ..=5) => Err(Problem::NotANotebook { lacks: "cells" }),
        _ => Err(Problem::TooNew { major, minor }),
    }
}

/// Refuses a notebook that says it is in another language; one that says nothing is taken.
fn check_kernel(metadata: &Value) -> Result<(), Problem> {
    let text = |pointer: &str| metadata.pointer(pointer).and_then(Value::as_str);
    let kernel = text("/kernelspec/name");
    let language = text("/kernelspec/language").or(text("/language_info/name"));
    let is_rust = match (language, kernel) {
        (Some(language), _) => language.eq_ignore_ascii_case("rust"),
        (None, Some(kernel)) => ["rust", "taper", "evcxr"]
            .iter()
            .any(|known| kernel.to_ascii_lowercase().contains(known)),
        (None, None) => true,
    };
    if is_rust {
        return Ok(());
    }
    Err(Problem::OtherKernel {
        kernel: text("/kernelspec/display_name")
            .or(kernel)
            .unwrap_or("unknown")
            .to_string(),
        language: language.unwrap_or("another language").to_string(),
    })
}

/// Brings the document to format 4.5; says what it did where it did something.
fn upgrade(document: &mut Value) -> Option<String> {
    let minor = document["nbformat_minor"].as_i64().unwrap_or(0);
    let fresh = name_cells(document["cells"].as_array_mut()?);
    document["nbformat_minor"] = json!(5);
    let ids = match fresh {
        0 => String::new(),
        1 => "1 cell got an id".to_string(),
        n => format!("{n} cells got an id"),
    };
    match (minor, fresh) {
        (5, 0) => None,
        (5, _) => Some(ids),
        (_, 0) => Some(format!("format 4.{minor} became 4.5")),
        _ => Some(format!("format 4.{minor} became 4.5, {ids}")),
    }
}

/// Gives an id to each cell without one. It comes from the cell's place, so the same file always
/// gets the same ids and two people who upgrade it do not conflict.
fn name_cells(cells: &mut [Value]) -> usize {
    let id = |cell: &Value| Some(cell.get("id")?.as_str()?.to_string()).filter(|id| !id.is_empty());
    let mut taken: HashSet<String> = cells.iter().filter_map(id).collect();
    let mut fresh = 0;
    for (position, cell) in cells.iter_mut().enumerate() {
        if id(cell).is_some() || !cell.is_object() {
            continue;
        }
        let mut name = format!("cell-{}", position + 1);
        while !taken.insert(name.clone()) {
            name.push('x');
        }
        cell["id"] = json!(name);
        fresh += 1;
    }
    fresh
}

/// Reads the document through `nbformat`. Outputs are read one by one afterwards: `nbformat` drops
/// those it does not know with a warning, here a run does not mind and a test names them.
fn code_cells(document: &mut Value) -> Result<Vec<CodeCell>, Problem> {
    let outputs = replace_outputs(document, Vec::new());
    let text = document.to_string();
    replace_outputs(document, outputs.clone());

    let parsed = nbformat::parse_notebook(&text).map_err(|error| {
        let why = error.to_string();
        Problem::Invalid(why.trim_start_matches("JSON parsing error: ").to_string())
    })?;
    let nbformat::Notebook::V4(view) = parsed else {
        return Err(Problem::Invalid("it is not in format 4.5".into()));
    };
    let everywhere = Tolerance::read(view.metadata.additional.get("taper"), Tolerance::default())?;
    let mut cells = Vec::new();
    for (position, (cell, outputs)) in view.cells.iter().zip(outputs).enumerate() {
        let v4::Cell::Code {
            id,
            metadata,
            source,
            ..
        } = cell
        else {
            continue;
        };
        let source = source.concat();
        cells.push(CodeCell {
            position,
            id: id.to_string(),
            tags: Tags::read(metadata.tags.as_deref().unwrap_or_default(), &source),
            tolerance: Tolerance::read(metadata.additional.get("taper"), everywhere)?,
            stored: read_outputs(outputs.unwrap_or_default()),
            source,
        });
    }
    Ok(cells)
}

/// Puts other lists in place of each cell's outputs (an empty one where `new` has none) and
/// returns those that were there.
fn replace_outputs(document: &mut Value, new: Vec<Option<Value>>) -> Vec<Option<Value>> {
    let mut new = new.into_iter();
    let cells = document["cells"]
        .as_array_mut()
        .map(Vec::as_mut_slice)
        .unwrap_or_default();
    cells
        .iter_mut()
        .map(|cell| {
            let new = new.next().flatten().unwrap_or_else(|| json!([]));
            cell.get_mut("outputs")
                .map(|outputs| std::mem::replace(outputs, new))
        })
        .collect()
}

fn read_outputs(outputs: Value) -> Result<Vec<v4::Output>, String> {
    let Value::Array(outputs) = outputs else {
        return Err("`outputs` is not a list".into());
    };
    outputs
        .into_iter()
        .enumerate()
        .map(|(index, output)| {
            read_output(output).map_err(|why| format!("output {} is not valid: {why}", index + 1))
        })
        .collect()
}

/// Reads one output. Its data is set apart as the JSON that it is: as typed media, fields of some
/// kinds would be lost. Tools that clean notebooks leave a null count, which `nbformat` refuses.
fn read_output(mut output: Value) -> Result<v4::Output, serde_json::Error> {
    let mut data = Map::new();
    if let Value::Object(fields) = &mut output {
        if let Some(Value::Object(bundle)) = fields.get_mut("data") {
            data = std::mem::take(bundle);
            fields.entry("metadata").or_insert_with(|| json!({}));
        }
        if fields.get("execution_count").is_some_and(Value::is_null) {
            fields.insert("execution_count".into(), json!(0));
        }
    }
    let mut output = serde_json::from_value(output)?;
    match &mut output {
        v4::Output::DisplayData(display) => display.data = media(data),
        v4::Output::ExecuteResult(result) => result.data = media(data),
        v4::Output::Stream { .. } | v4::Output::Error(_) => {}
    }
    Ok(output)
}

/// A bundle as `nbformat` holds it, each value untouched.
pub fn media(bundle: Map<String, Value>) -> Media {
    Media::new(bundle.into_iter().map(MediaType::Other).collect())
}
