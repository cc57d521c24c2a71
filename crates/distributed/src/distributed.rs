//! Several processes that train one model together, on one machine or several.
//!
//! A launcher starts the same program several times: `mpirun -n 4`, Slurm's `srun`, SkyPilot, or an MPIJob
//! of Kubernetes. Each process is a *rank*, counted from 0. The processes communicate through MPI: build the
//! program with the feature `mpi`. A process that was started alone is a world of one rank.
//! `Trainer::distributed` trains this way.
//!
//! If a rank receives the signal `INT`, `TERM` or `USR1`, all ranks finish their current step, rank 0 saves
//! a `Checkpoint` from which the epoch can be continued, and all ranks end.
//! Schedulers can send such a signal before the time limit, as the job file for Slurm requests; `mpirun`
//! forwards `USR1` to the ranks.
//!
//! If one rank fails, all ranks end, with a message that names the rank, its machine, the step and the last
//! checkpoint. The same happens if a rank does not answer for `TAPER_RANK_TIMEOUT` seconds (default: 600).

mod communicator;
#[cfg(feature = "mpi")]
mod mpi;
mod place;
#[cfg(any(feature = "testing", test))]
#[doc(hidden)]
pub mod testing;
mod world;

#[doc(hidden)]
pub use communicator::Communicator;
#[doc(hidden)]
pub use place::{at, saved};
pub use world::World;

use crate::error::{Result, problem};
use std::sync::Arc;

/// Returns the rank of this process and the number of processes. The first call initialises MPI: make it
/// before the program starts threads or uses a GPU.
///
/// # Errors
/// If a launcher has started several processes and the program is built without the feature `mpi`, or with
/// another MPI than the launcher's.
///
/// ```
/// use taper::distributed::world;
///
/// if world()?.rank == 0 {
/// }
/// # Ok::<(), taper::prelude::Error>(())
/// ```
pub fn world() -> Result<World> {
    Ok(communicator()?.map_or(World::ALONE, |communicator| communicator.world()))
}

/// Replaces the elements of `values` by their sums over all ranks; all ranks get the same bits. In a world of
/// one, nothing changes. All ranks must call it with equally many values.
///
/// # Errors
/// As for [`world`].
///
/// ```
/// use taper::distributed::{all_reduce, world};
///
/// let mut values = [1.0, 0.5];
/// all_reduce(&mut values)?;
/// assert_eq!(values[1], 0.5 * world()?.size as f32);
/// # Ok::<(), taper::prelude::Error>(())
/// ```
pub fn all_reduce(values: &mut [f32]) -> Result<()> {
    match communicator()? {
        Some(communicator) => communicator.all_reduce(values),
        None => Ok(()),
    }
}

/// Returns the connection to the other ranks; `None` in a world of one.
#[doc(hidden)]
pub fn communicator() -> Result<Option<Arc<dyn Communicator>>> {
    #[cfg(feature = "mpi")]
    if let Some(communicator) = mpi::communicator()? {
        return Ok(Some(communicator));
    }
    match launched() {
        Some(size) => Err(alone_of(size)),
        None => Ok(None),
    }
}

/// Returns how many processes a launcher has started, if more than one.
fn launched() -> Option<usize> {
    // Open MPI, MPICH and Intel's, and Slurm for the tasks of one srun.
    let names = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];
    let sizes = names.iter().filter_map(|name| std::env::var(name).ok());
    let size = sizes.filter_map(|size| size.parse().ok()).max();
    size.filter(|size| *size > 1)
}

fn alone_of(size: usize) -> crate::error::Error {
    match cfg!(feature = "mpi") {
        true => problem!(
            "the launcher started {size} processes, but MPI reports one: the launcher and the program use different MPIs";
            "Start the program with the mpirun beside the mpicc that it was built with; with Slurm, try \
             srun --mpi=pmix, or mpirun in the job file"),
        false => problem!(
            "the launcher started {size} processes, but this program is built without MPI";
            "Build it with the feature: cargo build --release --features mpi"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_processes_without_a_connection_is_refused() {
        let message = alone_of(4).to_string();
        assert!(message.contains("4 processes"), "{message}");
        assert_eq!(message.lines().count(), 2, "{message}");
    }
}
