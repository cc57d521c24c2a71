//! The result of one check of `taper doctor`.

use std::fmt;
use taper_host::checkout;

/// The next step for most of what is missing.
pub(super) const SET_UP: SetUp = SetUp;

/// Displays the command that completes the set-up.
pub(super) struct SetUp;

impl fmt::Display for SetUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run `{} setup`", checkout::command())
    }
}

/// One thing that Taper needs or can use.
pub(super) struct Finding {
    pub(super) name: &'static str,
    pub(super) state: State,
}

/// The state of what was checked, with a text for the user.
pub(super) enum State {
    /// Present; the text says which version, or where.
    Good(String),
    /// Missing, but Taper works without it.
    Absent(String),
    /// Missing or damaged; the text says what is wrong and what to do.
    Bad(String),
}
