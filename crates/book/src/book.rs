//! All notebooks of the book, so that each page can refer to any other.

use crate::chapter::{Chapter, Source};
use crate::labels::Labels;
use crate::paths::normalize;
use crate::url::encode;
use anyhow::{Result, bail};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The chapters, in the order of the book.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) chapters: Vec<Chapter>,
    /// The folder of the notebooks.
    pub(crate) notebooks: PathBuf,
    /// The path from the folder of these pages to the folder of the English pages.
    pub(crate) root: &'static str,
    /// The book's own words in its language.
    pub(crate) labels: Labels,
}

impl Book {
    /// Reads the notebooks; the error lists all that cannot be read.
    pub(crate) fn read(notebooks: &Path, sources: &[Source]) -> Result<Book> {
        let notebooks = normalize(notebooks);
        let (mut chapters, mut problems) = (Vec::new(), Vec::new());
        for source in sources {
            match Chapter::read(&notebooks, source) {
                Ok(chapter) => chapters.push(chapter),
                Err(problem) => problems.push(format!("{problem:#}")),
            }
        }
        problems.extend(same_pages(&chapters));
        if !problems.is_empty() {
            bail!(problems.join("\n"));
        }
        Ok(Book {
            chapters,
            notebooks,
            ..Book::default()
        })
    }

    /// Returns the chapter to which `path` leads from the folder of `from`.
    pub(crate) fn find(&self, from: &Chapter, path: &str) -> Option<&Chapter> {
        let target = self.beside(from, path);
        self.chapters
            .iter()
            .find(|chapter| self.notebook(chapter) == target)
    }

    /// Returns the file to which `path` leads from the folder of `from`.
    pub(crate) fn beside(&self, from: &Chapter, path: &str) -> PathBuf {
        normalize(&self.notebook(from).with_file_name("").join(path))
    }

    fn notebook(&self, chapter: &Chapter) -> PathBuf {
        self.notebooks.join(format!("{}.ipynb", chapter.path))
    }

    /// Returns the address of a page relative to another.
    pub(crate) fn href(&self, from: &Chapter, to: &Chapter) -> String {
        format!("{}{}.html", from.up(), encode(&to.page))
    }
}

fn same_pages(chapters: &[Chapter]) -> Vec<String> {
    let mut pages: HashMap<&str, &Chapter> = HashMap::new();
    let mut problems = Vec::new();
    for chapter in chapters {
        if let Some(first) = pages.insert(&chapter.page, chapter) {
            problems.push(format!(
                "{}.ipynb and {}.ipynb would both be the page {}.html\nRename one of them",
                first.path, chapter.path, chapter.page
            ));
        }
    }
    problems
}
