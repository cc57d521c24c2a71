//! Makes a recorded call of rustc again, for another cell.

use super::kept::{Kept, library};
use super::linker::Linker;
use super::outline::{Outline, is_static_form, shared_libraries};
use super::recorder::Call;
use super::{children, messages, waiting};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use taper_host::error::Context as _;

/// A recorded call of rustc, with what is changed when it is made again.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Recipe {
    arguments: Vec<String>,
    folder: PathBuf,
    /// The variables that cargo sets for this crate.
    variables: Vec<(String, String)>,
    /// The linker that rustc calls directly; `None` if it links as in cargo's call.
    linker: Option<Linker>,
    /// The outline that the linker reads in place of the library; `None` if it reads the whole library.
    #[serde(default)]
    outline: Option<Outline>,
}

/// What a replay does with the cell.
#[derive(Clone, Copy)]
pub(crate) enum Task<'a> {
    /// Checks the cell for errors.
    Check,
    /// Compiles the cell with this source, by the recipe of this name.
    Build { source: &'a str, recipe: &'a str },
}

/// How a replay ended.
pub(crate) enum Ended {
    /// With the result that cargo would have had.
    Done(Kept),
    /// With the error that the cell names something unknown.
    LacksName(Kept),
    /// Something other than the cell is wrong: cargo must be called.
    Unclear,
}

impl Ended {
    /// Returns the result of the cell, if nothing else was wrong.
    pub(crate) fn made(self) -> Option<Kept> {
        match self {
            Ended::Done(made) | Ended::LacksName(made) => Some(made),
            Ended::Unclear => None,
        }
    }
}

impl Recipe {
    /// Creates the recipe for a call that cargo made in the environment `given`. Returns `None` if the
    /// call is not UTF-8.
    pub(crate) fn new(
        call: Call,
        given: &BTreeMap<OsString, OsString>,
        linker: Option<Linker>,
        session: &Path,
    ) -> Option<Recipe> {
        let shared = shared_libraries(call.arguments.iter().filter_map(|a| a.to_str()));
        let outline = match (&linker, &shared[..]) {
            (Some(_), [(_, library)]) => Outline::of(Path::new(library), session),
            _ => None,
        };
        let set_by_cargo = |(name, value): &(OsString, OsString)| {
            !is_of_make(name) && (is_cargos(name) || given.get(name) != Some(value))
        };
        let text = |text: OsString| text.into_string().ok();
        let variables = call.environment.into_iter().filter(set_by_cargo);
        let variables = variables.map(|(name, value)| Some((text(name)?, text(value)?)));
        Some(Recipe {
            variables: variables.collect::<Option<_>>()?,
            arguments: call
                .arguments
                .into_iter()
                .map(text)
                .collect::<Option<_>>()?,
            folder: call.folder,
            linker,
            outline,
        })
    }

    /// Returns whether the linker is called without `cc`.
    pub(crate) fn links_directly(&self) -> bool {
        self.linker.is_some()
    }

    /// Returns whether rustc itself is called, and not a wrapper of the user, such as a cache.
    pub(crate) fn calls_rustc(&self) -> bool {
        let program = self.arguments.first().map(Path::new);
        program.is_some_and(|program| program.ends_with("rustc"))
    }

    /// Compiles the cell, or only checks it for errors.
    pub(crate) fn make(&self, task: Task, session: &Path) -> Result<Ended> {
        // Another folder contains the source of another cell.
        if std::env::current_dir().ok().as_ref() != Some(&self.folder) {
            return Ok(Ended::Unclear);
        }
        let library = library(session);
        let is_check = matches!(task, Task::Check);
        let (diagnostics, code) = self.run(task, session)?;
        let is_done = match code {
            Some(0) => is_check || library.is_file(),
            Some(1) => are_about_the_cell(&diagnostics),
            _ => false,
        };
        if !is_done {
            return Ok(Ended::Unclear);
        }
        let success = code == Some(0);
        let mut said: String = diagnostics.iter().map(messages::diagnostic).collect();
        if success && !is_check {
            said += &messages::artifact(&library);
        }
        let made = Kept {
            success,
            messages: said,
        };
        let lacks_name = diagnostics.iter().any(messages::lacks_a_name);
        Ok(match lacks_name {
            true => Ended::LacksName(made),
            false => Ended::Done(made),
        })
    }

    /// Runs rustc, or uses the waiting compiler. Returns its diagnostics and its exit code.
    fn run(&self, task: Task, session: &Path) -> Result<(Vec<Value>, Option<i32>)> {
        let mut rustc = match task {
            Task::Check => self.command(true, session)?,
            Task::Build { source, recipe } => {
                if let Some((code, said)) = waiting::compile(recipe, source, session) {
                    return Ok((read(&said[..])?, Some(code)));
                }
                waiting::expect(recipe, session);
                self.command(false, session)?
            }
        };
        let mut child = rustc.spawn().starting(rustc.get_program())?;
        let diagnostics = read(child.stderr.take().expect("it is piped"))?;
        let status = child.wait().map_err(Error::system("wait for rustc"))?;
        Ok((diagnostics, status.code()))
    }

    /// Returns the call of rustc, with an empty standard input.
    pub(crate) fn command(&self, is_check: bool, session: &Path) -> Result<Command> {
        let library = library(session);
        let output = library.parent().unwrap_or(session);
        std::fs::create_dir_all(output).on_file("create", output)?;
        let outline = self.outline.as_ref().and_then(Outline::current);
        let call_of_rustc = Error::Arguments("a call of rustc");
        let program = self.arguments.first().ok_or(call_of_rustc)?;
        let mut rustc = Command::new(program);
        children::leave(&mut rustc);
        for (name, _) in std::env::vars_os() {
            // Set by a cargo that started this process.
            if is_of_make(&name) || (is_cargos(&name) && name != "CARGO_HOME") {
                rustc.env_remove(name);
            }
        }
        rustc
            .args(self.changed_arguments(is_check, outline, output))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        Ok(rustc)
    }

    fn changed_arguments(
        &self,
        is_check: bool,
        outline: Option<&Path>,
        output: &Path,
    ) -> Vec<OsString> {
        let mut changed = Vec::with_capacity(self.arguments.len() + 8);
        let shared = shared_libraries(self.arguments.iter().map(String::as_str));
        let mut rest = self.arguments.iter().skip(1).peekable();
        while let Some(argument) = rest.next() {
            let value = rest.peek().map_or("", |next| next.as_str());
            if argument == "--out-dir"
                || (argument == "--extern" && is_static_form(value, &shared))
                || (argument == "-C" && value.starts_with("incremental="))
                // With it, the loader would find the outline in place of the library.
                || (argument == "-C" && value == "rpath" && outline.is_some())
            {
                rest.next();
            } else if argument == "--extern"
                && let Some(outline) = outline
                && let Some((name, _)) = shared
                    .iter()
                    .find(|shared| value.split_once('=') == Some(**shared))
            {
                rest.next();
                let mut dependency = OsString::from(format!("{name}="));
                dependency.push(outline);
                changed.extend([argument.into(), dependency]);
            } else if argument.starts_with("--emit=") {
                changed.push(
                    if is_check {
                        "--emit=metadata"
                    } else {
                        "--emit=link"
                    }
                    .into(),
                );
            } else if !self.is_left_out(argument) {
                changed.push(argument.into());
            }
        }
        changed.extend(["--out-dir".into(), output.into()]);
        // For so small a crate, it takes longer to read and write incremental state than to compile, and
        // longer to optimise the codegen units together than separately.
        changed.extend(["-Ccodegen-units=2".into(), "-Clto=off".into()]);
        changed.extend(self.linker.iter().flat_map(Linker::arguments));
        if let Some(outline) = outline {
            // The outline has no symbols, so the linker would not list the library as needed.
            let mut argument = OsString::from("-Clink-arg=");
            argument.push(outline);
            changed.extend(["-Clink-arg=--no-as-needed".into(), argument]);
        }
        changed
    }

    fn is_left_out(&self, argument: &str) -> bool {
        // Cargo does not pass these warnings on.
        argument == "--force-warn=unused_crate_dependencies"
            // This argument is for `cc`.
            || (self.links_directly() && argument.contains("link-arg=-fuse-ld="))
    }
}

fn read(said: impl Read) -> Result<Vec<Value>> {
    let mut diagnostics = Vec::new();
    for line in BufReader::new(said).split(b'\n') {
        let line = line.map_err(Error::system("read the compiler's messages"))?;
        let line = String::from_utf8_lossy(&line).into_owned();
        match messages::read(&line) {
            messages::Line::Diagnostic(message) => diagnostics.push(message),
            messages::Line::Internal => {}
            messages::Line::Text => eprintln!("{line}"),
        }
    }
    Ok(diagnostics)
}

/// Returns whether there are errors, and all of them point into a source.
fn are_about_the_cell(diagnostics: &[Value]) -> bool {
    let mut errors = diagnostics
        .iter()
        .filter(|d| messages::is_error(d))
        .peekable();
    errors.peek().is_some() && errors.all(messages::points_into_a_source)
}

/// Returns whether this is a variable in which cargo describes a crate to its compiler.
fn is_cargos(name: &OsStr) -> bool {
    name == "CARGO" || name.as_encoded_bytes().starts_with(b"CARGO_")
}

/// Returns whether this is a variable of make's jobserver. It names descriptors of a cargo that has
/// ended.
fn is_of_make(name: &OsStr) -> bool {
    ["MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS"]
        .iter()
        .any(|make| name == *make)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[&str]) -> Vec<OsString> {
        values.iter().map(OsString::from).collect()
    }

    fn recipe(arguments: &[&str]) -> Recipe {
        let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let call = Call {
            arguments: texts(arguments),
            environment: vec![
                variable("CARGO_PKG_NAME", "ctx"),
                variable("CARGO_MAKEFLAGS", "-j --jobserver-fds=8,9"),
                variable("LD_LIBRARY_PATH", "/new"),
                variable("HOME", "/home/ada"),
            ],
            folder: "/w".into(),
        };
        let given = [
            variable("HOME", "/home/ada"),
            variable("LD_LIBRARY_PATH", "/old"),
        ];
        Recipe::new(call, &given.into_iter().collect(), None, Path::new("/w"))
            .expect("all is UTF-8")
    }

    #[test]
    fn only_what_cargo_has_set_is_kept() {
        let names: Vec<_> = recipe(&["rustc"])
            .variables
            .into_iter()
            .map(|v| v.0)
            .collect();
        assert_eq!(names, ["CARGO_PKG_NAME", "LD_LIBRARY_PATH"]);
    }

    #[test]
    fn the_output_is_written_into_the_given_folder() {
        let recipe = recipe(&[
            "/bin/rustc",
            "--crate-name",
            "ctx",
            "--emit=dep-info,link",
            "--out-dir",
            "/w/target/any layout/out",
            "-C",
            "incremental=/w/i",
            "--force-warn=unused_crate_dependencies",
        ]);
        let build = recipe.changed_arguments(false, None, Path::new("/w/cells"));
        let expected = [
            "--crate-name",
            "ctx",
            "--emit=link",
            "--out-dir",
            "/w/cells",
            "-Ccodegen-units=2",
            "-Clto=off",
        ];
        assert_eq!(build, texts(&expected));
        let check = recipe.changed_arguments(true, None, Path::new("/w/cells"));
        assert!(check.contains(&"--emit=metadata".into()));
    }

    #[test]
    fn of_a_shared_library_the_static_form_is_not_read() {
        let shared = format!("taper=/w/libtaper{}", std::env::consts::DLL_SUFFIX);
        let more = [
            "--extern",
            &shared,
            "--extern",
            "taper=/w/libtaper.rlib",
            "--extern",
            "own=/w/libown.rlib",
            "-Cprefer-dynamic",
        ];
        let given = [&["/bin/rustc"][..], &more].concat();
        let build = recipe(&given).changed_arguments(false, None, Path::new("/w/cells"));
        let expected = [&more[..2], &more[4..]].concat();
        assert_eq!(build[..5], texts(&expected));
        let without = recipe(&given[..7]).changed_arguments(false, None, Path::new("/w/cells"));
        assert_eq!(without[..6], texts(&more[..6]));
    }

    #[test]
    fn an_outline_takes_the_place_of_the_library() {
        let shared = format!("taper=/w/libtaper{}", std::env::consts::DLL_SUFFIX);
        let given = [
            "rustc",
            "-C",
            "rpath",
            "--extern",
            &shared,
            "-Cprefer-dynamic",
        ];
        let outline = Some(Path::new("/w/a/libtaper.so"));
        let build = recipe(&given).changed_arguments(false, outline, Path::new("/w/cells"));
        assert_eq!(build[..2], texts(&["--extern", "taper=/w/a/libtaper.so"]));
        let end = ["-Clink-arg=--no-as-needed", "-Clink-arg=/w/a/libtaper.so"];
        assert!(build.ends_with(&texts(&end)));
    }
}
