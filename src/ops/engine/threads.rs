//! Work shared among the cores.

use super::shared::written;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` for each task below `count`, on the calling thread and on those of Candle, which wait
/// awake for the next call before they sleep: a training step has dozens of calls, and to wake a
/// thread takes as long as many of them.
///
/// `work` must not compute with tensors: Candle's operations use the same threads.
pub(in crate::ops) fn for_each_task(count: usize, work: impl Fn(usize) + Sync) {
    // Also inside a pool of one thread: tests compare with it.
    if count <= 1 || rayon::current_num_threads() == 1 {
        return (0..count).for_each(work);
    }
    let next = AtomicUsize::new(0);
    let take = || {
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                task if task < count => work(task),
                _ => break,
            }
        }
    };
    let pool = candle_core::utils::barrier_pool();
    let (caller, finished) = (pool.n_workers(), AtomicUsize::new(0));
    // A panic of the calling thread would leave the pool locked for good.
    let panic = Mutex::new(None);
    pool.execute(|thread| {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(take)) {
            *panic.lock().unwrap_or_else(|error| error.into_inner()) = Some(payload);
        }
        match thread == caller {
            true => wait_until(|| finished.load(Ordering::Acquire) == caller),
            false => _ = finished.fetch_add(1, Ordering::Release),
        }
    });
    if let Some(payload) = panic
        .into_inner()
        .unwrap_or_else(|error| error.into_inner())
    {
        resume_unwind(payload);
    }
}

/// So often a thread looks before it gives way.
const LOOKS: usize = 1000;

/// Waits without sleeping, but lets others go first: where the cores have other work, such as a second
/// kernel's, the thread that is waited for may have to get one. The pool's own wait holds on to its core.
fn wait_until(is_so: impl Fn() -> bool) {
    let mut looks = 0;
    while !is_so() {
        looks += 1;
        match looks < LOOKS {
            true => std::hint::spin_loop(),
            false => std::thread::yield_now(),
        }
    }
}

/// What `work` gives for each task below `count`, in their order.
pub(in crate::ops) fn map_tasks<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    // SAFETY: each task writes its own result.
    unsafe {
        written(count, |results| {
            for_each_task(count, |task| {
                results.part(task, 1)[0].write(work(task));
            });
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_done_once() {
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
    fn several_threads_may_call_at_once() {
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
