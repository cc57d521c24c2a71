//! Runs several notebooks, each in its own process, because an evaluator contains a whole compiler. The
//! output of each process is printed when the process has ended.

use super::summary::{Summary, Verdict};
use super::task::{Assignment, Task};
use crate::console::Console;
use crate::signals;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread;
use taper_evaluator::evaluator::Interrupt;

/// Says with how many threads a program computes.
const THREADS: &str = "RAYON_NUM_THREADS";

/// Returns the report about a notebook whose process has ended early, for this reason.
pub(super) type Lost<'a> = &'a (dyn Fn(&Path, &str) -> String + Sync);

/// Reports nothing about a lost process but the reason.
pub(super) fn no_report(_: &Path, _: &str) -> String {
    String::new()
}

/// Runs all notebooks, `jobs` at a time, and prints the output of each when it has ended. A notebook whose process
/// cannot be run has failed; the others run nevertheless.
pub(super) fn run_all(
    task: &Task,
    notebooks: &[PathBuf],
    jobs: usize,
    lost: Lost<'_>,
    console: &Console,
) -> Vec<Summary> {
    let workers = Arc::new(Workers::default());
    let _target = signals::set_target(workers.clone());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let jobs = jobs.min(notebooks.len());
    let is_chosen = std::env::var_os(THREADS).is_some();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = (!is_chosen).then(|| threads(jobs, cores)).flatten();
    thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next, workers) = (sender.clone(), &next, &workers);
            scope.spawn(move || {
                while signals::received().is_none()
                    && let Some(notebook) = notebooks.get(next.fetch_add(1, Ordering::SeqCst))
                {
                    let name = notebook.display().to_string();
                    let _ = sender.send(Progress::Started(name.clone()));
                    let ended = run_one(
                        task,
                        notebook,
                        workers,
                        threads,
                        lost,
                        console.has_colours(),
                    );
                    let _ = sender.send(Progress::Ended(name, ended));
                }
            });
        }
        drop(sender);
        print_progress(receiver, notebooks.len(), console)
    })
}

enum Progress {
    Started(String),
    Ended(String, io::Result<Ended>),
}

struct Ended {
    summary: Summary,
    out: Vec<u8>,
    err: Vec<u8>,
}

fn print_progress(
    progress: mpsc::Receiver<Progress>,
    all: usize,
    console: &Console,
) -> Vec<Summary> {
    let mut running = BTreeSet::new();
    let mut summaries = Vec::new();
    for one in progress {
        match one {
            Progress::Started(notebook) => {
                running.insert(notebook);
            }
            Progress::Ended(notebook, ended) => {
                running.remove(&notebook);
                console.progress("");
                summaries.push(match ended {
                    Ok(ended) => {
                        console.pass_on(&ended.out, &ended.err);
                        ended.summary
                    }
                    Err(error) => {
                        console.warn(&format!("{notebook}: its process cannot be run: {error}"));
                        Summary {
                            name: notebook.clone(),
                            ..Verdict::Failed.into()
                        }
                    }
                });
            }
        }
        let names: Vec<&str> = running.iter().map(String::as_str).collect();
        let done = summaries.len();
        console.progress(&format!(
            "{done} of {all} done, running {}",
            names.join(", ")
        ));
    }
    console.progress("");
    summaries
}

/// Returns how many threads each of several notebooks computes with: together as many as there are cores, because a
/// computation waits for its slowest thread. A single notebook computes as it does alone.
fn threads(jobs: usize, cores: usize) -> Option<usize> {
    (jobs > 1).then(|| (cores / jobs).max(1))
}

fn run_one(
    task: &Task,
    notebook: &Path,
    workers: &Workers,
    threads: Option<usize>,
    lost: Lost<'_>,
    colours: bool,
) -> io::Result<Ended> {
    // Files, not pipes: a process that the worker leaves running would keep a pipe open indefinitely.
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let summary = tempfile::NamedTempFile::new()?;
    let assignment = Assignment {
        task: task.clone(),
        notebook: notebook.into(),
        summary: summary.path().into(),
    };
    let mut command = this_program(&assignment.to_arguments())?;
    command
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(err.try_clone()?);
    if colours {
        command.env("CLICOLOR_FORCE", "1");
    }
    if let Some(threads) = threads {
        command.env(THREADS, threads.to_string());
    }
    isolate_signals(&mut command);
    let status = workers.wait(command.spawn()?)?;

    let (mut out, mut err) = (read_all(&mut out)?, read_all(&mut err)?);
    let written = std::fs::read(summary.path())?;
    let mut summary: Summary = serde_json::from_slice(&written).unwrap_or_else(|_| {
        // A worker that is interrupted before it starts the notebook writes no summary.
        if signals::received().is_some() {
            return Verdict::interrupted().into();
        }
        let reason = format!("its process ended: {}", describe(status));
        out.extend(lost(notebook, &reason).bytes());
        err.extend(format!("{}: {reason}\n", notebook.display()).bytes());
        Verdict::Failed.into()
    });
    summary.name = notebook.display().to_string();
    Ok(Ended { summary, out, err })
}

/// Moves the worker to a process group of its own, so that it receives Ctrl-C only once, from its
/// parent and not from the terminal as well. On Linux it also ends with its parent.
fn isolate_signals(command: &mut Command) {
    command.process_group(0);
    #[cfg(target_os = "linux")]
    // SAFETY: the closure makes one system call, which is allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
            Ok(())
        });
    }
}

fn read_all(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn describe(status: ExitStatus) -> String {
    if status.signal() == Some(Signal::KILL.as_raw()) {
        return format!("{status}, perhaps because memory ran out (try a smaller -j)");
    }
    status.to_string()
}

/// The process ids of the running workers.
#[derive(Default)]
struct Workers(Mutex<HashSet<Pid>>);

impl Workers {
    fn wait(&self, mut child: Child) -> io::Result<ExitStatus> {
        let id = Pid::from_child(&child);
        self.lock().insert(id);
        // A signal that came before the insertion was not sent to this process.
        if signals::received().is_some() {
            interrupt(id);
        }
        let status = child.wait();
        self.lock().remove(&id);
        status
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Pid>> {
        self.0
            .lock()
            .expect("no code panics while it holds the lock")
    }
}

impl Interrupt for Workers {
    fn interrupt(&self) {
        self.lock().iter().copied().for_each(interrupt);
    }
}

fn interrupt(id: Pid) {
    let _ = kill_process(id, Signal::INT);
}

/// Returns a command that starts this program with these arguments.
#[cfg(not(test))]
fn this_program(arguments: &[std::ffi::OsString]) -> io::Result<Command> {
    let program = taper_host::process::program().map_err(io::Error::other)?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

#[cfg(test)]
use crate::testing::this_program;

#[cfg(test)]
mod tests {
    use super::threads;

    #[test]
    fn notebooks_that_run_at_the_same_time_share_the_cores() {
        assert_eq!(threads(1, 8), None);
        assert_eq!(threads(2, 8), Some(4));
        assert_eq!(threads(3, 8), Some(2));
        assert_eq!(threads(4, 2), Some(1));
    }
}
