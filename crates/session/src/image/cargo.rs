//! Runs cargo in an evcxr work directory and reports its progress.

use crate::error::{Error, Result};
use crate::workspace;
use cargo_metadata::{Message, Metadata, MetadataCommand, TargetKind};
use std::collections::HashSet;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::Instant;
use taper_host::checks;
use taper_host::error::Context as _;
use taper_host::process;
use taper_host::progress::{Progress, Step};
use taper_host::toolchain;

/// Compiles the crate in `work`. Calls `started` with the id of cargo's process, and drops its result
/// when cargo has ended.
pub(crate) fn compile<T>(
    work: &Path,
    offline: bool,
    started: &mut dyn FnMut(u32) -> T,
    progress: &mut dyn Progress,
) -> Result<()> {
    let mut command = cargo_command(work, "build")?;
    if offline {
        command.arg("--offline");
    }
    let units = count_units(work)?;
    run_cargo(command, units, started, progress)
}

/// Returns whether cargo's cache contains all packages that the crate in `work` needs.
pub(crate) fn resolves_offline(work: &Path) -> bool {
    metadata(work, "--offline").is_ok()
}

/// Returns the command that evcxr uses too, so that cargo finds the image's packages fresh in a session.
fn cargo_command(work: &Path, subcommand: &str) -> Result<Command> {
    let mut flags = "-Cprefer-dynamic".to_owned();
    if !on_path("mold") && on_path("lld") {
        flags += " -Clink-arg=-fuse-ld=lld";
    }
    let mut command = process::supervised(&toolchain::get()?.cargo)?;
    workspace::leave(&mut command);
    command
        .arg(subcommand)
        .current_dir(work)
        .env("CARGO_TARGET_DIR", "target")
        .env("CARGO_BUILD_BUILD_DIR", "target")
        .env("RUSTC", &toolchain::get()?.rustc)
        .env("RUSTFLAGS", flags)
        // It would override RUSTFLAGS.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn run_cargo<T>(
    mut command: Command,
    units: usize,
    started: &mut dyn FnMut(u32) -> T,
    progress: &mut dyn Progress,
) -> Result<()> {
    command.args([
        "--target",
        toolchain::host()?,
        "--message-format=json-render-diagnostics",
    ]);
    let mut child = command.spawn().starting("cargo")?;
    let _held = started(child.id());
    let start = Instant::now();
    let stderr = child.stderr.take().map(keep);
    let stdout = child.stdout.take().expect("it is piped");
    let mut done = 0;
    for message in Message::parse_stream(BufReader::new(stdout)) {
        if let Message::CompilerArtifact(artifact) =
            message.map_err(Error::system("read the messages of cargo"))?
        {
            done += 1;
            progress.step(&Step {
                verb: "Compiling",
                name: artifact.target.name,
                done,
                total: units.max(done),
                unit: "",
                elapsed: start.elapsed(),
            });
        }
    }
    let status = child.wait().map_err(Error::system("wait for cargo"))?;
    let said = stderr
        .and_then(|thread| thread.join().ok())
        .unwrap_or_default();
    if !status.success() {
        return Err(explain_failure(&said));
    }
    Ok(())
}

/// Collects what cargo writes, to be shown if it fails.
fn keep(mut stderr: ChildStderr) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stderr.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    })
}

/// Returns the error with cargo's messages and what the user can do.
///
/// Cargo reports these causes only as text, so this is the one place that searches it.
fn explain_failure(said: &str) -> Error {
    let advice = if said.contains("No space left on device") {
        "The disk is full: free some space (about 3 GB are needed), then run the same command again."
    } else if said.contains("linker `cc` not found") || said.contains("failed to find tool") {
        checks::NO_C_COMPILER
    } else if said.contains("Could not resolve host") || said.contains("failed to download") {
        "Packages could not be downloaded: check the connection, then run the same command again; \
         it goes on where it stopped."
    } else if said.contains("rustc") && said.contains("is not supported by the following package") {
        checks::OLD_COMPILER
    } else {
        "The packages did not compile. Cargo's messages:"
    };
    let noise = |line: &&str| {
        !line.trim_start().starts_with("Compiling ") && !line.trim_start().starts_with("Fresh ")
    };
    let said: Vec<&str> = said.lines().filter(noise).collect();
    Error::Cargo {
        advice,
        output: said.join("\n"),
    }
}

/// Estimates how many `compiler-artifact` messages a build prints: the library, and the build script if
/// there is one, of each package.
fn count_units(work: &Path) -> Result<usize> {
    let platform = format!("--filter-platform={}", toolchain::host()?);
    let metadata = metadata(work, &platform)?;
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
    Ok(targets.filter(|t| t.kind.iter().any(is_built)).count())
}

/// Asks cargo which packages the crate in `work` needs.
fn metadata(work: &Path, option: &str) -> Result<Metadata> {
    let mut command = cargo_command(work, "metadata")?;
    command.args(["--format-version=1", option]);
    let output = command.output().starting("cargo")?;
    if !output.status.success() {
        return Err(explain_failure(&String::from_utf8_lossy(&output.stderr)));
    }
    Ok(MetadataCommand::parse(String::from_utf8_lossy(
        &output.stdout,
    ))?)
}
