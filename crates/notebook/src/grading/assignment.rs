//! An assignment: the cells by which submissions are graded.

use super::outputs::source_of;
use super::rules::Rules;
use crate::document::nbgrader::{Mark, name_of, released};
use crate::document::notebook::Notebook;
use serde_json::Value;
use std::path::Path;

/// The notebook of a teacher.
pub(crate) struct Assignment {
    /// The path of its file.
    pub(crate) name: String,
    /// The metadata of the notebook: its kernel.
    pub(super) metadata: Value,
    pub(super) cells: Vec<Given>,
    pub(super) rules: Rules,
}

/// A cell of an assignment.
pub(super) struct Given {
    pub(super) mark: Option<Mark>,
    /// The id in the file, which students receive; none if the file's format has none.
    id: Option<String>,
    pub(super) kind: String,
    pub(super) source: String,
    pub(super) tags: Value,
}

impl Assignment {
    pub(crate) fn load(path: &Path) -> anyhow::Result<Assignment> {
        Notebook::load(path).map(|notebook| Assignment::of(&notebook))
    }

    pub(crate) fn of(notebook: &Notebook) -> Assignment {
        let document = &notebook.document;
        let file: Value = serde_json::from_slice(&notebook.original).unwrap_or_default();
        let mut marks = Mark::all(document).into_iter().peekable();
        let cells = document["cells"].as_array().into_iter().flatten();
        let given = cells.enumerate().map(|(position, cell)| Given {
            mark: marks.next_if(|mark| mark.position == position),
            id: text(&file["cells"][position]["id"]),
            kind: text(&cell["cell_type"]).unwrap_or_default(),
            source: source_of(cell),
            tags: cell["metadata"]["tags"].clone(),
        });
        Assignment {
            name: notebook.name.clone(),
            metadata: document["metadata"].clone(),
            cells: given.collect(),
            rules: Rules::of(notebook),
        }
    }

    /// Returns the marked cells, in order.
    pub(crate) fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.cells.iter().filter_map(|given| given.mark.as_ref())
    }

    /// Returns the index of the cell that a cell of a submission is: that with the id of nbgrader, or with the id of the
    /// file's format if a tool has removed nbgrader's.
    pub(super) fn find(&self, cell: &Value) -> Option<usize> {
        let by_name = name_of(cell).and_then(|name| {
            let has = |given: &Given| given.mark.as_ref().is_some_and(|mark| mark.name == name);
            self.cells.iter().position(has)
        });
        by_name.or_else(|| {
            let id = text(&cell["id"])?;
            self.cells
                .iter()
                .position(|given| given.id.as_ref() == Some(&id))
        })
    }
}

impl Given {
    /// Returns whether a submission has left the cell as it was: as in the teacher's notebook, or as students receive it.
    pub(super) fn is_unchanged(&self, submitted: &str) -> bool {
        let submitted = submitted.trim();
        submitted == self.source.trim() || submitted == self.released().trim()
    }

    /// Returns the text of the cell as students receive it.
    pub(super) fn released(&self) -> String {
        let is_solution = self.mark.as_ref().is_some_and(|mark| mark.solution);
        released(&self.source, &self.kind, is_solution)
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
