//! The points of a submission whose cells have run, each with its reason.
//!
//! A test earns all its points if it ends without an error, and none if it fails. If the value of its last expression is a
//! number, it earns that many; `false` earns none. A number outside of 0 to the points of the test is a fault of the
//! assignment: it counts as the nearest number inside, and as 0 if it is NaN.

use super::assignment::{Assignment, Given};
use super::cause::{Failed, cause, open_summary};
use super::outputs::{errors, failure, shortened, source_of, summary, value_of};
use crate::document::nbgrader::{Mark, name_of};
use serde_json::Value;
use taper_evaluator::joined;

/// The name of the error of every cell if no kernel starts.
const START_ERROR: &str = "StartError";

/// The points of one cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scored {
    pub(crate) name: String,
    /// None if a teacher decides them.
    pub(crate) points: Option<f64>,
    pub(crate) most: f64,
    /// Whether the points do not follow from a test.
    pub(crate) is_by_hand: bool,
    /// Why the cell has not earned all its points, or what is wrong with the test.
    pub(crate) reason: Option<String>,
    /// The reason as feedback contains it for a hidden test, of which it reveals nothing.
    open: Option<String>,
    /// Whether the value of the test is none that it may have.
    pub(crate) is_odd: bool,
}

impl Scored {
    /// Returns the points and the reason: `1.5 of 2, its value is 1.5`.
    pub(crate) fn text(&self) -> String {
        self.with(self.reason.as_deref())
    }

    /// Returns the points, and what of the reason reveals nothing of a hidden test.
    pub(crate) fn open_text(&self) -> String {
        self.with(self.open.as_deref())
    }

    fn of(mark: &Mark, points: f64, reason: Option<String>) -> Scored {
        Scored {
            name: mark.name.clone(),
            points: Some(points),
            most: mark.points,
            is_by_hand: mark.is_graded_by_hand(),
            open: reason.clone(),
            reason,
            is_odd: false,
        }
    }

    fn with(&self, reason: Option<&str>) -> String {
        let most = rounded(self.most);
        let points = match self.points {
            Some(points) => format!("{} of {most}", rounded(points)),
            None => format!("up to {most}, by hand"),
        };
        reason.map_or(points.clone(), |reason| format!("{points}, {reason}"))
    }
}

/// Returns a number of points without the digits that adding up has left behind.
pub(crate) fn rounded(points: f64) -> f64 {
    (points * 1e6).round() / 1e6 + 0.0
}

/// Returns the points of all graded cells, or an error if there was no kernel that ran them.
pub(crate) fn score(executed: &Value, assignment: &Assignment) -> Result<Vec<Scored>, String> {
    let cells = executed["cells"].as_array();
    let cells = cells.map(Vec::as_slice).unwrap_or_default();
    if let Some(error) = cells
        .iter()
        .flat_map(errors)
        .find(|error| error["ename"] == START_ERROR)
    {
        return Err(joined(&error["evalue"]));
    }
    let graded = assignment.cells.iter().filter_map(|given| {
        let mark = given.mark.as_ref()?;
        let at = cells
            .iter()
            .position(|cell| name_of(cell) == Some(&mark.name));
        let cell = at.map(|at| &cells[at]);
        if mark.is_graded_by_hand() {
            return Some(by_hand(mark, given, cell));
        }
        let before = &cells[..at.unwrap_or_default()];
        mark.is_test().then(|| of_test(mark, cell, before))
    });
    Ok(graded.collect())
}

fn by_hand(mark: &Mark, given: &Given, cell: Option<&Value>) -> Scored {
    match cell {
        None => Scored::of(mark, 0.0, Some("the cell is missing".to_owned())),
        Some(cell) if mark.solution && given.is_unchanged(&source_of(cell)) => {
            let reason = "the cell is as in the assignment";
            Scored::of(mark, 0.0, Some(reason.to_owned()))
        }
        Some(_) => Scored {
            points: None,
            ..Scored::of(mark, 0.0, None)
        },
    }
}

fn of_test(mark: &Mark, cell: Option<&Value>, before: &[Value]) -> Scored {
    let nothing = |reason: &str| Scored::of(mark, 0.0, Some(reason.to_owned()));
    let Some(cell) = cell else {
        return nothing("the cell is missing");
    };
    if let Some(error) = failure(cell) {
        let cause = cause(before, error);
        let with = |summary: String, cause: Option<String>| match cause {
            Some(cause) => format!("{summary}; {cause}"),
            None => summary,
        };
        let reason = with(summary(error), cause.as_ref().map(ToString::to_string));
        let open = open_summary(error, cause.is_some());
        let open = open.map(|summary| with(summary, cause.as_ref().map(Failed::open)));
        return Scored {
            open,
            ..nothing(&reason)
        };
    }
    if cell["execution_count"].is_null() && !source_of(cell).trim().is_empty() {
        return nothing("the test was not run");
    }
    match value_of(cell) {
        Some(value) => of_value(mark, value.trim()),
        None => Scored::of(mark, mark.points, None),
    }
}

/// Returns the points for the value of a test.
fn of_value(mark: &Mark, value: &str) -> Scored {
    let most = rounded(mark.points);
    let odd = |points, reason: String| Scored {
        is_odd: true,
        // The value may be that of a student's function for a hidden argument.
        open: None,
        ..Scored::of(mark, points, Some(reason))
    };
    match value.parse::<f64>() {
        Ok(number) if (0.0..=mark.points).contains(&number) => {
            let reason = (number < mark.points).then(|| format!("its value is {value}"));
            Scored::of(mark, number, reason)
        }
        Ok(number) => {
            let points = if number > 0.0 { mark.points } else { 0.0 };
            odd(
                points,
                format!("its value {value} is not between 0 and {most}"),
            )
        }
        Err(_) if value == "false" => Scored::of(mark, 0.0, Some("its value is false".to_owned())),
        Err(_) if ["true", "()"].contains(&value) => Scored::of(mark, mark.points, None),
        Err(_) => {
            let value = shortened(value, 60);
            odd(mark.points, format!("its value {value} is not a number"))
        }
    }
}
