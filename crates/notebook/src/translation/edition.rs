//! An edition of the course: the catalogues of one language.

use super::units::{Place, id, in_markdown, places, source};
use crate::document::layout::layout;
use crate::document::notebook::Notebook;
use anyhow::{Result, anyhow, bail};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use taper_host::error::OnFile as _;

/// The course in one language besides English.
///
/// A document has the name of its catalogue: `12-convolutions`, `solutions/12-convolutions`, `pages/index`, `hints` of the
/// exercises, `labels` of the book.
#[derive(Debug)]
pub struct Edition {
    language: String,
    /// For each document, the translation of each text by its context and the text.
    documents: BTreeMap<String, HashMap<(String, String), String>>,
    /// The anchors of translated headings, by the document and the English anchor.
    anchors: HashMap<(String, String), String>,
}

impl Edition {
    /// Reads the catalogues in `po/language`.
    ///
    /// # Errors
    ///
    /// Fails if there are none for the language, or one cannot be read.
    pub fn load(po: &Path, language: &str) -> Result<Edition> {
        let mut available = Edition::available(po)?;
        if !available.iter().any(|name| name == language) {
            available.insert(0, "en".to_owned());
            bail!(
                "the course is not available in the language `{language}`; there are: {}",
                available.join(", ")
            );
        }
        let folder = po.join(language);
        let mut edition = Edition {
            language: language.into(),
            documents: BTreeMap::new(),
            anchors: HashMap::new(),
        };
        for path in catalogues(&folder)? {
            let name = path.strip_prefix(&folder).unwrap_or(&path);
            let name = name.with_extension("").to_string_lossy().into_owned();
            edition.add(name, &path)?;
        }
        Ok(edition)
    }

    /// Returns the languages for which there are catalogues.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read.
    pub fn available(po: &Path) -> Result<Vec<String>> {
        let folders = entries(po)?.into_iter().filter(|path| path.is_dir());
        let name = |path: PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        Ok(folders.filter_map(name).collect())
    }

    /// Returns the languages in which the course is published: the least share of translated paragraphs, which
    /// `coverage.txt` demands, is not 0.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read.
    pub fn published(po: &Path) -> Result<Vec<String>> {
        let mut published = Vec::new();
        for language in Edition::available(po)? {
            let path = po.join(&language).join("coverage.txt");
            let coverage = fs::read_to_string(&path).on_file("read", &path)?;
            if coverage.trim() != "0" {
                published.push(language);
            }
        }
        Ok(published)
    }

    /// Returns the language: `zh`, `fr`.
    pub fn language(&self) -> &str {
        &self.language
    }

    /// Translates a notebook, given as the text of its file.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a notebook.
    pub fn notebook(&self, name: &str, text: &str) -> Result<String> {
        let mut notebook = Notebook::read(name, text.as_bytes().to_vec())?;
        let cells = notebook.document["cells"].as_array_mut();
        for cell in cells.into_iter().flatten() {
            let (context, source) = (id(cell), source(cell));
            let is_markdown = cell["cell_type"] == "markdown";
            let translation = |text: &str| match is_markdown {
                true => self.prose(name, &context, text),
                false => self.translation(name, &context, text),
            };
            let places = places(cell, &source);
            let translated = Place::replace(&places, &source, translation);
            cell["source"] = match is_markdown {
                true => self.with_anchors(name, &translated).into(),
                false => translated.into(),
            };
        }
        Ok(layout(&notebook))
    }

    /// Translates a page of markdown.
    pub fn page(&self, name: &str, text: &str) -> String {
        let translation = |text: &str| self.prose(name, "", text);
        let translated = Place::replace(&in_markdown(text), text, translation);
        self.with_anchors(name, &translated)
    }

    /// Returns the current translations of a document, such as `hints` or `labels`, by their texts.
    pub fn texts(&self, name: &str) -> BTreeMap<&str, &str> {
        let texts = self.documents.get(name).into_iter().flatten();
        texts
            .map(|((_, text), translation)| (text.as_str(), translation.as_str()))
            .collect()
    }

    /// Returns the current translation of a text, if there is one.
    pub fn translation(&self, name: &str, context: &str, text: &str) -> Option<String> {
        let key = (context.to_owned(), text.to_owned());
        self.documents.get(name)?.get(&key).cloned()
    }

    /// Returns the current translation of a text of markdown. In French, no line ends before a colon or a question mark:
    /// the spaces there become hard ones, but in headings, whose anchors have the text.
    fn prose(&self, name: &str, context: &str, text: &str) -> Option<String> {
        let translation = self.translation(name, context, text)?;
        Some(match self.language == "fr" && !text.starts_with('#') {
            true => with_hard_spaces(&translation),
            false => translation,
        })
    }

    /// Adds a catalogue. Entries that are fuzzy or empty are not translations.
    fn add(&mut self, name: String, path: &Path) -> Result<()> {
        let parsed = polib::po_file::parse(path).map_err(|error| {
            anyhow!("{} is not a catalogue of gettext: {error}", path.display())
        })?;
        let mut document = HashMap::new();
        for message in parsed.messages() {
            let Ok(translation) = message.msgstr() else {
                continue;
            };
            if message.is_fuzzy() || translation.is_empty() {
                continue;
            }
            let (text, context) = (message.msgid(), message.msgctxt().unwrap_or_default());
            if text.starts_with('#') {
                let anchor = |heading| anchor(heading, name.starts_with("pages/"));
                let key = (name.clone(), anchor(text));
                self.anchors.insert(key, anchor(translation));
            }
            document.insert((context.into(), text.into()), translation.into());
        }
        self.documents.insert(name, document);
        Ok(())
    }

    /// Rewrites the anchors in the links of a text, also where it is not translated.
    fn with_anchors(&self, name: &str, text: &str) -> String {
        let (mut written, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("](") {
            let (link, tail) = after.split_at(after.find(')').unwrap_or(after.len()));
            written += &format!("{before}]({}", self.link(name, link));
            rest = tail;
        }
        written + rest
    }

    fn link(&self, name: &str, link: &str) -> String {
        let Some((path, anchor)) = link.split_once('#') else {
            return link.into();
        };
        let key = (resolve(name, path), anchor.to_owned());
        match self.anchors.get(&key) {
            Some(anchor) => format!("{path}#{anchor}"),
            None => link.into(),
        }
    }
}

/// Makes the spaces hard that French has inside of quotation marks and before other marks, except in code and formulas.
fn with_hard_spaces(text: &str) -> String {
    let (mut written, mut inside) = (String::with_capacity(text.len()), None);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied().unwrap_or_default();
        match letter {
            '`' | '$' if inside == Some(letter) => inside = None,
            '`' | '$' if inside.is_none() => inside = Some(letter),
            _ => {}
        }
        let is_hard = written.ends_with('«') || ":;?!»%".contains(next);
        written.push(match letter {
            ' ' if is_hard && inside.is_none() => '\u{a0}',
            letter => letter,
        });
    }
    written
}

/// Returns the name of the document to which a path in a document leads.
fn resolve(name: &str, path: &str) -> String {
    let (folder, _) = name.rsplit_once('/').unwrap_or_default();
    let stem = path.trim_end_matches(".ipynb").trim_end_matches(".md");
    match (path, stem.rsplit_once("notebooks/"), folder) {
        ("", ..) => name.into(),
        (_, Some((_, stem)), _) => stem.into(),
        (_, None, "") => stem.into(),
        _ => match stem.strip_prefix("../") {
            Some(stem) => stem.into(),
            None => format!("{folder}/{stem}"),
        },
    }
}

/// Returns the anchor of a heading: JupyterLab's in a notebook, mdBook's in a page.
fn anchor(heading: &str, is_page: bool) -> String {
    let text = heading.trim_start_matches('#').trim();
    let text = text.replace(['`', '*', '$'], "");
    if !is_page {
        return text.replace(char::is_whitespace, "-");
    }
    let kept = |letter: &char| letter.is_alphanumeric() || ['_', '-', ' '].contains(letter);
    let lower = text.to_lowercase();
    lower
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).on_file("read", folder)?;
    let paths = entries.map(|entry| Ok(entry.on_file("read", folder)?.path()));
    let mut paths = paths.collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Returns the catalogues in a folder and the folders in it.
fn catalogues(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            found.extend(catalogues(&path)?);
        } else if path.extension().is_some_and(|kind| kind == "po") {
            found.push(path);
        }
    }
    Ok(found)
}
