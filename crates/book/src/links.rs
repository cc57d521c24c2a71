//! Links between pages. JupyterLab follows the same links, so they work in the notebook and in the book.
//!
//! `other.ipynb` is a chapter, `#Heading-text` or `other.ipynb#Heading-text` a section of it, and
//! `#cell-id=name` a cell. A link whose text is `chapter` or `figure` gets the number of the chapter or
//! figure to which it points: `[figure](#cell-id=loss)` becomes "figure 4.2". In a translation, the catalogue `labels` has
//! these words.

use crate::book::Book;
use crate::cell::Cell;
use crate::chapter::Chapter;
use crate::url::{decode, encode, is_external};
use anyhow::{Context, Result, bail};

/// The target of a link.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A page of the book, or a place in it.
    Page {
        href: String,
        /// The number of the chapter or the figure, if the link's text asks for it.
        number: Option<String>,
    },
    /// An address outside of the book.
    External,
    /// A file beside the notebook.
    File(String),
}

const ANCHORS: &str =
    "A heading's anchor is its text with - for blanks; a cell's is cell-id= and its id";

/// Returns the target of a link in `chapter`; `text` is the text of the link.
pub(crate) fn resolve(book: &Book, chapter: &Chapter, link: &str, text: &str) -> Result<Target> {
    if is_external(link) {
        return Ok(Target::External);
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let (path, anchor) = (decode(path), decode(anchor));
    if !path.is_empty() && !path.ends_with(".ipynb") {
        return Ok(Target::File(path));
    }
    let target = if path.is_empty() {
        chapter
    } else {
        let page = book.find(chapter, &path);
        page.with_context(|| {
            format!(
                "links to {path}, which is not a page of the book\n\
                 Name a notebook of book/src/SUMMARY.md, relative to this one"
            )
        })?
    };
    let is_one_of = |words: [&str; 2]| {
        let mut words = words.into_iter();
        words.any(|word| text == word || text == book.labels.get(word))
    };
    let number = if is_one_of(["chapter", "Chapter"]) {
        match &target.number {
            Some(number) => Some(number.clone()),
            None => bail!(
                "calls {link} a chapter, but it has no number\nUse its name as the text of the link"
            ),
        }
    } else if is_one_of(["figure", "Figure"]) {
        match target.figure(&anchor) {
            Some(number) => Some(number),
            None => bail!(
                "refers to the figure {link}, but that cell has none\n\
                 Write #cell-id= and the id of a cell that begins with `// Figure: ` and a caption"
            ),
        }
    } else {
        None
    };
    if !anchor.is_empty() && !target.has_anchor(&anchor) {
        let advice = match target.similar_anchor(&anchor) {
            Some(similar) => format!("Did you mean #{similar}?"),
            None => ANCHORS.to_owned(),
        };
        bail!("links to {link}, but there is no such heading or cell\n{advice}");
    }
    let page = book.href(chapter, target);
    let href = match (path.is_empty(), anchor.is_empty()) {
        (true, _) => format!("#{}", encode(&anchor)),
        (false, true) => page,
        (false, false) => format!("{page}#{}", encode(&anchor)),
    };
    Ok(Target::Page { href, number })
}

/// Returns the cell to which a link in `chapter` points, if it points to one.
pub(crate) fn cell_of<'b>(book: &'b Book, chapter: &'b Chapter, link: &str) -> Option<&'b Cell> {
    let (path, anchor) = link.split_once('#')?;
    let target = match path {
        "" => chapter,
        path => book.find(chapter, &decode(path))?,
    };
    target.cell(&decode(anchor))
}
