//! What a cell uses and changes, for [`Graph`](crate::Graph).

use std::collections::{BTreeMap, BTreeSet};

/// How a cell uses a variable of an earlier cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads the value.
    Read,
    /// It reads the value. The type has parts that can change without `mut`, and may have been changed.
    Unknown,
    /// It changes the value.
    Changed,
    /// It assigns a new value, and does not read the old one.
    Overwritten,
    /// It moves the value away, or a part of it.
    Moved,
}

/// What an evaluation used and changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The variables of earlier cells that the cell used, and statics, as `static NAME`.
    pub used: BTreeMap<String, Access>,
    /// The variables and statics that it defined.
    pub defined: BTreeSet<String>,
    /// Pairs of a new variable and another one with which it may share a value, as two `Rc` do.
    pub shared: Vec<(String, String)>,
    /// The items that its statements use, directly or through other items: `f`, `Net`, `Net::forward`.
    pub items: BTreeSet<String>,
    /// The items that it defined, each with a number that changes with its source.
    pub definitions: BTreeMap<String, u64>,
}
