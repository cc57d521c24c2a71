//! What a cell consists of: items, statements, and the expression whose value is shown.
//!
//! The names that a cell defines and mentions are read by `taper-rust-cell`. Besides that:
//!
//! - [`mod@parse`] splits the source, whose inner attributes [`attributes`] reads, and [`item`] its items; [`flow`] finds
//!   `?` and `.await`, [`temporaries`] what new variables borrow from without a name, [`places`] where variables are named,
//!   [`closures`] the closures; [`calls`] and [`macros`] say how calls of macros are read;
//! - [`uses`] says what the names in a piece of source are; [`work`] how much it may compute;
//! - [`statics`] finds what keeps a value between cells, [`content`] the types in a type;
//! - [`mod@marks`] says where a cell that is profiled reports its lines;
//! - [`text`] cuts and blanks out text without moving the rest.

mod attributes;
mod calls;
mod closures;
mod content;
mod flow;
mod item;
mod macros;
mod marks;
mod parse;
mod places;
pub(crate) mod statics;
mod temporaries;
pub(crate) mod text;
pub(crate) mod uses;
pub(crate) mod work;

pub(crate) use calls::Call;
pub(crate) use closures::Closure;
pub(crate) use content::Content;
pub(crate) use item::ParsedItem;
pub(crate) use macros::{Macros, Reading};
pub(crate) use marks::{Mark, marks};
pub(crate) use parse::{Parsed, parse};
pub(crate) use places::Place;
pub(crate) use taper_rust_cell::bindings::Binding;
pub(crate) use temporaries::Temporary;

/// Frees the sources that were parsed on this thread. Nothing that was parsed must be looked at any more.
pub(crate) fn forget_sources() {
    proc_macro2::extra::invalidate_current_thread_spans();
}
