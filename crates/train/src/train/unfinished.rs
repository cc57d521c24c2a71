//! The state of an interrupted epoch.

/// The state of a random generator: seed, stream, position.
pub(super) type Random = ([u8; 32], u64, u128);

/// The state of an epoch when it was interrupted.
pub(super) struct Unfinished {
    /// The number of completed batches.
    pub(super) batch: usize,
    /// The state of the random generator when the epoch began, which determines the order of its examples.
    pub(super) random: Random,
    /// The metrics so far: name, value, weight.
    pub(super) metrics: Vec<(String, f64, f64)>,
}
