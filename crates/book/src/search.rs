//! The search: `searchindex.js` with the texts of the book, of which the browser makes the index.
//!
//! mdBook stores the finished index, which is ten times as large as the texts: it has the words of the outputs and of
//! the solutions too, and those of the body a second time. It replaces neither `EarlyStopping` by its two words, nor a
//! search that finds nothing by one for some of the words; `search.js` does both.

use crate::book::Book;
use crate::cell::{Cell, Kind};
use crate::chapter::Chapter;
use crate::error::Error;
use crate::html::escape;
use crate::outline::{inside, parse, plain_text};
use crate::tags::Visibility;
use crate::toolbar::SOLUTIONS;
use crate::url::encode;
use pulldown_cmark::{Event, HeadingLevel, Tag};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const SCRIPT: &str = include_str!("search.js");

/// A section of a page: what the search finds.
#[derive(Debug, PartialEq, Eq)]
struct Section {
    /// The address, relative to the folder of the pages.
    url: String,
    title: String,
    body: String,
    /// HTML: the titles of the page and of the section.
    breadcrumbs: String,
}

/// Replaces mdBook's index in the folder of the pages, if there is one.
pub(crate) fn replace(pages: &Path, book: &Book) -> Result<(), Error> {
    let file = pages.join("searchindex.js");
    let Ok(text) = fs::read_to_string(&file) else {
        return Ok(());
    };
    let theirs = parse_index(&text)
        .ok_or_else(|| Error::not_from_mdbook("searchindex.js has another form"))?;
    let is_ours = |section: &Section| {
        let page = section.url.split(".html").next().unwrap_or_default();
        book.chapters
            .iter()
            .any(|chapter| encode(&chapter.page) == page || chapter.page == page)
    };
    let others = sections_of(&theirs)
        .into_iter()
        .filter(|section| !is_ours(section));
    let chapters = book
        .chapters
        .iter()
        .filter(|chapter| !chapter.page.starts_with(SOLUTIONS));
    let all = others.chain(chapters.flat_map(sections));
    let texts: Vec<[String; 4]> = all
        .map(|s| [s.url, s.title, s.body, s.breadcrumbs])
        .collect();
    let options = json!({ "results_options": theirs["results_options"], "search_options": theirs["search_options"] });
    let script = format!(
        "const taperTexts = {};\nconst taperOptions = {options};\n{SCRIPT}",
        json!(texts)
    );
    fs::write(&file, script).map_err(Error::io("writing", &file))
}

/// Reads mdBook's index, which is a string in a script.
fn parse_index(script: &str) -> Option<Value> {
    let (_, rest) = script.split_once("JSON.parse('")?;
    let (json, _) = rest.rsplit_once("')")?;
    serde_json::from_str(&json.replace("\\'", "'").replace("\\\\", "\\")).ok()
}

/// Returns the sections in mdBook's index.
fn sections_of(index: &Value) -> Vec<Section> {
    let urls = index["doc_urls"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate();
    let section = |(at, url): (usize, &Value)| {
        let section = &index["index"]["documentStore"]["docs"][at.to_string()];
        let text = |field: &str| section[field].as_str().unwrap_or_default().to_owned();
        Section {
            url: url.as_str().unwrap_or_default().to_owned(),
            title: text("title"),
            body: text("body"),
            breadcrumbs: escape(&text("breadcrumbs")),
        }
    };
    urls.map(section).collect()
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
        page if page == title => escape(page),
        page => format!("{} » {}", escape(page), escape(&title)),
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
                "A » Vec&lt;f64&gt;, a list?",
            ],
        ];
        assert_eq!(found, expected.map(|section| section.map(str::to_owned)));
    }

    #[test]
    fn mdbooks_index_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("searchindex.js");
        let docs = json!({ "0": { "title": "It's \"a\\b\"", "body": "text", "breadcrumbs": "<b>" },
            "1": { "title": "T", "body": "old", "breadcrumbs": "T" } });
        let index = json!({ "doc_urls": ["other.html#a", "ours.html#T"], "search_options": 1, "results_options": 2,
            "index": { "documentStore": { "docs": docs } } });
        let json = index.to_string().replace('\\', "\\\\").replace('\'', "\\'");
        fs::write(
            &file,
            format!("window.search = Object.assign(window.search, JSON.parse('{json}'));"),
        )
        .expect("it");
        let mut book = Book::default();
        book.chapters.push(Chapter::default());
        book.chapters[0].page = "ours".into();
        replace(folder.path(), &book).expect("it is replaced");
        let script = fs::read_to_string(&file).expect("it is there");
        let first =
            r##"const taperTexts = [["other.html#a","It's \"a\\b\"","text","&lt;b&gt;"]];"##;
        assert_eq!(script.lines().next(), Some(first));
        assert!(!script.contains("old"), "{script}");
    }
}
