//! Renders notebooks as the pages of a book, with mdBook around them.
//!
//! # What goes in, what comes out
//!
//! mdBook reads `book/src/SUMMARY.md`, whose entries are notebooks, and calls `taper mdbook` twice. As a
//! *preprocessor* ([`preprocess`]) it gets all chapters as JSON, each with the text of its notebook, and
//! returns them with HTML as their content. As a *renderer* ([`write_files`]) it adds images, notebooks and
//! other files to the folder of the pages, after mdBook has written the pages. mdBook does the rest:
//! layout, sidebar, search, themes. Nothing is written into the folder of the book's sources.
//!
//! Before that, `taper book` installs mdBook ([`mdbook`]) and has rustdoc document the crate `taper`
//! ([`document`]), so that names in code are links.
//!
//! # The path of a page
//!
//! 1. `protocol` reads mdBook's JSON. Every notebook becomes a `chapter` of `cell`s, whose `tags` say what
//!    the book shows. The chapter numbers its figures and collects its anchors, from the `outline` of its
//!    markdown cells. The `book` holds all chapters, so that any page can refer to any other.
//! 2. `page` renders one cell after the other: prose (`markdown`, with formulas from `math` and references
//!    from `links`), code (`highlight`, with links from `api`) and `outputs`
//!    (terminal colours by `ansi`). What a cell adds besides HTML goes to the `builder`: images, files,
//!    problems. `toolbar` adds the links below the title, `home` the list of chapters to the home page.
//! 3. HTML of a notebook goes through `sanitise`. An `image` becomes a file in an `<img>`, in
//!    which SVG runs nothing. A page runs no code of a notebook and loads nothing from other sites.
//! 4. The build fails with all problems of all chapters at once: dead links, missing
//!    images, formulas that KaTeX rejects, and `numbers` in the prose that the stored outputs do not have.
//! 5. `assets` writes images, notebooks and the documentation beside the pages, adds the texts of the chapters to the
//!    `search`, and writes `labels.js`, what the scripts of the theme know of the book: its words in its language, and
//!    its other languages.
//!
//! mdBook's pages are not changed. What they lack is in the theme: `head.hbs`, `taper.css`, `mdbook.js` for mdBook's own
//! parts of a page (its words, the search), `taper.js` for the book's.
//!
//! [`write_pdf`] prints the whole book. [`Publication`] is one notebook as a page
//! that needs no server (`publish`). [`serve()`] serves the pages to a reader on this machine, who can run their cells (`serve`).
//!
//! [`build()`] calls mdBook for each language. `edition` translates mdBook's JSON before all this, if the book is built in
//! another language than English, and `labels` has the book's own words.
//!
//! # Addresses
//!
//! The file of a chapter begins with its number (`33-gpus.ipynb`), its page does not (`gpus.html`), so
//! addresses stay the same when a chapter is inserted before it. Links between notebooks name files, as
//! JupyterLab needs; the book translates them.

mod ansi;
mod api;
mod assets;
mod book;
mod builder;
mod cell;
mod chapter;
#[cfg(test)]
mod contrast;
mod documentation;
mod edition;
mod frames;
mod highlight;
mod home;
mod html;
mod image;
mod labels;
mod links;
mod markdown;
mod math;
pub mod mdbook;
mod numbers;
mod outline;
mod outputs;
mod page;
mod paths;
mod pdf;
mod protocol;
mod publish;
mod sanitise;
mod search;
mod serve;
mod svg;
mod tags;
mod toolbar;
mod url;

#[cfg(test)]
mod tests;

pub use assets::write_files;
pub use documentation::document;
pub use edition::build;
pub use frames::MEDIA_TYPE as FRAMES;
pub use labels::{labels, mdbook_words};
pub use pdf::write_pdf;
pub use protocol::preprocess;
pub use publish::{Publication, Published};
pub use serve::{Options, StartEvaluator, serve};
