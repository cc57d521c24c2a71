//! An epoch that was interrupted.

/// The state of a random generator: seed, stream, position.
pub(super) type Random = ([u8; 32], u64, u128);

/// How far an epoch was when it was interrupted.
pub(super) struct Unfinished {
    /// How many batches were completed.
    pub(super) batch: usize,
    /// The state of the random generator when the epoch began, from which its order is drawn.
    pub(super) random: Random,
    /// The metrics so far: name, value, weight.
    pub(super) metrics: Vec<(String, f64, f64)>,
}
