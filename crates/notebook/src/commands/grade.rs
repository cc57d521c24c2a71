//! `taper test --grade`: grades submissions with the tests of an assignment that was made with nbgrader.
//!
//! Each submission runs in a process of its own, so that a submission that ends its process does not end the grading.

use super::summary::{Summary, Verdict, exit_code};
use super::task::Task;
use super::test::walk;
use super::workers::run_all;
use crate::console::{Console, Tone, count};
use crate::document::nbgrader::Mark;
use crate::document::notebook::read_document;
use crate::execution::execute::{End, Purpose, store};
use crate::execution::start::{DOES_NOT_START, StartEvaluator, execute_file};
use crate::grading::assignment::Assignment;
use crate::grading::prepare::{Prepared, is_submission, prepare, unreadable};
use crate::grading::score::{Scored, rounded, score};
use crate::signals;
use anyhow::{Context, Error, Result, bail};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use taper_host::error::OnFile as _;

/// Runs submissions, given as files or folders, with the tests of `assignment`, and prints the points of each.
///
/// A cell is interrupted after `limit`. The exit code is 0, 1 if a submission could not be run, or 128 plus the
/// number of the signal that interrupted the command.
///
/// # Errors
///
/// Fails if the assignment cannot be read, has no tests with points or several cells with the same id, or if a folder
/// cannot be read.
pub fn grade(
    assignment: &Path,
    submissions: &[PathBuf],
    limit: Duration,
    jobs: usize,
) -> Result<ExitCode> {
    signals::listen();
    let console = Console::new();
    // Workers change to the folder of their notebook.
    let path = std::path::absolute(assignment).on_file("find", assignment)?;
    let assignment = Assignment::load(&path)?;
    if !assignment.marks().any(Mark::is_test) {
        bail!(
            "{} has no cells that nbgrader grades\n\
             Mark its tests in JupyterLab, with nbgrader's Create Assignment",
            path.display()
        );
    }
    let mut names = BTreeSet::new();
    if let Some(again) = assignment.marks().find(|mark| !names.insert(&mark.name)) {
        bail!(
            "{}: several cells have nbgrader's id `{}`\n\
             Set different ids in JupyterLab, with nbgrader's Create Assignment",
            path.display(),
            again.name
        );
    }
    let (submissions, mut summaries) = find(submissions, &assignment, &console)?;
    let task = Task::Grade {
        assignment: path,
        limit,
    };
    let lost = |notebook: &Path, reason: &str| {
        let prepared = unreadable(&notebook.display().to_string(), reason, &assignment);
        let scored = score(&prepared.notebook.document, &assignment).unwrap_or_default();
        let lines = report(&prepared, &scored, &console);
        lines.join("\n") + "\n"
    };
    summaries.extend(run_all(&task, &submissions, jobs, &lost, &console));
    total(&summaries, &assignment, &console);
    Ok(exit_code(&summaries))
}

/// Finds the submissions, and returns a summary for each notebook in a folder that is not one.
fn find(
    paths: &[PathBuf],
    assignment: &Assignment,
    console: &Console,
) -> Result<(Vec<PathBuf>, Vec<Summary>)> {
    let (mut submissions, mut skipped) = (Vec::new(), Vec::new());
    for path in paths {
        if !path.is_dir() {
            submissions.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        walk(path, &mut found).on_file("read", path)?;
        found.sort();
        for file in found {
            if is_submission(&file, assignment) {
                submissions.push(file);
                continue;
            }
            let (name, wanted) = (file.display(), &assignment.name);
            console.say(&format!(
                "{name}: skipped, it has no cell of {wanted}: name the file itself to grade it"
            ));
            skipped.push(Verdict::Skipped.into());
        }
    }
    Ok((submissions, skipped))
}

/// Prints how many notebooks were graded, which failed, and which tests are wrong.
fn total(summaries: &[Summary], assignment: &Assignment, console: &Console) {
    let of = |verdict: Verdict| summaries.iter().filter(move |one| one.verdict == verdict);
    let graded = count(of(Verdict::Passed).count(), "notebook");
    let others = [(Verdict::Failed, "failed"), (Verdict::Skipped, "skipped")];
    let others = others.map(|(verdict, word)| (of(verdict).count(), word));
    let others = others.iter().filter(|(number, _)| *number > 0);
    let others: String = others
        .map(|(number, word)| format!(", {number} {word}"))
        .collect();
    console.say(&format!("{graded} graded{others}"));
    for summary in of(Verdict::Failed) {
        console.say(&format!("    failed: {}", summary.name));
    }
    let odd: BTreeSet<&str> = summaries
        .iter()
        .flat_map(|one| &one.odd_tests)
        .map(|name| &**name)
        .collect();
    if !odd.is_empty() {
        let names: Vec<String> = odd.iter().map(|name| format!("`{name}`")).collect();
        console.warn(&format!(
            "warning: {}: the values of {} are not between 0 and the points of the test\n  \
             Correct these tests: let the last expression be such a number, or end it with a semicolon.",
            assignment.name,
            names.join(", ")
        ));
    }
}

/// Returns the notebook that grading runs in place of a submission, as JSON for nbgrader.
///
/// # Errors
///
/// Fails if the assignment cannot be read.
pub fn prepared(assignment: &Path, submission: &Path) -> Result<Value> {
    let assignment = Assignment::load(assignment)?;
    Ok(prepare(submission, &assignment).notebook.document)
}

/// Returns the points of a submission whose cells nbgrader has run, by the ids of its cells.
///
/// # Errors
///
/// Fails if one of the notebooks cannot be read, or if no kernel has run the cells.
pub fn scored(assignment: &Path, executed: &Path) -> Result<Value> {
    let assignment = Assignment::load(assignment)?;
    let name = executed.display().to_string();
    let document = read_document(executed).map_err(|problem| problem.of(&name))?;
    let scored = score(&document, &assignment)
        .map_err(Error::msg)
        .context(DOES_NOT_START)?;
    let cells = scored.into_iter().map(|one| {
        let text = one.reason.as_ref().map(|_| one.text());
        let cell = json!({"points": one.points, "text": text, "open": one.open_text(), "is_odd": one.is_odd});
        (one.name, cell)
    });
    Ok(Value::Object(cells.collect::<Map<_, _>>()))
}

/// Grades one notebook in this process.
pub(super) fn grade_notebook(
    path: &Path,
    assignment: &Path,
    limit: Duration,
    start: &StartEvaluator,
    console: &Console,
) -> Result<Summary> {
    let assignment = Assignment::load(assignment)?;
    let mut prepared = prepare(path, &assignment);
    let name = prepared.notebook.name.clone();
    let failed = |why: &str| {
        console.warn(&format!("{name}: {why}"));
        Ok(Verdict::Failed.into())
    };
    if prepared.unreadable.is_none() {
        let purpose = Purpose::Grade { limit };
        match execute_file(&prepared.notebook, path, purpose, start, console) {
            Ok(execution) if execution.end == End::Interrupted => {
                console.warn(&format!("{name}: interrupted"));
                return Ok(Verdict::interrupted().into());
            }
            Ok(execution) => store(&mut prepared.notebook, &execution),
            Err(error) => return failed(&format!("{error:#}")),
        }
    }
    let scored = match score(&prepared.notebook.document, &assignment) {
        Ok(scored) => scored,
        Err(why) => return failed(&format!("{DOES_NOT_START}: {why}")),
    };
    for line in report(&prepared, &scored, console) {
        console.say(&line);
    }
    let odd = scored.into_iter().filter(|one| one.is_odd);
    Ok(Summary {
        odd_tests: odd.map(|one| one.name).collect(),
        ..match prepared.unreadable {
            Some(_) => Verdict::Failed.into(),
            None => Verdict::Passed.into(),
        }
    })
}

/// Returns a line with the sum of the points, a line about each cell that did not earn all its points, and the notes.
fn report(prepared: &Prepared, scored: &[Scored], console: &Console) -> Vec<String> {
    let (mut sum, mut most, mut lines) = (0.0, 0.0, Vec::new());
    for one in scored {
        if !one.is_by_hand {
            (sum, most) = (sum + one.points.unwrap_or_default(), most + one.most);
        }
        if one.reason.is_some() || one.is_by_hand {
            lines.push(format!("    {}: {}", one.name, one.text()));
        }
    }
    let tone = if lines.is_empty() {
        Tone::Good
    } else {
        Tone::Strong
    };
    let points = format!("{} of {} points", rounded(sum), rounded(most));
    let first = format!("{}: {}", prepared.notebook.name, console.out(tone, &points));
    lines.insert(0, first);
    lines.extend(prepared.notes.iter().map(|note| format!("    {note}")));
    lines
}
