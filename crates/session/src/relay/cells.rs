//! The cells process: loads each compiled cell and calls it.
//!
//! evcxr has such a loop too (`runtime_hook`). This one differs at the end of a cell: it flushes what
//! the cell left in the buffer of the shared standard library, and it announces the end with the
//! secret. A cell that prints evcxr's end mark therefore only prints text.

use super::library::TaperLibrary;
use super::limit;
use super::pipes::Pipes;
use super::protocol::SECRET_VARIABLE;
use super::stop;
use crate::error::{Error, Result};
use libloading::Library;
use std::ffi::c_void;
use std::time::{Duration, Instant};
use taper_evaluator::record::Times;

/// The function that each compiled cell exports: it takes the variables and returns them.
type CellFunction = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// Runs cells until the end of standard input.
pub(crate) fn run() -> ! {
    end_with_parent();
    match run_all() {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            let why = taper_host::error::describe(&error);
            eprintln!("taper: the process in which all cells run failed: {why}");
            std::process::exit(99);
        }
    }
}

fn run_all() -> Result<()> {
    limit::apply()?;
    // Kept here: a cell may remove the variable.
    let mut pipes = Pipes::new(std::env::var(SECRET_VARIABLE).unwrap_or_default())?;
    TaperLibrary::load_at_start();
    stop::install();
    let mut variables = std::ptr::null_mut();
    while let Some(instruction) = pipes.instruction() {
        pipes.begin_cell()?;
        let instruction = instruction.map_err(Error::system("read the next instruction"))?;
        let clock = Clock::start();
        variables = run_cell(&instruction, variables)?;
        pipes.end_cell(clock.times())?;
    }
    Ok(())
}

fn run_cell(instruction: &str, variables: *mut c_void) -> Result<*mut c_void> {
    let words = instruction.strip_prefix("LOAD_AND_RUN ");
    let words = words.and_then(|words| words.rsplit_once(' '));
    let (path, function) = words.ok_or_else(|| Error::Instruction(instruction.to_owned()))?;
    // SAFETY: evcxr has just compiled this library from the cell, which the user asked to run.
    let library = unsafe { Library::new(path) }?;
    // SAFETY: evcxr generates the function with this type.
    let cell = unsafe { library.get::<CellFunction>(function.as_bytes()) }?;
    let taper = TaperLibrary::find(&library);
    if let Some(taper) = taper {
        taper.begin_cell();
    }
    stop::set_cell_runs(true);
    // SAFETY: evcxr's code in the cell expects what the previous cell returned, or null before the first.
    let after = unsafe { cell(variables) };
    stop::set_cell_runs(false);
    if let Some(taper) = taper {
        taper.flush();
    }
    // Never unloaded: values and thread-local destructors of later cells point into it.
    std::mem::forget(library);
    Ok(after)
}

/// Measures how long a cell runs.
struct Clock {
    began: Instant,
    user: Duration,
    system: Duration,
}

impl Clock {
    fn start() -> Clock {
        let (user, system) = processor_times();
        Clock {
            began: Instant::now(),
            user,
            system,
        }
    }

    fn times(&self) -> Times {
        let wall = self.began.elapsed();
        let (user, system) = processor_times();
        let nanoseconds = |time: Duration| time.as_nanos().try_into().unwrap_or(u64::MAX);
        Times {
            wall: nanoseconds(wall),
            user: nanoseconds(user.saturating_sub(self.user)),
            system: nanoseconds(system.saturating_sub(self.system)),
        }
    }
}

/// Returns the times of all threads of this process in its own code and in the system's.
fn processor_times() -> (Duration, Duration) {
    // SAFETY: zero is a valid value of each field, and the call fills them.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    (duration(usage.ru_utime), duration(usage.ru_stime))
}

/// Ends this process when the relay ends: nothing reads the output of the cells any more.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    #[cfg(unix)]
    taper_host::process::when_parent_ends(|| std::process::abort());
}
