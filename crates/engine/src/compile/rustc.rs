//! rustc: started before the cell is known, and waiting inside the source.
//!
//! `main.rs` names the packages, and then includes standard input. So rustc, started when the previous cell
//! has ended, loads the metadata of all packages and waits there. A cell then costs what it costs itself.
//! The text on standard input includes the files of the cells, whose names, lines and columns the messages
//! have.
//!
//! How well a cell is compiled depends on what it contains ([`Work`]), and rustc cannot change that once it runs. So one
//! rustc waits for cells that only call compiled code, which is most of them, and after the first cell with nested
//! loops, another one waits for cells with nested loops. Compared with level 1, cells of the chapters take 0.7 times as
//! long at level 0, and 1.5 times as long at level 2, which pays only for tight loops.

use super::call;
use super::linker::Linker;
use super::{support, types};
use crate::cell::work::Work;
use crate::config::{Config, Package, SUPPORT};
use crate::diagnostic::Diagnostic;
use crate::error::compiler_failed;
use crate::interrupt::Control;
use crate::words;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::cell::Cell;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use taper_host::digest;
use taper_host::error::OnFile as _;

/// The crate that a cell becomes. Always the same, so that a type has the same identity in all cells.
const CRATE: &str = "notebook";

/// Compiles cells.
pub(crate) struct Compiler {
    config: Arc<Config>,
    /// The library of the crate [`SUPPORT`].
    support: PathBuf,
    linker: Option<Linker>,
    /// What `main.rs` contains.
    main: String,
    /// A digest of compiler, flags and packages.
    identity: String,
    waiting: Vec<(Purpose, Running)>,
    /// How many compilers were started.
    started: Cell<u32>,
    /// How many sources were compiled or checked.
    count: Cell<u64>,
}

/// What rustc is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// An object file, which [`Linker`] links, at this level of optimization.
    Object(u8),
    /// A library that rustc links.
    Library(u8),
    /// The messages alone.
    Check,
}

/// A cell to compile.
pub(crate) struct Task<'a> {
    pub(crate) work: Work,
    /// Attributes of the crate.
    pub(crate) attributes: String,
    /// The text for standard input.
    pub(crate) text: &'a str,
    /// Looks for a word in that text and in the files that it includes.
    pub(crate) contains: &'a dyn Fn(&str) -> bool,
}

/// What became of a cell.
pub(crate) struct Compiled {
    pub(crate) messages: Messages,
    /// `None` if the cell does not compile.
    pub(crate) library: Option<Library>,
}

/// The library of a cell.
pub(crate) struct Library {
    pub(crate) path: PathBuf,
    /// Whether it depends on nothing but the source, the compiler and the packages.
    pub(crate) can_be_kept: bool,
}

/// A line of rustc's.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Artifact(Artifact),
    Diagnostic(Diagnostic),
}

/// A file that rustc has written completely.
#[derive(Deserialize)]
struct Artifact {
    artifact: PathBuf,
}

/// What rustc said.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// All messages, in order.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether the cell compiled.
    pub(crate) is_success: bool,
    /// Lines that are not messages.
    other: String,
}

impl Compiler {
    /// Prepares the compilation of cells.
    pub(crate) fn new(config: Arc<Config>) -> Result<Compiler> {
        let mut compiler = Compiler {
            support: support::compile(&config)?,
            linker: Linker::find(&config),
            main: String::new(),
            identity: identity(&config),
            waiting: Vec::new(),
            started: Cell::new(0),
            count: Cell::new(0),
            config,
        };
        compiler.write_main("")?;
        Ok(compiler)
    }

    /// Returns a compiler with the same packages; `config` may name another folder.
    pub(crate) fn with_config(&self, config: Arc<Config>) -> Compiler {
        Compiler {
            support: self.support.clone(),
            linker: Linker::find(&config),
            main: String::new(),
            identity: self.identity.clone(),
            waiting: Vec::new(),
            started: Cell::new(0),
            count: Cell::new(0),
            config,
        }
    }

    /// Compiles the next cells with other packages, and with these attributes of the crate.
    pub(crate) fn set_config(&mut self, config: Arc<Config>, attributes: &str) -> Result<()> {
        self.identity = identity(&config);
        self.config = config;
        self.waiting.clear();
        self.write_main(attributes)
    }

    /// Ends the compilers that wait: each holds the metadata of all packages in memory. The next cell starts one.
    pub(crate) fn rest(&mut self) {
        self.waiting.clear();
    }

    /// Returns the shared library that the process of the cells must load before the first cell.
    pub(crate) fn support(&self) -> &Path {
        &self.support
    }

    /// Returns how many sources were compiled or checked.
    pub(crate) fn count(&self) -> u64 {
        self.count.get()
    }

    /// Returns a digest of what the result of a compilation depends on.
    pub(crate) fn key(&self, work: Work, attributes: &str, texts: &[&str]) -> String {
        let folder = self.config.folder.display().to_string();
        let mut all = format!("{}\0{work:?}\0{attributes}", self.identity);
        for text in texts {
            all.push('\0');
            all.push_str(&text.replace(&folder, ""));
        }
        digest::of(all.as_bytes())
    }

    /// Starts rustc for the next cell. A failure is reported when that cell needs rustc.
    pub(crate) fn prepare(&mut self, works: &[Work]) {
        for work in works {
            let purpose = self.purpose(*work, &|_| false);
            if self.waiting.iter().any(|(it, _)| *it == purpose) {
                continue;
            }
            if let Ok(running) = self.start(purpose) {
                self.waiting.push((purpose, running));
            }
        }
    }

    /// Compiles a cell. Returns rustc's messages and, if the cell compiled, its library.
    pub(crate) fn compile(&mut self, cell: &Task, control: &Control) -> Result<Compiled> {
        self.write_main(&cell.attributes)?;
        let purpose = self.purpose(cell.work, &cell.contains);
        let running = match self.waiting.iter().position(|(it, _)| *it == purpose) {
            Some(place) => self.waiting.swap_remove(place).1,
            None => self.start(purpose)?,
        };
        // Another core loads the packages for the next cell meanwhile.
        self.prepare(&[cell.work]);
        self.count.update(|count| count + 1);
        let output = running.output.clone();
        let messages = running.finish(cell.text, control)?;
        if !messages.is_success {
            let library = None;
            return Ok(Compiled { messages, library });
        }
        let mut library = Library {
            path: output.with_extension("so"),
            can_be_kept: false,
        };
        if let (Purpose::Object(_), Some(linker)) = (purpose, &self.linker) {
            linker.link(&output, &library.path)?;
            let _ = std::fs::remove_file(&output);
            let sources = output.with_extension("d");
            library.can_be_kept = reads_only(&sources, &self.config.folder);
            let _ = std::fs::remove_file(sources);
        }
        let library = Some(library);
        Ok(Compiled { messages, library })
    }

    /// Checks a source in the background.
    pub(crate) fn check(&self, source: String) -> Result<JoinHandle<Result<Messages>>> {
        let running = self.start(Purpose::Check)?;
        self.count.update(|count| count + 1);
        let check = move || running.finish(&source, &Control::default());
        let thread = std::thread::Builder::new().spawn(check);
        thread.context("cannot start a thread")
    }

    /// Writes `main.rs`, if it changes. A compiler that waits has read the old one.
    fn write_main(&mut self, attributes: &str) -> Result<()> {
        let names = self.config.packages.iter().map(|package| &*package.name);
        let loaded: String = names.map(|name| format!("use ::{name} as _;\n")).collect();
        // rustc would warn of what is usual in a notebook: names that no later cell uses.
        let main = format!(
            "{attributes}\n#![allow(dead_code, improper_ctypes, private_interfaces, redundant_semicolons)]\n\
             #![allow(static_mut_refs, unused_assignments, unused_imports, unused_macros, unused_mut, unused_parens)]\n\
             #![allow(unused_variables, unreachable_code, non_snake_case, non_upper_case_globals)]\n\
             #[macro_use] extern crate {SUPPORT};\n{loaded}include!(\"/dev/stdin\");\n"
        );
        if main == self.main {
            return Ok(());
        }
        self.waiting.clear();
        let path = self.config.folder.join("main.rs");
        std::fs::write(&path, &main).on_file("write", &path)?;
        self.main = main;
        Ok(())
    }

    /// Returns how a cell is compiled. Packages without a shared library are linked into the cell.
    fn purpose(&self, work: Work, contains: &dyn Fn(&str) -> bool) -> Purpose {
        let is_linked = |package: &Package| package.is_linked() && contains(&package.name);
        let is_linked = self.linker.is_none()
            || contains("#[link(")
            || self.config.packages.iter().any(is_linked);
        let level = match work {
            Work::Little | Work::OneLoop | Work::OneTightLoop => 0,
            Work::Loops => 1,
            Work::TightLoops => 2,
        };
        match is_linked {
            true => Purpose::Library(level),
            false => Purpose::Object(level),
        }
    }

    fn start(&self, purpose: Purpose) -> Result<Running> {
        let mut command = call::rustc(&self.config);
        let number = self.started.get();
        self.started.set(number + 1);
        let named = |end| self.config.folder.join(format!("compiled-{number}.{end}"));
        let (emit, output, level) = match purpose {
            Purpose::Object(level) => ("obj", named("o"), level),
            Purpose::Library(level) => ("link", named("so"), level),
            Purpose::Check => ("metadata", self.config.folder.join("check.rmeta"), 0),
        };
        let argument = |prefix: &str, path: &Path| {
            let mut argument = OsString::from(prefix);
            argument.push(path);
            argument
        };
        command
            .args(["main.rs", "--crate-name", CRATE, "--crate-type=cdylib"])
            .args([
                "-Cprefer-dynamic",
                "-Ccodegen-units=1",
                "-Cdebug-assertions=on",
            ])
            .args([
                "--error-format=json",
                "--json=artifacts",
                "--diagnostic-width=100000",
                "--verbose",
            ])
            .args(["--force-warn", types::LINT])
            .arg(argument(&format!("--emit={emit}="), &output))
            .arg(format!("-Copt-level={level}"))
            .arg(argument(
                "--remap-path-prefix=",
                &self.config.folder.join("="),
            ))
            .args(&self.config.flags);
        if let Purpose::Object(_) = purpose {
            command.arg(argument("--emit=dep-info=", &named("d")));
        }
        for folder in &self.config.search {
            command.arg("-L").arg(folder);
        }
        for package in &self.config.packages {
            for file in &package.files {
                command
                    .arg("--extern")
                    .arg(argument(&format!("{}=", package.name), file));
            }
        }
        command
            .arg("--extern")
            .arg(argument(&format!("{SUPPORT}="), &self.support));
        Running::start(&mut command, output)
    }
}

/// Returns a digest of the compiler, the flags and the packages: where they are does not matter.
fn identity(config: &Config) -> String {
    let file = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok();
        let modified = metadata.as_ref().and_then(|it| it.modified().ok());
        (modified, metadata.map(|it| it.len()))
    };
    let packages = config.packages.iter().map(|package| {
        let files: Vec<_> = package.files.iter().map(file).collect();
        (&package.name, files, package.library.is_some())
    });
    let packages: Vec<_> = packages.collect();
    let compiler = (
        &config.rustc,
        file(&config.rustc),
        &config.target,
        &config.flags,
        &config.environment,
    );
    let engine = (env!("CARGO_PKG_VERSION"), support::SOURCES);
    digest::of(format!("{compiler:?} {packages:?} {engine:?}").as_bytes())
}

/// Returns whether a cell was compiled from the files in this folder alone, without variables of the environment.
/// `sources` is the file in which rustc lists them, for make.
fn reads_only(sources: &Path, folder: &Path) -> bool {
    let Ok(listed) = std::fs::read_to_string(sources) else {
        return false;
    };
    let first = listed.lines().next().unwrap_or_default();
    let Some((_, files)) = first.split_once(": ") else {
        return false;
    };
    let files = files.replace("\\ ", "\0");
    let mut files = files.split_whitespace().map(|file| file.replace('\0', " "));
    let is_ours = |file: String| {
        file == "main.rs" || file == "/dev/stdin" || Path::new(&file).starts_with(folder)
    };
    files.all(is_ours) && !listed.contains("# env-dep:")
}

/// A compiler that runs, in a process group of its own. It is killed when this is dropped.
struct Running {
    child: Child,
    output: PathBuf,
}

impl Running {
    fn start(command: &mut Command, output: PathBuf) -> Result<Running> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        let child = command.spawn().context("cannot start rustc")?;
        Ok(Running { child, output })
    }

    /// Passes the source on, and waits until the output is written. rustc takes a sixth of its time to end after that.
    fn finish(mut self, source: &str, control: &Control) -> Result<Messages> {
        let compiling = control.compile(self.child.id());
        if let Some(mut stdin) = self.child.stdin.take() {
            // rustc that has ended says why on standard error.
            let _ = stdin.write_all(source.as_bytes());
        }
        let mut messages = Messages::default();
        if let Some(stderr) = self.child.stderr.take() {
            let mut stderr = BufReader::new(stderr);
            let mut line = Vec::new();
            loop {
                line.clear();
                let read = stderr.read_until(b'\n', &mut line);
                if read.context("cannot read the messages of rustc")? == 0 {
                    break;
                }
                let artifact = messages.add(&String::from_utf8_lossy(&line));
                if artifact.is_some_and(|it| it.artifact == self.output) {
                    drop(compiling);
                    self.end_in_background(stderr);
                    messages.is_success = true;
                    return Ok(messages);
                }
            }
        }
        // Once it is collected, another process may get its number.
        drop(compiling);
        let status = self.child.wait().context("cannot wait for rustc")?;
        messages.is_success = status.success();
        if messages.is_success || messages.errors().next().is_some() || control.is_asked_to_stop() {
            return Ok(messages);
        }
        let printed = match messages.other {
            other if other.trim().is_empty() => format!("it ended with {status}"),
            other => other,
        };
        Err(compiler_failed("rustc", printed))
    }

    /// Reads what rustc still says, and collects it.
    fn end_in_background(mut self, mut stderr: BufReader<ChildStderr>) {
        // Without a thread, dropping it kills it.
        let _ = std::thread::Builder::new().spawn(move || {
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            let _ = self.child.wait();
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let group = rustix::process::Pid::from_child(&self.child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Messages {
    /// Adds a line that rustc has written. Returns the file that it names, if it says that a file is complete.
    fn add(&mut self, line: &str) -> Option<Artifact> {
        match serde_json::from_str(line) {
            Ok(Line::Artifact(artifact)) => return Some(artifact),
            Ok(Line::Diagnostic(diagnostic)) => self.diagnostics.push(diagnostic),
            Err(_) => self.other.push_str(line),
        }
        None
    }

    /// Returns the errors.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        let errors = self.diagnostics.iter().filter(|it| it.is_error());
        // rustc's summary has no place.
        errors.filter(|it| !it.message.starts_with(words::SUMMARY))
    }
}
