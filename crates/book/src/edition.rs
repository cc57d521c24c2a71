//! The book in another language: mdBook's JSON, with the texts of the catalogues in `po`.
//!
//! [`build`] sets the language as `preprocessor.taper.language`. The pages of a translation are in a folder beside the
//! English pages, whose documentation of the crate they share.

use crate::paths::shorten;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use taper_notebook::Edition;

const START: &str = "starting mdbook";

/// The name of the catalogue with the titles of the chapters and the parts.
const SUMMARY: &str = "pages/SUMMARY";

/// Builds the book in the folder `book` in all published languages, into the folder `html` of `pages`. `mdbook` returns the
/// command that starts mdBook. The translations are built at the same time, after the English pages, whose problems
/// they share.
///
/// # Errors
///
/// When mdBook fails, which has then printed why, or when a file cannot be read or written.
pub fn build(book: &Path, pages: &Path, mdbook: &dyn Fn() -> Command) -> Result<()> {
    let po = book.with_file_name("po");
    let languages = match po.is_dir() {
        true => Edition::published(&po)?,
        false => Vec::new(),
    };
    let all = format!("{languages:?}");
    let start = |language: &str, pages: &Path| {
        let mut mdbook = mdbook();
        mdbook.arg("build").arg(book).arg("--dest-dir").arg(pages);
        mdbook
            .env("MDBOOK_BOOK__LANGUAGE", language)
            .env("MDBOOK_PREPROCESSOR__TAPER__LANGUAGE", language)
            .env("MDBOOK_PREPROCESSOR__TAPER__LANGUAGES", &all);
        mdbook.spawn().context(START)
    };
    succeed(start("en", pages)?)?;
    let folders = languages
        .iter()
        .map(|language| (language, pages.join(language)));
    let folders: Vec<_> = folders.collect();
    let started = folders.iter().map(|(language, own)| start(language, own));
    let started: Vec<_> = started.collect();
    let built: Vec<_> = started.into_iter().map(|child| succeed(child?)).collect();
    for (built, (language, own)) in built.into_iter().zip(&folders) {
        built?;
        let to = pages.join("html").join(language);
        fs::rename(own.join("html"), &to)
            .with_context(|| format!("moving pages to {}", to.display()))?;
        fs::remove_dir_all(own).with_context(|| format!("removing {}", own.display()))?;
    }
    Ok(())
}

fn succeed(mut mdbook: Child) -> Result<()> {
    match mdbook.wait().context(START)?.success() {
        true => Ok(()),
        false => bail!("mdBook could not build the book; it printed why"),
    }
}

/// Returns the language in which the book is built, if it is not English.
pub(crate) fn language(context: &Value) -> Option<&str> {
    let language = context["config"]["preprocessor"]["taper"]["language"].as_str();
    language.filter(|language| *language != "en")
}

/// Returns the path from the folder of the pages to the folder of the English pages.
pub(crate) fn root(context: &Value) -> &'static str {
    if language(context).is_some() {
        "../"
    } else {
        ""
    }
}

/// Returns the address of each edition's pages, relative to the English ones, with its language; none if there is only
/// one.
pub(crate) fn all(context: &Value) -> Vec<(String, String)> {
    let others = &context["config"]["preprocessor"]["taper"]["languages"];
    let others = others.as_array().into_iter().flatten();
    let others: Vec<_> = others
        .filter_map(Value::as_str)
        .map(|language| (format!("{language}/"), language.to_owned()))
        .collect();
    if others.is_empty() {
        return others;
    }
    let english = (String::new(), "en".to_owned());
    [english].into_iter().chain(others).collect()
}

/// Returns the catalogues of the language in which the book is built; `None` for English.
pub(crate) fn load(context: &Value) -> Result<Option<Edition>> {
    let (Some(language), Some(root)) = (language(context), context["root"].as_str()) else {
        return Ok(None);
    };
    let po = Path::new(root).with_file_name("po");
    Ok(Some(Edition::load(&po, language)?))
}

/// Returns the book with its texts and titles translated.
pub(crate) fn translated(edition: Option<&Edition>, book: &Value) -> Result<Value> {
    let mut book = book.clone();
    if let Some(edition) = edition {
        translate(&mut book["items"], edition)?;
    }
    Ok(book)
}

fn translate(items: &mut Value, edition: &Edition) -> Result<()> {
    for item in items.as_array_mut().into_iter().flatten() {
        if let Some(title) = item["PartTitle"].as_str() {
            let line = edition.translation(SUMMARY, "", &format!("# {title}"));
            if let Some(line) = line {
                item["PartTitle"] = line.trim_start_matches("# ").into();
            }
        } else if let Some(chapter) = item["Chapter"].as_object_mut() {
            translate_chapter(chapter, edition)?;
            if let Some(items) = chapter.get_mut("sub_items") {
                translate(items, edition)?;
            }
        }
    }
    Ok(())
}

fn translate_chapter(chapter: &mut Map<String, Value>, edition: &Edition) -> Result<()> {
    let text = |field: &str| chapter[field].as_str().unwrap_or_default().to_owned();
    let (path, name, content) = (text("source_path"), text("name"), text("content"));
    let file = Path::new(&path);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let content = if path.ends_with(".ipynb") {
        let is_solution = file
            .parent()
            .is_some_and(|folder| folder.ends_with("solutions"));
        let document = if is_solution {
            format!("solutions/{stem}")
        } else {
            stem.into_owned()
        };
        let content = edition.notebook(&document, &content);
        content.with_context(|| shorten(file))?
    } else {
        edition.page(&format!("pages/{stem}"), &content)
    };
    let line = format!("[{name}]({path})");
    let title = [format!("- {line}"), line].iter().find_map(|line| {
        let line = edition.translation(SUMMARY, "", line)?;
        let (title, _) = line
            .trim_start_matches("- ")
            .trim_start_matches('[')
            .rsplit_once("](")?;
        Some(title.to_owned())
    });
    if let Some(title) = title {
        chapter.insert("name".into(), title.into());
    }
    chapter.insert("content".into(), content.into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn titles_and_texts_are_translated() {
        let folder = tempfile::tempdir().expect("a folder");
        let pages = folder.path().join("po/fr/pages");
        fs::create_dir_all(&pages).expect("folders");
        let head = "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\n";
        let summary = "msgid \"# I. Tensors\"\nmsgstr \"# I. Tenseurs\"\n\n\
                       msgid \"[Start](index.md)\"\nmsgstr \"[Début](index.md)\"\n\n";
        fs::write(pages.join("SUMMARY.po"), format!("{head}{summary}")).expect("a catalogue");
        let index = "msgid \"Hello.\"\nmsgstr \"Bonjour.\"\n\n";
        fs::write(pages.join("index.po"), format!("{head}{index}")).expect("a catalogue");
        let chapter = json!({ "name": "Start", "source_path": "index.md", "content": "Hello.\n\nNew.", "sub_items": [] });
        let book = json!({ "items": [{ "PartTitle": "I. Tensors" }, { "Chapter": chapter }] });
        let context = |language: &str| json!({ "root": folder.path().join("book"), "config": { "preprocessor": { "taper": { "language": language } } } });
        let edition = load(&context("fr")).expect("it is read");
        let french = translated(edition.as_ref(), &book).expect("it is translated");
        assert_eq!(french["items"][0]["PartTitle"], "I. Tenseurs");
        assert_eq!(french["items"][1]["Chapter"]["name"], "Début");
        assert_eq!(french["items"][1]["Chapter"]["content"], "Bonjour.\n\nNew.");
        assert!(load(&context("en")).expect("it needs none").is_none());
        assert_eq!(translated(None, &book).expect("unchanged"), book);
        let error = load(&context("de")).expect_err("there is no German");
        assert!(error.to_string().contains("en, fr"), "{error}");
    }
}
