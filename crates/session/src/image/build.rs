//! Compiles everything that cells need, once.

use super::key::Key;
use super::manifest::Manifest;
use crate::workspace;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::Instant;
use taper_host::cache;
use taper_host::checks;
use taper_host::process;
use taper_host::progress::{Progress, Step, duration};
use taper_host::toolchain;

/// evcxr's work directory within the image's folder.
pub const WORK: &str = "work";

/// The first argument with which our own binary runs the first cell of a new image.
pub const WARM_ARGUMENT: &str = "__warm";

/// Builds the image in `folder`, going on where an earlier try ended.
pub fn build(key: &Key, folder: &Path, progress: &mut dyn Progress) -> Result<()> {
    checks::before_building(folder, has_begun(folder))?;
    checks::add_rust_src(progress)?;
    let start = Instant::now();
    Manifest::remove(folder)?;
    prepare(key, folder)?;
    let work = folder.join(WORK);
    progress.line("Compiling Taper and the packages below it (once; later starts take seconds).");
    compile(&work, false, &mut |_| (), progress)?;
    progress.line("Running a first cell.");
    warm(key, &work)?;
    progress.line(&format!("Compiled in {}.", duration(start.elapsed())));
    Ok(())
}

/// Whether an earlier build has left something in the image's folder.
pub fn has_begun(folder: &Path) -> bool {
    folder.join(WORK).exists()
}

/// Throws away what was built.
pub fn wipe(folder: &Path) -> Result<()> {
    Manifest::remove(folder)?;
    let work = folder.join(WORK);
    if work.exists() {
        std::fs::remove_dir_all(&work).with_context(|| format!("removing {}", work.display()))?;
    }
    Ok(())
}

/// Writes the crate that evcxr will write when `taper` is loaded.
fn prepare(key: &Key, folder: &Path) -> Result<()> {
    let work = folder.join(WORK);
    cache::make(&work.join("src"))?;
    workspace::prepare(folder)?;
    let path = toml::Value::String(key.taper.to_string_lossy().into_owned());
    let features = toml::Value::Array(key.features.iter().cloned().map(Into::into).collect());
    let manifest = format!(
        "[package]\nname = \"ctx\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
         [lib]\ncrate-type = [\"cdylib\"]\npath = \"src/lib.rs\"\n\
         [profile.dev]\nopt-level = 2\ndebug = false\nstrip = \"debuginfo\"\nrpath = true\nlto = false\n\
         debug-assertions = true\ncodegen-units = 16\npanic = 'unwind'\nincremental = true\noverflow-checks = true\n\
         [dependencies]\ntaper = {{ path = {path}, features = {features} }}\n"
    );
    cache::write_atomically(&work.join("Cargo.toml"), manifest.as_bytes())?;
    cache::write_atomically(&work.join("src/lib.rs"), b"pub use taper::prelude::*;\n")?;
    // The versions that the project has locked; cargo drops from its copy what is not needed here.
    std::fs::copy(key.taper.join("Cargo.lock"), work.join("Cargo.lock"))?;
    Ok(())
}

/// The command as evcxr gives it, so that cargo finds everything fresh in the sessions.
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
        // It would win over ours.
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

/// Compiles what the crate in `work` needs; `started` hears the number of cargo's process, and what
/// it gives is held until cargo has ended.
pub fn compile<T>(
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

/// Whether all packages that the crate in `work` needs lie in cargo's cache.
pub fn resolves_offline(work: &Path) -> bool {
    let output = cargo_command(work, "metadata").and_then(|mut command| {
        command.args(["--offline", "--format-version=1"]);
        Ok(command.output()?)
    });
    output.is_ok_and(|output| output.status.success())
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
    let mut child = command.spawn().context("starting cargo")?;
    let _held = started(child.id());
    let start = Instant::now();
    let stderr = child.stderr.take().map(keep);
    let stdout = child.stdout.take().context("cargo has an output")?;
    let mut done = 0;
    for line in BufReader::new(stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(&line?).unwrap_or_default();
        if message["reason"] == "compiler-artifact" {
            done += 1;
            let name = message["target"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            progress.step(&Step {
                verb: "Compiling",
                name,
                done,
                total: units.max(done),
                unit: "",
                elapsed: start.elapsed(),
            });
        }
    }
    let status = child.wait()?;
    let said = stderr
        .and_then(|thread| thread.join().ok())
        .unwrap_or_default();
    if !status.success() {
        bail!("{}", explain_failure(&said));
    }
    Ok(())
}

/// Keeps what cargo writes, for the case that it fails.
fn keep(mut stderr: ChildStderr) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stderr.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    })
}

/// What cargo said, after a sentence for what a person can mend.
fn explain_failure(said: &str) -> String {
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
        "The packages did not compile; this is what cargo said:"
    };
    let noise = |line: &&str| {
        !line.trim_start().starts_with("Compiling ") && !line.trim_start().starts_with("Fresh ")
    };
    let said: Vec<&str> = said.lines().filter(noise).collect();
    format!("{advice}\n{}", said.join("\n"))
}

/// How many messages `compiler-artifact` a build gives, nearly: a library and perhaps a build
/// script for each package.
fn count_units(work: &Path) -> Result<usize> {
    let mut command = cargo_command(work, "metadata")?;
    command.args([
        "--format-version=1",
        "--filter-platform",
        toolchain::host()?,
    ]);
    let output = command.output().context("starting cargo")?;
    if !output.status.success() {
        bail!(
            "{}",
            explain_failure(&String::from_utf8_lossy(&output.stderr))
        );
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let used: std::collections::HashSet<&str> = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|node| node["id"].as_str())
        .collect();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let is_built = |target: &serde_json::Value| {
        let kinds = target["kind"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|k| k.as_str());
        kinds
            .into_iter()
            .any(|kind| kind.contains("lib") || kind == "proc-macro" || kind == "custom-build")
    };
    let units = packages
        .filter(|p| p["id"].as_str().is_some_and(|id| used.contains(id)))
        .flat_map(|p| p["targets"].as_array().into_iter().flatten())
        .filter(|target| is_built(target));
    Ok(units.count())
}

/// Lets evcxr itself use the work directory: what it finds missing is compiled now. It needs an
/// environment of its own, hence another process.
fn warm(key: &Key, work: &Path) -> Result<()> {
    let output = process::supervised(process::program()?)?
        .arg(WARM_ARGUMENT)
        .args([work, &key.taper])
        .args(&key.features)
        .stdin(Stdio::null())
        .output()
        .context("starting the first cell")?;
    if !output.status.success() {
        bail!(
            "the first cell failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}
