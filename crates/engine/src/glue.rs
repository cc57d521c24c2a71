//! What the engine writes into the statements of a cell, and around them.

use crate::cell::text;
use crate::cell::{Binding, Parsed, Place, Temporary};
use crate::compile::types;
use crate::config::SUPPORT;
use crate::file::{Edit, File, Position, file_of_cell};
use crate::parts::{FUNCTION, Glue, Parts, Used};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use taper_rust_cell::position::{byte_offset, position_of};

/// Returns the file with the statements of a cell, a block, and what its last lines are for.
pub(crate) fn statements(parts: &Parts, cell: &Parsed) -> (File, BTreeMap<usize, Glue>) {
    let source = parts.source;
    let items = cell.items.iter().map(|item| &item.range);
    let others = cell
        .imports
        .iter()
        .map(|(range, _)| range)
        .chain(&cell.attributes.ranges);
    let others: Vec<Range<usize>> = items.chain(others).cloned().collect();
    let ranges = text::outside(0..source.len(), &others);
    let name = file_of_cell(source);
    let mut file = File::new(name, parts.number, source, &ranges, edits(parts, cell));
    let mut glue = BTreeMap::new();
    for (index, (line, kind)) in last_lines(parts, cell).into_iter().enumerate() {
        let _ = write!(file.text, "\n{line}");
        glue.insert(file.lines + index + 1, kind);
    }
    (file, glue)
}

/// Returns what is written into the statements. Of what is written at one place, the first is the first.
fn edits(parts: &Parts, cell: &Parsed) -> Vec<Edit> {
    let start = match &*cell.attributes.levels {
        "" => "{".to_owned(),
        // They are the cell's: what the engine writes around it has levels of its own.
        levels => format!("{{ {levels} let taper_end = {{"),
    };
    let mut edits = vec![Edit::insert(0, start)];
    let is_in_item = |at: usize| cell.items.iter().any(|item| item.range.contains(&at));
    let marks = parts.marks.iter().filter(|mark| !is_in_item(mark.at));
    edits.extend(marks.map(|mark| Edit::insert(mark.at, mark.text.clone())));
    for binding in &cell.bindings {
        if parts.frozen.contains(&binding.name) {
            let freeze = format!(" {} ", freeze(&binding.name));
            edits.push(Edit::insert(frozen_from(parts, cell, binding), freeze));
        }
    }
    let missing = |place: &Position| {
        let at = byte_offset(parts.source, *place);
        Edit::insert(at, format!(".ok_or(::{SUPPORT}::Missing)"))
    };
    edits.extend(parts.options.iter().map(missing));
    let moves = parts.opaque.values().filter_map(|it| it.moves_at);
    edits.extend(moves.map(|at| Edit::insert(at, "move ".to_owned())));
    let mut ends = Vec::new();
    for index in parts.temporaries.iter() {
        let Some(Temporary { range, is_mutable }) = cell.temporaries.get(*index) else {
            continue;
        };
        let mutable = if *is_mutable { "_mut" } else { "" };
        let start = format!("(*::{SUPPORT}::freeze_temporary{mutable}(");
        edits.push(Edit::insert(range.start, start));
        ends.insert(0, Edit::insert(range.end, "))".to_owned()));
    }
    if let Some(tail) = &cell.tail {
        let show = format!("{{ use ::{SUPPORT}::ByDebug as _; (&(");
        edits.push(Edit::insert(tail.start, show));
        ends.push(Edit::insert(tail.end, ")).evcxr_display(); }".to_owned()));
    }
    for place in cell.places.iter().filter(|it| is_frozen(parts, cell, it)) {
        let field = match place.is_field {
            true => format!("{}: ", place.name),
            false => String::new(),
        };
        edits.push(Edit::insert(place.range.start, field + "(*"));
        edits.push(Edit::insert(place.range.end, ")".to_owned()));
    }
    edits.append(&mut ends);
    edits
}

/// Returns from where on a new variable is frozen: until something borrows from it, the cell can change it.
fn frozen_from(parts: &Parts, cell: &Parsed, binding: &Binding) -> usize {
    let borrow = parts.borrowed_at.get(&binding.name);
    let at = borrow.and_then(|place| statement_at(parts, cell, *place));
    at.filter(|at| *at >= binding.statement)
        .unwrap_or(binding.statement)
}

/// Returns whether a variable is a reference to its value at a place where it is named.
fn is_frozen(parts: &Parts, cell: &Parsed, place: &Place) -> bool {
    let at = place.range.start;
    let mut defined = cell.defined.iter().filter(|(name, _)| *name == place.name);
    let is_earlier = defined.next().is_none_or(|(_, end)| at < *end);
    if is_earlier {
        let mut used = parts.used.iter();
        let used = used.find(|used| used.name == place.name);
        return used.is_some_and(|used| used.is_frozen || parts.frozen.contains(used.name));
    }
    let mut bindings = cell.bindings.iter();
    let binding = bindings.find(|it| it.name == place.name && parts.frozen.contains(&it.name));
    binding.is_some_and(|binding| at >= frozen_from(parts, cell, binding))
}

/// Returns where the statement begins that contains a place.
fn statement_at(parts: &Parts, cell: &Parsed, place: Position) -> Option<usize> {
    let position = |at| position_of(parts.source, at);
    let mut statements = cell.statements.iter();
    let found = statements.find(|it| position(it.start) <= place && place < position(it.end));
    found.map(|statement| statement.start)
}

/// Returns the lines that follow the statements: they keep the new variables.
fn last_lines(parts: &Parts, cell: &Parsed) -> Vec<(String, Glue)> {
    let mut lines = Vec::new();
    if parts.cell.is_some() {
        lines.push((";".to_owned(), Glue::Other));
    }
    let kept = cell
        .bindings
        .iter()
        .filter(|it| !parts.used_up.contains(&it.name));
    for Binding { name, .. } in kept {
        let form = match parts.opaque.get(name) {
            None => String::new(),
            Some(opaque) => match opaque.form() {
                Some(form) => form.statement(name),
                None => continue,
            },
        };
        let keep =
            format!("{{ {form} let _ = &{name} as &_; ::{SUPPORT}::keep({name:?}, {name}); }}");
        lines.push((keep, Glue::Keep(name.clone())));
    }
    let end = match parts.has_try {
        true => format!(
            "::core::result::Result::Ok::<(), {}>(()) }}",
            failure(parts)
        ),
        false => "}".to_owned(),
    };
    lines.push((end, Glue::Other));
    if !cell.attributes.levels.is_empty() {
        lines.push(("; taper_end }".to_owned(), Glue::Other));
    }
    lines
}

/// Returns the type of what a `?` returns.
fn failure(parts: &Parts) -> String {
    match parts.question_mark {
        Some(_) => "crate::TaperFailure".to_owned(),
        None => format!("::{SUPPORT}::Failure"),
    }
}

/// Returns the definition of that type, where a package receives the errors.
fn failure_type(parts: &Parts) -> Option<String> {
    let function = parts.question_mark.filter(|_| parts.has_try)?;
    Some(format!(
        "struct TaperFailure; impl ::{SUPPORT}::Failed for TaperFailure {{}} \
         impl<E: ::core::fmt::Display> ::core::convert::From<E> for TaperFailure {{ \
         #[track_caller] fn from(error: E) -> Self {{ {function}(error); TaperFailure }} }}"
    ))
}

/// Returns the lines of the function that the process calls.
pub(crate) fn lines(parts: &Parts, cell: &Parsed, include: &str) -> Vec<(String, Glue)> {
    let start = format!(
        "#[unsafe(no_mangle)] pub extern \"C\" fn {FUNCTION}() {{ ::{SUPPORT}::guard(|| {{"
    );
    let failure = failure_type(parts).into_iter();
    let mut lines: Vec<(String, Glue)> = failure
        .chain([start])
        .map(|line| (line, Glue::Other))
        .collect();
    for used in &parts.used {
        let lint = if used.is_mutable {
            "#[warn(unused_mut)] "
        } else {
            ""
        };
        lines.push((take(parts, used, lint), Glue::Take(used.name.to_owned())));
    }
    lines.extend(runtime(parts).map(|line| (line, Glue::Other)));
    let mut run = run(parts, include);
    if !parts.marks.is_empty() {
        let count = parts.source.lines().count();
        run = format!("{{ let _profile = ::{SUPPORT}::profile::begin({count}); {run} }}");
    }
    lines.push((format!("let taper_done = {run};"), Glue::Other));
    for Used { name, .. } in parts
        .used
        .iter()
        .filter(|used| !parts.moved.contains(used.name))
    {
        let function = if parts.frozen.contains(*name) {
            "keep"
        } else {
            "put"
        };
        let mut put = format!("::{SUPPORT}::{function}({name:?}, {name});");
        if cell.bindings.iter().any(|binding| binding.name == *name) {
            // The cell defines it again, unless it fails.
            put = format!("if !taper_done {{ {put} }}");
        }
        lines.push((put, Glue::Put((*name).to_owned())));
    }
    lines.push(("}); }".to_owned(), Glue::Other));
    lines.extend(question(parts, cell, include));
    lines
}

/// Returns the call that runs the statements.
fn run(parts: &Parts, include: &str) -> String {
    let function = match parts.has_try {
        true => "run_fallible",
        false => "run",
    };
    let body = match (parts.has_await, parts.runtime) {
        (false, _) => include.to_owned(),
        (true, None) => format!("::{SUPPORT}::futures::block_on(async {{ {include} }})"),
        (true, Some(_)) => format!(
            "taper_runtime.block_on(::{SUPPORT}::futures::interruptible(async {{ {include} }}))"
        ),
    };
    format!("::{SUPPORT}::{function}(|| {body})")
}

/// Returns the statement that makes the runtime on which the cell waits for futures, or finds it.
fn runtime(parts: &Parts) -> Option<String> {
    let runtime = parts.runtime?;
    Some(format!(
        "let taper_runtime = ::{SUPPORT}::futures::lasting(|| {runtime}); let _taper_entered = taper_runtime.enter();"
    ))
}

/// Returns a function that is never called. It does not put the variables back, so that rustc says which of them the
/// statements do not use, where the syntax leaves that in doubt.
fn question(parts: &Parts, cell: &Parsed, include: &str) -> Vec<(String, Glue)> {
    let is_doubtful = |used: &&Used| !used.is_certain && !parts.frozen.contains(used.name);
    // What must be unique in a crate cannot be there twice.
    let is_unique = |word: &str| ["impl", "no_mangle", "export_name"].contains(&word);
    let contains_unique = cell.mentions.iter().any(|word| is_unique(word));
    if contains_unique || parts.used.iter().find(is_doubtful).is_none() {
        return Vec::new();
    }
    let mut lines = vec![("fn taper_uses() {".to_owned(), Glue::Question(None))];
    for used in &parts.used {
        let lint = if is_doubtful(&used) {
            "#[warn(unused_variables)] "
        } else {
            ""
        };
        let question = Glue::Question(Some(used.name.to_owned()));
        lines.push((take(parts, used, lint), question));
    }
    lines.extend(runtime(parts).map(|line| (line, Glue::Question(None))));
    let run = run(parts, include);
    lines.push((format!("let _ = {run}; }}"), Glue::Question(None)));
    lines
}

/// Returns the statements that take the value of an earlier variable.
fn take(parts: &Parts, used: &Used, lint: &str) -> String {
    let Used { name, kind, .. } = used;
    let mutable = if used.is_mutable { "mut " } else { "" };
    let kind = types::written(kind).replace('!', &format!("::{SUPPORT}::Never"));
    let mut line =
        format!("{lint}let {mutable}{name}: {kind} = unsafe {{ ::{SUPPORT}::take({name:?}) }};");
    if parts.frozen.contains(*name) {
        line += &freeze(name);
    }
    line
}

/// Returns a statement that makes a variable a reference to a value that lives until the process ends.
fn freeze(name: &str) -> String {
    format!("let {name}: &'static _ = ::{SUPPORT}::freeze({name});")
}
