//! Why a cell is stale, in words.

use std::fmt::{self, Display, Formatter};

/// A cell as a user knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// What makes this the same cell after its text was edited. A front end that has no such names uses the text.
    pub id: String,
    /// The number of its last execution.
    pub number: usize,
    /// Its first line.
    pub line: String,
}

/// What a cell has done to a variable or an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It defined a variable.
    Defined,
    /// It defined an item in another way than before.
    Redefined,
    /// It assigned a new value.
    Assigned,
    /// It changed the value.
    Changed,
    /// It moved the value away.
    Moved,
}

/// Why a cell is stale. `name` is a variable or an item that it read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A cell above did something to it since then.
    Since {
        /// The variable or item.
        name: String,
        /// What was done.
        how: How,
        /// The cell that did it.
        by: Cell,
    },
    /// A cell above that defines or changes it had run before, but the value came from another one.
    NotSeen {
        /// The variable or item.
        name: String,
        /// The cell above.
        by: Cell,
    },
    /// A cell below had done something to it before.
    Below {
        /// The variable or item.
        name: String,
        /// What was done.
        how: How,
        /// The cell below.
        by: Cell,
    },
    /// The cell that made it was edited, and does not make it any more.
    NoLonger {
        /// The variable or item.
        name: String,
        /// The cell that was edited.
        by: Cell,
    },
    /// The cell that made it is no longer in the notebook.
    Removed {
        /// The variable or item.
        name: String,
    },
    /// It comes from a cell that is stale.
    From {
        /// The variable.
        name: String,
        /// The stale cell.
        by: Cell,
        /// Whether that cell is certainly stale.
        is_certain: bool,
    },
    /// A cell above may have changed it since then: its type does not show whether it did.
    Maybe {
        /// The variable.
        name: String,
        /// The cell above.
        by: Cell,
    },
}

impl Reason {
    /// Returns whether the value is certainly another one than in a run from the top.
    pub fn is_certain(&self) -> bool {
        match self {
            Reason::Maybe { .. } => false,
            Reason::From { is_certain, .. } => *is_certain,
            _ => true,
        }
    }
}

impl Display for How {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            How::Defined => "defined again",
            How::Redefined => "redefined",
            How::Assigned => "assigned",
            How::Changed => "changed",
            How::Moved => "moved away",
        })
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Reason::Since { name, how, by } => {
                write!(f, "`{name}` was {how} by cell [{}]", by.number)
            }
            Reason::NotSeen { name, by } => {
                write!(
                    f,
                    "`{name}` did not have its value from cell [{}]",
                    by.number
                )
            }
            Reason::Below { name, how, by } => {
                let how = match how {
                    How::Defined | How::Redefined => "defined".to_owned(),
                    how => how.to_string(),
                };
                write!(f, "`{name}` was {how} by cell [{}] below", by.number)
            }
            Reason::NoLonger { name, by } => {
                write!(f, "cell [{}] does not define `{name}` any more", by.number)
            }
            Reason::Removed { name } => {
                write!(f, "`{name}` comes from a cell that is not in the notebook")
            }
            Reason::From {
                name,
                by,
                is_certain,
            } => {
                let is = if *is_certain { "is" } else { "may be" };
                write!(
                    f,
                    "`{name}` comes from cell [{}], which {is} stale",
                    by.number
                )
            }
            Reason::Maybe { name, by } => {
                write!(f, "`{name}` may have been changed by cell [{}]", by.number)
            }
        }
    }
}
