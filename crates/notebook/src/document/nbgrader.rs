//! The cells that nbgrader's *Create Assignment* has marked in their metadata `nbgrader`.

use serde_json::{Value, json};

/// A marked cell of an assignment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    /// The id of the cell, which is the same in the assignment and in all submissions.
    pub(crate) name: String,
    /// Whether the cell earns points.
    grade: bool,
    /// Whether the student writes into the cell.
    pub(crate) solution: bool,
    /// Whether the student must not change the cell.
    locked: bool,
    /// Whether the cell describes a task, whose result earns points.
    task: bool,
    /// The maximum number of points.
    pub(crate) points: f64,
    /// The index among all cells of the document.
    pub(crate) position: usize,
}

impl Mark {
    /// Returns the marked cells of a notebook.
    pub(crate) fn all(document: &Value) -> Vec<Mark> {
        let cells = document["cells"].as_array();
        let cells = cells.map(Vec::as_slice).unwrap_or_default();
        let mark = |(position, cell)| Mark::of(cell, position);
        cells.iter().enumerate().filter_map(mark).collect()
    }

    /// Reads the mark of a cell, in any version of nbgrader's format: older ones leave keys out, and keep points as text.
    fn of(cell: &Value, position: usize) -> Option<Mark> {
        let name = name_of(cell)?.to_owned();
        let mark = &cell["metadata"]["nbgrader"];
        let is = |key: &str| mark[key] == true;
        let points = match &mark["points"] {
            Value::String(text) => text.trim().parse().ok(),
            number => number.as_f64(),
        };
        Some(Mark {
            name,
            grade: is("grade"),
            solution: is("solution"),
            locked: is("locked"),
            task: is("task"),
            points: points.filter(|points| *points > 0.0).unwrap_or_default(),
            position,
        })
    }

    /// Returns whether the cell is a test, whose points follow from its result.
    pub(crate) fn is_test(&self) -> bool {
        self.grade && !self.solution
    }

    /// Returns whether the points do not follow from a test.
    pub(crate) fn is_graded_by_hand(&self) -> bool {
        (self.grade && self.solution) || self.task
    }

    /// Returns whether students must not change the cell.
    pub(crate) fn is_given(&self) -> bool {
        !self.solution && (self.grade || self.locked || self.task)
    }

    /// Returns the metadata `nbgrader` in the present version of its format.
    pub(crate) fn metadata(&self) -> Value {
        let mut mark = json!({
            "schema_version": 3, "grade_id": self.name, "grade": self.grade, "solution": self.solution,
            "locked": self.is_given(), "task": self.task,
        });
        if self.grade || self.task {
            mark["points"] = json!(self.points);
        }
        mark
    }
}

/// Returns the id that nbgrader has given to a cell.
pub(crate) fn name_of(cell: &Value) -> Option<&str> {
    cell.pointer("/metadata/nbgrader/grade_id")?.as_str()
}

/// The texts that nbgrader's configuration of `packaging/nbgrader` puts in the place of a solution.
const STUBS: [(&str, &str); 2] = [
    ("code", "todo!() // YOUR CODE HERE"),
    ("markdown", "YOUR ANSWER HERE"),
];

/// Returns the text of a cell as students receive it: without hidden tests, and with a stub in the place of a solution.
pub(crate) fn released(source: &str, kind: &str, is_solution: bool) -> String {
    let stub = STUBS.iter().find(|(known, _)| *known == kind);
    let stub = stub.map_or("", |(_, stub)| stub);
    let (mut lines, mut inside, mut has_stub) = (Vec::new(), false, false);
    for line in source.lines() {
        let is = |word: &str| {
            let names = ["SOLUTION", "HIDDEN TESTS", "MARK SCHEME"];
            names
                .into_iter()
                .find(|name| line.contains(&format!("{word} {name}")))
        };
        match (is("BEGIN"), is("END")) {
            (Some(name), _) => {
                inside = true;
                has_stub |= name == "SOLUTION";
                let indent = &line[..line.len() - line.trim_start().len()];
                lines.extend((name == "SOLUTION").then(|| format!("{indent}{stub}")));
            }
            (None, Some(_)) => inside = false,
            (None, None) if inside => {}
            (None, None) => lines.push(line.to_owned()),
        }
    }
    if is_solution && !has_stub {
        return stub.to_owned();
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_all_versions_are_read() {
        let cells = json!({"cells": [
            {"metadata": {"nbgrader": {"grade_id": "old", "grade": true, "points": "2.5"}}},
            {"metadata": {"nbgrader": {"grade_id": "none", "grade": true, "points": ""}}},
            {"metadata": {"nbgrader": {"grade_id": "less", "grade": true, "points": -1}}},
            {"metadata": {"nbgrader": {"grade_id": 7}}},
            {"metadata": {"nbgrader": "none"}},
            {"metadata": null}, null,
            {"metadata": {"nbgrader": {"grade_id": "task", "task": true, "locked": true, "points": 3}}},
        ]});
        let marks = Mark::all(&cells);
        let read: Vec<_> = marks
            .iter()
            .map(|mark| (&*mark.name, mark.points, mark.position))
            .collect();
        assert_eq!(
            read,
            [
                ("old", 2.5, 0),
                ("none", 0.0, 1),
                ("less", 0.0, 2),
                ("task", 3.0, 7)
            ]
        );
        assert!(marks[0].is_test() && marks[0].is_given());
        assert!(marks[3].is_graded_by_hand() && marks[3].is_given() && !marks[3].is_test());
        let expected = json!({"schema_version": 3, "grade_id": "old", "grade": true, "solution": false,
            "locked": true, "task": false, "points": 2.5});
        assert_eq!(marks[0].metadata(), expected);
    }

    #[test]
    fn students_receive_stubs_and_no_hidden_tests() {
        let solution = "fn one() -> i64 {\n    // BEGIN SOLUTION\n    1\n    // END SOLUTION\n}";
        let stub = "fn one() -> i64 {\n    todo!() // YOUR CODE HERE\n}";
        assert_eq!(released(solution, "code", true), stub);
        let test =
            "assert!(one() == 1);\n// BEGIN HIDDEN TESTS\nassert!(one() < 2);\n// END HIDDEN TESTS";
        assert_eq!(released(test, "code", false), "assert!(one() == 1);");
        let essay = "### BEGIN SOLUTION\nBecause.\n### END SOLUTION";
        assert_eq!(released(essay, "markdown", true), "YOUR ANSWER HERE");
        assert_eq!(released("Because.", "markdown", true), "YOUR ANSWER HERE");
    }
}
