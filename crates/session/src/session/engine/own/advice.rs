//! Mends what rustc suggests where it sees less than a cell can use: variables that the cell does not mention by their
//! name, and a `?` outside of functions.

use super::messages;
use crate::session::diagnostics::{Diagnostic as Problem, why_gone};
use taper_engine::{Diagnostic, Gone, Level, Span, Variable};

/// How rustc begins to suggest `expect`, because the cell's function returns no `Result`.
const EXPECT: &str = "consider using `Result::expect` to unwrap ";

/// What rustc says about a `return` in a cell, whose own closure returns nothing.
const OUTER: &str = "return type inferred to be `()` here";

/// Mends a message about the cell with this number. `variables` are the names of all variables.
pub(super) fn mend<'a>(
    diagnostic: &mut Diagnostic,
    number: u32,
    code: &str,
    variables: impl Iterator<Item = &'a str>,
) {
    suggest_variable(diagnostic, variables);
    suggest_let(diagnostic, number, code);
    for child in &mut diagnostic.children {
        suggest_question_mark(child, number);
    }
    let is_ours = |child: &Diagnostic| child.message == OUTER && is_returned(child, number, code);
    if let Some(why) = diagnostic.children.iter().find(|child| is_ours(child)) {
        diagnostic.message.clone_from(&why.message);
    }
}

/// Says how to change a variable that others borrow from. `frozen` are all of these, each with the execution count of the
/// cell that makes it.
pub(super) fn about_frozen(error: &mut Problem, frozen: &[(Variable, Option<usize>)]) {
    let is_about_changes = ["cannot assign to ", "cannot borrow ", "cannot move out of "];
    if !is_about_changes
        .iter()
        .any(|it| error.message.starts_with(it))
    {
        return;
    }
    let name = error.message.split('`').nth(1).unwrap_or_default();
    let name = name.trim_start_matches('*');
    let name = name.split(['.', '[']).next().unwrap_or_default();
    let Some((variable, maker)) = frozen.iter().find(|(it, _)| it.name == name) else {
        return;
    };
    let again = match maker {
        Some(maker) => format!("run cell [{maker}] again"),
        None => format!("run the cell that makes `{name}` again"),
    };
    error.hint = Some(format!(
        "`{name}` is frozen, because {} borrows from it. Change a copy, `let mut {name} = {name}.clone();`; or {again} \
         and change `{name}` before something borrows from it.",
        messages::borrowers(variable)
    ));
}

/// Says why there is no variable of a name, if one lived until its cell ended.
pub(super) fn about_gone<'a>(error: &mut Problem, gone: impl Fn(&str) -> Option<&'a Gone>) {
    let is_missing = ["cannot find value `", "cannot find function `"];
    let mut names = is_missing
        .iter()
        .filter_map(|start| error.message.strip_prefix(start)?.split('`').next());
    let Some(name) = names.next().map(str::to_owned) else {
        return;
    };
    if let Some(gone) = gone(&name) {
        error.hint = Some(why_gone(&name, gone));
        error.notes.clear();
    }
}

/// Returns a suggestion to write `text` at a place.
fn suggestion(message: &str, place: Span, text: &str) -> Diagnostic {
    Diagnostic {
        message: message.to_owned(),
        code: None,
        level: Level::Help,
        spans: vec![Span {
            suggested_replacement: Some(text.to_owned()),
            ..place
        }],
        children: Vec::new(),
    }
}

/// Returns the name that a message does not find, unless rustc suggests another.
fn unknown_value(diagnostic: &Diagnostic) -> Option<&str> {
    let name = diagnostic.message.strip_prefix("cannot find value `")?;
    let (name, _) = name.split_once("` in this scope")?;
    diagnostic.children.is_empty().then_some(name)
}

/// Suggests `let` for an assignment on the first line, in front of which the engine has written something.
fn suggest_let(diagnostic: &mut Diagnostic, number: u32, code: &str) {
    let (Some(name), Some(place)) = (unknown_value(diagnostic), diagnostic.primary()) else {
        return;
    };
    let first = code.lines().next().unwrap_or_default();
    let after = first.strip_prefix(name).map(str::trim_start);
    let is_assigned = after.is_some_and(|after| after.starts_with('=') && !after.starts_with("=="));
    if place.cell == Some(number) && place.line_start == 1 && is_assigned {
        let place = Span {
            column_end: place.column_start,
            ..place.clone()
        };
        let message = "you might have meant to introduce a new binding";
        let suggested = suggestion(message, place, "let ");
        diagnostic.children.push(suggested);
    }
}

/// Suggests a variable with a similar name.
fn suggest_variable<'a>(diagnostic: &mut Diagnostic, variables: impl Iterator<Item = &'a str>) {
    let Some(name) = unknown_value(diagnostic) else {
        return;
    };
    let limit = name.chars().count().max(3) / 3;
    let similar = variables
        .map(|variable| (strsim::osa_distance(name, variable), variable))
        .filter(|(distance, _)| *distance <= limit)
        .min();
    let Some(((_, variable), place)) = similar.zip(diagnostic.primary().cloned()) else {
        return;
    };
    let message = "a local variable with a similar name exists";
    let suggested = suggestion(message, place, variable);
    diagnostic.children.push(suggested);
}

/// Returns whether a span is in a statement of the cell, rather than in an item.
fn is_statement(span: &Span, number: u32) -> bool {
    span.cell == Some(number) && !span.file_name.contains('.')
}

/// Returns whether a message is about what a statement of the cell returns.
fn is_returned(message: &Diagnostic, number: u32, code: &str) -> bool {
    let is_behind = |span: &Span| {
        let line = code.lines().nth(span.line_start.saturating_sub(1));
        let before = line.map(|line| line.chars().take(span.column_start - 1));
        let before = before.map(Iterator::collect::<String>).unwrap_or_default();
        before.trim_end().ends_with("return")
    };
    let mut spans = message.spans.iter();
    spans.any(|span| is_statement(span, number) && is_behind(span))
}

/// Suggests `?` in place of `expect` for a statement of the cell.
fn suggest_question_mark(child: &mut Diagnostic, number: u32) {
    let Some(rest) = child.message.strip_prefix(EXPECT) else {
        return;
    };
    let [span] = &mut child.spans[..] else { return };
    let kind = rest.split_once(", panicking");
    if let (true, Some((kind, _))) = (is_statement(span, number), kind) {
        child.message = format!(
            "use the `?` operator to extract {kind}, propagating a `Result::Err` value to the caller"
        );
        span.suggested_replacement = Some("?".to_owned());
    }
}
