//! Ranks that are threads of a test.

use super::{Communicator, World};
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// The message of the error of a rank that waits when another one fails.
pub const ENDED: &str = "another rank has failed";

/// One rank of [`run`].
struct Thread {
    world: World,
    shared: Arc<Shared>,
}

struct Shared {
    barrier: Barrier,
    size: usize,
    values: Mutex<Vec<Vec<f32>>>,
    bytes: Mutex<Vec<u8>>,
    /// The step in which rank 1 is asked to end.
    end_at: usize,
    /// How often rank 1 has checked whether it is asked to end.
    looked: AtomicUsize,
}

/// A barrier that no rank leaves after one has failed, except with an error.
#[derive(Default)]
struct Barrier {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// How many ranks wait, and how often all ranks have waited.
    ranks: usize,
    rounds: usize,
    failed: bool,
}

impl Barrier {
    fn wait(&self, size: usize) -> Result<()> {
        let mut state = self.state.lock().unwrap();
        state.ranks += 1;
        let round = state.rounds;
        if state.ranks == size {
            (state.ranks, state.rounds) = (0, round + 1);
            self.changed.notify_all();
        }
        let waits = |state: &mut Waiting| state.rounds == round && !state.failed;
        let state = self.changed.wait_while(state, waits).unwrap();
        match state.rounds == round {
            true => Err(Error::msg(ENDED)),
            false => Ok(()),
        }
    }

    fn fail(&self) {
        self.state.lock().unwrap().failed = true;
        self.changed.notify_all();
    }
}

impl Shared {
    fn wait(&self) -> Result<()> {
        self.barrier.wait(self.size)
    }
}

impl Communicator for Thread {
    fn world(&self) -> World {
        self.world
    }

    fn all_reduce(&self, values: &mut [f32]) -> Result<()> {
        let World { rank, size, .. } = self.world;
        self.shared.values.lock().unwrap()[rank] = values.to_vec();
        self.shared.wait()?;
        let all = self.shared.values.lock().unwrap();
        assert!(all.iter().all(|other| other.len() == values.len()));
        values.fill(0.0);
        for other in &all[..size] {
            values.iter_mut().zip(other).for_each(|(sum, v)| *sum += v);
        }
        drop(all);
        self.shared.wait()?;
        Ok(())
    }

    fn broadcast(&self, bytes: &mut [u8]) -> Result<()> {
        if self.world.rank == 0 {
            *self.shared.bytes.lock().unwrap() = bytes.to_vec();
        }
        self.shared.wait()?;
        bytes.copy_from_slice(&self.shared.bytes.lock().unwrap());
        self.shared.wait()?;
        Ok(())
    }

    fn fail(&self, _: &Error, by_all: bool) {
        if !by_all {
            self.shared.barrier.fail();
        }
    }

    fn is_asked_to_end(&self) -> bool {
        let Shared { end_at, looked, .. } = &*self.shared;
        self.world.rank == 1 && looked.fetch_add(1, Ordering::Relaxed) + 1 >= *end_at
    }
}

/// Runs `work` on each of `size` ranks and returns their results, by rank.
pub fn run<T: Send>(size: usize, work: impl Fn(Arc<dyn Communicator>) -> T + Sync) -> Vec<T> {
    run_until(usize::MAX, size, work)
}

/// Runs `work` like [`run`], and asks rank 1 to end in the step `end_at`, counted from 1.
pub fn run_until<T: Send>(
    end_at: usize,
    size: usize,
    work: impl Fn(Arc<dyn Communicator>) -> T + Sync,
) -> Vec<T> {
    let shared = Arc::new(Shared {
        barrier: Barrier::default(),
        size,
        values: Mutex::new(vec![vec![]; size]),
        bytes: Mutex::default(),
        end_at,
        looked: AtomicUsize::new(0),
    });
    std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..size)
            .map(|rank| {
                let (shared, work) = (shared.clone(), &work);
                let world = World {
                    rank,
                    size,
                    local_rank: rank,
                    local_size: size,
                };
                // The pool's threads of all ranks together would be more than there are cores, and they
                // wait for each other without sleeping.
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                scope.spawn(move || {
                    let rank = Arc::new(Thread { world, shared });
                    pool.unwrap().install(|| work(rank))
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}
