//! Measures the lines of a cell that is profiled.
//!
//! The engine writes calls into such a cell: [`line`] before each statement, and [`block`] at the start of each block.
//! At the end of a block, the line that contains it continues. The time and the memory between two calls count for the
//! line of the first call. Only the thread that runs the cells is measured; memory is counted for all threads.

use std::cell::RefCell;
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// How often the cost of a measurement is measured.
const CALIBRATION: u32 = 1000;

/// What the process has allocated, counted by the program that loads the cells.
#[repr(C)]
pub struct Allocations {
    /// Whether it counts.
    pub is_counting: AtomicU64,
    /// The number of allocations.
    pub count: AtomicU64,
    /// Their bytes.
    pub bytes: AtomicU64,
    /// The bytes that are in use, relative to the beginning.
    pub in_use: AtomicI64,
    /// The most bytes that were in use since this was set.
    pub peak: AtomicI64,
}

static ALLOCATIONS: OnceLock<&'static Allocations> = OnceLock::new();

/// Sets where allocations are counted.
#[unsafe(no_mangle)]
pub extern "C" fn taper_support_count(allocations: &'static Allocations) {
    let _ = ALLOCATIONS.set(allocations);
}

thread_local! {
    static PROFILE: RefCell<Option<Profile>> = const { RefCell::new(None) };
}

/// What a line took so far.
#[derive(Clone, Default)]
struct Line {
    calls: u64,
    nanoseconds: u64,
    allocations: u64,
    bytes: u64,
    peak: i64,
}

/// The measurement of a cell.
struct Profile {
    /// The first entry is for code that belongs to no line.
    lines: Vec<Line>,
    current: usize,
    /// When the current line began or continued.
    since: Instant,
    /// The allocations and their bytes at that time.
    allocated: (u64, u64),
    measurements: u64,
}

impl Profile {
    fn new(count: usize) -> Profile {
        Profile {
            lines: vec![Line::default(); count + 1],
            current: 0,
            since: Instant::now(),
            allocated: (0, 0),
            measurements: 0,
        }
    }

    /// Ends the current line, and goes on with another one.
    fn go_on(&mut self, line: usize) {
        let now = Instant::now();
        let current = &mut self.lines[self.current];
        current.nanoseconds += now.duration_since(self.since).as_nanos() as u64;
        if let Some(memory) = ALLOCATIONS.get() {
            let allocated = (memory.count.load(Relaxed), memory.bytes.load(Relaxed));
            current.allocations += allocated.0 - self.allocated.0;
            current.bytes += allocated.1 - self.allocated.1;
            self.allocated = allocated;
            let in_use = memory.in_use.load(Relaxed);
            current.peak = current.peak.max(memory.peak.swap(in_use, Relaxed));
        }
        self.since = now;
        self.current = line.min(self.lines.len() - 1);
        self.measurements += 1;
    }

    /// Returns the measurement as text: whether memory was counted, the nanoseconds in total and the nanoseconds that
    /// measuring took; then the lines that were reached.
    fn report(&self, cost: u64) -> String {
        let total: u64 = self.lines.iter().map(|line| line.nanoseconds).sum();
        let is_counted = u8::from(ALLOCATIONS.get().is_some());
        let mut text = format!("{is_counted} {total} {}\n", cost * self.measurements);
        for (number, line) in self.lines.iter().enumerate().filter(|(_, it)| it.calls > 0) {
            let Line {
                calls,
                nanoseconds,
                allocations,
                bytes,
                peak,
            } = line;
            let _ = writeln!(
                text,
                "{number} {calls} {nanoseconds} {allocations} {bytes} {peak}"
            );
        }
        text
    }
}

/// Measures this thread until it is dropped.
pub struct Running(());

/// Begins to measure a cell with this number of lines.
pub fn begin(count: usize) -> Running {
    let profile = Profile::new(count);
    if let Some(memory) = ALLOCATIONS.get() {
        memory.count.store(0, Relaxed);
        memory.bytes.store(0, Relaxed);
        memory.in_use.store(0, Relaxed);
        memory.peak.store(0, Relaxed);
        memory.is_counting.store(1, Relaxed);
    }
    PROFILE.set(Some(profile));
    change(|profile| profile.since = Instant::now());
    Running(())
}

impl Drop for Running {
    fn drop(&mut self) {
        change(|profile| profile.go_on(0));
        if let Some(memory) = ALLOCATIONS.get() {
            memory.is_counting.store(0, Relaxed);
        }
        if let Some(profile) = PROFILE.take() {
            super::report(super::Topic::Profile, &[&profile.report(cost())]);
        }
    }
}

/// Returns the nanoseconds that a measurement takes.
fn cost() -> u64 {
    let mut scratch = Profile::new(0);
    let began = Instant::now();
    for _ in 0..CALIBRATION {
        scratch.go_on(0);
    }
    began.elapsed().as_nanos() as u64 / u64::from(CALIBRATION)
}

fn change(change: impl FnOnce(&mut Profile)) {
    let _ = PROFILE.try_with(|profile| {
        if let Ok(mut profile) = profile.try_borrow_mut() {
            profile.as_mut().map(change);
        }
    });
}

/// Says that a statement of this line begins.
pub fn line(number: usize) {
    change(|profile| {
        profile.go_on(number);
        let current = profile.current;
        profile.lines[current].calls += 1;
    });
}

/// A block of statements. At its end, the line that was current at its beginning continues.
pub struct Within(usize);

/// Says that a block begins.
pub fn block() -> Within {
    let mut line = 0;
    change(|profile| line = profile.current);
    Within(line)
}

impl Drop for Within {
    fn drop(&mut self) {
        change(|profile| profile.go_on(self.0));
    }
}
