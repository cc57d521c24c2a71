//! Backoff: for how long the calling thread computes alone after the others were late.
//!
//! A call ends when the threads that take part have finished. If other processes use the cores, such a thread may be
//! interrupted for some milliseconds, which is a hundred times as long as a kernel of a small network. A caller that has
//! waited so long computes alone for a while, twice as long as the wait, so the waits are a third of the time at most. If the
//! threads are late again soon, the next time alone is twice as long as the last.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A shorter wait does not point to other processes.
const SHORT: Duration = Duration::from_micros(200);
/// A wait that is a smaller multiple of the caller's own work may be for the others' last tasks.
const MULTIPLE: u32 = 4;
/// The longest time alone.
const LONGEST: Duration = Duration::from_millis(400);

/// When the program began to compute: times are stored as nanoseconds after it.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

pub(super) struct Backoff {
    until: AtomicU64,
    /// How long the last time alone was.
    last: AtomicU64,
}

impl Backoff {
    pub(super) const fn new() -> Self {
        Backoff {
            until: AtomicU64::new(0),
            last: AtomicU64::new(0),
        }
    }

    /// Returns whether a call that begins now should not wait for other threads.
    pub(super) fn is_active(&self, now: Instant) -> bool {
        nanoseconds(now) < self.until.load(Relaxed)
    }

    /// Records that a caller has worked for some time, and then waited for the threads of the pool.
    pub(super) fn record(&self, worked: Duration, waits: Instant, ends: Instant) {
        let waited = ends.saturating_duration_since(waits);
        if waited < SHORT || waited < worked * MULTIPLE {
            return;
        }
        let last = self.last.load(Relaxed);
        // For how long the threads were in time after the last time alone.
        let in_time = nanoseconds(waits).saturating_sub(self.until.load(Relaxed));
        let last = Duration::from_nanos(if in_time > last { 0 } else { last });
        let alone = (2 * waited.max(last)).min(LONGEST);
        self.last.store(alone.as_nanos() as u64, Relaxed);
        self.until.store(nanoseconds(ends + alone), Relaxed);
    }
}

fn nanoseconds(time: Instant) -> u64 {
    time.saturating_duration_since(*BEGAN).as_nanos() as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: Duration = Duration::from_micros(20);
    const WAIT: Duration = Duration::from_millis(3);

    #[test]
    fn a_long_wait_is_followed_by_twice_its_time_alone() {
        let (backoff, begin) = (Backoff::new(), *BEGAN);
        backoff.record(WORK, begin, begin + WORK);
        assert!(!backoff.is_active(begin + WORK));
        let end = begin + WAIT;
        backoff.record(WORK, begin, end);
        assert!(backoff.is_active(end));
        assert!(backoff.is_active(end + WAIT));
        assert!(!backoff.is_active(end + 2 * WAIT));
    }

    #[test]
    fn the_time_alone_doubles_while_the_threads_are_late_again() {
        let (backoff, mut now) = (Backoff::new(), *BEGAN);
        let mut alone = 2 * WAIT;
        while alone < LONGEST {
            backoff.record(WORK, now, now + WAIT);
            now += WAIT + alone;
            assert!(backoff.is_active(now - WORK) && !backoff.is_active(now));
            alone *= 2;
        }
        backoff.record(WORK, now, now + WAIT);
        now += WAIT + LONGEST;
        assert!(backoff.is_active(now - WORK) && !backoff.is_active(now));
        now += 2 * LONGEST;
        backoff.record(WORK, now, now + WAIT);
        assert!(!backoff.is_active(now + 3 * WAIT));
    }

    #[test]
    fn waiting_for_large_tasks_is_no_sign() {
        let (backoff, begin) = (Backoff::new(), *BEGAN);
        backoff.record(WAIT, begin, begin + 3 * WAIT);
        assert!(!backoff.is_active(begin + 3 * WAIT));
    }
}
