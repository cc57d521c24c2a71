//! The process that runs the cells: its connections to `support.rs`, which is in the cells' copy of Rust's library, and to
//! the engine.

use super::host::Host;
use super::wire::{self, Answer, Fault, Report};
use crate::profile::{Allocations, Profile};
use libloading::os::unix::{Library, RTLD_NOW};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use taper_evaluator::Stream;
use taper_host::mutex::lock;

/// How often what a cell printed without a newline is passed on.
const FLUSH: Duration = Duration::from_millis(50);

/// How often to look whether a report was read, every tenth of a millisecond.
#[cfg(target_os = "linux")]
const PATIENCE: usize = 10_000;

/// How many bytes of a thread's output are sent at once.
const PRINTED: usize = 64 << 10;

static SOCKET: OnceLock<Mutex<UnixStream>> = OnceLock::new();
static SUPPORT: OnceLock<Support> = OnceLock::new();
static HOST: OnceLock<&(dyn Host + Sync)> = OnceLock::new();

/// Where the cell that reads standard input waits for its answer.
static ANSWER: Mutex<Option<Sender<Answer>>> = Mutex::new(None);

/// A file that is closed while a library is loaded: after cells that have left no descriptor, a cell that closes files
/// can still run.
static RESERVE: Mutex<Option<File>> = Mutex::new(None);

/// Functions of `support.rs`.
struct Support {
    attach: Attach,
    flush: extern "C" fn(),
    forget: unsafe extern "C" fn(Text),
    pass: unsafe extern "C" fn(*const Text, usize),
    stop_waiting: extern "C" fn(),
    leave: extern "C" fn(),
}

type Attach = extern "C" fn(unsafe extern "C" fn(u32, *const Text, usize));

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

/// Sets what the program adds to the process, and returns it.
pub(super) fn set_host(host: &'static (dyn Host + Sync)) -> &'static (dyn Host + Sync) {
    *HOST.get_or_init(|| host)
}

/// Sets the socket to the engine.
pub(super) fn set_socket(socket: UnixStream) {
    let _ = SOCKET.set(Mutex::new(socket));
}

/// Loads a library. It is never unloaded: values of later cells point into it.
pub(super) fn load(
    library: &Path,
    visibility: i32,
) -> Result<ManuallyDrop<Library>, libloading::Error> {
    let mut reserve = lock(&RESERVE);
    reserve.take();
    // SAFETY: the library was compiled from the cell, which the user has asked to run, or is a package.
    let library = unsafe { Library::open(Some(library), RTLD_NOW | visibility) };
    *reserve = File::open("/dev/null").ok();
    Ok(ManuallyDrop::new(library?))
}

/// Connects `support.rs`, if this library is it. `is_busy` says whether there may be something to flush.
pub(super) fn attach(library: &Library, is_busy: fn() -> bool) -> Result<(), libloading::Error> {
    if SUPPORT.get().is_some() {
        return Ok(());
    }
    // SAFETY: `support.rs` defines the functions with these types.
    unsafe {
        let support = Support {
            attach: *library.get(b"taper_support_attach")?,
            flush: *library.get(b"taper_support_flush")?,
            forget: *library.get(b"taper_support_forget")?,
            pass: *library.get(b"taper_support_pass")?,
            stop_waiting: *library.get(b"taper_support_stop_waiting")?,
            leave: *library.get(b"taper_support_leave")?,
        };
        (support.attach)(receive);
        if let Some(allocations) = HOST.get().and_then(|host| host.allocations()) {
            type Count = extern "C" fn(&'static Allocations);
            library.get::<Count>(b"taper_support_count")?(allocations);
        }
        let _ = SUPPORT.set(support);
    }
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(FLUSH);
            if is_busy() {
                flush();
            }
            if let Some(host) = HOST.get() {
                host.tick();
            }
        }
    });
    Ok(())
}

/// Lets `support.rs` report panics, in place of a library that was loaded after it.
pub(super) fn report_panics() {
    if let Some(support) = SUPPORT.get() {
        (support.attach)(receive);
    }
}

/// Passes on what was printed without a newline.
pub(super) fn flush() {
    if let Some(support) = SUPPORT.get() {
        (support.flush)();
    }
}

/// Drops a variable.
pub(super) fn forget_variable(name: &str) {
    if let Some(support) = SUPPORT.get() {
        // SAFETY: the text is valid UTF-8 and lives during the call.
        unsafe { (support.forget)(Text::of(name)) };
    }
}

/// Sets what the next cell reads.
pub(super) fn pass_arguments(arguments: &[String]) {
    let texts: Vec<Text> = arguments.iter().map(|text| Text::of(text)).collect();
    if let Some(support) = SUPPORT.get() {
        // SAFETY: the texts are valid UTF-8 and live during the call.
        unsafe { (support.pass)(texts.as_ptr(), texts.len()) };
    }
}

/// Ends the wait of a cell for a future.
pub(super) fn stop_waiting() {
    if let Some(support) = SUPPORT.get() {
        (support.stop_waiting)();
    }
}

/// Makes this thread the one that runs the cells, and reports which variables stay with the cell that runs on another.
pub(super) fn leave() {
    if let Some(support) = SUPPORT.get() {
        (support.leave)();
    }
}

/// Sends what a thread prints that belongs to a cell that has ended. Returns how many bytes were sent, if it could.
pub fn send_printed(cell: u32, stream: Stream, bytes: &[u8]) -> Option<usize> {
    let count = bytes.len().min(PRINTED);
    let socket = SOCKET.get()?;
    wire::send_printed(&mut *lock(socket), cell, stream, &bytes[..count]).ok()?;
    Some(count)
}

/// Sends what a package reports, as JSON: an event of the cell to which the calling thread belongs, or the explanation of the
/// `?` that is about to fail. What was printed before must have been flushed; what is printed next comes after it.
/// `cell` is the number of the cell, unless it is the one that runs.
pub fn send_of_package(cell: Option<u32>, json: &[u8]) {
    if let Some(socket) = SOCKET.get() {
        let _ = wire::send_of_package(&mut *lock(socket), cell, json);
        wait_until_read();
    }
}

/// Asks the user for a line of standard input, and waits for the answer. One thread at a time may ask.
pub fn ask() -> Answer {
    let (sender, answer) = channel();
    *lock(&ANSWER) = Some(sender);
    if send(&Report::Input).is_err() {
        return Answer::End;
    }
    answer.recv().unwrap_or(Answer::End)
}

/// Passes the answer on to the thread that has asked.
pub(super) fn pass_answer(answer: Answer) {
    if let Some(asked) = lock(&ANSWER).take() {
        let _ = asked.send(answer);
    }
}

/// Sends a report to the engine.
pub(super) fn send(report: &Report) -> io::Result<()> {
    SOCKET
        .get()
        .map_or(Ok(()), |socket| wire::send(&mut *lock(socket), report))
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
    let host = HOST.get();
    if topic == 6 {
        return Some(Report::Left { taken: texts });
    }
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
        is_error: topic != 1 && host.is_some_and(|host| host.is_error()),
    };
    match topic {
        1 => Some(Report::Failed(fault)),
        2 => Some(Report::Panic(fault)),
        3 => Some(Report::ThreadPanic {
            cell: host.and_then(|host| host.cell_of_thread()),
            thread: texts.next().filter(|name| !name.is_empty()),
            fault,
        }),
        _ => None,
    }
}
