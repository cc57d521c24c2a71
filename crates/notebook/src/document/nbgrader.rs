//! The cells that nbgrader's *Create Assignment* has marked in their metadata `nbgrader`.

use super::notebook::Notebook;
use serde::Deserialize;
use std::collections::BTreeSet;

/// A marked cell.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Mark {
    /// The id of the cell, which is the same in the assignment and in all submissions.
    #[serde(rename = "grade_id")]
    pub(crate) name: String,
    /// Whether the cell earns points.
    #[serde(default)]
    grade: bool,
    /// Whether the student writes into the cell.
    #[serde(default)]
    solution: bool,
    /// Whether the student must not change the cell.
    #[serde(default)]
    locked: bool,
    /// The maximum number of points.
    #[serde(default)]
    pub(crate) points: f64,
    /// The index among all cells of the document.
    #[serde(skip)]
    pub(crate) position: usize,
}

impl Mark {
    /// Returns the marked cells of a notebook.
    pub(crate) fn all(notebook: &Notebook) -> Vec<Mark> {
        let cells = notebook.document["cells"].as_array();
        let cells = cells.map(Vec::as_slice).unwrap_or_default();
        let mark = |(position, cell): (usize, &serde_json::Value)| {
            let mark = Mark::deserialize(cell.pointer("/metadata/nbgrader")?).ok()?;
            Some(Mark { position, ..mark })
        };
        cells.iter().enumerate().filter_map(mark).collect()
    }

    /// Returns whether the cell is a test, whose points follow from its result.
    pub(crate) fn is_test(&self) -> bool {
        self.grade && !self.solution
    }

    /// Returns whether the cell holds the student's own work, whose points do not follow from a test.
    pub(crate) fn is_graded_by_hand(&self) -> bool {
        self.grade && self.solution
    }

    /// Returns whether students must not change the cell.
    pub(crate) fn is_of_the_assignment(&self) -> bool {
        self.is_test() || self.locked
    }
}

/// Replaces the tests and the locked cells of a submission, which a student may have changed, with those of the
/// assignment. Returns their positions.
pub(crate) fn restore(submission: &mut Notebook, assignment: &Notebook) -> BTreeSet<usize> {
    let mut restored = BTreeSet::new();
    let submitted = Mark::all(submission);
    let code = |notebook: &Notebook, position| {
        let mut cells = notebook.cells.iter();
        cells.position(|cell| cell.position == position)
    };
    for mark in Mark::all(assignment)
        .iter()
        .filter(|mark| mark.is_of_the_assignment())
    {
        let same = submitted.iter().find(|other| other.name == mark.name);
        let to = same.and_then(|same| code(submission, same.position));
        if let (Some(to), Some(from)) = (to, code(assignment, mark.position)) {
            let (to, from) = (&mut submission.cells[to], &assignment.cells[from]);
            to.source.clone_from(&from.source);
            to.tags = from.tags;
            restored.insert(to.position);
        }
    }
    restored
}
