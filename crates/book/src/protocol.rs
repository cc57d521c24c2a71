//! mdBook's protocol: mdBook passes the book as JSON on stdin, and reads the changed book from stdout.
//!
//! The JSON is not converted to types of our own, so unknown fields are passed on unchanged.

use crate::book::Book;
use crate::builder::Content;
use crate::chapter::Source;
use crate::home::Rendered;
use crate::labels::Labels;
use crate::numbers::Given;
use crate::toolbar::Toolbar;
use crate::{documentation, edition, home, numbers, page, toolbar};
use anyhow::{Error, Result, anyhow};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;
use taper_notebook::Edition;

/// Renders the notebooks among the chapters. The input is what mdBook sends to a preprocessor; the
/// output is the book for mdBook.
///
/// # Errors
///
/// When the input is not from mdBook, or when a chapter cannot be rendered; the error lists all problems.
pub fn preprocess(input: &str) -> Result<String> {
    let request: Value = serde_json::from_str(input).map_err(not_from_mdbook)?;
    let Some([context, book]) = request.as_array().map(Vec::as_slice) else {
        return Err(not_from_mdbook("it is not [context, book]"));
    };
    if documentation::find().is_none() {
        eprintln!("Names are not linked yet: `cargo taper book build` documents them.");
    }
    let edition = edition::load(context)?;
    let book = &edition::translated(edition.as_ref(), book)?;
    let rendered = render(context, book, edition.as_ref())?;
    let footer = toolbar::footer(&rendered.book.notebooks, &rendered.book.labels);
    let mut pages = rendered.book.chapters.iter().zip(&rendered.pages);
    let mut changed = book.clone();
    for_each_chapter(&mut changed["items"], &mut |chapter| {
        if let Some((read, (path, page))) = is_notebook(chapter).then(|| pages.next()).flatten() {
            let html = format!("{}{footer}", page.html);
            chapter.insert("content".into(), html.into());
            chapter.insert("path".into(), format!("{path}.md").into());
            chapter.insert("number".into(), parts(read.number.as_deref()));
        } else if let Some(content) = chapter["content"].as_str() {
            let content = home::complete(content, &rendered, &book["items"]);
            let content = format!("{content}\n\n{footer}");
            chapter.insert("content".into(), content.into());
        }
    });
    Ok(changed.to_string())
}

/// Renders all notebooks.
pub(crate) fn render(context: &Value, book: &Value, edition: Option<&Edition>) -> Result<Rendered> {
    let root = Path::new(field(context, "root")?);
    let settings = &context["config"]["preprocessor"]["taper"];
    let folder = root.join(context["config"]["book"]["src"].as_str().unwrap_or("src"));
    let mut sources = Vec::new();
    collect(&book["items"], &folder, &mut sources);
    number_solutions(&mut sources);
    let notebooks = root.join(settings["notebooks"].as_str().unwrap_or("../notebooks"));
    let mut book = Book::read(&notebooks, &sources)?;
    book.root = edition::root(context);
    book.labels = edition.map(Labels::of).unwrap_or_default();
    let given = Given::read(&root.join(settings["given"].as_str().unwrap_or("given.txt")))?;
    let toolbar = Toolbar::new(settings, &book.notebooks);
    let api = documentation::find();
    let (mut pages, mut problems) = (Vec::new(), Vec::new());
    for (chapter, source) in book.chapters.iter().zip(&sources) {
        let mut page = page::render(chapter, &book, api.as_ref(), &toolbar);
        problems.append(&mut page.problems);
        // Units are English words. A translation has the values and links of its source, which is checked.
        if edition.is_none() {
            problems.extend(numbers::check(&book, chapter, &given));
        }
        let notebook = Content::Bytes(source.content.into());
        page.files
            .push((format!("{}.ipynb", chapter.page), notebook));
        pages.push((chapter.page.clone(), page));
    }
    if problems.is_empty() {
        Ok(Rendered { book, pages })
    } else {
        Err(anyhow!(problems.join("\n")))
    }
}

/// Returns the error about an input that mdBook has not written, with what is missing.
pub(crate) fn not_from_mdbook(reason: impl Display) -> Error {
    anyhow!(
        "expected a book from mdBook on standard input: {reason}\n\
         mdBook calls this command; build the book with `taper book build`"
    )
}

/// Returns the text of a field in mdBook's JSON.
pub(crate) fn field<'v>(context: &'v Value, name: &str) -> Result<&'v str> {
    let text = context[name].as_str();
    text.ok_or_else(|| not_from_mdbook(format!("it has no `{name}`")))
}

fn collect<'b>(items: &'b Value, folder: &Path, sources: &mut Vec<Source<'b>>) {
    for item in items.as_array().into_iter().flatten() {
        let Some(chapter) = item["Chapter"].as_object() else {
            continue;
        };
        if is_notebook(chapter) {
            sources.push(Source {
                file: folder.join(chapter["source_path"].as_str().unwrap_or_default()),
                number: section(&chapter["number"]),
                content: chapter["content"].as_str().unwrap_or_default(),
            });
        }
        collect(&chapter["sub_items"], folder, sources);
    }
}

/// Sets the number of each notebook in a folder named `solutions` from the number of its chapter, wherever the book
/// lists it: `9.1` belongs to chapter 9.
fn number_solutions(sources: &mut [Source]) {
    let is_solution = |source: &Source| {
        source
            .file
            .parent()
            .is_some_and(|folder| folder.ends_with("solutions"))
    };
    let numbers: HashMap<OsString, String> = sources
        .iter()
        .filter(|source| !is_solution(source))
        .filter_map(|source| Some((source.file.file_name()?.to_owned(), source.number.clone()?)))
        .collect();
    for source in sources.iter_mut().filter(|source| is_solution(source)) {
        let chapter = source.file.file_name().and_then(|name| numbers.get(name));
        if let Some(number) = chapter {
            source.number = Some(format!("{number}.1"));
        }
    }
}

/// Returns mdBook's form of a chapter's number.
fn parts(number: Option<&str>) -> Value {
    let parts = |number: &str| {
        number
            .split('.')
            .filter_map(|part| part.parse::<u64>().ok())
            .collect()
    };
    number.map(parts).unwrap_or_default()
}

/// Reads the number of a chapter, which is a list.
pub(crate) fn section(number: &Value) -> Option<String> {
    let parts = number.as_array()?.iter().filter_map(Value::as_u64);
    let parts: Vec<String> = parts.map(|part| part.to_string()).collect();
    (!parts.is_empty()).then(|| parts.join("."))
}

fn is_notebook(chapter: &Map<String, Value>) -> bool {
    let path = chapter.get("source_path").and_then(Value::as_str);
    path.is_some_and(|path| path.ends_with(".ipynb"))
}

fn for_each_chapter(items: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    for item in items.as_array_mut().into_iter().flatten() {
        if let Some(chapter) = item.get_mut("Chapter").and_then(Value::as_object_mut) {
            visit(chapter);
            if let Some(items) = chapter.get_mut("sub_items") {
                for_each_chapter(items, visit);
            }
        }
    }
}
