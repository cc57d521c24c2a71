//! Runs cargo in a work directory and reports its progress.

use super::artifacts::Artifacts;
use super::estimate::Estimate;
use crate::environment;
use anyhow::{Context, Error, Result};
use cargo_metadata::{Artifact, BuildScript, Message, Metadata, MetadataCommand, TargetKind};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use taper_host::checks;
use taper_host::error::DISK_FULL;
use taper_host::process;
use taper_host::progress::{Progress, Step};
use taper_host::toolchain::{self, Toolchain};

/// Cells and their packages share one standard library.
const FLAGS: &str = "-Cprefer-dynamic";
/// The words with which cargo's own lines about its progress begin.
const PROGRESS: [&str; 8] = [
    "Adding",
    "Blocking",
    "Compiling",
    "Downloaded",
    "Downloading",
    "Fresh",
    "Locking",
    "Updating",
];
/// How cargo names the crate of the cells.
const CRATES: [&str; 2] = ["ctx v1.0.0", "ctx"];
/// How often to look whether the user has asked to stop.
const POLL: Duration = Duration::from_millis(50);
/// How often the time is shown while nothing is finished.
const REFRESH: Duration = Duration::from_secs(1);

/// Compiles the crate in `work`.
pub(super) fn compile(work: &Path, progress: &mut dyn Progress) -> Result<Artifacts> {
    let command = cargo_command(work, "build")?;
    let platform = format!("--filter-platform={}", toolchain::host()?);
    let metadata = metadata(work, &[&platform])?;
    run_cargo(command, work, &metadata, progress)
}

/// Resolves the packages of the crate in `work`, offline where that is possible.
pub(super) fn resolve(work: &Path, progress: &mut dyn Progress) -> Result<Metadata> {
    let platform = format!("--filter-platform={}", toolchain::host()?);
    let ask = |network: &[&str]| {
        let mut command = cargo_command(work, "metadata")?;
        command
            .args(["--format-version=1", &platform])
            .args(network);
        read_metadata(&output(command, &*progress)?)
    };
    ask(&["--offline"]).or_else(|_| ask(&[]))
}

/// Compiles the dependencies of the crate in `beside`, which is below the folder for what is compiled. `prepare` changes the call of cargo.
pub(super) fn build_beside(
    beside: &Path,
    folder: &Path,
    metadata: &Metadata,
    prepare: impl FnOnce(&mut Command),
    progress: &mut dyn Progress,
) -> Result<Artifacts> {
    let mut command = cargo_command(beside, "build")?;
    prepare(&mut command);
    command.arg("--offline");
    for name in ["CARGO_TARGET_DIR", "CARGO_BUILD_BUILD_DIR"] {
        command.env(name, "../target");
    }
    run_cargo(command, folder, metadata, progress)
}

/// Removes what was compiled of a package on which the crate in `beside` depends.
pub(super) fn clean(beside: &Path, package: &str) -> Result<()> {
    let mut command = cargo_command(beside, "clean")?;
    command
        .args([
            "--offline",
            "--target",
            toolchain::host()?,
            "--package",
            package,
        ])
        .env("CARGO_TARGET_DIR", "../target")
        .env("CARGO_BUILD_BUILD_DIR", "../target");
    let output = command.output().context("cannot start cargo")?;
    match output.status.success() {
        true => Ok(()),
        false => failed(&String::from_utf8_lossy(&output.stderr)),
    }
}

/// Returns a call of cargo with the same folders and flags for an image and for its sessions, so that cargo finds the
/// image's packages fresh.
pub(super) fn cargo_command(work: &Path, subcommand: &str) -> Result<Command> {
    let Toolchain { cargo, rustc, .. } = toolchain::get()?;
    let mut command = process::supervised(cargo)?;
    environment::for_build(&mut command);
    command
        .arg(subcommand)
        .current_dir(work)
        .env("CARGO_TARGET_DIR", "target")
        .env("CARGO_BUILD_BUILD_DIR", "target")
        .env("RUSTC", rustc)
        .env("RUSTFLAGS", FLAGS)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// Returns what was compiled.
fn run_cargo(
    mut command: Command,
    work: &Path,
    metadata: &Metadata,
    progress: &mut dyn Progress,
) -> Result<Artifacts> {
    command.args([
        "--target",
        toolchain::host()?,
        "--message-format=json-render-diagnostics",
    ]);
    let mut child = command.spawn().context("cannot start cargo")?;
    let (sender, heard) = channel();
    let stdout = child.stdout.take().expect("it is piped");
    messages(stdout, sender.clone());
    let stderr = child.stderr.take().expect("it is piped");
    let said = status_lines(stderr, sender);
    let (built, scripts) = report(&heard, metadata, &mut child, progress);
    let status = wait(&mut child, progress)?;
    let said = said.join().unwrap_or_default();
    if !status.success() {
        return failed(&said);
    }
    Artifacts::of(built, &scripts, work)
}

/// Shows how far cargo is, until it closes its output or the user stops it. Returns the libraries that are ready, and what
/// build scripts have said.
fn report(
    heard: &Receiver<Message>,
    metadata: &Metadata,
    child: &mut Child,
    progress: &mut dyn Progress,
) -> (Vec<Artifact>, Vec<BuildScript>) {
    let (mut built, mut scripts) = (Vec::new(), Vec::new());
    let (start, units) = (Instant::now(), count_units(metadata));
    let mut estimate = Estimate::new(metadata, &CRATES);
    let mut done = 0;
    let mut shown = Duration::ZERO;
    loop {
        let received = heard.recv_timeout(POLL);
        let elapsed = start.elapsed();
        if progress.is_stopped() {
            stop(child);
            return (built, scripts);
        }
        match received {
            Ok(Message::TextLine(package)) => estimate.started(&package, elapsed),
            Ok(Message::BuildScriptExecuted(script)) => {
                scripts.push(script);
                continue;
            }
            Ok(Message::CompilerArtifact(artifact)) => {
                if CRATES.contains(&&*artifact.target.name) {
                    continue;
                }
                done += 1;
                if is_library(&artifact) {
                    estimate.finished(&artifact, elapsed);
                    built.push(artifact);
                }
            }
            Ok(_) => continue,
            Err(RecvTimeoutError::Disconnected) => return (built, scripts),
            // A large package takes a while.
            Err(RecvTimeoutError::Timeout) if elapsed - shown < REFRESH => continue,
            Err(RecvTimeoutError::Timeout) => {}
        }
        shown = elapsed;
        progress.step(&Step {
            verb: "Compiling".into(),
            name: estimate.now(),
            done,
            total: units.max(done),
            unit: "".into(),
            elapsed,
            remaining: estimate.remaining(elapsed),
        });
    }
}

/// Reads cargo's messages on a thread of its own.
fn messages(pipe: ChildStdout, heard: Sender<Message>) {
    std::thread::spawn(move || {
        for message in Message::parse_stream(BufReader::new(pipe)).map_while(std::io::Result::ok) {
            if heard.send(message).is_err() {
                return;
            }
        }
    });
}

/// Collects what cargo writes for the user, and passes on which packages it begins to compile, as `name v1.2.3`.
fn status_lines(pipe: ChildStderr, heard: Sender<Message>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut pipe, mut said, mut line) = (BufReader::new(pipe), Vec::new(), Vec::new());
        while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line);
            if let Some(package) = text.trim().strip_prefix("Compiling ") {
                // The receiver is gone after an interrupt.
                let _ = heard.send(Message::TextLine(package.to_owned()));
            }
            said.append(&mut line);
        }
        String::from_utf8_lossy(&said).into_owned()
    })
}

/// Waits for a supervised program, or kills it with everything that it has started when the user stops it.
pub(super) fn wait(child: &mut Child, progress: &dyn Progress) -> Result<ExitStatus> {
    loop {
        let status = child.try_wait();
        if let Some(status) = status.context("cannot wait for a program")? {
            return Ok(status);
        }
        if progress.is_stopped() {
            stop(child);
        }
        std::thread::sleep(POLL);
    }
}

fn stop(child: &Child) {
    // The supervisor leads a group. It may just have ended.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// Collects what cargo writes.
fn keep(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = pipe.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    })
}

/// Returns what the user can do, if a program has failed because the disk is full.
pub(super) fn advice_for_full_disk(said: &str) -> Option<&'static str> {
    said.contains("No space left on device")
        .then_some(DISK_FULL)
}

/// cargo does not compile the packages, or does not find them.
#[derive(Debug, thiserror::Error)]
#[error("{advice}\n{output}")]
struct CargoFailed {
    /// What to do.
    advice: String,
    /// cargo's messages.
    output: String,
}

fn failed<T>(said: &str) -> Result<T> {
    Err(explain_failure(said, toolchain::get()?).into())
}

/// Makes cargo's messages in an error, in which these folders are named, messages about the notebook.
pub(super) fn about_the_notebook(error: Error, folders: &[impl AsRef<Path>]) -> Error {
    match error.downcast::<CargoFailed>() {
        Ok(CargoFailed { advice, output }) => {
            let output = without_folders(&output, folders);
            CargoFailed { advice, output }.into()
        }
        Err(error) => error,
    }
}

/// Returns the error with cargo's messages and what the user can do.
///
/// Cargo reports these causes only as text, so this is the one place that searches it.
fn explain_failure(said: &str, toolchain: &Toolchain) -> CargoFailed {
    let next = toolchain.how_to_replace();
    let advice = if let Some(advice) = advice_for_full_disk(said) {
        advice.to_owned()
    } else if said.contains("linker `cc` not found") || said.contains("failed to find tool") {
        checks::NO_C_COMPILER.to_owned()
    } else if said.contains("Could not resolve host") || said.contains("failed to download") {
        "Packages could not be downloaded: check the connection, then run the same command again; \
         it goes on where it stopped."
            .to_owned()
    } else if said.contains("rustc") && said.contains("is not supported by the following package") {
        format!("This Rust is too old. {next}")
    } else if said.contains("multiple times with different names") {
        "A version of a package can have one name. Give it another one with `use first_name as other_name;`. Cargo's \
         messages:"
            .to_owned()
    } else if said.contains("ailed to select a version") || said.contains("no matching package") {
        "There is no such package, version or feature. Cargo's messages:".to_owned()
    } else if toolchain.is_unstable() {
        format!(
            "This Rust is not a stable release, and Taper's packages do not compile with it. {next} \
             Cargo's messages:"
        )
    } else {
        "The packages did not compile. Cargo's messages:".to_owned()
    };
    let is_progress = |line: &&str| {
        let mut words = PROGRESS.iter();
        words.any(|word| line.starts_with(&format!("{word:>12} ")))
    };
    let said: Vec<&str> = said.lines().filter(|line| !is_progress(line)).collect();
    let output = said.join("\n");
    CargoFailed { advice, output }
}

/// Returns cargo's messages about the crate of the cells as messages about the notebook, without these folders.
fn without_folders(said: &str, folders: &[impl AsRef<Path>]) -> String {
    let mut said = said.to_owned();
    for folder in folders.iter().map(|folder| folder.as_ref().display()) {
        for text in [format!(" ({folder})"), format!("{folder}/")] {
            said = said.replace(&text, "");
        }
    }
    for name in CRATES {
        for kind in ["the crate ", "the package ", "package ", "crate ", ""] {
            said = said.replace(&format!("{kind}`{name}`"), "this notebook");
        }
    }
    said
}

/// Estimates how many `compiler-artifact` messages a build prints: the library, and the build script if
/// there is one, of each package.
fn count_units(metadata: &Metadata) -> usize {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let used: HashSet<_> = nodes.map(|node| &node.id).collect();
    let is_built = |kind: &TargetKind| {
        !matches!(
            kind,
            TargetKind::Bin | TargetKind::Example | TargetKind::Test | TargetKind::Bench
        )
    };
    let packages = metadata.packages.iter().filter(|p| used.contains(&p.id));
    let targets = packages.flat_map(|package| &package.targets);
    targets.filter(|t| t.kind.iter().any(is_built)).count()
}

/// Asks cargo which packages the crate in `work` needs.
pub(super) fn metadata(work: &Path, options: &[&str]) -> Result<Metadata> {
    let mut command = cargo_command(work, "metadata")?;
    command.arg("--format-version=1").args(options);
    read_metadata(&command.output().context("cannot start cargo")?)
}

fn read_metadata(output: &Output) -> Result<Metadata> {
    if !output.status.success() {
        return failed(&String::from_utf8_lossy(&output.stderr));
    }
    let metadata = MetadataCommand::parse(String::from_utf8_lossy(&output.stdout));
    metadata.context("cannot read what `cargo metadata` prints")
}

/// Returns what a supervised program prints, or kills it when the user stops it.
fn output(mut command: Command, progress: &dyn Progress) -> Result<Output> {
    let mut child = command.spawn().context("cannot start cargo")?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let [stdout, stderr] = [stdout.map(keep), stderr.map(keep)];
    let status = wait(&mut child, progress)?;
    let read = |thread: Option<JoinHandle<String>>| {
        let said = thread.and_then(|thread| thread.join().ok());
        said.unwrap_or_default().into_bytes()
    };
    Ok(Output {
        status,
        stdout: read(stdout),
        stderr: read(stderr),
    })
}

/// Returns whether cells can name what was compiled.
fn is_library(artifact: &Artifact) -> bool {
    use cargo_metadata::TargetKind::{DyLib, Lib, ProcMacro, RLib};
    let kinds = artifact.target.kind.iter();
    kinds
        .into_iter()
        .any(|kind| matches!(kind, DyLib | Lib | ProcMacro | RLib))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_begins_with_what_to_do() {
        let rust = |channel: &str, release: &str| Toolchain {
            rustc: "/r/bin/rustc".into(),
            cargo: "/r/bin/cargo".into(),
            sysroot: format!("/r/toolchains/{channel}").into(),
            version: format!("rustc\nrelease: {release}\n"),
        };
        let nightly = rust("nightly-x86_64-unknown-linux-gnu", "1.101.0-nightly");
        let stable = rust("stable-x86_64-unknown-linux-gnu", "1.95.0");
        let first = |said, toolchain| {
            let text = explain_failure(said, toolchain).to_string();
            text.lines().next().unwrap_or_default().to_owned()
        };
        let failed = "error[E0658]: use of unstable feature";
        assert!(
            first(failed, &nightly).contains("`rustup update stable && rustup default stable`")
        );
        assert!(first(failed, &stable).starts_with("The packages did not compile."));
        let old = "error: rustc 1.80.0 is not supported by the following packages:";
        assert!(first(old, &stable).contains("This Rust is too old. Run `rustup update stable`"));
        let names =
            "error: the crate `ctx` depends on crate `a` multiple times with different names";
        assert!(first(names, &stable).starts_with("A version of a package can have one name."));
        for missing in [
            "error: no matching package named `a` found",
            "error: failed to select a version for `a`.",
        ] {
            assert!(first(missing, &stable).starts_with("There is no such package,"));
        }
    }

    #[test]
    fn messages_are_about_the_notebook_and_not_about_folders_of_taper() {
        let said = "    Updating crates.io index\nerror: no matching package named `a` found\n\
             required by package `ctx v1.0.0 (/c/sessions/1/work)`\n\
             package `ctx` depends on `b`; the crate `ctx v1.0.0 (/c/sessions/1/work)` depends on `b`\n\
             --> /c/sessions/1/work/Cargo.toml:3, /home/me/b/src/lib.rs:2:1";
        let toolchain = Toolchain {
            rustc: "/r/bin/rustc".into(),
            cargo: "/r/bin/cargo".into(),
            sysroot: "/r/toolchains/stable".into(),
            version: "rustc\nrelease: 1.95.0\n".into(),
        };
        let error = about_the_notebook(
            explain_failure(said, &toolchain).into(),
            &["/c/sessions/1/work"],
        );
        let error = error.to_string();
        assert_eq!(
            error.split_once('\n').unwrap_or_default().1,
            "error: no matching package named `a` found\nrequired by this notebook\n\
             this notebook depends on `b`; this notebook depends on `b`\n\
             --> Cargo.toml:3, /home/me/b/src/lib.rs:2:1"
        );
    }
}
