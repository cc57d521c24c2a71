//! What a cell consists of: items, statements, and the expression whose value is shown.
//!
//! - [`mod@parse`] splits the source, whose inner attributes [`attributes`] reads, and [`item`] its items; [`flow`] finds
//!   `?` and `.await`, [`bindings`] the new variables, [`temporaries`] what they borrow from without a name, [`places`] where
//!   variables are named, [`closures`] the closures; [`calls`] and [`macros`] say how calls of macros are read;
//! - [`words`] says which names a piece of source mentions, [`uses`] what they are there; [`work`] how much it may
//!   compute;
//! - [`keys`] says which earlier items an item replaces; [`imports`] splits `use` items; [`statics`] finds what keeps a
//!   value between cells, [`content`] the types in a type;
//! - [`mod@marks`] says where a cell that is profiled reports its lines;
//! - [`text`] cuts and blanks out text without moving the rest.

mod attributes;
pub(crate) mod bindings;
mod calls;
mod closures;
mod content;
mod flow;
pub(crate) mod imports;
mod item;
pub(crate) mod keys;
mod macros;
mod marks;
mod parse;
mod places;
pub(crate) mod statics;
mod temporaries;
pub(crate) mod text;
pub(crate) mod uses;
pub(crate) mod words;
pub(crate) mod work;

pub(crate) use bindings::Binding;
pub(crate) use calls::Call;
pub(crate) use closures::Closure;
pub(crate) use content::Content;
pub(crate) use item::ParsedItem;
pub(crate) use macros::{Macros, Reading};
pub(crate) use marks::{Mark, marks};
pub(crate) use parse::{Parsed, parse};
pub(crate) use places::Place;
pub(crate) use temporaries::Temporary;

/// Frees the sources that were parsed on this thread. Nothing that was parsed must be looked at any more.
pub(crate) fn forget_sources() {
    proc_macro2::extra::invalidate_current_thread_spans();
}
