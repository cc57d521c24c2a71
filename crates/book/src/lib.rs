//! The book: mdBook renders it, and its pages are the notebooks.
//!
//! The way of a page: mdBook reads `SUMMARY.md` and hands its chapters to us ([`protocol`]), each with
//! the text of its file. [`chapter`] reads the notebooks among them and numbers their figures, so that
//! any page can refer to any other. [`page`] turns cells into HTML: prose ([`markdown`], [`math`]),
//! code ([`lexer`], [`highlight`], linked to the crate's documentation by [`api`]) and outputs ([`outputs`],
//! [`image`]). Whatever a notebook brings as HTML goes through [`sanitise`]. mdBook lays out the
//! rest: sidebar, search, themes. When it has written its pages, [`assets`] puts beside them the files
//! to which they point. Nothing is written into the folder of the book's sources.

mod ansi;
mod api;
mod assets;
mod cell;
mod chapter;
mod highlight;
mod image;
mod lexer;
mod links;
mod markdown;
mod math;
pub mod mdbook;
mod outputs;
mod page;
mod protocol;
mod sanitise;
mod tags;
mod toolbar;

#[cfg(test)]
mod tests;

pub use api::document;
pub use assets::write_files;
pub use protocol::preprocess;

/// Text for the inside of an element or of an attribute in double quotes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(c),
        }
    }
    escaped
}
