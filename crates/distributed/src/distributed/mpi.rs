//! Ranks that are connected by MPI.

mod endings;
#[cfg(feature = "nccl")]
mod nccl;

use super::communicator::Communicator;
use super::place::place;
use super::world::World;
use crate::error::{Error, Result};
use endings::{STOP, Watchdog, end_all, when_the_process_ends};
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::ffi;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use mpi::traits::*;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The tag of the messages that waiting ranks send to all, so that each can tell which ranks are missing.
const I_AM_HERE: mpi::Tag = 17;

/// The largest number of elements in a call: MPI counts with 32 bits.
const LONGEST: usize = 1 << 30;

/// Whether this rank has reported that it was asked to end.
static REPORTED: AtomicBool = AtomicBool::new(false);

struct Mpi {
    ranks: SimpleCommunicator,
    world: World,
    hosts: Vec<String>,
    timeout: Duration,
    watchdog: Watchdog,
    in_place: Option<isize>,
    #[cfg(feature = "nccl")]
    nccl: Mutex<Option<nccl::Nccl>>,
    /// Locked during each call: MPI was initialised for several threads, of which one at a time may call it.
    calls: Mutex<()>,
}

// SAFETY: a communicator is a handle without state of its own, and `calls` allows one call at a time.
unsafe impl Send for Mpi {}
// SAFETY: as above.
unsafe impl Sync for Mpi {}

/// Returns the connection; `None` if this process was started alone.
pub(super) fn communicator() -> Result<Option<Arc<dyn Communicator>>> {
    static CONNECTED: LazyLock<Option<Arc<Mpi>>> = LazyLock::new(connect);
    Ok(CONNECTED.clone().map(|mpi| mpi as Arc<dyn Communicator>))
}

fn connect() -> Option<Arc<Mpi>> {
    if let Some((universe, _)) = mpi::initialize_with_threading(Threading::Serialized) {
        // `static` items are not dropped: the handler finalizes MPI, or ends all ranks after a failure.
        std::mem::forget(universe);
        when_the_process_ends();
    }
    let ranks = SimpleCommunicator::world();
    if ranks.size() == 1 {
        return None;
    }
    let local = ranks.split_shared(ranks.rank());
    let world = World {
        rank: ranks.rank() as usize,
        size: ranks.size() as usize,
        local_rank: local.rank() as usize,
        local_size: local.size() as usize,
    };
    share_cores(world);
    let timeout = std::env::var("TAPER_RANK_TIMEOUT").ok();
    let timeout = timeout.and_then(|seconds| seconds.parse().ok());
    let timeout = Duration::from_secs(timeout.unwrap_or(600));
    Some(Arc::new(Mpi {
        hosts: hosts(&ranks),
        ranks,
        world,
        timeout,
        watchdog: Watchdog::start(timeout, world),
        in_place: in_place(),
        #[cfg(feature = "nccl")]
        nccl: Mutex::default(),
        calls: Mutex::default(),
    }))
}

/// Divides the cores of this machine among its ranks, unless the launcher has bound each rank to some
/// cores, or the user has set the number of threads. With more threads than cores, waiting threads would
/// slow down those that compute.
fn share_cores(world: World) {
    const THREADS: &str = "RAYON_NUM_THREADS";
    // SAFETY: the call reads a constant of the system.
    let all = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) } as usize;
    let own = std::thread::available_parallelism().map_or(1, usize::from);
    if std::env::var_os(THREADS).is_none() && own >= all {
        let threads = (all / world.local_size).max(1);
        // SAFETY: Rust's functions read and write the environment under a lock. C code may read it without, but not
        // now: `MPI_Init` has returned, and programs call `world()` first, before they start threads or use a GPU.
        unsafe { std::env::set_var(THREADS, threads.to_string()) };
    }
}

/// Returns `MPI_IN_PLACE`, which is a constant of C that bindings do not contain: with it an all-reduce takes
/// half the time, because half the memory is touched. `None` if it is not known for this MPI.
fn in_place() -> Option<isize> {
    let name = mpi::environment::library_version().ok()?;
    let known = [("Open MPI", 1), ("MPICH", -1), ("Intel(R) MPI", -1)];
    let found = known.iter().find(|(start, _)| name.starts_with(start));
    found.map(|(_, value)| *value)
}

/// Returns the name of each rank's machine.
fn hosts(ranks: &SimpleCommunicator) -> Vec<String> {
    const LEN: usize = 64;
    let mut own = [0; LEN];
    let name = mpi::environment::processor_name().unwrap_or_default();
    let len = name.len().min(LEN);
    own[..len].copy_from_slice(&name.as_bytes()[..len]);
    let mut all = vec![0; LEN * ranks.size() as usize];
    ranks.all_gather_into(&own[..], &mut all[..]);
    let name = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .trim_end_matches('\0')
            .to_owned()
    };
    all.chunks(LEN).map(name).collect()
}

impl Communicator for Mpi {
    fn world(&self) -> World {
        self.world
    }

    // MPI's implementations sum in an order that depends on the size and the number of ranks alone, and
    // send the same sums to all.
    fn all_reduce(&self, values: &mut [f32]) -> Result<()> {
        self.together(|| match self.in_place {
            // SAFETY: MPI is initialized, and the elements are this function's alone.
            Some(in_place) => values.chunks_mut(LONGEST).for_each(|part| unsafe {
                ffi::MPI_Allreduce(
                    in_place as *const c_void,
                    part.as_mut_ptr().cast(),
                    part.len() as c_int,
                    f32::equivalent_datatype().as_raw(),
                    SystemOperation::sum().as_raw(),
                    self.ranks.as_raw(),
                );
            }),
            None => values.chunks_mut(LONGEST).for_each(|part| {
                let own = part.to_vec();
                self.ranks
                    .all_reduce_into(&own[..], part, SystemOperation::sum());
            }),
        });
        Ok(())
    }

    #[cfg(feature = "nccl")]
    fn sums_on_gpus(&self) -> bool {
        crate::device::num_gpus() >= self.world.local_size
    }

    #[cfg(feature = "nccl")]
    fn sums_of_tensors(&self, tensors: Vec<crate::Tensor>) -> Result<Vec<crate::Tensor>> {
        let Some(first) = tensors.first() else {
            return Ok(tensors);
        };
        let device = first.device().as_cuda_device()?;
        let mut nccl = self.nccl.lock().unwrap_or_else(PoisonError::into_inner);
        let nccl = match &mut *nccl {
            Some(nccl) => nccl,
            none => none.insert(nccl::Nccl::connect(self.world, device, |id| {
                self.broadcast(id)
            })?),
        };
        let mut sums = Ok(vec![]);
        self.together(|| {
            let queued = nccl.sums(&tensors);
            // A rank that hangs is noticed here.
            sums = first
                .device()
                .synchronize()
                .map_err(Error::from)
                .and(queued);
        });
        sums
    }

    fn broadcast(&self, bytes: &mut [u8]) -> Result<()> {
        self.together(|| {
            for part in bytes.chunks_mut(LONGEST) {
                self.ranks.process_at_rank(0).broadcast_into(part);
            }
        });
        Ok(())
    }

    fn fail(&self, error: &Error, by_all: bool) {
        let (step, advice) = place();
        let who = match (by_all, self.world.rank) {
            (false, rank) => self.name(rank),
            (true, 0) => "all ranks".to_owned(),
            // Rank 0 prints the error and ends all ranks, after it has saved a checkpoint.
            (true, _) => return std::thread::sleep(self.timeout),
        };
        end_all(&format!("{who} stopped{step}:\n{error}\n{advice}"));
    }

    fn is_asked_to_end(&self) -> bool {
        STOP.load(Ordering::Relaxed)
    }
}

impl Mpi {
    /// Makes a call that returns when all ranks have made it.
    fn together(&self, call: impl FnOnce()) {
        let _held = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        self.wait_for_all();
        self.watchdog.watch(call);
    }

    /// Waits until all ranks make the same call; ends all ranks if one does not.
    fn wait_for_all(&self) {
        let mut request = self.ranks.immediate_barrier();
        let mut waiting: Option<Waiting> = None;
        for polls in 0.. {
            match request.test() {
                Ok(_) => return,
                Err(unfinished) => request = unfinished,
            }
            // Most waits end before the clock is read.
            if polls > 20 {
                waiting.get_or_insert_with(Waiting::begin).poll(self);
            }
        }
    }

    fn name(&self, rank: usize) -> String {
        format!("rank {rank} of {} on {}", self.world.size, self.hosts[rank])
    }
}

/// A wait for other ranks that takes longer than usual.
struct Waiting {
    began: Instant,
    has_called: bool,
}

impl Waiting {
    fn begin() -> Self {
        Self {
            began: Instant::now(),
            has_called: false,
        }
    }

    fn poll(&mut self, mpi: &Mpi) {
        let waited = self.began.elapsed();
        // A rank that spins slows down the one for which it waits, where both share a core.
        match waited.as_micros() {
            ..50 => (0..50).for_each(|_| std::hint::spin_loop()),
            _ => std::thread::sleep(Duration::from_micros(20)),
        }
        // Other ranks may have ended already. Then the launcher kills this one soon, so it prints this now.
        let is_long = waited > Duration::from_millis(100);
        if is_long && STOP.load(Ordering::Relaxed) && !REPORTED.swap(true, Ordering::Relaxed) {
            let (step, advice) = place();
            let name = mpi.name(mpi.world.rank);
            eprintln!("{name} was asked to end while it waited for other ranks{step}\n{advice}");
        }
        if waited > mpi.timeout / 2 && !self.has_called {
            self.has_called = true;
            for rank in 0..mpi.ranks.size() {
                mpi.ranks
                    .process_at_rank(rank)
                    .send_with_tag(&[mpi.world.rank as u64][..], I_AM_HERE);
            }
        }
        if waited > mpi.timeout {
            self.end(mpi);
        }
    }

    /// Ends all ranks. The lowest of those that wait prints which ranks are missing.
    fn end(&self, mpi: &Mpi) {
        let mut is_here = vec![false; mpi.world.size];
        while let Some((message, _)) = mpi
            .ranks
            .any_process()
            .immediate_matched_probe_with_tag(I_AM_HERE)
        {
            let mut rank = [0u64];
            message.matched_receive_into(&mut rank[..]);
            is_here[rank[0] as usize] = true;
        }
        let missing = (0..mpi.world.size).filter(|rank| !is_here[*rank]);
        let missing: Vec<String> = missing.map(|rank| mpi.name(rank)).collect();
        if is_here.iter().position(|here| *here) < Some(mpi.world.rank) {
            // Lower ranks print it; if they cannot, this one does.
            std::thread::sleep(Duration::from_secs(2));
        }
        let (step, advice) = place();
        let (seconds, missing) = (mpi.timeout.as_secs(), missing.join(", "));
        end_all(&format!(
            "no answer{step} for {seconds} s from {missing}\n{advice}; TAPER_RANK_TIMEOUT sets the seconds to wait"
        ));
    }
}
