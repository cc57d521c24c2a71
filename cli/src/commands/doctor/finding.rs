//! The result of one check of `taper doctor`.

/// The next step for most of what is missing.
pub(super) const SET_UP: &str = "run `cargo taper setup`";

/// One thing that Taper needs or can use.
pub(super) struct Finding {
    pub(super) name: &'static str,
    pub(super) state: State,
}

/// Whether it is there, and what the user should know about it.
pub(super) enum State {
    Good(String),
    /// It is missing, but Taper works without it.
    Absent(String),
    /// What is wrong, and what to do.
    Bad(String),
}
