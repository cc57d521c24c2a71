//! mdBook's protocol: the book comes as JSON on stdin and goes back, changed, on stdout.
//!
//! It is read as the JSON that it is: what we do not know passes through.

use super::api::Api;
use super::chapter::{Shelf, Source, normal, number};
use super::page::{Content, Page};
use super::toolbar::Site;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Renders the notebooks among the chapters.
pub fn preprocess(input: &str) -> Result<String> {
    let request: Value = serde_json::from_str(input).context(NOT_MDBOOK)?;
    let Some([context, book]) = request.as_array().map(Vec::as_slice) else {
        bail!("{NOT_MDBOOK}");
    };
    if Api::find().is_none() {
        eprintln!("Names are not linked yet: `cargo taper book build` makes the documentation.");
    }
    let mut book = book.clone();
    let rendered = render(context, &book)?;
    let mut pages = rendered.into_iter();
    for_each_chapter(&mut book["items"], &mut |chapter| {
        if let Some((place, page)) = is_notebook(chapter).then(|| pages.next()).flatten() {
            chapter.insert("content".into(), page.html.into());
            chapter.insert("path".into(), format!("{place}.md").into());
        }
    });
    Ok(serde_json::to_string(&book)?)
}

const NOT_MDBOOK: &str = "this is no book from mdBook\n\
     mdBook calls this command; build the book with `taper book build`";

/// The pages with their places, in the order of the book. Whatever is wrong with any of them is said
/// at once.
pub fn render(context: &Value, book: &Value) -> Result<Vec<(String, Page)>> {
    let shelf = shelf(context, book)?;
    let site = Site::new(
        &context["config"]["preprocessor"]["taper"],
        &shelf.notebooks,
    );
    let api = Api::find();
    let mut pages = Vec::new();
    let mut problems = Vec::new();
    for chapter in &shelf.chapters {
        let mut page = Page::of(chapter, &shelf, api.as_ref(), &site);
        problems.append(&mut page.problems);
        let notebook = Content::Bytes(original(book, &shelf.notebook(chapter), context));
        page.files
            .push((format!("{}.ipynb", chapter.place), notebook));
        pages.push((chapter.place.clone(), page));
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(pages)
}

/// All notebooks of the book.
fn shelf(context: &Value, book: &Value) -> Result<Shelf> {
    let root = PathBuf::from(context["root"].as_str().context(NOT_MDBOOK)?);
    let settings = &context["config"]["preprocessor"]["taper"];
    let notebooks = root.join(settings["notebooks"].as_str().unwrap_or("../notebooks"));
    let mut sources = Vec::new();
    collect(&book["items"], &source_folder(context), &mut sources);
    Shelf::read(notebooks, &sources)
}

fn source_folder(context: &Value) -> PathBuf {
    let root = Path::new(context["root"].as_str().unwrap_or_default());
    root.join(context["config"]["book"]["src"].as_str().unwrap_or("src"))
}

fn collect<'b>(items: &'b Value, folder: &Path, sources: &mut Vec<Source<'b>>) {
    for item in items.as_array().into_iter().flatten() {
        let Some(chapter) = item["Chapter"].as_object() else {
            continue;
        };
        if is_notebook(chapter) {
            sources.push(Source {
                file: folder.join(chapter["source_path"].as_str().unwrap_or_default()),
                number: number(&chapter["number"]),
                content: chapter["content"].as_str().unwrap_or_default(),
            });
        }
        collect(&chapter["sub_items"], folder, sources);
    }
}

/// The notebook's text as mdBook read it.
fn original(book: &Value, notebook: &Path, context: &Value) -> Vec<u8> {
    let mut sources = Vec::new();
    collect(&book["items"], &source_folder(context), &mut sources);
    let source = sources
        .into_iter()
        .find(|source| normal(&source.file) == notebook);
    source.map_or_else(Vec::new, |source| source.content.into())
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
