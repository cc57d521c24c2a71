//! The process that runs the cells: loads each compiled cell and calls it.
//!
//! The process is this program, started again. It contains its own copy of Rust's library; the cells share
//! another one, with `support.rs`. So what needs that copy, such as the hook for panics, is there.

use super::host::Host;
use super::wire::{self, Fault, Report, Request};
use crate::parts::FUNCTION;
use crate::profile::{Allocations, Profile};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use rustix::process::{Signal, kill_current_process_group};
use rustix::stdio;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use taper_evaluator::record::Times;
use taper_host::mutex::lock;
use taper_host::process::duplicate;

/// The first argument with which this program becomes the process.
pub(crate) const ARGUMENT: &str = "__taper_engine_cells";

/// How often what a cell printed without a newline is passed on.
const FLUSH: Duration = Duration::from_millis(50);

/// How often to look whether a report was read, every tenth of a millisecond.
#[cfg(target_os = "linux")]
const PATIENCE: usize = 10_000;

static SOCKET: OnceLock<Mutex<UnixStream>> = OnceLock::new();
static SUPPORT: OnceLock<Support> = OnceLock::new();
static HOST: OnceLock<&(dyn Host + Sync)> = OnceLock::new();
static IS_RUNNING: AtomicBool = AtomicBool::new(false);

/// Whether an interrupt has arrived that no wait was told of.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// A file that is closed while a library is loaded: after cells that have left no descriptor, a cell that closes files
/// can still run.
static RESERVE: Mutex<Option<File>> = Mutex::new(None);

/// Functions of `support.rs`.
struct Support {
    flush: extern "C" fn(),
    forget: unsafe extern "C" fn(Text),
    pass: unsafe extern "C" fn(*const Text, usize),
    stop_waiting: extern "C" fn(),
}

/// A text of another copy of Rust's library.
#[repr(C)]
struct Text {
    start: *const u8,
    length: usize,
}

impl Text {
    fn of(text: &str) -> Text {
        Text {
            start: text.as_ptr(),
            length: text.len(),
        }
    }
}

/// Answers requests until the engine closes the socket.
pub(crate) fn run(host: &'static (dyn Host + Sync)) -> ExitCode {
    match serve(*HOST.get_or_init(|| host)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(host: &dyn Host) -> io::Result<()> {
    // With what the cells have started.
    taper_host::process::when_parent_ends(|| {
        let _ = kill_current_process_group(Signal::KILL);
    });
    note_interrupts();
    let streams = Streams::take()?;
    let mut socket = UnixStream::from(duplicate(stdio::stdin())?);
    SOCKET.get_or_init(|| Mutex::new(socket.try_clone().expect("a socket can be cloned")));
    stdio::dup2_stdin(File::open("/dev/null")?)?;
    host.start()?;
    while let Some(request) = wire::receive(&mut socket)? {
        let clock = Clock::start();
        let report = match answer(&request, host) {
            Ok(()) => Report::End(clock.times()),
            Err(error) => Report::NotLoaded(taper_host::error::describe(&error)),
        };
        streams.restore();
        send(&report)?;
    }
    Ok(())
}

fn answer(request: &Request, host: &dyn Host) -> Result<(), libloading::Error> {
    match request {
        Request::Load { libraries } => {
            for library in libraries {
                let library = load(library, RTLD_GLOBAL)?;
                attach(&library)?;
            }
            Ok(())
        }
        Request::Run {
            library,
            arguments,
            is_global,
            forget,
        } => {
            for name in forget {
                forget_variable(name);
            }
            pass_arguments(arguments);
            let library = load(library, if *is_global { RTLD_GLOBAL } else { RTLD_LOCAL })?;
            // SAFETY: the engine has written the function with this type.
            let cell = unsafe { library.get::<extern "C" fn()>(FUNCTION.as_bytes()) }?;
            let _ = send(&Report::Begin);
            host.begin_cell();
            IS_INTERRUPTED.store(false, Ordering::Relaxed);
            IS_RUNNING.store(true, Ordering::Relaxed);
            cell();
            IS_RUNNING.store(false, Ordering::Relaxed);
            host.end_cell();
            flush();
            Ok(())
        }
    }
}

/// Loads a library. It is never unloaded: values of later cells point into it.
fn load(
    library: &Path,
    visibility: i32,
) -> Result<std::mem::ManuallyDrop<Library>, libloading::Error> {
    let mut reserve = lock(&RESERVE);
    reserve.take();
    // SAFETY: the library was compiled from the cell, which the user has asked to run, or is a package.
    let library = unsafe { Library::open(Some(library), RTLD_NOW | visibility) };
    *reserve = File::open("/dev/null").ok();
    Ok(std::mem::ManuallyDrop::new(library?))
}

/// Connects `support.rs`, if this library is it.
fn attach(library: &Library) -> Result<(), libloading::Error> {
    if SUPPORT.get().is_some() {
        return Ok(());
    }
    type Receive = unsafe extern "C" fn(u32, *const Text, usize);
    // SAFETY: `support.rs` defines the functions with these types.
    unsafe {
        let attach = library.get::<extern "C" fn(Receive)>(b"taper_support_attach")?;
        let support = Support {
            flush: *library.get(b"taper_support_flush")?,
            forget: *library.get(b"taper_support_forget")?,
            pass: *library.get(b"taper_support_pass")?,
            stop_waiting: *library.get(b"taper_support_stop_waiting")?,
        };
        attach(receive);
        if let Some(allocations) = HOST.get().and_then(|host| host.allocations()) {
            type Count = extern "C" fn(&'static Allocations);
            library.get::<Count>(b"taper_support_count")?(allocations);
        }
        let _ = SUPPORT.set(support);
    }
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(FLUSH);
            if IS_RUNNING.load(Ordering::Relaxed) {
                flush();
                if IS_INTERRUPTED.swap(false, Ordering::Relaxed) {
                    stop_waiting();
                }
            }
        }
    });
    Ok(())
}

fn flush() {
    if let Some(support) = SUPPORT.get() {
        (support.flush)();
    }
}

/// Ends the wait of a cell for a future.
fn stop_waiting() {
    if let Some(support) = SUPPORT.get() {
        (support.stop_waiting)();
    }
}

fn forget_variable(name: &str) {
    if let Some(support) = SUPPORT.get() {
        // SAFETY: the text is valid UTF-8 and lives during the call.
        unsafe { (support.forget)(Text::of(name)) };
    }
}

fn pass_arguments(arguments: &[String]) {
    let texts: Vec<Text> = arguments.iter().map(|text| Text::of(text)).collect();
    if let Some(support) = SUPPORT.get() {
        // SAFETY: the texts are valid UTF-8 and live during the call.
        unsafe { (support.pass)(texts.as_ptr(), texts.len()) };
    }
}

/// Passes on what `support.rs` reports.
///
/// # Safety
///
/// `texts` are `count` valid texts.
unsafe extern "C" fn receive(topic: u32, texts: *const Text, count: usize) {
    // SAFETY: the caller guarantees it.
    let texts = unsafe { std::slice::from_raw_parts(texts, count) };
    let texts = texts.iter().map(|text| {
        // SAFETY: the caller guarantees it.
        let bytes = unsafe { std::slice::from_raw_parts(text.start, text.length) };
        String::from_utf8_lossy(bytes).into_owned()
    });
    let texts: Vec<String> = texts.collect();
    // What was printed before comes first. A thread that panics must not wait for another that prints.
    if topic != 3 {
        flush();
    }
    if let Some(report) = report_of(topic, texts) {
        let _ = send(&report);
        wait_until_read();
    }
}

/// Waits until the engine has read a report: what the cell prints next comes after it. Where the system does not say
/// how much is unread, the order is nearly always right too.
fn wait_until_read() {
    #[cfg(target_os = "linux")]
    for _ in 0..PATIENCE {
        let unread = SOCKET.get().map_or(0, |socket| {
            let mut unread: libc::c_int = 0;
            // SAFETY: the call writes one integer.
            let result =
                unsafe { libc::ioctl(lock(socket).as_raw_fd(), libc::TIOCOUTQ, &mut unread) };
            if result == 0 { unread } else { 0 }
        });
        if unread == 0 {
            return;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn report_of(topic: u32, texts: Vec<String>) -> Option<Report> {
    let mut texts = texts.into_iter();
    if topic == 4 {
        return Some(Report::Unwound(Fault {
            message: texts.next()?,
            file: String::new(),
            line: 0,
            is_error: false,
        }));
    }
    if topic == 5 {
        return Profile::parse(&texts.next()?).map(Report::Profile);
    }
    if topic == 0 {
        return Some(Report::Value {
            mime_type: texts.next()?,
            text: texts.next()?,
        });
    }
    let fault = Fault {
        message: texts.next()?,
        file: texts.next()?,
        line: texts.next()?.parse().unwrap_or(0),
        is_error: topic != 1 && HOST.get().is_some_and(|host| host.is_error()),
    };
    match topic {
        1 => Some(Report::Failed(fault)),
        2 => Some(Report::Panic(fault)),
        3 => {
            let thread = texts.next().filter(|name| !name.is_empty());
            Some(Report::ThreadPanic { thread, fault })
        }
        _ => None,
    }
}

fn send(report: &Report) -> io::Result<()> {
    SOCKET
        .get()
        .map_or(Ok(()), |socket| wire::send(&mut *lock(socket), report))
}

/// An interrupt that a cell does not look for must not end the process at once.
fn note_interrupts() {
    extern "C" fn note(_signal: libc::c_int) {
        IS_INTERRUPTED.store(true, Ordering::Relaxed);
    }
    let handler = note as extern "C" fn(libc::c_int);
    // SAFETY: the handler sets an atomic variable, so it may run at any moment. Unlike SIG_IGN, programs that a cell
    // starts do not inherit it.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}

/// Standard output and standard error, which a cell may close or redirect.
struct Streams([OwnedFd; 2]);

impl Streams {
    fn take() -> io::Result<Streams> {
        Ok(Streams([
            duplicate(stdio::stdout())?,
            duplicate(stdio::stderr())?,
        ]))
    }

    /// Puts the streams back in their place.
    fn restore(&self) {
        let [output, errors] = &self.0;
        let _ = stdio::dup2_stdout(output);
        let _ = stdio::dup2_stderr(errors);
    }
}

/// Measures how long a request takes.
struct Clock {
    began: Instant,
    before: (Duration, Duration),
}

impl Clock {
    fn start() -> Clock {
        Clock {
            began: Instant::now(),
            before: processor_times(),
        }
    }

    fn times(&self) -> Times {
        let (user, system) = processor_times();
        let nanoseconds = |time: Duration| time.as_nanos().try_into().unwrap_or(u64::MAX);
        Times {
            wall: nanoseconds(self.began.elapsed()),
            user: nanoseconds(user.saturating_sub(self.before.0)),
            system: nanoseconds(system.saturating_sub(self.before.1)),
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
