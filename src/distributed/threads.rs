//! Ranks that are threads of a test.

use super::{Communicator, World};
use candle_core::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

/// One rank of [`run`].
struct Thread {
    world: World,
    shared: Arc<Shared>,
}

struct Shared {
    barrier: Barrier,
    values: Mutex<Vec<Vec<f32>>>,
    bytes: Mutex<Vec<u8>>,
    /// The step in which rank 1 is asked to end.
    end_at: usize,
    /// How often rank 1 has checked whether it is asked to end.
    looked: AtomicUsize,
}

impl Communicator for Thread {
    fn world(&self) -> World {
        self.world
    }

    fn all_reduce(&self, values: &mut [f32]) -> Result<()> {
        let World { rank, size, .. } = self.world;
        self.shared.values.lock().unwrap()[rank] = values.to_vec();
        self.shared.barrier.wait();
        let all = self.shared.values.lock().unwrap();
        assert!(all.iter().all(|other| other.len() == values.len()));
        values.fill(0.0);
        for other in &all[..size] {
            values.iter_mut().zip(other).for_each(|(sum, v)| *sum += v);
        }
        drop(all);
        self.shared.barrier.wait();
        Ok(())
    }

    fn broadcast(&self, bytes: &mut [u8]) -> Result<()> {
        if self.world.rank == 0 {
            *self.shared.bytes.lock().unwrap() = bytes.to_vec();
        }
        self.shared.barrier.wait();
        bytes.copy_from_slice(&self.shared.bytes.lock().unwrap());
        self.shared.barrier.wait();
        Ok(())
    }

    fn fail(&self, _: &Error, _: bool) {}

    fn is_asked_to_end(&self) -> bool {
        let Shared { end_at, looked, .. } = &*self.shared;
        self.world.rank == 1 && looked.fetch_add(1, Ordering::Relaxed) + 1 >= *end_at
    }
}

/// Runs `work` on each of `size` ranks and returns their results, by rank.
pub(crate) fn run<T: Send>(
    size: usize,
    work: impl Fn(Arc<dyn Communicator>) -> T + Sync,
) -> Vec<T> {
    run_until(usize::MAX, size, work)
}

/// Runs `work` like [`run`], and asks rank 1 to end in the step `end_at`, counted from 1.
pub(crate) fn run_until<T: Send>(
    end_at: usize,
    size: usize,
    work: impl Fn(Arc<dyn Communicator>) -> T + Sync,
) -> Vec<T> {
    let shared = Arc::new(Shared {
        barrier: Barrier::new(size),
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
