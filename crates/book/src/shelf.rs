//! All chapters of the book that are notebooks, and what in them can be referred to.

use super::cell::Cell;
use anyhow::{Result, bail};
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use taper_notebook::{MachineOutputs, Notebook};

/// The chapters, in the order of the book.
#[derive(Debug)]
pub struct Shelf {
    pub chapters: Vec<Chapter>,
    /// The folder in which the notebooks are.
    pub notebooks: PathBuf,
}

/// A notebook of the book.
#[derive(Debug)]
pub struct Chapter {
    /// Its path below the folder of the notebooks, without `.ipynb`: `solutions/09-gpus`.
    pub place: String,
    /// Its number in the sidebar: `9`, `9.1`.
    pub number: Option<String>,
    pub cells: Vec<Cell>,
    anchors: HashSet<String>,
}

/// A chapter as mdBook hands it over.
pub struct Source<'a> {
    /// The file, lexically: `…/book/src/../../notebooks/09-gpus.ipynb`.
    pub file: PathBuf,
    pub number: Option<String>,
    pub content: &'a str,
}

impl Shelf {
    /// Reads the notebooks; the error names all that cannot be read.
    pub fn read(notebooks: PathBuf, sources: &[Source]) -> Result<Shelf> {
        let notebooks = normal(&notebooks);
        let (mut chapters, mut problems) = (Vec::new(), Vec::new());
        for source in sources {
            match Chapter::read(&notebooks, source) {
                Ok(chapter) => chapters.push(chapter),
                Err(error) => problems.push(format!("{error:#}")),
            }
        }
        if !problems.is_empty() {
            bail!("{}", problems.join("\n"));
        }
        Ok(Shelf {
            chapters,
            notebooks,
        })
    }

    /// The chapter to which `path` leads from the folder of `from`.
    pub fn find(&self, from: &Chapter, path: &str) -> Option<&Chapter> {
        let target = self.beside(from, path);
        self.chapters
            .iter()
            .find(|chapter| self.notebook(chapter) == target)
    }

    /// The notebook's file.
    pub fn notebook(&self, chapter: &Chapter) -> PathBuf {
        self.notebooks.join(format!("{}.ipynb", chapter.place))
    }

    /// The file to which `path` leads from the folder of `from`.
    pub fn beside(&self, from: &Chapter, path: &str) -> PathBuf {
        let notebook = self.notebook(from);
        normal(&notebook.with_file_name("").join(path))
    }

    /// The address of one page from another.
    pub fn href(&self, from: &Chapter, to: &Chapter) -> String {
        format!("{}{}.html", from.up(), super::references::encode(&to.place))
    }
}

impl Chapter {
    fn read(notebooks: &Path, source: &Source) -> Result<Chapter> {
        let file = normal(&source.file);
        let Ok(place) = file.strip_prefix(notebooks) else {
            bail!(
                "{}: lies outside the notebooks\nMove it into {}, or set `notebooks` in book.toml",
                file.display(),
                notebooks.display()
            );
        };
        let name = short(&file);
        let notebook = Notebook::read(&name, source.content.as_bytes().to_vec())?;
        let elsewhere = MachineOutputs::beside(&file)?;
        let cells = notebook.document["cells"].as_array().map(Vec::as_slice);
        let mut chapter = Chapter {
            place: place
                .with_extension("")
                .to_string_lossy()
                .replace('\\', "/"),
            number: source.number.clone(),
            cells: cells
                .unwrap_or_default()
                .iter()
                .map(|cell| Cell::read(cell, elsewhere.as_ref()))
                .collect(),
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

    /// A second heading of the same text gets a number behind it.
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

    /// The first figure of the cell that the anchor names.
    pub fn figure(&self, anchor: &str) -> Option<String> {
        let id = anchor.strip_prefix("cell-id=")?;
        let cell = self.cells.iter().find(|cell| cell.id == id)?;
        cell.figures.first().cloned()
    }

    pub fn has_anchor(&self, anchor: &str) -> bool {
        self.anchors.contains(anchor)
    }

    /// One that differs in case only, or is nearly the same.
    pub fn similar_anchor(&self, anchor: &str) -> Option<&str> {
        let letters = |text: &str| -> String {
            text.chars()
                .filter(|c| c.is_alphanumeric())
                .flat_map(char::to_lowercase)
                .collect()
        };
        let wanted = letters(anchor);
        let mut anchors: Vec<&String> = self.anchors.iter().collect();
        anchors.sort();
        anchors
            .into_iter()
            .map(String::as_str)
            .find(|anchor| letters(anchor) == wanted)
    }

    /// From the page to the first page's folder.
    pub fn up(&self) -> String {
        "../".repeat(self.place.matches('/').count())
    }

    /// The notebook's name without folders and `.ipynb`.
    pub fn stem(&self) -> &str {
        self.place.rsplit('/').next().unwrap_or(&self.place)
    }
}

/// The chapter's number as mdBook gives it: a list.
pub fn number(value: &Value) -> Option<String> {
    let parts = value.as_array()?.iter().filter_map(Value::as_u64);
    let parts: Vec<String> = parts.map(|part| part.to_string()).collect();
    (!parts.is_empty()).then(|| parts.join("."))
}

/// The last two names of a path, for messages.
fn short(file: &Path) -> String {
    let names: Vec<_> = file.iter().map(|name| name.to_string_lossy()).collect();
    names[names.len().saturating_sub(2)..].join("/")
}

/// Without `.` and `..`, by the names alone: what SUMMARY.md says, not where links lead.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}
