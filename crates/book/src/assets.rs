//! The files beside the pages: images, notebooks to download, the crate's documentation, the texts of the
//! search, and two scripts.
//!
//! A second renderer writes these files; mdBook runs it after its own. They cannot be written earlier, because mdBook
//! first empties the folder of the pages, and it copies only from the folder of the sources, into which we do not
//! write.

use crate::book::Book;
use crate::builder::Content;
use crate::paths::copy_tree;
use crate::{documentation, edition, frames, protocol, search};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the files to which the pages point into the folder of the pages. The input is what mdBook
/// sends to a renderer.
///
/// # Errors
///
/// When the input is not from mdBook, when a chapter cannot be rendered, or when a file cannot be written.
pub fn write_files(input: &str) -> Result<()> {
    let context: Value = serde_json::from_str(input).map_err(protocol::not_from_mdbook)?;
    let own = protocol::field(&context, "destination")?;
    let pages = PathBuf::from(own).with_file_name("html");
    let edition = edition::load(&context)?;
    let book = edition::translated(edition.as_ref(), &context["book"])?;
    let rendered = protocol::render(&context, &book, edition.as_ref())?;
    search::add_chapters(&pages, &rendered.book)?;
    let labels = labels(&context, &rendered.book);
    for (name, script) in [("labels.js", &*labels), ("sliders.js", frames::SCRIPT)] {
        write(&pages.join(name), &Content::Bytes(script.into()))?;
    }
    for (_, page) in rendered.pages {
        for (name, content) in page.files {
            write(&pages.join(name), &content)?;
        }
    }
    let documentation = documentation::folder()?;
    if documentation.exists() && edition::language(&context).is_none() {
        copy_tree(&documentation, &pages.join("api"), &|_| true)?;
    }
    Ok(())
}

/// Returns the script that `head.hbs` adds to each page, with what other scripts look up: the book's words in its language,
/// and the path from its pages to those of each language.
fn labels(context: &Value, book: &Book) -> String {
    let languages = edition::all(context).into_iter();
    let languages: Vec<_> = languages
        .map(|(folder, language)| json!([language, format!("{}{folder}", book.root)]))
        .collect();
    format!(
        "const taperLabels = {};\nconst taperLanguages = {};\n",
        book.labels.json(),
        json!(languages)
    )
}

fn write(file: &Path, content: &Content) -> Result<()> {
    let written = fs::create_dir_all(file.with_file_name("")).and_then(|()| match content {
        Content::Bytes(bytes) => fs::write(file, bytes),
        Content::CopyOf(original) => fs::copy(original, file).map(drop),
    });
    written.with_context(|| format!("writing {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_know_the_languages() {
        let settings = json!({ "language": "fr", "languages": ["fr", "zh"] });
        let context = json!({ "config": { "preprocessor": { "taper": settings } } });
        let book = Book {
            root: edition::root(&context),
            ..Book::default()
        };
        let expected = "const taperLabels = {};\n\
            const taperLanguages = [[\"en\",\"../\"],[\"fr\",\"../fr/\"],[\"zh\",\"../zh/\"]];\n";
        assert_eq!(labels(&context, &book), expected);
    }
}
