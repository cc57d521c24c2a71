//! What the search finds in the chapters: the texts of their sections, of which `mdbook.js` makes the index.
//!
//! mdBook's own index of a notebook is ten times as large as its text, and has neither Chinese words nor the parts of
//! names. So book.toml excludes the notebooks from it, and their texts follow it in the same file.

use crate::book::Book;
use crate::cell::{Cell, Kind};
use crate::chapter::Chapter;
use crate::outline::{inside, parse, plain_text};
use crate::tags::Visibility;
use crate::toolbar::SOLUTIONS;
use crate::url::encode;
use anyhow::{Context, Result};
use pulldown_cmark::{Event, HeadingLevel, Tag};
use serde::Serialize;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// A section of a page: what the search finds.
#[derive(Debug, Serialize)]
struct Section {
    /// The address, relative to the folder of the pages.
    url: String,
    title: String,
    body: String,
    /// The titles of the page and of the section.
    breadcrumbs: String,
}

/// Adds the sections of the chapters to mdBook's index in the folder of the pages.
pub(crate) fn add_chapters(pages: &Path, book: &Book) -> Result<()> {
    let chapters = { book.chapters.iter() }.filter(|chapter| !chapter.page.starts_with(SOLUTIONS));
    let all: Vec<Section> = chapters.flat_map(sections).collect();
    let file = pages.join("searchindex.js");
    let mut index = OpenOptions::new();
    let added = index
        .append(true)
        .open(&file)
        .and_then(|mut index| write!(index, "\nwindow.search.sections = {};\n", json!(all)));
    added.with_context(|| format!("writing {}", file.display()))
}

/// Returns the sections of a chapter: its prose and its code, without the outputs.
fn sections(chapter: &Chapter) -> Vec<Section> {
    let mut sections = Vec::new();
    for cell in chapter.cells.iter().filter(|cell| cell.is_shown()) {
        match &cell.kind {
            Kind::Markdown { .. } => add_prose(chapter, cell, &mut sections),
            Kind::Code { .. } if cell.tags.input == Visibility::Removed => {}
            Kind::Code { caption, .. } => {
                add(&mut sections, caption.as_deref().unwrap_or_default());
                add(&mut sections, &cell.source);
            }
            Kind::Raw => {}
        }
    }
    sections
}

fn add_prose(chapter: &Chapter, cell: &Cell, sections: &mut Vec<Section>) {
    let events = parse(&cell.source);
    let mut anchors = cell.headings.iter();
    let mut at = 0;
    while at < events.len() {
        match &events[at] {
            Event::Start(Tag::Heading { level, .. }) => {
                let heading = inside(&events, at);
                let title = plain_text(&events[heading.clone()]).trim().to_owned();
                let anchor = anchors.next().map_or("", String::as_str);
                match level {
                    HeadingLevel::H1 | HeadingLevel::H2 | HeadingLevel::H3 => {
                        sections.push(section(chapter, anchor, title));
                    }
                    _ => add(sections, &title),
                }
                at = heading.end;
            }
            event => {
                add(sections, &plain_text(std::slice::from_ref(event)));
                at += 1;
            }
        }
    }
}

fn section(chapter: &Chapter, anchor: &str, title: String) -> Section {
    let breadcrumbs = match chapter.title() {
        page if page == title => page.to_owned(),
        page => format!("{page} » {title}"),
    };
    Section {
        url: format!("{}.html#{}", encode(&chapter.page), encode(anchor)),
        title,
        body: String::new(),
        breadcrumbs,
    }
}

/// Adds words to the body of the last section.
fn add(sections: &mut [Section], text: &str) {
    let Some(Section { body, .. }) = sections.last_mut() else {
        return;
    };
    for word in text.split_whitespace() {
        if !body.is_empty() {
            body.push(' ');
        }
        body.push_str(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_prose_and_its_code_but_no_outputs() {
        let code = json!({ "cell_type": "code", "id": "c", "metadata": {}, "source": "EarlyStopping::new()",
            "outputs": [{ "output_type": "stream", "name": "stdout", "text": "printed" }] });
        let prose = json!({ "cell_type": "markdown", "id": "p", "metadata": {},
            "source": "# A\n\nOne `two`.\n\n## `Vec<f64>`, a list?\n\nThree" });
        let mut chapter = Chapter::default();
        chapter.page = "a b".into();
        chapter.cells = vec![Cell::read(&prose, None), Cell::read(&code, None)];
        let found: Vec<[String; 4]> = sections(&chapter)
            .into_iter()
            .map(|s| [s.url, s.title, s.body, s.breadcrumbs])
            .collect();
        let expected = [
            ["a%20b.html#A", "A", "One two .", "A"],
            [
                "a%20b.html#Vec%3Cf64%3E,-a-list?",
                "Vec<f64>, a list?",
                "Three EarlyStopping::new()",
                "A » Vec<f64>, a list?",
            ],
        ];
        assert_eq!(found, expected.map(|section| section.map(str::to_owned)));
    }
}
