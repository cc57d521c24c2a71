//! What a cell's source is written from.

use crate::cell::{Mark, Parsed};
use crate::file::Position;
use crate::items::Items;
use crate::opaque::Opaque;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The function of a cell that the process calls.
pub(crate) const FUNCTION: &str = "taper_cell";

/// What a line of the engine's own is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Glue {
    /// Takes the value of an earlier variable.
    Take(String),
    /// Keeps a new variable.
    Keep(String),
    /// Puts an earlier variable back.
    Put(String),
    /// Asks whether the cell uses an earlier variable; a line without a name completes the question.
    Question(Option<String>),
    /// Anything else.
    Other,
}

/// A variable of an earlier cell that a cell uses.
pub(crate) struct Used<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) is_mutable: bool,
    /// Whether it is a reference to a value from which others borrow.
    pub(crate) is_frozen: bool,
    /// Whether the syntax shows that the cell uses it.
    pub(crate) is_certain: bool,
}

/// What the source of a cell consists of.
pub(crate) struct Parts<'a> {
    pub(crate) number: u32,
    pub(crate) source: &'a str,
    /// `None` if the cell is not valid Rust, which rustc then explains.
    pub(crate) cell: Option<&'a Parsed>,
    pub(crate) items: &'a Items,
    pub(crate) used: Vec<Used<'a>>,
    /// Variables that the cell moves away, so that they cannot be kept.
    pub(crate) moved: &'a HashSet<String>,
    /// New variables that the cell moves away itself.
    pub(crate) used_up: &'a HashSet<String>,
    /// The function that receives the error of a `?`.
    pub(crate) question_mark: Option<&'a str>,
    /// Variables that stay where they are until the process ends, because others borrow from them.
    pub(crate) frozen: &'a HashSet<String>,
    /// Where the cell begins to borrow from these, as far as that is known.
    pub(crate) borrowed_at: &'a BTreeMap<String, Position>,
    /// The same for values without a name, as places in [`Parsed::temporaries`].
    pub(crate) temporaries: &'a BTreeSet<usize>,
    /// Whether the cell waits for a future, and whether a `?` can end it.
    pub(crate) has_await: bool,
    pub(crate) has_try: bool,
    /// Where a `?` is behind an `Option`.
    pub(crate) options: &'a BTreeSet<Position>,
    /// The source of the runtime on which cells wait for futures.
    pub(crate) runtime: Option<&'a str>,
    /// New variables that are kept in another form, or not at all.
    pub(crate) opaque: &'a BTreeMap<String, Opaque>,
    /// The calls that are written into a cell that is profiled.
    pub(crate) marks: &'a [Mark],
}
