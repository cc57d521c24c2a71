//! The rank of this process, and the number of processes.

/// The rank of this process among those that were started together, and their number.
///
/// ```
/// use taper::distributed::world;
///
/// let world = world()?; // this program was started alone
/// assert_eq!((world.rank, world.size, world.local_rank), (0, 1, 0));
/// # Ok::<(), taper::prelude::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World {
    /// The rank of this process, counted from 0.
    pub rank: usize,
    /// The number of processes.
    pub size: usize,
    /// The rank of this process among those on the same machine, counted from 0.
    pub local_rank: usize,
    /// The number of processes on this machine.
    pub local_size: usize,
}

impl World {
    /// The world of a process that was started alone.
    #[doc(hidden)]
    pub const ALONE: World = World {
        rank: 0,
        size: 1,
        local_rank: 0,
        local_size: 1,
    };
}
