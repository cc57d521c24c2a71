//! The notebook that grading runs in place of a submission.
//!
//! Students split, copy, convert and delete cells, and tools remove metadata. The cells stay in their order, with the
//! marks, the tests and the locked cells of the assignment; cells that are missing are added back. A file that is not a
//! notebook becomes one whose tests are refused, so that it earns nothing and says why.

use super::assignment::{Assignment, Given};
use super::outputs::{label, source_of};
use crate::document::error::Problem;
use crate::document::nbgrader::Mark;
use crate::document::notebook::{Notebook, check_kernel, read_document};
use crate::execution::execute::refused;
use serde_json::{Value, json};
use std::path::Path;

/// A submission as it is graded.
pub(crate) struct Prepared {
    pub(crate) notebook: Notebook,
    /// What was changed, for the student and the teacher.
    pub(crate) notes: Vec<String>,
    /// Why nothing of the submission can run.
    pub(crate) unreadable: Option<String>,
}

/// Returns whether a file is a submission for the assignment: it has the name or a cell of the assignment, or nothing that
/// could be one of another.
pub(crate) fn is_submission(path: &Path, assignment: &Assignment) -> bool {
    let Ok(document) = read_document(path) else {
        return true;
    };
    let cells = document["cells"].as_array().into_iter().flatten();
    path.file_name() == Path::new(&assignment.name).file_name()
        || cells.clone().any(|cell| assignment.find(cell).is_some())
        || cells.clone().all(|cell| source_of(cell).trim().is_empty())
}

/// Reads a submission, and makes the notebook that is graded.
pub(crate) fn prepare(path: &Path, assignment: &Assignment) -> Prepared {
    let name = path.display().to_string();
    // It could lead to a solution that only the grader can read.
    if path.is_symlink() {
        return unreadable(&name, "the file is a link to another", assignment);
    }
    let document = match read_document(path) {
        Ok(document) => document,
        Err(problem) => return unreadable(&name, &said(&problem), assignment),
    };
    let mut parts = Parts::of(&document, assignment);
    if let Err(Problem::OtherKernel { kernel, .. }) = check_kernel(&document["metadata"]) {
        let note = format!(
            "The notebook was for the kernel `{kernel}`: it runs with that of the assignment."
        );
        parts.notes.push(note);
    }
    parts.choose();
    parts.add_missing();
    parts.refuse();
    parts.finish(&name, None)
}

/// Returns a notebook of which nothing runs, and whose tests say why.
pub(crate) fn unreadable(name: &str, why: &str, assignment: &Assignment) -> Prepared {
    let mut parts = Parts::of(&Value::Null, assignment);
    parts.add_missing();
    parts.notes = vec![format!("The submission cannot be run: {why}.")];
    for cell in &mut parts.cells {
        cell.refusal = Some(why.to_owned());
    }
    parts.finish(name, Some(why.to_owned()))
}

fn said(problem: &Problem) -> String {
    match problem {
        Problem::Missing => problem.to_string(),
        _ => format!("the file {}", problem.shortened()),
    }
}

/// The cells while they are put together.
struct Parts<'a> {
    assignment: &'a Assignment,
    cells: Vec<Part>,
    notes: Vec<String>,
}

struct Part {
    /// The index of the cell of the assignment which this one is, or is a copy of.
    of: Option<usize>,
    /// Whether the cell has the mark of the assignment's cell, which only one of several copies has.
    is_marked: bool,
    /// Whether the cell is as in the assignment.
    is_given: bool,
    kind: String,
    source: String,
    attachments: Value,
    refusal: Option<String>,
}

impl<'a> Parts<'a> {
    fn of(document: &Value, assignment: &'a Assignment) -> Self {
        let cells = document["cells"].as_array().into_iter().flatten();
        let part = |cell: &Value| Part {
            of: assignment.find(cell),
            is_marked: false,
            is_given: false,
            kind: match cell["cell_type"].as_str() {
                Some(kind @ ("code" | "markdown")) => kind.to_owned(),
                _ => "raw".to_owned(),
            },
            source: source_of(cell),
            attachments: cell["attachments"].clone(),
            refusal: None,
        };
        Parts {
            assignment,
            cells: cells.filter(|cell| cell.is_object()).map(part).collect(),
            notes: Vec::new(),
        }
    }

    /// Chooses, for each marked cell of the assignment, which cell has its mark. Of a test that is the last unchanged copy,
    /// because a student may have written something else into the others; of a solution it is the last changed one. All
    /// parts of a solution run.
    fn choose(&mut self) {
        for (index, given) in self.assignment.cells.iter().enumerate() {
            let Some(mark) = &given.mark else { continue };
            let copies: Vec<usize> = (0..self.cells.len())
                .filter(|&at| self.cells[at].of == Some(index))
                .collect();
            let is_same = |at: &usize| given.is_unchanged(&self.cells[*at].source);
            let fitting = |at: &&usize| is_same(at) == mark.is_given();
            let chosen = copies.iter().rfind(fitting).or(copies.last()).copied();
            let Some(chosen) = chosen else {
                if mark.solution && !mark.is_graded_by_hand() {
                    self.notes
                        .push(format!("The solution `{}` is missing.", mark.name));
                }
                continue;
            };
            let same: Vec<usize> = copies.iter().copied().filter(is_same).collect();
            self.note(given, &copies, chosen, same.contains(&chosen));
            for at in copies {
                let part = &mut self.cells[at];
                part.is_marked = at == chosen;
                part.is_given = mark.is_given() && (at == chosen || same.contains(&at));
                if part.is_given {
                    part.source.clone_from(&given.source);
                }
                if part.is_given || mark.solution {
                    part.kind.clone_from(&given.kind);
                }
            }
        }
    }

    fn note(&mut self, given: &Given, copies: &[usize], chosen: usize, is_same: bool) {
        let Some(mark) = &given.mark else { return };
        let (name, was, kind) = (&mark.name, &self.cells[chosen].kind, &given.kind);
        if was != kind {
            let note = format!("`{name}` was a {was} cell: it is a {kind} cell again.");
            self.notes.push(note);
        }
        if mark.is_given() && copies.len() > 1 {
            let times = copies.len();
            let note = format!("`{name}` occurs {times} times: it is graded once.");
            self.notes.push(note);
        } else if mark.is_given() && !is_same {
            let note = format!("`{name}` differs from the assignment, whose cell is used.");
            self.notes.push(note);
        }
    }

    /// Adds the cells back that a submission must have.
    fn add_missing(&mut self) {
        for (index, given) in self.assignment.cells.iter().enumerate() {
            let Some(mark) = &given.mark else { continue };
            let is_there = self
                .cells
                .iter()
                .any(|part| part.is_marked && part.of == Some(index));
            if is_there || !(mark.is_given() || mark.is_graded_by_hand()) {
                continue;
            }
            self.notes
                .push(format!("`{}` was missing: it was added back.", mark.name));
            let part = Part {
                of: Some(index),
                is_marked: true,
                is_given: mark.is_given(),
                kind: given.kind.clone(),
                source: match mark.solution {
                    true => given.released(),
                    false => given.source.clone(),
                },
                attachments: Value::Null,
                refusal: None,
            };
            self.cells.insert(self.place(index), part);
        }
    }

    /// Returns where a missing cell belongs: after the cells before it in the assignment, and what the student has written
    /// behind them.
    fn place(&self, index: usize) -> usize {
        let before = self
            .cells
            .iter()
            .filter_map(|part| part.of)
            .filter(|&of| of < index);
        let after = before.max().and_then(|of| {
            let last = self.cells.iter().rposition(|part| part.of == Some(of));
            last.map(|last| last + 1)
        });
        let start = after.unwrap_or(0);
        let own = self.cells[start..]
            .iter()
            .take_while(|part| part.of.is_none());
        start + own.count()
    }

    /// Refuses the student's cells that must not run.
    fn refuse(&mut self) {
        for part in &mut self.cells {
            if part.kind != "code" || part.is_given {
                continue;
            }
            let Some(reason) = self.assignment.rules.refusal(&part.source) else {
                continue;
            };
            let mark = part
                .of
                .filter(|_| part.is_marked)
                .and_then(|of| self.assignment.cells[of].mark.as_ref());
            let name = label(mark.map(|mark| &*mark.name), &part.source);
            self.notes
                .push(format!("The cell {name} was not run: {reason}."));
            part.refusal = Some(reason);
        }
    }

    fn finish(self, name: &str, unreadable: Option<String>) -> Prepared {
        let mut cells: Vec<Value> = Vec::new();
        if !self.notes.is_empty() {
            let notes: String = self
                .notes
                .iter()
                .map(|note| format!("- {note}\n"))
                .collect();
            let source = format!("**Notes on grading**\n\n{notes}");
            cells.push(json!({"cell_type": "markdown", "metadata": {}, "source": source}));
        }
        let refusals: Vec<Option<String>> = std::iter::repeat_n(None, cells.len())
            .chain(self.cells.iter().map(|part| part.refusal.clone()))
            .collect();
        cells.extend(self.cells.iter().map(|part| part.cell(self.assignment)));
        for (number, cell) in (1..).zip(&mut cells) {
            cell["id"] = json!(format!("cell-{number}"));
        }
        let mut metadata = self.assignment.metadata.clone();
        metadata["grading"] = json!({"unreadable": unreadable});
        let document =
            json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5});
        let mut notebook =
            Notebook::of(name, document, Vec::new()).expect("all of its cells are valid");
        for cell in &mut notebook.cells {
            cell.refusal.clone_from(&refusals[cell.position]);
        }
        Prepared {
            notebook,
            notes: self.notes,
            unreadable,
        }
    }
}

impl Part {
    fn cell(&self, assignment: &Assignment) -> Value {
        let given = self.of.map(|of| &assignment.cells[of]);
        let mark = given.and_then(|given| given.mark.as_ref());
        let mut metadata = json!({});
        if let Some(mark) = mark.filter(|_| self.is_marked) {
            metadata["nbgrader"] = mark.metadata();
        }
        // A test always runs: a test that does not run would earn its points. A student's tags have no effect.
        if let Some(given) = given
            && given.tags.is_array()
            && !mark.is_some_and(Mark::is_test)
        {
            metadata["tags"] = given.tags.clone();
        }
        let mut cell = json!({"cell_type": self.kind, "metadata": metadata, "source": self.source});
        if self.kind != "code" {
            if self.attachments.is_object() {
                cell["attachments"] = self.attachments.clone();
            }
            return cell;
        }
        let refusal = self.refusal.as_deref().map(refused);
        cell["execution_count"] = Value::Null;
        cell["outputs"] = json!(refusal.iter().map(error_output).collect::<Vec<_>>());
        if let Some(reason) = &self.refusal {
            cell["metadata"]["grading"] = json!({"refused": reason});
        }
        cell
    }
}

fn error_output(error: &taper_evaluator::event::CellError) -> Value {
    json!({"output_type": "error", "ename": error.name, "evalue": error.message, "traceback": error.traceback})
}
