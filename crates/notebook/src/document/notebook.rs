//! Reads a notebook file: its code cells, and the document around them, which must not change.
//!
//! `nbformat` parses and validates the file. The document is kept beside the parsed cells as plain JSON,
//! because `nbformat`'s types cannot hold everything that Jupyter allows (attachments of a raw cell,
//! outputs of an unknown kind, foreign fields), and all of that must survive a run.

use super::error::{CHECK_PATH, Problem, advice_without_json};
use super::integers;
use super::percent;
use super::tags::Tags;
use super::tolerance::Tolerance;
use anyhow::{Result, anyhow, bail};
use jupyter_protocol::media::{Media, MediaType};
use nbformat::{NotebookError, v4};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// A notebook, parsed.
#[derive(Debug)]
pub struct Notebook {
    /// The file as it was named on the command line.
    pub(crate) name: String,
    /// The code cells, in order.
    pub(crate) cells: Vec<CodeCell>,
    /// The changes that converted the notebook to format 4.5 while reading, if there were any.
    pub(crate) upgraded: Option<String>,
    /// The whole file in format 4.5, as JSON.
    pub document: Value,
    /// The bytes of the file.
    pub(crate) original: Vec<u8>,
}

/// One code cell.
#[derive(Debug)]
pub(crate) struct CodeCell {
    /// The index among all cells of the document.
    pub(crate) position: usize,
    pub(crate) id: String,
    pub(crate) source: String,
    /// The line with which the source begins, if the file has the percent format.
    pub(crate) line: Option<usize>,
    pub(crate) tags: Tags,
    pub(crate) tolerance: Tolerance,
    /// Why the cell must not run, if it is a part of a submission.
    pub(crate) refusal: Option<String>,
    /// The outputs in the file; an error where one of them is not a valid output.
    pub(crate) stored: Result<Vec<v4::Output>>,
}

const NAME_A_NOTEBOOK: &str =
    "Name a notebook: the names of notebooks end in `.ipynb`, or in `.rs` in the percent format.";

impl Notebook {
    /// Reads the notebook in the file `path`; in a file `.rs`, each comment `// %%` begins a cell.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is not a notebook for Rust.
    pub fn load(path: &Path) -> Result<Notebook> {
        let name = path.display().to_string();
        let parse = match percent::is_script(path) {
            true => Notebook::parse_script,
            false => Notebook::parse,
        };
        read_file(path)
            .and_then(|bytes| parse(&name, bytes))
            .map_err(|problem| problem.of(&name))
    }

    /// Reads a notebook from the bytes of its file. Errors contain `name` as the name of the file.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a notebook for Rust.
    pub fn read(name: &str, bytes: Vec<u8>) -> Result<Notebook> {
        Notebook::parse(name, bytes).map_err(|problem| problem.of(name))
    }

    fn parse(name: &str, original: Vec<u8>) -> Result<Notebook, Problem> {
        let document = document_of(name, &original)?;
        check_kernel(&document["metadata"])?;
        Notebook::of(name, document, original)
    }

    fn parse_script(name: &str, original: Vec<u8>) -> Result<Notebook, Problem> {
        let script = percent::read(text_of(name, &original)?)?;
        check_kernel(&script.document["metadata"])?;
        let mut notebook = Notebook::of(name, script.document, original)?;
        for cell in &mut notebook.cells {
            cell.line = Some(script.lines[cell.position]);
        }
        Ok(notebook)
    }

    /// Makes a notebook of a document, which is not checked for its kernel.
    pub(crate) fn of(
        name: &str,
        mut document: Value,
        original: Vec<u8>,
    ) -> Result<Notebook, Problem> {
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

/// Reads the document in a file: it is in a known format, but may be for any kernel, and its cells may be invalid.
pub(crate) fn read_document(path: &Path) -> Result<Value, Problem> {
    document_of(&path.to_string_lossy(), &read_file(path)?)
}

fn document_of(name: &str, original: &[u8]) -> Result<Value, Problem> {
    let document = parse_json(name, text_of(name, original)?)?;
    check_format(name, &document)?;
    Ok(document)
}

fn text_of<'a>(name: &str, original: &'a [u8]) -> Result<&'a str, Problem> {
    std::str::from_utf8(original).map_err(|error| {
        let offset = error.valid_up_to();
        let found = format!("is not text in UTF-8 (byte {offset}), so it is not a notebook");
        let advice = match name.ends_with(".ipynb") {
            true => "Save it as UTF-8, or restore it from version control.",
            false => NAME_A_NOTEBOOK,
        };
        Problem::new(found, advice)
    })
}

fn read_file(path: &Path) -> Result<Vec<u8>, Problem> {
    let problem = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Problem::Missing,
        kind => {
            let advice = match kind {
                io::ErrorKind::PermissionDenied => "Check its permissions.",
                _ => CHECK_PATH,
            };
            Problem::new(format!("cannot be read: {error}"), advice)
        }
    };
    // Before the file is opened: opening a pipe waits for its writer.
    let kind = std::fs::metadata(path).map_err(problem)?.file_type();
    if kind.is_dir() {
        let folder = path.to_string_lossy();
        let advice = format!(
            "Name the notebooks in it: {}/*.ipynb",
            folder.trim_end_matches('/')
        );
        return Err(Problem::new("is a folder, not a notebook", advice));
    }
    if !kind.is_file() {
        let found = "is a pipe or a device, not a notebook";
        let advice = "Save its content to a file, and name that.";
        return Err(Problem::new(found, advice));
    }
    std::fs::read(path).map_err(problem)
}

fn parse_json(name: &str, text: &str) -> Result<Value, Problem> {
    serde_json::from_str(&integers::keep(text)).map_err(|error| {
        let advice = match name.ends_with(".ipynb") {
            true => advice_without_json(text),
            false => NAME_A_NOTEBOOK,
        };
        Problem::new(format!("is not JSON: {error}"), advice)
    })
}

/// Checks the version first, because everything else depends on it.
fn check_format(name: &str, document: &Value) -> Result<(), Problem> {
    let number = |key| document.get(key).and_then(Value::as_i64);
    let major = number("nbformat").ok_or_else(|| lacks("nbformat"))?;
    let minor = number("nbformat_minor").unwrap_or(0);
    match (major, minor) {
        (..=3, _) => Err(Problem::new(
            format!("is a notebook in format {major}, from before Jupyter"),
            format!("Convert it: jupyter nbconvert --to notebook --inplace {name}"),
        )),
        (4, ..=5) if document.get("cells").is_some_and(Value::is_array) => Ok(()),
        (4, ..=5) => Err(lacks("cells")),
        _ => Err(Problem::new(
            format!("is a notebook in format {major}.{minor}; Taper reads up to 4.5"),
            "Update Taper, or save it from a JupyterLab that writes 4.5.",
        )),
    }
}

/// Returns the problem of a document without a key that every notebook has.
fn lacks(key: &str) -> Problem {
    Problem::new(
        format!("is JSON but not a notebook: it has no `{key}`"),
        "Name a file that Jupyter has saved.",
    )
}

/// Refuses a notebook that names another language; a notebook without a language is accepted.
pub(crate) fn check_kernel(metadata: &Value) -> Result<(), Problem> {
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

/// Converts the document to format 4.5. Returns a description of the changes, if there were any.
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

/// Adds an id to each cell without one, and returns the number of new ids. An id is derived from the cell's
/// position, so that two users who upgrade the same file get the same ids and no merge conflict.
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

const OTHER_FORMAT: &str = "it is not in format 4.5";

/// Returns the problem of a document that violates the notebook format.
fn invalid(why: impl Display) -> Problem {
    Problem::new(
        format!("is not a valid notebook: {why}"),
        "Open it in JupyterLab and save it: Jupyter repairs what it can.",
    )
}

/// Parses the document with `nbformat`. Outputs are parsed one by one afterwards: `nbformat` drops
/// unknown ones with a warning, whereas `taper run` keeps them and `taper test` reports them.
fn code_cells(document: &mut Value) -> Result<Vec<CodeCell>, Problem> {
    let outputs = replace_outputs(document, Vec::new());
    let text = document.to_string();
    replace_outputs(document, outputs.clone());

    let parsed = nbformat::parse_notebook(&text).map_err(|error| match error {
        NotebookError::JsonError(error) => invalid(error),
        NotebookError::ValidationError(rule) => invalid(rule),
        NotebookError::UnsupportedVersion(..) => invalid(OTHER_FORMAT),
    })?;
    let nbformat::Notebook::V4(parsed) = parsed else {
        return Err(invalid(OTHER_FORMAT));
    };
    let of_notebook = parsed.metadata.additional.get("taper");
    let of_notebook = Tolerance::read(of_notebook, Tolerance::default())?;
    let mut cells = Vec::new();
    for (position, (cell, outputs)) in parsed.cells.iter().zip(outputs).enumerate() {
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
            line: None,
            tags: Tags::read(metadata.tags.as_deref().unwrap_or_default(), &source),
            tolerance: Tolerance::read(metadata.additional.get("taper"), of_notebook)?,
            refusal: None,
            stored: read_outputs(outputs.unwrap_or_default()),
            source,
        });
    }
    Ok(cells)
}

/// Replaces each cell's outputs (by an empty list where `new` has none) and returns the old ones.
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

fn read_outputs(outputs: Value) -> Result<Vec<v4::Output>> {
    let Value::Array(outputs) = outputs else {
        bail!("`outputs` is not a list");
    };
    let read = |(number, output): (usize, Value)| {
        let output = read_output(output);
        output.map_err(|error| anyhow!("output {number} is not valid: {error}"))
    };
    (1..).zip(outputs).map(read).collect()
}

/// Parses one output. Its data stays plain JSON, because the types of `nbformat` would lose some fields. Tools
/// that clean notebooks leave an execution count of `null`, which `nbformat` refuses.
pub(crate) fn read_output(mut output: Value) -> Result<v4::Output, serde_json::Error> {
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

/// Converts a MIME bundle to `nbformat`'s type, with each value untouched.
pub(crate) fn media(bundle: Map<String, Value>) -> Media {
    Media::new(bundle.into_iter().map(MediaType::Other).collect())
}
