//! rustc: started before the cell is known, and waiting inside the source.
//!
//! `main.rs` names the packages, and then includes standard input. So rustc, started when the previous cell
//! has ended, loads the metadata of all packages and waits there. A cell then costs what it costs itself.
//! The text on standard input includes the files of the cells, whose names, lines and columns the messages
//! have.

use super::call::{self, SUPPORT};
use super::linker::Linker;
use super::support;
use crate::config::{Config, Package};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::interrupt::Control;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

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
    waiting: Option<(Purpose, Running)>,
}

/// What rustc is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// An object file, which [`Linker`] links.
    Object(u32),
    /// A library that rustc links.
    Library(u32),
    /// The messages alone.
    Check,
}

/// A cell to compile.
pub(crate) struct Task<'a> {
    pub(crate) number: u32,
    /// Attributes of the crate.
    pub(crate) attributes: String,
    /// The text for standard input.
    pub(crate) text: &'a str,
    /// Looks for a word in that text and in the files that it includes.
    pub(crate) contains: &'a dyn Fn(&str) -> bool,
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
            waiting: None,
            config,
        };
        compiler.write_main("")?;
        Ok(compiler)
    }

    /// Compiles the next cells with other packages.
    pub(crate) fn set_config(&mut self, config: Arc<Config>) -> Result<()> {
        self.config = config;
        self.waiting = None;
        self.write_main("")
    }

    /// Returns the shared library that the process of the cells must load before the first cell.
    pub(crate) fn support(&self) -> &Path {
        &self.support
    }

    /// Starts rustc for the next cell. A failure is reported when that cell needs rustc.
    pub(crate) fn prepare(&mut self, cell: u32) {
        let purpose = self.purpose(cell, &|_| false);
        if self.waiting.as_ref().is_none_or(|(it, _)| *it != purpose) {
            self.waiting = self.start(purpose).ok().map(|running| (purpose, running));
        }
    }

    /// Compiles a cell. Returns rustc's messages and, if the cell compiled, its library.
    pub(crate) fn compile(
        &mut self,
        cell: &Task,
        control: &Control,
    ) -> Result<(Messages, Option<PathBuf>)> {
        self.write_main(&cell.attributes)?;
        let purpose = self.purpose(cell.number, &cell.contains);
        let running = match self.waiting.take() {
            Some((it, running)) if it == purpose => running,
            _ => self.start(purpose)?,
        };
        let messages = running.finish(cell.text, control)?;
        if !messages.is_success {
            return Ok((messages, None));
        }
        let library = self.output(purpose).with_extension("so");
        if let (Purpose::Object(_), Some(linker)) = (purpose, &self.linker) {
            let object = self.output(purpose);
            linker.link(&object, &library)?;
            let _ = std::fs::remove_file(object);
        }
        Ok((messages, Some(library)))
    }

    /// Checks a source in the background.
    pub(crate) fn check(&self, source: String) -> Result<JoinHandle<Result<Messages>>> {
        let running = self.start(Purpose::Check)?;
        let check = move || running.finish(&source, &Control::default());
        let thread = std::thread::Builder::new().spawn(check);
        thread.map_err(Error::system("start a thread"))
    }

    /// Writes `main.rs`, if it changes. A compiler that waits has read the old one.
    fn write_main(&mut self, attributes: &str) -> Result<()> {
        let names = self.config.packages.iter().map(|package| &*package.name);
        let loaded: String = names
            .chain([SUPPORT])
            .map(|name| format!("use ::{name} as _;\n"))
            .collect();
        // rustc would warn of what is usual in a notebook: names that no later cell uses.
        let main = format!(
            "{attributes}\n#![allow(dead_code, improper_ctypes, private_interfaces, redundant_semicolons)]\n\
             #![allow(static_mut_refs, unused_assignments, unused_imports, unused_macros, unused_mut, unused_parens)]\n\
             #![allow(unused_variables, unreachable_code, non_snake_case, non_upper_case_globals)]\n\
             {loaded}include!(\"/dev/stdin\");\n"
        );
        if main == self.main {
            return Ok(());
        }
        self.waiting = None;
        let path = self.config.folder.join("main.rs");
        std::fs::write(&path, &main).map_err(Error::file("write", path))?;
        self.main = main;
        Ok(())
    }

    /// Returns how a cell is compiled. Packages without a shared library are linked into the cell.
    fn purpose(&self, cell: u32, contains: &dyn Fn(&str) -> bool) -> Purpose {
        let is_linked = |package: &Package| package.library.is_none() && contains(&package.name);
        let is_linked = self.linker.is_none()
            || contains("#[link(")
            || self.config.packages.iter().any(is_linked);
        match is_linked {
            true => Purpose::Library(cell),
            false => Purpose::Object(cell),
        }
    }

    fn start(&self, purpose: Purpose) -> Result<Running> {
        let mut command = call::rustc(&self.config);
        let emit = match purpose {
            Purpose::Object(_) => "obj",
            Purpose::Library(_) => "link",
            Purpose::Check => "metadata",
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
                "--diagnostic-width=100000",
                "--verbose",
            ])
            .arg(format!("--emit={emit}"))
            .arg(argument(
                "--remap-path-prefix=",
                &self.config.folder.join("="),
            ))
            .arg("-o")
            .arg(self.output(purpose))
            .args(&self.config.flags);
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
        Running::start(&mut command)
    }

    fn output(&self, purpose: Purpose) -> PathBuf {
        self.config.folder.join(match purpose {
            Purpose::Object(cell) => format!("cell-{cell}.o"),
            Purpose::Library(cell) => format!("cell-{cell}.so"),
            Purpose::Check => "check.rmeta".to_owned(),
        })
    }
}

/// A compiler that runs, in a process group of its own. It is killed when this is dropped.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Running> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        let child = command.spawn().map_err(Error::system("start rustc"))?;
        Ok(Running(child))
    }

    /// Passes the source on, and waits for the end.
    fn finish(mut self, source: &str, control: &Control) -> Result<Messages> {
        let compiling = control.compile(self.0.id());
        if let Some(mut stdin) = self.0.stdin.take() {
            // rustc that has ended says why on standard error.
            let _ = stdin.write_all(source.as_bytes());
        }
        let mut said = Vec::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            let read = stderr.read_to_end(&mut said);
            read.map_err(Error::system("read the messages of rustc"))?;
        }
        // Once it is collected, another process may get its number.
        drop(compiling);
        let status = self.0.wait().map_err(Error::system("wait for rustc"))?;
        let messages = Messages::read(&String::from_utf8_lossy(&said), status.success());
        if messages.is_success || messages.errors().next().is_some() || control.is_asked_to_stop() {
            return Ok(messages);
        }
        Err(Error::Compiler {
            program: "rustc",
            output: match messages.other {
                other if other.trim().is_empty() => format!("it ended with {status}"),
                other => other,
            },
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let group = rustix::process::Pid::from_child(&self.0);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

impl Messages {
    fn read(said: &str, is_success: bool) -> Messages {
        let mut messages = Messages {
            is_success,
            ..Messages::default()
        };
        for line in said.lines() {
            match serde_json::from_str(line) {
                Ok(diagnostic) => messages.diagnostics.push(diagnostic),
                Err(_) => {
                    messages.other.push_str(line);
                    messages.other.push('\n');
                }
            }
        }
        messages
    }

    /// Returns the errors.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        let errors = self.diagnostics.iter().filter(|it| it.is_error());
        // rustc's summary has no place.
        errors.filter(|it| !it.message.starts_with("aborting due to"))
    }
}
