//! A share of the cores, for computations that run at the same time, such as the replicas of a model on the CPU. Without
//! it, each of them would divide its tasks among all cores, and wait at each kernel for threads that compute for another.

use super::Queues;
use candle_core::utils::barrier_pool;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    static SHARE: RefCell<Option<Arc<Share>>> = const { RefCell::new(None) };
}

/// The shares that no thread uses now, with their threads: to start these takes longer than a small step.
static IDLE: Mutex<Vec<Arc<Share>>> = Mutex::new(Vec::new());

/// The threads of one computation.
pub(super) struct Share {
    /// All threads with the calling one.
    threads: usize,
    /// The others.
    pool: Option<ThreadPool>,
}

impl Share {
    /// Returns the share of the calling thread, if it has one.
    pub(super) fn of_this_thread() -> Option<Arc<Self>> {
        SHARE.with_borrow(Clone::clone)
    }

    /// Returns a share of this many threads; of one if the system starts no more.
    fn of(threads: usize) -> Arc<Self> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = idle.iter().position(|share| share.threads == threads) {
            return idle.swap_remove(at);
        }
        let others = ThreadPoolBuilder::new().num_threads(threads - 1);
        let pool = (threads > 1).then(|| others.build()).and_then(Result::ok);
        let threads = if pool.is_some() { threads } else { 1 };
        Arc::new(Self { threads, pool })
    }

    /// Calls `work` with each task index below `count`, on these threads.
    pub(super) fn run(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        let Some(pool) = self.pool.as_ref().filter(|_| count > 1) else {
            return (0..count).for_each(work);
        };
        let queues = &Queues::new(count, self.threads);
        pool.in_place_scope(|scope: &Scope<'_>| {
            for thread in 1..self.threads {
                scope.spawn(move |_| queues.take(thread, work));
            }
            queues.take(0, work);
        });
    }
}

/// Runs `work`, one of several computations at the same time, on the calling thread and its share of the cores.
pub(crate) fn share_threads<R>(computations: usize, work: impl FnOnce() -> R) -> R {
    /// Takes the share from the thread, also after a panic.
    struct End(Option<Arc<Share>>);

    impl Drop for End {
        fn drop(&mut self) {
            if let Some(share) = SHARE.replace(self.0.take()) {
                let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
                idle.push(share);
            }
        }
    }

    if computations <= 1 {
        return work();
    }
    let all = match Share::of_this_thread() {
        Some(share) => share.threads,
        None => (barrier_pool().n_workers() + 1).min(rayon::current_num_threads()),
    };
    let _end = End(SHARE.replace(Some(Share::of((all / computations).max(1)))));
    work()
}

#[cfg(test)]
mod tests {
    use super::super::{for_each_task, map_tasks};
    use super::*;
    use std::panic::catch_unwind;
    use std::thread::{ThreadId, current};

    fn threads_of_tasks() -> Vec<ThreadId> {
        map_tasks(100, |_| current().id())
    }

    #[test]
    fn one_of_many_computations_has_the_calling_thread_alone() {
        share_threads(usize::MAX, || {
            assert!(threads_of_tasks().iter().all(|id| *id == current().id()));
        });
        assert!(Share::of_this_thread().is_none());
    }

    #[test]
    fn every_task_runs_once_on_each_number_of_threads() {
        for threads in [1, 2, 3, 5] {
            let share = Share::of(threads);
            for count in [0, 1, 2, 7, 1000] {
                let done: Vec<Mutex<usize>> = (0..count).map(|_| Mutex::new(0)).collect();
                share.run(count, &|task| *done[task].lock().unwrap() += 1);
                let done = done.iter().map(|done| *done.lock().unwrap());
                assert!(done.eq(std::iter::repeat_n(1, count)));
            }
        }
    }

    #[test]
    fn a_share_ends_after_a_panic_too() {
        for task in [0, 99] {
            let share = Share::of(3);
            let failing = || share.run(100, &|i| assert_ne!(i, task, "as planned"));
            assert!(catch_unwind(std::panic::AssertUnwindSafe(failing)).is_err());
            share.run(3, &|_| {});
        }
        let failing = || share_threads(2, || for_each_task(9, |i| assert_ne!(i, 8, "as planned")));
        assert!(catch_unwind(failing).is_err());
        assert!(Share::of_this_thread().is_none());
    }

    #[test]
    fn a_share_of_a_share_is_not_larger() {
        let threads = || Share::of_this_thread().map(|share| share.threads);
        share_threads(2, || {
            let outer = threads().expect("a share");
            share_threads(2, || assert!(threads() <= Some(outer)));
            assert_eq!(threads(), Some(outer));
        });
    }
}
