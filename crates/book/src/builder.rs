//! A page while it is built: what its cells add to it besides HTML.

use crate::api::Links;
use crate::book::Book;
use crate::cell::Cell;
use crate::chapter::Chapter;
use crate::html::escape;
use crate::image::Image;
use crate::url::encode;
use std::path::PathBuf;

/// The size of a cover in bytes. The home page has one for each chapter.
const MAX_COVER: usize = 8_000;

/// The width in pixels from which the labels of a figure are too small on a telephone; there, the figure is scrolled.
const WIDE: u32 = 480;

/// A page, the files to which it points, and what is wrong with the notebook.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// The HTML. It has no blank line, so it is also valid as a block of HTML in markdown.
    pub(crate) html: String,
    /// The page's last image that is not too large, which represents the chapter on the home page.
    pub(crate) cover: Option<String>,
    /// The files with their paths below the folder of the pages.
    pub(crate) files: Vec<(String, Content)>,
    pub(crate) problems: Vec<String>,
}

/// The content of a file.
#[derive(Debug)]
pub(crate) enum Content {
    Bytes(Vec<u8>),
    /// The content of another file.
    CopyOf(PathBuf),
}

/// Collects the files and the problems of a page, cell by cell.
pub(crate) struct PageBuilder<'a> {
    pub(crate) book: &'a Book,
    pub(crate) chapter: &'a Chapter,
    pub(crate) links: Links<'a>,
    page: Page,
    /// The id of the current cell.
    cell: &'a str,
    /// How many images the current cell has shown.
    images: usize,
    medium: Medium,
}

/// Where a page is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Medium {
    /// In the book, with images in files beside the page.
    Book,
    /// Below a cell that runs, with images as data URLs in the HTML.
    Cell,
    /// As a single file without fonts, with everything in the HTML.
    File,
}

impl<'a> PageBuilder<'a> {
    pub(crate) fn new(book: &'a Book, chapter: &'a Chapter, links: Links<'a>) -> Self {
        PageBuilder {
            book,
            chapter,
            links,
            page: Page::default(),
            cell: "",
            images: 0,
            medium: Medium::Book,
        }
    }

    /// Puts the images into the HTML itself, as data URLs.
    pub(crate) fn with_images_inside(self) -> Self {
        PageBuilder {
            medium: Medium::Cell,
            ..self
        }
    }

    /// Makes the page a single file: images are in the HTML, formulas are MathML, and links lead to places in the page or
    /// to other sites.
    pub(crate) fn published(self) -> Self {
        PageBuilder {
            medium: Medium::File,
            ..self
        }
    }

    /// Returns whether the page is a single file.
    pub(crate) fn is_published(&self) -> bool {
        self.medium == Medium::File
    }

    /// Makes a cell the current one.
    pub(crate) fn begin(&mut self, cell: &'a Cell) {
        self.cell = &cell.id;
        self.images = 0;
    }

    /// Adds a problem of the current cell.
    pub(crate) fn problem(&mut self, problem: &str) {
        let problem = match self.medium {
            Medium::Cell => format!("The output {problem}"),
            Medium::Book | Medium::File => self.chapter.problem(self.cell, problem),
        };
        self.page.problems.push(problem);
    }

    /// Adds an image; returns the element that shows it.
    pub(crate) fn image(&mut self, image: Image, alt: &str) -> String {
        let (width, height) = image.size;
        let is_small = image.bytes.len() <= MAX_COVER;
        let address = match self.medium {
            Medium::Book => self.image_file(image),
            Medium::Cell | Medium::File => image.data_url(),
        };
        let wide = match width >= WIDE {
            true => " class=\"wide\"",
            false => "",
        };
        let element = format!(
            "<img{wide} src=\"{}\" alt=\"{}\" width=\"{width}\" height=\"{height}\">",
            escape(&address),
            escape(&alt.split_whitespace().collect::<Vec<_>>().join(" "))
        );
        if is_small || self.page.cover.is_none() {
            self.page.cover = Some(element.clone());
        }
        element
    }

    /// Adds an image beside the page; returns its address.
    fn image_file(&mut self, image: Image) -> String {
        self.images += 1;
        let (folder, page) = self.chapter.folder_and_name();
        let extension = image.format.extension();
        let name = format!("{page}_files/{}-{}.{extension}", self.cell, self.images);
        let content = Content::Bytes(image.bytes);
        self.page.files.push((format!("{folder}{name}"), content));
        encode(&name)
    }

    /// The image that represents the chapter.
    pub(crate) fn cover(&mut self) -> &mut Option<String> {
        &mut self.page.cover
    }

    /// Adds a file to which the page links.
    pub(crate) fn file(&mut self, path: &str) {
        let file = self.book.beside(self.chapter, path);
        match file.strip_prefix(&self.book.notebooks) {
            Ok(name) if file.is_file() => {
                let name = name.to_string_lossy().into_owned();
                self.page.files.push((name, Content::CopyOf(file)));
            }
            Ok(_) => self.problem(&format!(
                "links to {path}, which does not exist\nThe path is relative to the notebook"
            )),
            Err(_) => self.problem(&format!(
                "links to {path}, which is not in the folder of the notebooks\n\
                 Move it there, or link to it on the web"
            )),
        }
    }

    /// Returns the page with this HTML.
    pub(crate) fn finish(self, html: String) -> Page {
        Page { html, ..self.page }
    }
}
