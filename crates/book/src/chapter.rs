//! A notebook of the book: its cells, the numbers of its figures and its anchors.

use crate::cell::Cell;
use crate::paths::{normalize, shorten};
use anyhow::{Result, bail};
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use taper_evaluator::joined;
use taper_notebook::{MachineOutputs, Notebook};

/// A chapter as mdBook passes it.
pub(crate) struct Source<'a> {
    /// The path of the notebook, not normalized: `…/book/src/../../notebooks/33-gpus.ipynb`.
    pub(crate) file: PathBuf,
    pub(crate) number: Option<String>,
    pub(crate) content: &'a str,
}

/// A notebook of the book.
#[derive(Debug, Default)]
pub(crate) struct Chapter {
    /// The path of the notebook below the folder of the notebooks, without `.ipynb`:
    /// `solutions/33-gpus`.
    pub(crate) path: String,
    /// The path of the page below the folder of the pages, without `.html`: `solutions/gpus`. It has no
    /// number, so addresses stay the same when a chapter is inserted.
    pub(crate) page: String,
    /// The chapter's number in the sidebar: `9`, `9.1`.
    pub(crate) number: Option<String>,
    pub(crate) cells: Vec<Cell>,
    /// The controls as JupyterLab saved them, by their ids.
    widgets: Value,
    anchors: HashSet<String>,
}

impl Chapter {
    /// Returns a problem of a cell as the build lists it.
    pub(crate) fn problem(&self, cell: &str, problem: &str) -> String {
        let problem = problem.replace('\n', "\n  ");
        format!("{}.ipynb, cell {cell}: {problem}", self.path)
    }

    /// Reads a notebook and, beside it, the outputs of another machine and the frames of its sliders.
    pub(crate) fn read(notebooks: &Path, source: &Source) -> Result<Chapter> {
        let file = normalize(&source.file);
        let Ok(path) = file.strip_prefix(notebooks) else {
            bail!(
                "{}: is outside of the notebooks\nMove it into {}, or set `notebooks` in book.toml",
                file.display(),
                notebooks.display()
            );
        };
        let path = path.with_extension("").to_string_lossy().replace('\\', "/");
        let notebook = Notebook::read(&shorten(&file), source.content.as_bytes().to_vec())?;
        let other = MachineOutputs::beside(&file)?;
        let frames = MachineOutputs::frames_beside(&file)?;
        let mut document = notebook.document;
        let refuted = other.as_ref().map(|other| other.refuted(&document));
        if let Some(refuted) = refuted.filter(|refuted| !refuted.is_empty()) {
            bail!(
                "{path}.ipynb: what it says is refuted:\n{}",
                refuted.join("\n")
            );
        }
        let cells = document["cells"].as_array_mut().into_iter().flatten();
        for cell in cells.filter(|cell| cell["cell_type"] == "code") {
            let id = cell["id"].as_str().unwrap_or_default();
            let outputs =
                { frames.as_ref() }.and_then(|run| run.outputs(id, &joined(&cell["source"])));
            if let Some(outputs) = outputs {
                cell["outputs"] = outputs.into();
            }
        }
        let widgets = "/metadata/widgets/application~1vnd.jupyter.widget-state+json/state";
        let cells = document["cells"].as_array().into_iter().flatten();
        let mut chapter = Chapter {
            page: without_number(&path),
            path,
            number: source.number.clone(),
            cells: cells.map(|cell| Cell::read(cell, other.as_ref())).collect(),
            widgets: document.pointer(widgets).cloned().unwrap_or_default(),
            anchors: HashSet::new(),
        };
        chapter.number_figures();
        chapter.name_anchors();
        Ok(chapter)
    }

    fn number_figures(&mut self) {
        let prefix = self
            .number
            .as_ref()
            .map_or_else(String::new, |number| format!("{number}."));
        let mut count = 0;
        for cell in &mut self.cells {
            let figures = cell.count_figures();
            cell.figures = (count + 1..=count + figures)
                .map(|n| format!("{prefix}{n}"))
                .collect();
            count += figures;
        }
    }

    /// Collects the anchors. Appends a number to the anchor of a heading whose text occurred before.
    fn name_anchors(&mut self) {
        for cell in self.cells.iter_mut().filter(|cell| cell.is_shown()) {
            self.anchors.insert(cell.anchor());
            for heading in &mut cell.headings {
                let text = heading.clone();
                let mut count = 1;
                while !self.anchors.insert(heading.clone()) {
                    count += 1;
                    *heading = format!("{text}-{count}");
                }
            }
        }
    }

    /// Returns the number of the first figure in the cell that the anchor names.
    pub(crate) fn figure(&self, anchor: &str) -> Option<String> {
        self.cell(anchor)?.figures.first().cloned()
    }

    /// Returns the cell that the anchor names.
    pub(crate) fn cell(&self, anchor: &str) -> Option<&Cell> {
        let id = anchor.strip_prefix("cell-id=")?;
        self.cells.iter().find(|cell| cell.id == id)
    }

    pub(crate) fn has_anchor(&self, anchor: &str) -> bool {
        self.anchors.contains(anchor)
    }

    /// Returns an anchor that differs from this one only in case, punctuation and spaces.
    pub(crate) fn similar_anchor(&self, anchor: &str) -> Option<String> {
        let letters = |text: &str| -> String {
            text.chars()
                .filter(|c| c.is_alphanumeric())
                .flat_map(char::to_lowercase)
                .collect()
        };
        let wanted = letters(anchor);
        let similar = self.anchors.iter().filter(|a| letters(a) == wanted);
        similar.min().cloned()
    }

    /// Returns what a slider showed when the notebook was saved: `lr = 0.01`.
    pub(crate) fn slider(&self, id: &str) -> Option<String> {
        let (model, state) = (self.widgets.get(id)?, &self.widgets[id]["state"]);
        // JupyterLab does not save values that equal the default.
        let default = match model["model_name"].as_str()? {
            "FloatSliderModel" => 0.0,
            "FloatLogSliderModel" => 1.0,
            _ => return None,
        };
        let value = state["value"].as_f64().unwrap_or(default);
        Some(format!("{} = {value}", state["description"].as_str()?))
    }

    /// Returns the title, the first heading of the notebook.
    pub(crate) fn title(&self) -> &str {
        let first = self.cells.first().map_or("", |cell| &cell.source);
        let heading = first.lines().find_map(|line| line.strip_prefix("# "));
        heading.unwrap_or(&self.page).trim()
    }

    /// Returns the path from the page to the folder of the pages.
    pub(crate) fn up(&self) -> String {
        "../".repeat(self.page.matches('/').count())
    }

    /// Returns the page's folder, with a slash if it has a name, and its name.
    pub(crate) fn folder_and_name(&self) -> (&str, &str) {
        let at = self.page.rfind('/').map_or(0, |slash| slash + 1);
        self.page.split_at(at)
    }

    /// Returns the notebook's name without its folders.
    pub(crate) fn file_name(&self) -> String {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        format!("{name}.ipynb")
    }
}

/// Removes the chapter's number, which begins the name: `solutions/33-gpus` becomes `solutions/gpus`.
fn without_number(path: &str) -> String {
    let (folder, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
    let title = name.trim_start_matches(|c: char| c.is_ascii_digit());
    let title = match title.strip_prefix('-') {
        Some(title) if title.len() + 1 < name.len() && !title.is_empty() => title,
        _ => name,
    };
    format!("{folder}{title}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_names_have_no_number() {
        for (path, page) in [
            ("33-gpus", "gpus"),
            ("solutions/36-several-devices", "solutions/several-devices"),
            ("gpus", "gpus"),
            ("3d-plots", "3d-plots"),
            ("-x", "-x"),
            ("12-", "12-"),
            ("01/a", "01/a"),
        ] {
            assert_eq!(without_number(path), page);
        }
    }
}
