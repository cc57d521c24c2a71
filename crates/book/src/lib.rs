//! The book: mdBook renders it, and its pages are the notebooks.
//!
//! The way of a page: mdBook reads `SUMMARY.md` and hands its chapters to us ([`protocol`]), each with
//! the text of its file. [`shelf`] reads the notebooks among them and numbers their figures, so that
//! any page can refer to any other. [`page`] turns cells into HTML: prose ([`markdown`], [`math`]),
//! code ([`lexer`], [`highlight`], linked to the crate's documentation by [`api`]) and outputs ([`outputs`],
//! [`picture`]). Whatever a notebook brings as HTML goes through [`sanitise`]. mdBook lays out the
//! rest: sidebar, search, themes. When it has written its pages, [`site`] puts beside them the files
//! to which they point. Nothing is written into the folder of the book's sources.

mod actions;
mod ansi;
mod api;
mod cell;
mod highlight;
mod lexer;
mod look;
mod markdown;
mod math;
pub mod mdbook;
mod outputs;
mod page;
mod picture;
mod protocol;
mod references;
mod sanitise;
mod shelf;
mod site;

#[cfg(test)]
mod tests;

pub use api::document;
pub use protocol::preprocess;
pub use site::write_files;

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
