//! Returns freed memory to the system, so that an idle kernel holds little more than it uses.
//!
//! The analysis of a cell frees most of what it allocates, and gaps remain between the blocks that it
//! keeps. glibc's allocator fills such gaps and returns the whole pages in them to the system. With
//! mimalloc, a cell takes about a quarter less time, but the kernel held twice as much memory
//! (`benches/kernel`). Other systems' allocators are left as they are.

use crossbeam_channel::{Receiver, Sender, unbounded};
use std::thread;
use std::time::Duration;

/// How long no analysis runs before memory is returned: cells that follow each other at once need it
/// again.
const IDLE: Duration = Duration::from_millis(500);

/// Makes all threads allocate from one arena, so that they fill the same gaps. Must be called before
/// another thread starts: a thread that exists keeps its own arena.
pub(crate) fn share() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call sets a parameter of the allocator, under the allocator's lock.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// The handle of a thread that returns freed memory to the system when no analysis has run for a while.
/// The thread ends when the handle is dropped.
pub(crate) struct Heap(Sender<bool>);

/// Marks an analysis as running until it is dropped.
pub(crate) struct Busy(Sender<bool>);

impl Heap {
    pub(crate) fn start() -> Heap {
        let (sender, changes) = unbounded();
        thread::spawn(move || trim_after(&changes, trim));
        Heap(sender)
    }

    pub(crate) fn busy(&self) -> Busy {
        let _ = self.0.send(true);
        Busy(self.0.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.send(false);
    }
}

/// Calls `trim` when an analysis has ended (`false`) and none begins soon (`true`).
fn trim_after(changes: &Receiver<bool>, mut trim: impl FnMut()) {
    while let Ok(mut is_busy) = changes.recv() {
        loop {
            let next = match is_busy {
                true => changes.recv().ok(),
                false => changes.recv_timeout(IDLE).ok(),
            };
            match next {
                Some(change) => is_busy = change,
                None => break,
            }
        }
        trim();
    }
}

fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: any thread may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_returned_after_a_cell_and_not_within() {
        let (sender, changes) = unbounded();
        let heap = Heap(sender);
        let (trimmed, times) = unbounded();
        let returned = move || {
            let _ = trimmed.send(());
        };
        thread::spawn(move || trim_after(&changes, returned));
        drop(heap.busy());
        times.recv().expect("it is returned");
        let _running = heap.busy();
        assert!(times.recv_timeout(3 * IDLE).is_err());
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn pages_between_blocks_that_are_kept_are_returned() {
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
            let pages = status.split(' ').nth(1).expect("the second number");
            pages.parse::<usize>().expect("a number") * 4096
        };
        // Less than what glibc returns by itself, 64 MB in all, with a kept block between each two.
        let blocks: Vec<Vec<u8>> = (0..2048).map(|_| vec![1; 32 << 10]).collect();
        let (_kept, freed): (Vec<_>, Vec<_>) = blocks
            .into_iter()
            .enumerate()
            .partition(|(number, _)| number % 8 == 0);
        let before = resident();
        drop(freed);
        trim();
        let returned = before.saturating_sub(resident());
        assert!(returned > 32 << 20, "{returned} bytes were returned");
    }
}
