//! The parts of a text that are translated, one by one: paragraphs, list items and table rows of markdown, and the
//! comments of code.

use ra_ap_rustc_lexer::TokenKind;
use serde_json::Value;
use std::ops::Range;
use taper_evaluator::joined;
use taper_rust_cell::tokens::tokens;

/// A text to translate, as it is in a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The id of the cell; empty in a page.
    pub context: String,
    /// The text, in markdown; a comment without its slashes.
    pub text: String,
}

/// Where a unit is in its source.
#[derive(Debug)]
pub(super) struct Place {
    range: Range<usize>,
    /// The text before each of its lines except the first.
    margin: String,
}

/// Returns what is to be translated in a notebook, in order.
pub fn notebook_units(document: &Value) -> Vec<Unit> {
    let cells = document["cells"].as_array().into_iter().flatten();
    let units = |cell: &Value| {
        let (context, source) = (id(cell), source(cell));
        let text = |place: &Place| place.text(&source);
        let unit = |text| Unit {
            context: context.clone(),
            text,
        };
        let texts: Vec<String> = places(cell, &source).iter().map(text).collect();
        texts.into_iter().map(unit).collect::<Vec<_>>()
    };
    cells.flat_map(units).collect()
}

/// Returns what is to be translated in a page of markdown, in order.
pub fn page_units(page: &str) -> Vec<Unit> {
    let unit = |place: &Place| Unit {
        context: String::new(),
        text: place.text(page),
    };
    in_markdown(page).iter().map(unit).collect()
}

pub(super) fn id(cell: &Value) -> String {
    cell["id"].as_str().unwrap_or_default().to_owned()
}

/// Returns a cell's source, which a file may hold as a list of lines.
pub(super) fn source(cell: &Value) -> String {
    joined(&cell["source"])
}

pub(super) fn places(cell: &Value, source: &str) -> Vec<Place> {
    match cell["cell_type"].as_str() {
        Some("markdown") => in_markdown(source),
        Some("code") => in_code(source),
        _ => Vec::new(),
    }
}

impl Place {
    fn text(&self, source: &str) -> String {
        let margin = format!("\n{}", self.margin);
        source[self.range.clone()].replace(&margin, "\n")
    }

    /// Replaces the units of a source by their translations, as far as there are any.
    pub(super) fn replace(
        places: &[Place],
        source: &str,
        translation: impl Fn(&str) -> Option<String>,
    ) -> String {
        let mut text = source.to_owned();
        // From the end, so that the places before stay valid.
        for place in places.iter().rev() {
            if let Some(new) = translation(&place.text(source)) {
                let new = new.replace('\n', &format!("\n{}", place.margin));
                text.replace_range(place.range.clone(), &new);
            }
        }
        text
    }
}

/// What the lines of markdown belong to.
#[derive(PartialEq)]
enum Block {
    Text,
    /// Code between lines of three backticks or tildes.
    Fence(char),
    /// A formula between lines with two dollar signs.
    Formula,
}

/// Finds the units of markdown: a blank line, a heading, the start of a list item and each row of a table begin a new one.
/// Of code, only the comments behind commands in an indented block are translated.
pub(super) fn in_markdown(source: &str) -> Vec<Place> {
    let (mut units, mut open): (_, Option<Range<usize>>) = (Vec::new(), None);
    // The column at which the text of the current list item begins.
    let (mut block, mut at, mut column) = (Block::Text, 0, 0);
    for line in source.split_inclusive('\n') {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        let whole = at + indent..at + line.trim_end().len();
        at += line.len();
        let fence = ['`', '~']
            .into_iter()
            .find(|mark| text.starts_with(&mark.to_string().repeat(3)));
        let dollars = text.matches("$$").count();
        match block {
            Block::Fence(mark) if fence == Some(mark) => block = Block::Text,
            Block::Formula if dollars > 0 => block = Block::Text,
            Block::Fence(_) | Block::Formula => {}
            Block::Text if open.is_none() && !text.is_empty() && indent >= column + INDENTED => {
                units.extend(shell_comment(source, whole));
            }
            Block::Text => {
                let is_formula = text.starts_with("$$");
                let begins = text.is_empty() || fence.is_some() || is_formula || begins_unit(text);
                if begins {
                    units.extend(open.take());
                }
                if !text.is_empty() && open.is_none() {
                    column = indent.min(column).max(text_column(text, indent));
                }
                match fence {
                    Some(mark) => block = Block::Fence(mark),
                    None if is_formula && dollars == 1 => block = Block::Formula,
                    None if is_formula || text.is_empty() => {}
                    None => open = Some(open.map_or(whole.start, |open| open.start)..whole.end),
                }
                if text.starts_with('#') {
                    units.extend(open.take());
                }
            }
        }
    }
    units.extend(open);
    let place = |range| Place {
        range,
        margin: String::new(),
    };
    let has_words = |range: &Range<usize>| has_words(&source[range.clone()]);
    units.into_iter().filter(has_words).map(place).collect()
}

/// The spaces that make a line code, in addition to the indentation of its list item.
const INDENTED: usize = 4;

/// Returns the comment in a line of code, as in `taper doctor  # what is missing`.
fn shell_comment(source: &str, line: Range<usize>) -> Option<Range<usize>> {
    let at = source[line.clone()].find("  # ")?;
    Some(line.start + at + "  # ".len()..line.end)
}

/// Returns the column at which the text of a list item begins; 0 for other lines.
fn text_column(line: &str, indent: usize) -> usize {
    let is_item = begins_unit(line) && !line.starts_with(['|', '#']);
    match line.find(' ') {
        Some(mark) if is_item => indent + mark + 1,
        _ => 0,
    }
}

fn begins_unit(line: &str) -> bool {
    let digits = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_number = digits.len() < line.len() && digits.starts_with(". ");
    is_number
        || ["- ", "* ", "|", "#"]
            .iter()
            .any(|mark| line.starts_with(mark))
}

/// Returns whether a text has anything to translate besides code, formulas and addresses.
pub fn has_words(text: &str) -> bool {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['`', '$', '<', ']']) {
        kept += &rest[..at];
        let (open, after) = rest[at..].split_at(1);
        let end = match open {
            "<" => ">",
            "]" if after.starts_with('(') => ")",
            "]" => "",
            mark => mark,
        };
        rest = after.split_once(end).map_or(after, |(_, rest)| rest);
    }
    kept += rest;
    let mut words = kept.split(|letter: char| !letter.is_alphabetic());
    words.any(|word| word.chars().count() > 1)
}

/// Finds the comments of code. Those in successive lines are one unit. Comments that give a shape, such as `// (2, 3)`, and
/// those for tools are not translated.
pub(super) fn in_code(source: &str) -> Vec<Place> {
    let mut units: Vec<Place> = Vec::new();
    let mut is_open = false;
    for (at, kind, text) in tokens(source) {
        let end = at + text.len();
        match kind {
            TokenKind::Whitespace => is_open &= text.matches('\n').count() == 1,
            TokenKind::LineComment { .. } => {
                let before = &source[..at];
                let line = before.rfind('\n').map_or(0, |end| end + 1);
                let is_alone = before[line..].trim().is_empty();
                let mark = mark_of(text);
                let margin = format!("{}{mark}", &before[line..]);
                match units.last_mut() {
                    Some(last) if is_open && last.margin == margin => last.range.end = end,
                    _ => units.push(Place {
                        range: at + mark.len()..end,
                        margin,
                    }),
                }
                is_open = is_alone && !text.starts_with(FIGURE);
            }
            _ => is_open = false,
        }
    }
    units.retain(|place| is_prose(&source[place.range.clone()]));
    units
}

/// The beginning of a comment with the caption of a figure.
const FIGURE: &str = "// Figure: ";

fn mark_of(comment: &str) -> &str {
    if comment.starts_with(FIGURE) {
        return FIGURE;
    }
    let text = comment.trim_start_matches(['/', '!']).trim_start();
    &comment[..comment.len() - text.len()]
}

fn is_prose(comment: &str) -> bool {
    let is_shape = comment.starts_with('(') && comment.ends_with(')');
    has_words(comment) && !is_shape && !comment.starts_with("NBVAL_")
}
