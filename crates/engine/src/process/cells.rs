//! The process that runs the cells: loads each compiled cell and calls it.
//!
//! The process is this program, started again. It contains its own copy of Rust's library; the cells share
//! another one, with `support.rs`. So what needs that copy, such as the hook for panics, is there ([`link`]).
//!
//! One thread listens to the engine, and another one, at first the main thread, runs the cells. If a cell cannot be
//! stopped, it is left to that thread, and a new thread runs the next cells (`leave`).

use super::host::Host;
use super::link::{self, flush, send};
use super::wire::{self, Report, Request};
use crate::parts::FUNCTION;
use libloading::os::unix::{RTLD_GLOBAL, RTLD_LOCAL};
use rustix::process::{Signal, kill_current_process_group};
use rustix::stdio;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use taper_evaluator::run::Times;
use taper_host::mutex::lock;
use taper_host::process::duplicate;

/// The first argument with which this program becomes the process.
pub(crate) const ARGUMENT: &str = "__taper_engine_cells";

/// The stack of a thread that runs cells in place of the main thread, which usually has the same size.
const STACK: usize = 8 << 20;

/// The evaluation that runs, until its cell has ended or is left.
static RUNNING: Mutex<Option<u32>> = Mutex::new(None);

/// Answers requests until the engine closes the socket.
pub(crate) fn run(host: &'static (dyn Host + Sync)) -> ExitCode {
    match serve(link::set_host(host)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(host: &'static (dyn Host + Sync)) -> io::Result<()> {
    // With what the cells have started.
    taper_host::process::when_parent_ends(|| {
        let _ = kill_current_process_group(Signal::KILL);
    });
    ignore_interrupts();
    let streams = Arc::new(Streams::take()?);
    let socket = UnixStream::from(duplicate(stdio::stdin())?);
    link::set_socket(socket.try_clone()?);
    stdio::dup2_stdin(File::open("/dev/null")?)?;
    host.start()?;
    let (requests, work) = channel();
    let worker = Worker { host, streams };
    let listener = worker.clone();
    std::thread::Builder::new().spawn(move || listener.listen(socket, requests))?;
    worker.work(work)
}

/// What each thread needs to answer requests.
#[derive(Clone)]
struct Worker {
    host: &'static (dyn Host + Sync),
    streams: Arc<Streams>,
}

impl Worker {
    /// Passes requests on to the thread that runs the cells, until the engine closes the socket.
    fn listen(self, mut socket: UnixStream, mut requests: Sender<Request>) {
        while let Ok(Some(request)) = wire::receive(&mut socket) {
            match request {
                Request::Answer(answer) => link::pass_answer(answer),
                Request::StopWaiting => link::stop_waiting(),
                Request::Leave { cell } => requests = self.leave(cell).unwrap_or(requests),
                request => drop(requests.send(request)),
            }
        }
    }

    /// Leaves a cell to its thread, unless it has ended, and starts another thread for the next cells. Returns where that
    /// one receives requests.
    fn leave(&self, cell: u32) -> Option<Sender<Request>> {
        lock(&RUNNING).take_if(|running| *running == cell)?;
        let_others_go_first();
        let (requests, work) = channel();
        let worker = self.clone();
        let run = move || {
            // All of this may wait for what the cell has locked. Then the engine ends the process.
            worker.host.take_over();
            worker.streams.restore();
            flush();
            link::leave();
            let _ = worker.work(work);
            std::process::exit(0);
        };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(run);
        thread.ok().map(|_| requests)
    }

    /// Answers requests.
    fn work(&self, requests: Receiver<Request>) -> io::Result<()> {
        note_thread();
        for request in requests {
            let clock = Clock::start();
            let report = match self.answer(&request) {
                Ok(()) => Report::End(clock.times()),
                Err(error) => Report::NotLoaded(format!("{:#}", anyhow::Error::new(error))),
            };
            self.streams.restore();
            send(&report)?;
        }
        Ok(())
    }

    fn answer(&self, request: &Request) -> Result<(), libloading::Error> {
        match request {
            Request::Load { libraries } => {
                for path in libraries {
                    let library = link::load(path, RTLD_GLOBAL)?;
                    link::attach(&library, || lock(&RUNNING).is_some())?;
                    self.host.loaded(path);
                }
                link::report_panics();
            }
            Request::Run {
                cell: number,
                library,
                arguments,
                is_global,
                forget,
            } => {
                forget.iter().for_each(|name| link::forget_variable(name));
                link::pass_arguments(arguments);
                let visibility = if *is_global { RTLD_GLOBAL } else { RTLD_LOCAL };
                let loaded = link::load(library, visibility)?;
                // SAFETY: the engine has written the function with this type.
                let cell = unsafe { loaded.get::<extern "C" fn()>(FUNCTION.as_bytes()) }?;
                let _ = send(&Report::Begin);
                self.host.begin_cell(*number, library);
                *lock(&RUNNING) = Some(*number);
                cell();
                if lock(&RUNNING)
                    .take_if(|running| running == number)
                    .is_none()
                {
                    stay();
                }
                self.host.end_cell();
                flush();
            }
            // The other thread does this.
            Request::Answer(_) | Request::StopWaiting | Request::Leave { .. } => {}
        }
        Ok(())
    }
}

/// The id of the thread that runs the cells.
#[cfg(target_os = "linux")]
static THREAD: AtomicI32 = AtomicI32::new(0);

fn note_thread() {
    #[cfg(target_os = "linux")]
    // SAFETY: the call has no conditions.
    THREAD.store(unsafe { libc::gettid() }, Ordering::Relaxed);
}

/// Lets all other threads go before the one that runs a cell.
fn let_others_go_first() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(
        rustix::process::Pid::from_raw(THREAD.load(Ordering::Relaxed)),
        19,
    );
}

/// Keeps a thread whose cell was left, and has ended after all: the main thread must not return.
fn stay() -> ! {
    loop {
        std::thread::park();
    }
}

/// An interrupt that a cell does not look for must not end the process at once.
fn ignore_interrupts() {
    extern "C" fn ignore(_signal: libc::c_int) {}
    let handler = ignore as extern "C" fn(libc::c_int);
    // SAFETY: the handler does nothing, so it may run at any moment. Unlike SIG_IGN, programs that a cell starts do
    // not inherit it.
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
