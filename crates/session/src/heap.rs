//! Keeps a session's memory small: a kernel whose student only reads holds little more than it uses.
//!
//! The analysis of a cell frees most of what it allocates, and gaps remain between the blocks that it keeps.
//! glibc's allocator fills such gaps and returns the whole pages in them to the system. mimalloc, which takes 0.1 s
//! less of a start, held twice as much. Other systems' allocators are left as they are.

use crossbeam_channel::{Receiver, Sender, unbounded};
use std::thread;
use std::time::Duration;

/// Cells that follow each other at once need the memory again.
const IDLE: Duration = Duration::from_millis(500);

/// Lets all threads fill the same gaps. Call it before there is another thread: those that exist keep
/// gaps of their own.
pub(crate) fn share() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets a number of the allocator, under its lock.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Starts a thread that returns freed memory to the system after each message, unless another one follows
/// soon. It ends with the sender.
pub(crate) fn trimmer() -> Sender<()> {
    let (sender, cells) = unbounded();
    thread::spawn(move || trim_after(&cells, trim));
    sender
}

fn trim_after(cells: &Receiver<()>, mut trim: impl FnMut()) {
    while cells.recv().is_ok() {
        while cells.recv_timeout(IDLE).is_ok() {}
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
    fn cells_in_a_row_are_one_reason_to_trim() {
        let (sender, cells) = unbounded();
        for _ in 0..3 {
            sender.send(()).expect("the receiver is there");
        }
        drop(sender);
        let mut trimmed = 0;
        trim_after(&cells, || trimmed += 1);
        assert_eq!(trimmed, 1);
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
