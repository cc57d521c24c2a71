//! Work shared among the cores.

use super::shared::written;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` for each task below `count`. The calling thread takes its share: what is small is
/// done before another thread has woken up.
pub(crate) fn for_each_task(count: usize, work: impl Fn(usize) + Sync) {
    let threads = rayon::current_num_threads().min(count);
    if threads <= 1 {
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
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| take());
        }
        take();
    });
}

/// What `work` gives for each task below `count`, in their order.
pub(crate) fn map_tasks<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
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
    fn a_panic_reaches_the_caller() {
        for task in [0, 99] {
            let caught = std::panic::catch_unwind(|| {
                for_each_task(100, |i| assert_ne!(i, task, "as planned"));
            });
            assert!(caught.is_err());
        }
    }
}
