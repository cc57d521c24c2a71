//! A notebook made a plain cargo project, and the way back of what that program shows.
//!
//! [`program`] makes the source of one program out of a notebook's cells; [`project`] puts it into a
//! folder together with the crate `taper`, so that the folder can be taken to another machine.
//! [`log`] reads what the program wrote, as an evaluator that has run the cells already.

pub mod log;
pub mod program;
pub mod project;

use crate::run::notebook::Notebook;
use ring::digest::{Context, SHA256};
use taper_host::digest::hex;

/// Sees to it that cells of which a log can know nothing keep the outputs that they have.
pub fn skip_what_is_not_exported(notebook: &mut Notebook) {
    for cell in &mut notebook.cells {
        cell.tags.skip |= !program::is_exported(cell);
    }
}

/// By what the reader of a log knows that a cell is still the one that ran.
pub fn digest(source: &str) -> String {
    let mut digest = Context::new(&SHA256);
    digest.update(source.as_bytes());
    hex(digest)[..16].to_owned()
}
