//! Several notebooks: one process for each, some at a time, the output of each printed whole.

use super::report::Console;
use super::signals;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use taper_evaluator::evaluator::Interrupt;

/// One notebook's way through a command.
#[derive(Debug)]
pub struct Job {
    /// The subcommand and its options.
    pub command: Vec<OsString>,
    pub notebook: PathBuf,
}

impl Job {
    fn name(&self) -> String {
        self.notebook.display().to_string()
    }
}

/// What became of one notebook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub verdict: Verdict,
    pub cells_compared: usize,
}

/// What became of one notebook, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    Passed,
    Failed,
    Skipped,
    /// By this signal.
    Interrupted(i32),
}

impl From<Verdict> for Summary {
    fn from(verdict: Verdict) -> Self {
        Summary {
            verdict,
            cells_compared: 0,
        }
    }
}

impl Summary {
    /// Leaves the summary where the parent looks for it.
    pub fn leave(&self, file: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string(self)?;
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// The exit code of all notebooks together.
pub fn exit_code(summaries: &[Summary]) -> ExitCode {
    let mut code = 0;
    for summary in summaries {
        match summary.verdict {
            Verdict::Interrupted(signal) => return ExitCode::from(128 + signal as u8),
            Verdict::Failed => code = 1,
            Verdict::Passed | Verdict::Skipped => {}
        }
    }
    match signals::received() {
        Some(signal) => ExitCode::from(128 + signal as u8),
        None => ExitCode::from(code),
    }
}

/// Runs all jobs, `at_once` at a time, and prints the output of each when it has ended.
pub fn run_all(jobs: &[Job], at_once: usize, console: &Console) -> anyhow::Result<Vec<Summary>> {
    let workers = Arc::new(Workers::default());
    let _aim = signals::aim(workers.clone());
    let next = AtomicUsize::new(0);
    let (tell, news) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..at_once.min(jobs.len()) {
            let (tell, next, workers) = (tell.clone(), &next, &workers);
            scope.spawn(move || {
                while signals::received().is_none()
                    && let Some(job) = jobs.get(next.fetch_add(1, Ordering::SeqCst))
                {
                    let _ = tell.send(News::Begun(job.name()));
                    let ended = run_one(job, workers, console.has_colours());
                    let _ = tell.send(News::Ended(job.name(), ended));
                }
            });
        }
        drop(tell);
        listen_to(news, jobs.len(), console)
    })
}

enum News {
    Begun(String),
    Ended(String, anyhow::Result<Ended>),
}

struct Ended {
    summary: Summary,
    out: Vec<u8>,
    err: Vec<u8>,
}

/// Prints what the workers' threads tell, in the order in which they tell it.
fn listen_to(
    news: mpsc::Receiver<News>,
    all: usize,
    console: &Console,
) -> anyhow::Result<Vec<Summary>> {
    let mut running = BTreeSet::new();
    let mut summaries = Vec::new();
    for one in news {
        match one {
            News::Begun(name) => {
                running.insert(name);
            }
            News::Ended(name, ended) => {
                running.remove(&name);
                let ended = ended.with_context(|| format!("{name}: cannot be run"))?;
                console.progress("");
                console.pass_on(&ended.out, &ended.err);
                summaries.push(ended.summary);
            }
        }
        let names: Vec<&str> = running.iter().map(String::as_str).collect();
        console.progress(&format!(
            "{} of {all} done, running {}",
            summaries.len(),
            names.join(", ")
        ));
    }
    console.progress("");
    Ok(summaries)
}

fn run_one(job: &Job, workers: &Workers, colours: bool) -> anyhow::Result<Ended> {
    // Files, not pipes: a process that the worker leaves behind would hold a pipe open for ever.
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let result = tempfile::NamedTempFile::new()?;
    let mut arguments = job.command.clone();
    arguments.extend(["--worker-result".into(), result.path().into()]);
    arguments.extend(["--".into(), job.notebook.clone().into()]);

    let mut command = this_program(&arguments)?;
    command
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(err.try_clone()?);
    if colours {
        command.env("CLICOLOR_FORCE", "1");
    }
    on_its_own(&mut command);
    let mut child = command.spawn()?;
    workers.add(child.id());
    let status = child.wait();
    workers.remove(child.id());
    let status = status?;

    let (out, mut err) = (read_all(&mut out)?, read_all(&mut err)?);
    let left = std::fs::read_to_string(result.path())?;
    let summary = serde_json::from_str(&left).unwrap_or_else(|_| {
        // A worker that is interrupted before it has begun leaves nothing.
        if let Some(signal) = signals::received() {
            return Verdict::Interrupted(signal).into();
        }
        err.extend(format!("{}: its process ended: {}\n", job.name(), why(status)).bytes());
        Verdict::Failed.into()
    });
    Ok(Ended { summary, out, err })
}

/// The worker hears of Ctrl-C from its parent alone, once, not from the terminal as well; and it
/// ends with its parent, even with one that was killed.
fn on_its_own(command: &mut Command) {
    command.process_group(0);
    #[cfg(target_os = "linux")]
    // SAFETY: prctl is a plain system call, fit for a process that has just been forked.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
}

fn read_all(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn why(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(libc::SIGKILL) => format!("{status}, perhaps for want of memory (try a smaller -j)"),
        _ => status.to_string(),
    }
}

/// The processes that are running.
#[derive(Default)]
struct Workers(Mutex<BTreeSet<u32>>);

impl Workers {
    fn add(&self, id: u32) {
        let mut running = self.0.lock().expect("nothing panics with the lock");
        running.insert(id);
        // A signal between the last look and now has found nobody to pass it on to.
        if signals::received().is_some() {
            interrupt(id);
        }
    }

    fn remove(&self, id: u32) {
        self.0
            .lock()
            .expect("nothing panics with the lock")
            .remove(&id);
    }
}

impl Interrupt for Workers {
    fn interrupt(&self) {
        self.0
            .lock()
            .expect("nothing panics with the lock")
            .iter()
            .copied()
            .for_each(interrupt);
    }
}

fn interrupt(id: u32) {
    // SAFETY: kill touches no memory of ours.
    unsafe { libc::kill(id.cast_signed(), libc::SIGINT) };
}

/// This program, with arguments.
#[cfg(not(test))]
fn this_program(arguments: &[OsString]) -> anyhow::Result<Command> {
    let mut command = Command::new(taper_host::process::program()?);
    command.args(arguments);
    Ok(command)
}

#[cfg(test)]
use crate::testing::this_program;
