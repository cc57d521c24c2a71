//! Tasks on all cores.

mod backoff;
mod pool;
mod share;

use crate::shared_slice::vec_filled_by;
use backoff::Backoff;
use pool::Pool;
pub use share::share_threads;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Instant;

/// The least number of parts in which a thread takes its tasks, if it has that many tasks. Taking small tasks one by
/// one would take longer than the tasks themselves.
const PARTS: usize = 32;

static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::new(threads() - 1));

/// How late the threads of the pool were.
static BACKOFF: Backoff = Backoff::new();

/// Returns the number of threads: what `RAYON_NUM_THREADS` says, or the number of cores that the process may use, without
/// those that share a core.
fn threads() -> usize {
    let set = std::env::var("RAYON_NUM_THREADS").ok();
    let set = set.and_then(|text| text.parse().ok());
    set.filter(|count| *count > 0)
        .unwrap_or_else(|| num_cpus::get_physical().min(num_cpus::get()))
}

/// Calls `work` with each task index below `count`, on all threads, or on the calling thread alone while other
/// processes keep the others from running; in [`share_threads`], on its share of the cores.
///
/// `work` must not call this function: the inner call would wait for the outer one.
pub fn for_each_task(count: usize, work: impl Fn(usize) + Sync) {
    run(count, &work);
}

/// Does the same as [`for_each_task`] without generics, so that it is compiled only once. Compared with a task, an
/// indirect call takes no time.
fn run(count: usize, work: &(dyn Fn(usize) + Sync)) {
    if count <= 1 {
        return (0..count).for_each(work);
    }
    if let Some(pool) = share::of_this_thread() {
        run_on(&pool, count, work);
        return;
    }
    // Rayon's thread count is used, so that a test can request one thread by a Rayon pool of one.
    if rayon::current_num_threads() == 1 || BACKOFF.is_active(Instant::now()) {
        return (0..count).for_each(work);
    }
    let [began, waits] = run_on(&POOL, count, work);
    BACKOFF.record(waits - began, waits, Instant::now());
}

/// Returns the times at which the calling thread began, and at which it began to wait for the others.
fn run_on(pool: &Pool, count: usize, work: &(dyn Fn(usize) + Sync)) -> [Instant; 2] {
    let queues = Queues::new(count, pool.threads());
    let panic = Mutex::new(None);
    let times = pool.run(count - 1, &|thread| {
        let take = AssertUnwindSafe(|| queues.take(thread, work));
        if let Err(payload) = catch_unwind(take) {
            *panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(payload);
        }
    });
    let panic = panic.into_inner();
    if let Some(payload) = panic.unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(payload);
    }
    times
}

/// The tasks of each thread. If the next kernel has as many tasks, a thread takes those with the same indices again:
/// the elements that it computed are in its cache.
struct Queues {
    queues: Vec<Queue>,
    /// How many tasks a thread takes at once.
    together: usize,
}

/// A range of tasks. Other threads take tasks from it when they have finished their own.
#[repr(align(64))] // a cache line, so that threads do not wait for each other's queue
struct Queue {
    next: AtomicUsize,
    end: usize,
}

impl Queues {
    fn new(count: usize, threads: usize) -> Self {
        let queue = |thread: usize| Queue {
            next: AtomicUsize::new(thread * count / threads),
            end: (thread + 1) * count / threads,
        };
        Queues {
            queues: (0..threads).map(queue).collect(),
            together: (count / (threads * PARTS)).max(1),
        }
    }

    /// Calls `work` with tasks until none is left.
    fn take(&self, thread: usize, work: &(dyn Fn(usize) + Sync)) {
        let (before, own) = self.queues.split_at(thread);
        for queue in own.iter().chain(before) {
            loop {
                let first = queue.next.fetch_add(self.together, Ordering::Relaxed);
                if first >= queue.end {
                    break;
                }
                (first..queue.end.min(first + self.together)).for_each(work);
            }
        }
    }
}

/// Returns the results of `work` for each task index below `count`, in this order.
pub fn map_tasks<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    // SAFETY: each index below `count` is one task, which initialises its own result.
    unsafe {
        vec_filled_by(count, |results| {
            for_each_task(count, |task| {
                results.part(task, 1)[0].write(work(task));
            });
        })
    }
}

/// Returns the results of `work` for each chunk of `size` values, in this order.
pub fn map_chunks<T: Sync, R: Send>(
    values: &[T],
    size: usize,
    work: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    map_tasks(values.len().div_ceil(size), |i| {
        work(&values[i * size..((i + 1) * size).min(values.len())])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once() {
        for count in [0, 1, 2, 7, 1000] {
            let results = map_tasks(count, |task| format!("{task}"));
            let wanted: Vec<String> = (0..count).map(|task| format!("{task}")).collect();
            assert_eq!(results, wanted);
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_next_call_works() {
        for task in [0, 99] {
            let caught = catch_unwind(|| {
                for_each_task(100, |i| assert_ne!(i, task, "as planned"));
            });
            assert!(caught.is_err());
            assert_eq!(map_tasks(3, |task| task), [0, 1, 2]);
        }
    }

    #[test]
    fn several_threads_can_call_at_once() {
        std::thread::scope(|scope| {
            for caller in 0..4 {
                scope.spawn(move || {
                    for _ in 0..100 {
                        let sum: usize = map_tasks(10, |task| task + caller).iter().sum();
                        assert_eq!(sum, 45 + 10 * caller);
                    }
                });
            }
        });
    }
}
