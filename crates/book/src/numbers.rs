//! Measured values in the prose: each is a link to the cell that prints it, so that none goes stale.
//!
//! `[87.3 %](#cell-id=fit)` says that the cell `fit` prints 87.3 %, or 0.8731, or a value that rounds to
//! it. A number that looks measured (it has decimals, a percent sign or a unit) and is not a link is *given*:
//! a constant in the chapter's code, or a line of the list `given.txt` beside `book.toml`.

mod scan;

use crate::book::Book;
use crate::cell::{Cell, Kind};
use crate::chapter::Chapter;
use crate::links::cell_of;
use crate::outline::{inside, parse, plain_text};
use crate::sanitise::without_marks;
use anyhow::{Context, Result};
use pulldown_cmark::{Event, Tag, TagEnd};
use scan::{Number, OTHER, scan, values};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Ratios and differences are looked for only among this many values: among more, anything is found.
const FEW: usize = 12;

/// The values that no cell prints, by chapter: a line of the list is `05-softmax: 2.3  ln 10`.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// What is listed, and whether the prose has it.
    listed: BTreeMap<String, RefCell<BTreeMap<String, bool>>>,
}

impl Given {
    /// Reads the list; a book without one has no given values.
    pub(crate) fn read(file: &Path) -> Result<Given> {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("reading {}", file.display()));
            }
        };
        let mut listed: BTreeMap<String, RefCell<BTreeMap<String, bool>>> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some((chapter, rest)) = line.split_once(':') {
                let number = rest.trim().split("  ").next().unwrap_or_default();
                let numbers = listed.entry(chapter.trim().to_owned()).or_default();
                numbers.get_mut().insert(number.trim().to_owned(), false);
            }
        }
        Ok(Given { listed })
    }

    fn has(&self, chapter: &Chapter, number: &str) -> bool {
        let found = self.listed.get(&chapter.path);
        found.is_some_and(|listed| match listed.borrow_mut().get_mut(number) {
            Some(is_used) => {
                *is_used = true;
                true
            }
            None => false,
        })
    }

    /// Returns the numbers of the list that a chapter's prose does not have.
    fn unused(&self, chapter: &Chapter) -> Vec<String> {
        let listed = self.listed.get(&chapter.path).map(RefCell::borrow);
        let listed = listed.iter().flat_map(|listed| listed.iter());
        let unused = listed.filter(|(_, is_used)| !**is_used);
        unused.map(|(number, _)| number.clone()).collect()
    }
}

/// Returns what is wrong with the numbers of a chapter.
pub(crate) fn check(book: &Book, chapter: &Chapter, given: &Given) -> Vec<String> {
    let constants = constants(chapter);
    let mut problems = Vec::new();
    for cell in chapter.cells.iter().filter(|cell| cell.is_shown()) {
        let text = match &cell.kind {
            Kind::Markdown { .. } => without_marks(&cell.source).into_owned(),
            Kind::Code { caption, .. } => caption.clone().unwrap_or_default(),
            Kind::Raw => continue,
        };
        let (prose, links) = split(&text);
        let mut found = Vec::new();
        for (target, text) in links {
            found.extend(stale(book, chapter, &target, &text));
        }
        // Tasks name values to try.
        let is_task = cell.id == "exercises";
        let numbers = scan(&prose).into_iter().filter(|_| !is_task);
        let measured = numbers.filter(Number::looks_measured);
        let measured =
            measured.filter(|n| !n.is_constant(&constants) && !given.has(chapter, &n.text));
        found.extend(measured.map(|number| no_evidence(&number, &prose)));
        let found = found.iter();
        problems.extend(found.map(|problem| chapter.problem(&cell.id, problem)));
    }
    let unused = given.unused(chapter).into_iter();
    problems.extend(unused.map(|number| {
        format!(
            "{}.ipynb: {number} is listed as given, but no text needs it\nRemove the line from the list",
            chapter.path
        )
    }));
    problems
}

fn no_evidence(number: &Number, prose: &str) -> String {
    format!(
        "says {number} (\"{}\"), which looks measured and is not a link\n\
         Link it to the cell that prints it: [{number}](#cell-id=…); if no cell does, add it to book/given.txt with its source",
        number.near(prose),
        number = number.text
    )
}

/// Returns the constants in the chapter's code.
fn constants(chapter: &Chapter) -> BTreeSet<String> {
    let code = |cell: &&Cell| matches!(cell.kind, Kind::Code { .. });
    let cells = chapter.cells.iter().filter(code);
    cells
        .flat_map(|cell| scan::constants(&cell.source))
        .collect()
}

/// Splits a text into its prose and its links, each with its target and its text.
fn split(text: &str) -> (String, Vec<(String, String)>) {
    let events = parse(text);
    let (mut prose, mut links, mut at) = (String::new(), Vec::new(), 0);
    while at < events.len() {
        match &events[at] {
            Event::Start(Tag::Link { dest_url, .. }) => {
                let inner = inside(&events, at);
                links.push((dest_url.to_string(), plain_text(&events[inner.clone()])));
                prose.push(OTHER);
                at = inner.end;
            }
            Event::Start(Tag::CodeBlock(_) | Tag::Image { .. }) => {
                prose.push(OTHER);
                at = inside(&events, at).end;
            }
            Event::Text(text) => prose.push_str(text),
            Event::SoftBreak | Event::HardBreak => prose.push(' '),
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => prose.push(OTHER),
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) => {}
            Event::End(_) => prose.push('\n'),
            _ => {}
        }
        at += 1;
    }
    (prose, links)
}

/// Returns a problem for each value in a link's text that the cell to which it points does not print.
fn stale(book: &Book, chapter: &Chapter, target: &str, text: &str) -> Vec<String> {
    let Some(cell) = cell_of(book, chapter, target) else {
        return Vec::new();
    };
    let Kind::Code { outputs, other, .. } = &cell.kind else {
        return Vec::new();
    };
    let mut printed = values(outputs);
    printed.extend(other.iter().flat_map(|other| values(&other.outputs)));
    let numbers = scan(text).into_iter();
    let wrong =
        numbers.filter(|number| !number.is_among(&printed) && !is_derived(number, &printed));
    let problem = |number: Number| {
        let nearest = number.nearest(&printed);
        let nearest = nearest.map_or("no number".into(), |value| format!("at nearest {value}"));
        format!(
            "says {}, but the cell {} prints {nearest}\nCorrect the text, or link to the cell that prints it",
            number.text, cell.id
        )
    };
    wrong.map(problem).collect()
}

/// Returns whether "4 times" or "3 points" is the ratio or the difference of two of the few values.
fn is_derived(number: &Number, printed: &[f64]) -> bool {
    let derive: fn(f64, f64) -> f64 = match number.unit.as_str() {
        "times" | "×" => |a, b| a / b,
        "points" | "point" => |a, b| a - b,
        _ => return false,
    };
    let pairs = printed
        .iter()
        .flat_map(|a| printed.iter().map(move |b| (a, b)));
    printed.len() <= FEW && number.is_among(&pairs.map(|(a, b)| derive(*a, *b)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
