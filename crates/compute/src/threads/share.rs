//! A share of the cores, for computations that run at the same time, such as the replicas of a model on the CPU. Without
//! it, each of them would divide its tasks among all cores, and wait at each kernel for threads that compute for another.

use super::POOL;
use super::pool::Pool;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    static SHARE: RefCell<Option<Arc<Pool>>> = const { RefCell::new(None) };
}

/// The pools that no thread uses now: to start their threads takes longer than a small step.
static IDLE: Mutex<Vec<Arc<Pool>>> = Mutex::new(Vec::new());

/// Returns the pool of the calling thread, if it has one of its own.
pub(super) fn of_this_thread() -> Option<Arc<Pool>> {
    SHARE.with_borrow(Clone::clone)
}

/// Returns a pool of this many threads, the calling one included.
fn pool_of(threads: usize) -> Arc<Pool> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    match idle.iter().position(|pool| pool.threads() == threads) {
        Some(at) => idle.swap_remove(at),
        None => Arc::new(Pool::new(threads - 1)),
    }
}

/// Runs `work`, one of several computations at the same time, on the calling thread and its share of the cores.
pub fn share_threads<R>(computations: usize, work: impl FnOnce() -> R) -> R {
    /// Takes the share from the thread, also after a panic.
    struct End(Option<Arc<Pool>>);

    impl Drop for End {
        fn drop(&mut self) {
            POOL.unshare();
            if let Some(pool) = SHARE.replace(self.0.take()) {
                let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
                idle.push(pool);
            }
        }
    }

    if computations <= 1 {
        return work();
    }
    let all = match of_this_thread() {
        Some(pool) => pool.threads(),
        None => POOL.threads().min(rayon::current_num_threads()),
    };
    POOL.share();
    let _end = End(SHARE.replace(Some(pool_of((all / computations).max(1)))));
    work()
}

#[cfg(test)]
mod tests {
    use super::super::{for_each_task, map_tasks, run_on};
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread::{ThreadId, current};

    fn threads_of_tasks() -> Vec<ThreadId> {
        map_tasks(100, |_| current().id())
    }

    #[test]
    fn one_of_many_computations_has_the_calling_thread_alone() {
        share_threads(usize::MAX, || {
            assert!(threads_of_tasks().iter().all(|id| *id == current().id()));
        });
        assert!(of_this_thread().is_none());
    }

    #[test]
    fn every_task_runs_once_on_each_number_of_threads() {
        for threads in [1, 2, 3, 5] {
            let pool = pool_of(threads);
            for count in [1, 2, 7, 1000] {
                let done: Vec<Mutex<usize>> = (0..count).map(|_| Mutex::new(0)).collect();
                run_on(&pool, count, &|task| *done[task].lock().unwrap() += 1);
                let done = done.iter().map(|done| *done.lock().unwrap());
                assert!(done.eq(std::iter::repeat_n(1, count)));
            }
        }
    }

    #[test]
    fn a_share_ends_after_a_panic_too() {
        for task in [0, 99] {
            let pool = pool_of(3);
            let failing = || run_on(&pool, 100, &|i| assert_ne!(i, task, "as planned"));
            assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
            run_on(&pool, 3, &|_| {});
        }
        let failing = || share_threads(2, || for_each_task(9, |i| assert_ne!(i, 8, "as planned")));
        assert!(catch_unwind(failing).is_err());
        assert!(of_this_thread().is_none());
    }

    #[test]
    fn a_share_of_a_share_is_not_larger() {
        let threads = || of_this_thread().map(|pool| pool.threads());
        share_threads(2, || {
            let outer = threads().expect("a share");
            share_threads(2, || assert!(threads() <= Some(outer)));
            assert_eq!(threads(), Some(outer));
        });
    }
}
