//! What the lines of a cell took.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// The measured lines of a cell that has run. The times of the lines add up to [`nanoseconds`](Profile::nanoseconds),
/// except for code that belongs to no line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The lines that were reached, in order.
    pub lines: Vec<LineProfile>,
    /// How long the cell ran.
    pub nanoseconds: u64,
    /// How much of that the measurements took, estimated.
    pub overhead: u64,
}

/// What the statements that begin in a line took, without the lines of blocks and functions in or below them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineProfile {
    /// The line, counted from 1.
    pub line: usize,
    /// How often statements of the line began.
    pub calls: u64,
    /// How long they took, on the thread that runs the cells.
    pub nanoseconds: u64,
    /// What all threads have allocated meanwhile; `None` where that is not counted.
    pub memory: Option<Memory>,
}

/// Memory of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The number of allocations.
    pub allocations: u64,
    /// Their bytes, whether or not they were freed again.
    pub bytes: u64,
    /// The most bytes that were in use, above those at the beginning of the cell.
    pub peak: u64,
}

impl Profile {
    /// Reads the report of the process that runs the cells.
    pub(crate) fn parse(report: &str) -> Option<Profile> {
        let mut lines = report.lines();
        let mut first = lines.next()?.split(' ').map(str::parse::<u64>);
        let mut next = || first.next()?.ok();
        let (is_counted, nanoseconds, overhead) = (next()? == 1, next()?, next()?);
        let line = |text: &str| {
            let numbers: Result<Vec<i64>, _> = text.split(' ').map(str::parse).collect();
            let [line, calls, nanoseconds, allocations, bytes, peak] = numbers.ok()?[..] else {
                return None;
            };
            let memory = Memory {
                allocations: allocations as u64,
                bytes: bytes as u64,
                peak: peak.max(0) as u64,
            };
            Some(LineProfile {
                line: line as usize,
                calls: calls as u64,
                nanoseconds: nanoseconds as u64,
                memory: is_counted.then_some(memory),
            })
        };
        Some(Profile {
            lines: lines.map(line).collect::<Option<_>>()?,
            nanoseconds,
            overhead,
        })
    }
}

/// Counts the allocations of this process while a cell is profiled. The program that runs the cells calls
/// [`add`](Allocations::add) and [`remove`](Allocations::remove) in its allocator: see
/// [`Host::allocations`](crate::Host::allocations).
///
/// ```
/// static ALLOCATIONS: taper_engine::Allocations = taper_engine::Allocations::new();
///
/// assert!(!ALLOCATIONS.is_counting());
/// ALLOCATIONS.add(100);
/// ALLOCATIONS.remove(100);
/// ```
#[repr(C)]
#[derive(Debug, Default)]
pub struct Allocations {
    // `../profile.rs` has the same type, with the same fields.
    is_counting: AtomicU64,
    count: AtomicU64,
    bytes: AtomicU64,
    in_use: AtomicI64,
    peak: AtomicI64,
}

impl Allocations {
    /// Returns counters that do not count yet.
    pub const fn new() -> Allocations {
        Allocations {
            is_counting: AtomicU64::new(0),
            count: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            in_use: AtomicI64::new(0),
            peak: AtomicI64::new(0),
        }
    }

    /// Returns whether a cell is profiled.
    #[inline]
    pub fn is_counting(&self) -> bool {
        self.is_counting.load(Relaxed) != 0
    }

    /// Stops counting.
    pub fn stop(&self) {
        self.is_counting.store(0, Relaxed);
    }

    /// Counts an allocation of this many bytes.
    pub fn add(&self, bytes: usize) {
        self.count.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
        let before = self.in_use.fetch_add(bytes as i64, Relaxed);
        self.peak.fetch_max(before + bytes as i64, Relaxed);
    }

    /// Counts that this many bytes were freed.
    pub fn remove(&self, bytes: usize) {
        self.in_use.fetch_sub(bytes as i64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let profile = Profile::parse("1 900 30\n2 4 500 3 64 -5\n").expect("it is valid");
        assert_eq!((profile.nanoseconds, profile.overhead), (900, 30));
        let memory = Memory {
            allocations: 3,
            bytes: 64,
            peak: 0,
        };
        assert_eq!(profile.lines[0].memory, Some(memory));
        let profile = Profile::parse("0 900 30\n2 4 500 0 0 0\n").expect("it is valid");
        assert_eq!(profile.lines[0].memory, None);
        assert_eq!(Profile::parse("1 900\n"), None);
    }

    #[test]
    fn the_peak_is_the_most_that_was_in_use() {
        let allocations = Allocations::new();
        allocations.add(10);
        allocations.add(20);
        allocations.remove(10);
        allocations.add(5);
        assert_eq!(allocations.peak.load(Relaxed), 30);
        assert_eq!(allocations.in_use.load(Relaxed), 25);
        assert_eq!(allocations.count.load(Relaxed), 3);
    }
}
