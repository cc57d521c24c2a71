//! A notebook as one page that needs no server.
//!
//! The page shows the outputs that the notebook file has. Two kinds of cells need a run of the notebook first
//! ([`Publication::to_run`]): those with sliders, whose callbacks are computed at many positions (`frames`), and those
//! with the tag `publish-model`, whose value is a trained model. The page runs the model itself: `model` encodes its
//! layers and its weights for `runtime`, a program in WebAssembly that is part of the page.

mod model;
mod runtime;

use crate::api::Links;
use crate::book::Book;
use crate::builder::PageBuilder;
use crate::cell::Cell;
use crate::chapter::{Chapter, Source};
use crate::frames;
use crate::html::{data, escape};
use crate::page;
use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use taper_evaluator::joined;

/// The tag of a cell whose value is a model that the page runs.
const MODEL: &str = "publish-model";
/// The beginnings of the comments that say what a model takes and returns.
const INPUT: &str = "// Input:";
const LABELS: &str = "// Labels:";

/// The program that runs models, as `book/model-wasm.py` has compiled it: the digest of its source, then the program.
const PROGRAM: &str = include_str!("model.wasm.txt");

/// A notebook that becomes a page.
pub struct Publication {
    file: PathBuf,
    document: Value,
}

/// A page, with warnings about parts of its notebook that it lacks.
pub struct Published {
    /// The page, complete with its images, styles and programs.
    pub html: String,
    /// What the page lacks, such as a file to which the notebook links; one message each.
    pub warnings: Vec<String>,
}

impl Publication {
    /// Reads a notebook.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is not a notebook.
    pub fn read(notebook: &Path) -> Result<Publication> {
        let file = std::path::absolute(notebook)
            .with_context(|| format!("reading {}", notebook.display()))?;
        let read = taper_notebook::Notebook::load(notebook)?;
        Ok(Publication {
            file,
            document: read.document,
        })
    }

    /// Returns the notebook to run before it is published, with cells that write their models into `folder`; `None` if
    /// the stored outputs are enough. `TAPER_FRAMES` says at how many positions of a slider it computes.
    pub fn to_run(&self, folder: &Path) -> Option<String> {
        let mut document = self.document.clone();
        let mut is_needed = false;
        for cell in cells_mut(&mut document) {
            is_needed |= has_sliders(cell) || is_model(cell);
            if is_model(cell)
                && let Some(source) = writing(cell, folder)
            {
                cell["source"] = source.into();
            }
        }
        is_needed.then(|| document.to_string())
    }

    /// Returns the page; `run` is the notebook of [`to_run`](Self::to_run) with its outputs, and `folder` has its models.
    ///
    /// # Errors
    ///
    /// When a model cannot be part of a page.
    pub fn page(&self, run: Option<&Value>, folder: &Path) -> Result<Published> {
        let mut document = self.document.clone();
        let ran = run
            .map(|run| cells(run).collect::<Vec<_>>())
            .unwrap_or_default();
        for (i, cell) in cells_mut(&mut document).enumerate() {
            if let (true, Some(ran)) = (has_sliders(cell), ran.get(i)) {
                cell["outputs"] = ran["outputs"].clone();
            }
        }
        let notebooks = self.file.with_file_name("");
        let source = Source {
            file: self.file.clone(),
            number: None,
            content: &document.to_string(),
        };
        let book = Book::read(&notebooks, &[source])?;
        let chapter = &book.chapters[0];
        let mut builder = PageBuilder::new(&book, chapter, Links::none()).published();
        let mut html = String::new();
        let models = cells(&document).filter(|cell| is_model(cell));
        let models: Vec<&Value> = models.collect();
        for cell in chapter.cells.iter().filter(|cell| cell.is_shown()) {
            builder.begin(cell);
            html += &page::render_cell(cell, &mut builder);
            if let Some(model) = models.iter().find(|model| model["id"] == cell.id.as_str()) {
                html += &self.model(model, cell, folder)?;
            }
        }
        let page = builder.finish(html);
        let html = whole(chapter, &page.html, !models.is_empty());
        Ok(Published {
            html,
            warnings: page.problems,
        })
    }

    /// Returns the place in the page where the model of a cell runs.
    fn model(&self, cell: &Value, rendered: &Cell, folder: &Path) -> Result<String> {
        let refused = |reason: String| {
            let cell = &rendered.id;
            anyhow!("the model of cell {cell} cannot be part of a page: {reason}")
        };
        let file = |extension: &str| folder.join(format!("{}.{extension}", rendered.id));
        let read = |extension: &str| {
            let file = file(extension);
            fs::read(&file).with_context(|| format!("reading {}", file.display()))
        };
        let (description, tensors, outputs) = (read("txt")?, read("safetensors")?, read("out")?);
        let outputs = String::from_utf8_lossy(&outputs);
        let outputs: Vec<f32> = { outputs.split_whitespace() }
            .filter_map(|value| value.parse().ok())
            .collect();
        let source = joined(&cell["source"]);
        let input = input(&source).ok_or_else(|| refused(NO_INPUT.to_owned()))?;
        let layers = model::encode(&model::Saved {
            description: &String::from_utf8_lossy(&description),
            tensors: &tensors,
            input: &input,
            outputs: &outputs,
        });
        let settings = json!({
            "input": input,
            "labels": list(&source, LABELS),
            "layers": STANDARD.encode(layers.map_err(refused)?),
        });
        Ok(format!("<div class=\"model\">{}</div>\n", data(&settings)))
    }
}

const NO_INPUT: &str =
    "expected a line such as `// Input: 1, 28, 28` with the shape of an input without the batch";

fn cells(document: &Value) -> impl Iterator<Item = &Value> {
    document["cells"].as_array().into_iter().flatten()
}

fn cells_mut(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    document["cells"].as_array_mut().into_iter().flatten()
}

fn is_model(cell: &Value) -> bool {
    let mut tags = cell["metadata"]["tags"].as_array().into_iter().flatten();
    cell["cell_type"] == "code" && tags.any(|tag| tag == MODEL)
}

fn has_sliders(cell: &Value) -> bool {
    cell["cell_type"] == "code" && joined(&cell["source"]).contains("interact(")
}

/// Returns the words of a line that begins with this comment.
fn list(source: &str, comment: &str) -> Vec<String> {
    let line = source
        .lines()
        .find_map(|line| line.trim().strip_prefix(comment));
    let words = line.into_iter().flat_map(|line| line.split(','));
    words.map(|word| word.trim().to_owned()).collect()
}

fn input(source: &str) -> Option<Vec<usize>> {
    let sizes = list(source, INPUT);
    let sizes: Option<Vec<usize>> = { sizes.iter() }.map(|size| size.parse().ok()).collect();
    sizes.filter(|sizes| !sizes.is_empty() && !sizes.contains(&0))
}

/// Returns the source of a cell that writes the model of its last line into the folder, before it shows the model.
fn writing(cell: &Value, folder: &Path) -> Option<String> {
    let source = joined(&cell["source"]);
    let shape = input(&source)?;
    let (before, model) = match source.trim_end().rsplit_once('\n') {
        Some((before, model)) => (before, model),
        None => ("", source.trim_end()),
    };
    let path = |extension: &str| {
        let name = format!("{}.{extension}", cell["id"].as_str().unwrap_or_default());
        format!("{:?}", folder.join(name))
    };
    let count: usize = shape.iter().product();
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    Some(format!(
        "{before}\n{{\n    use taper::prelude::*;\n    let model = &({model});\n    model.set_training(false);\n    \
         std::fs::write({}, model.describe())?;\n    model.save_parameters({})?;\n    \
         let x = linspace(-1.0, 1.0, {count}).reshape((1, {}));\n    \
         let y = no_grad(|| model.forward(&x)).flatten_all().to_vec1::<f32>();\n    \
         std::fs::write({}, y.iter().map(|y| format!(\"{{y}} \")).collect::<String>())?;\n}}\n{model}",
        path("txt"),
        path("safetensors"),
        sizes.join(", "),
        path("out"),
    ))
}

fn whole(chapter: &Chapter, content: &str, has_models: bool) -> String {
    let program = PROGRAM.lines().nth(1).unwrap_or_default();
    let program = match has_models {
        true => format!("<script type=\"text/plain\" id=\"model-code\">{program}</script>\n"),
        false => String::new(),
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data: blob:; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline' 'wasm-unsafe-eval'\">\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n\
         <button id=\"theme\" type=\"button\" hidden>Dark</button>\n{content}\
         <footer>Made with {}.</footer>\n</main>\n{program}<script>\n{}{}</script>\n</body>\n</html>\n",
        escape(chapter.title()),
        include_str!("page.css"),
        concat!("Taper ", env!("CARGO_PKG_VERSION")),
        frames::SCRIPT,
        include_str!("page.js"),
    )
}
