//! `taper test --grade`: grades submissions with the tests of an assignment that was made with nbgrader.
//!
//! A test earns all its points if it ends without an error, and no points if it fails. If the value of the test's
//! cell is a number, the test earns that number of points.

use super::summary::{Summary, Verdict, exit_code};
use super::task::Task;
use super::test::find;
use super::workers::run_all;
use crate::console::{Console, Tone, count};
use crate::document::nbgrader::Mark;
use crate::document::notebook::Notebook;
use crate::error::{Error, Result, chain};
use crate::execution::execute::{CellRun, End, Purpose, Ran};
use crate::execution::start::{StartEvaluator, execute_file};
use crate::grading::Rules;
use crate::signals;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Runs submissions, given as files or folders, with the tests of `assignment`, and prints the points of each.
///
/// A cell is interrupted after `limit`. The exit code is 0, 1 if a submission could not be run, or 128 plus the
/// number of the signal that interrupted the command.
///
/// # Errors
///
/// Fails if the assignment cannot be read or has no tests with points, or if a folder cannot be read.
pub fn grade(
    assignment: &Path,
    submissions: &[PathBuf],
    limit: Duration,
    jobs: usize,
    start: &StartEvaluator,
) -> Result<ExitCode> {
    signals::listen();
    let console = Console::new();
    // Workers change to the folder of their notebook.
    let assignment = std::path::absolute(assignment).map_err(Error::file("find", assignment))?;
    if !Mark::all(&Notebook::load(&assignment)?)
        .iter()
        .any(Mark::is_test)
    {
        return Err(Error::NoTests { assignment });
    }
    let (submissions, mut summaries) = find(submissions, &console)?;
    if let [submission] = &submissions[..] {
        summaries.push(grade_notebook(
            submission,
            &assignment,
            limit,
            start,
            &console,
        )?);
    } else {
        let task = Task::Grade { assignment, limit };
        summaries.extend(run_all(&task, &submissions, jobs, &console));
    }
    let graded = summaries
        .iter()
        .filter(|one| one.verdict == Verdict::Passed);
    console.say(&format!("{} graded", count(graded.count(), "notebook")));
    Ok(exit_code(&summaries))
}

/// Returns the cells of a submission that grading does not run, with the reason, by their position among all cells.
///
/// # Errors
///
/// Fails if one of the notebooks cannot be read.
pub fn refused(assignment: &Path, submission: &Path) -> Result<BTreeMap<usize, String>> {
    let assignment = Notebook::load(assignment)?;
    let mut submission = Notebook::load(submission)?;
    Rules::of(&assignment).apply(&mut submission, &assignment);
    let cells = submission.cells.into_iter();
    Ok(cells
        .filter_map(|cell| Some((cell.position, cell.refusal?)))
        .collect())
}

/// Grades one notebook in this process.
pub(super) fn grade_notebook(
    path: &Path,
    assignment: &Path,
    limit: Duration,
    start: &StartEvaluator,
    console: &Console,
) -> Result<Summary> {
    let assignment = Notebook::load(assignment)?;
    let mut submission = match Notebook::load(path) {
        Ok(notebook) => notebook,
        Err(error) => {
            console.warn(&error.to_string());
            return Ok(Verdict::Failed.into());
        }
    };
    let (name, marks) = (submission.name.clone(), Mark::all(&submission));
    let wanted = Mark::all(&assignment);
    if !wanted
        .iter()
        .any(|mark| marks.iter().any(|other| other.name == mark.name))
    {
        console.say(&format!(
            "{name}: skipped, it has no cell of {}",
            assignment.name
        ));
        return Ok(Verdict::Skipped.into());
    }
    Rules::of(&assignment).apply(&mut submission, &assignment);
    let purpose = Purpose::Grade { limit };
    let execution = match execute_file(&submission, path, purpose, start, console) {
        Ok(execution) if execution.end == End::Interrupted => {
            console.warn(&format!("{name}: interrupted"));
            return Ok(Verdict::interrupted().into());
        }
        Ok(execution) => execution,
        Err(error) => {
            console.warn(&format!("{name}: {}", chain(&error)));
            return Ok(Verdict::Failed.into());
        }
    };
    let ran = |mark: &Mark| {
        let same = marks.iter().find(|other| other.name == mark.name)?;
        let mut cells = submission.cells.iter().zip(&execution.cells);
        match cells.find(|(cell, _)| cell.position == same.position)?.1 {
            CellRun::Ran(ran) => Some(ran),
            CellRun::Untouched | CellRun::Empty => None,
        }
    };
    report(&name, &wanted, ran, console);
    report_refused(&submission, console);
    Ok(Verdict::Passed.into())
}

/// Prints the sum of the points, and a line about each test that did not earn all its points.
fn report<'a>(
    name: &str,
    marks: &[Mark],
    ran: impl Fn(&Mark) -> Option<&'a Ran>,
    console: &Console,
) {
    let (mut sum, mut most, mut lines) = (0.0, 0.0, Vec::new());
    for mark in marks.iter().filter(|mark| mark.is_test()) {
        let (points, reason) = earned(ran(mark), mark.points);
        (sum, most) = (sum + points, most + mark.points);
        if points < mark.points {
            lines.push(format!(
                "    {}: {points} of {}{reason}",
                mark.name, mark.points
            ));
        }
    }
    let tone = if lines.is_empty() {
        Tone::Good
    } else {
        Tone::Strong
    };
    let by_hand = marks.iter().filter(|mark| mark.is_graded_by_hand());
    lines.extend(by_hand.map(|mark| format!("    {}: up to {}, by hand", mark.name, mark.points)));
    let points = console.out(tone, &format!("{sum} of {most} points"));
    console.say(&format!("{name}: {points}"));
    lines.iter().for_each(|line| console.say(line));
}

/// Prints a line about each cell that was not run.
fn report_refused(submission: &Notebook, console: &Console) {
    for (number, cell) in (1..).zip(&submission.cells) {
        if let Some(reason) = &cell.refusal {
            console.say(&format!("    code cell {number} was not run: {reason}"));
        }
    }
}

/// Returns the points that a test has earned, and the reason if the test failed or is missing.
fn earned(ran: Option<&Ran>, most: f64) -> (f64, String) {
    let Some(ran) = ran else {
        return (0.0, ", the cell is missing".to_owned());
    };
    if let Some(error) = &ran.error {
        let first = error.message.lines().next().unwrap_or_default();
        return (0.0, format!(", {}: {first}", error.name));
    }
    let value = value_of(&json!(ran.outputs)).and_then(|text| text.trim().parse::<f64>().ok());
    let points = value.map_or(most, |value| if value.is_nan() { 0.0 } else { value });
    (points.clamp(0.0, most.max(0.0)), String::new())
}

/// Returns the value that a cell has shown, as text.
fn value_of(outputs: &Value) -> Option<String> {
    let mut outputs = outputs.as_array()?.iter();
    let result = outputs.find(|output| output["output_type"] == "execute_result")?;
    match result.pointer("/data/text~1plain")? {
        Value::Array(lines) => Some(lines.iter().filter_map(Value::as_str).collect()),
        text => text.as_str().map(str::to_owned),
    }
}
