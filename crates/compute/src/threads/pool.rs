//! The threads that compute with the calling thread.
//!
//! They stay awake for a while after a job: a training step has dozens of jobs, many of which take less time than waking
//! a thread. A thread that comes late finds the job closed, so that the caller waits only for threads that take part.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Instant;

/// How often a thread looks for a job before it sleeps.
const LOOKS: usize = 25_000;
/// How often the caller looks whether a thread has finished before it yields.
const SPINS: usize = 1000;

/// The bit of [`Shared::state`] that says whether a job is open.
const OPEN: usize = 1;
/// What each thread in a job, or about to look for one, adds to [`Shared::state`].
const THREAD: usize = 2;

/// What each thread that takes part calls with its index, perhaps twice.
type Job<'a> = &'a (dyn Fn(usize) + Sync);

pub(super) struct Pool {
    threads: Vec<Thread>,
    shared: Arc<Shared>,
    /// Locked while a job runs: there is one at a time.
    caller: Mutex<()>,
}

struct Shared {
    /// How many computations share the cores now, and need those on which these threads would stay awake.
    shares: AtomicUsize,
    /// The number of jobs so far, by which the threads notice a new one.
    jobs: AtomicUsize,
    state: AtomicUsize,
    /// The open job, on the stack of its caller.
    job: AtomicPtr<Job<'static>>,
}

impl Pool {
    /// Starts `count` threads, or as many as the system allows.
    pub(super) fn new(count: usize) -> Self {
        let shared = Arc::new(Shared {
            shares: AtomicUsize::new(0),
            jobs: AtomicUsize::new(0),
            state: AtomicUsize::new(0),
            job: AtomicPtr::default(),
        });
        let start = |index| {
            let shared = Arc::clone(&shared);
            let named = thread::Builder::new().name(format!("taper-{index}"));
            let started = named.spawn(move || shared.serve(index));
            started.map(|started| started.thread().clone()).ok()
        };
        Pool {
            threads: (0..count).map_while(start).collect(),
            shared: Arc::clone(&shared),
            caller: Mutex::new(()),
        }
    }

    /// Returns the number of threads, with the calling thread. Its index is the last one.
    pub(super) fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// Lets the threads sleep at once after a job, until [`unshare`](Self::unshare) was called as often.
    pub(super) fn share(&self) {
        self.shared.shares.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn unshare(&self) {
        self.shared.shares.fetch_sub(1, Ordering::Relaxed);
    }

    /// Calls `job` on the calling thread, and on each other thread that comes before it returns. At most `most`
    /// threads are woken. Returns the times at which the caller began, and at which it began to wait for the others.
    pub(super) fn run(&self, most: usize, job: Job) -> [Instant; 2] {
        let _alone = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        let open = self.shared.open(&job);
        for thread in self.threads.iter().take(most) {
            thread.unpark();
        }
        job(self.threads.len());
        let waits = Instant::now();
        drop(open);
        [began, waits]
    }
}

impl Shared {
    /// Opens a job until what this returns is dropped.
    fn open<'a>(&'a self, job: &'a Job<'a>) -> Open<'a> {
        let job = std::ptr::from_ref(job).cast_mut().cast();
        self.job.store(job, Ordering::Relaxed);
        self.state.fetch_or(OPEN, Ordering::Release);
        self.jobs.fetch_add(1, Ordering::Release);
        Open(self)
    }

    /// Takes part in all jobs.
    fn serve(&self, index: usize) {
        let (mut seen, mut looks) = (0, 0);
        loop {
            match self.jobs.load(Ordering::Acquire) {
                jobs if jobs != seen => {
                    (seen, looks) = (jobs, 0);
                    self.take_part(index);
                }
                _ if looks < LOOKS && self.shares.load(Ordering::Relaxed) == 0 => {
                    looks += 1;
                    std::hint::spin_loop();
                }
                // A job that begins before this line has left a token, with which `park` returns at once.
                _ => {
                    looks = 0;
                    thread::park();
                }
            }
        }
    }

    /// Takes part in a job, if one is open.
    fn take_part(&self, index: usize) {
        if self.state.fetch_add(THREAD, Ordering::Acquire) & OPEN != 0 {
            // SAFETY: `open` has stored a reference. It is valid until `Open` is dropped, which waits for this thread:
            // it has entered the state while the job was open.
            let job = unsafe { *self.job.load(Ordering::Relaxed) };
            job(index);
        }
        self.state.fetch_sub(THREAD, Ordering::Release);
    }
}

/// An open job. Dropping it closes the job and waits for the threads in it.
struct Open<'a>(&'a Shared);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let state = &self.0.state;
        state.fetch_and(!OPEN, Ordering::Relaxed);
        let mut spins = 0;
        while state.load(Ordering::Acquire) != 0 {
            spins += 1;
            match spins < SPINS {
                true => std::hint::spin_loop(),
                // If other processes use the cores as well, the awaited thread may need the core of this one.
                false => thread::yield_now(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn the_caller_takes_part_and_no_thread_enters_afterwards() {
        let pool = Pool::new(3);
        for _ in 0..if cfg!(miri) { 20 } else { 2000 } {
            let calls = [const { AtomicUsize::new(0) }; 4];
            pool.run(3, &|index| _ = calls[index].fetch_add(1, Ordering::Relaxed));
            let calls = calls.map(AtomicUsize::into_inner);
            assert_eq!(calls[3], 1);
        }
    }

    #[test]
    fn threads_that_sleep_at_once_come_to_every_job() {
        let pool = Pool::new(1);
        pool.share();
        for _ in 0..100 {
            let called = AtomicUsize::new(0);
            pool.run(1, &|index| match index {
                0 => _ = called.fetch_add(1, Ordering::Relaxed),
                _ => {
                    while called.load(Ordering::Relaxed) == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
        pool.unshare();
    }

    #[test]
    fn a_panic_of_the_caller_closes_the_job() {
        let pool = Pool::new(2);
        let job: Job = &|index| assert_ne!(index, 2, "as planned");
        let run = AssertUnwindSafe(|| pool.run(2, job));
        assert!(catch_unwind(run).is_err());
        let called = AtomicUsize::new(0);
        pool.run(2, &|_| _ = called.fetch_add(1, Ordering::Relaxed));
        assert!(called.into_inner() > 0);
    }
}
