//! Compiles a cell without cargo, where nothing but the cell is new.
//!
//! For each cell evcxr asks cargo, which looks whether one of 150 packages has changed, finds that none
//! has, and calls rustc; that takes longer than rustc itself. So the call that cargo makes is recorded,
//! and repeated as long as everything that cargo reads is unchanged: arguments, manifest, lock file,
//! configuration. Where there is no record, or a replay goes wrong, cargo is called.

use super::kept::{self, Kept};
use super::linker::Linker;
use super::recorder::{self, Call};
use super::replay::{Ended, Recipe, Task};
use super::{basis, lighten, memory, source, tools, variables};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use taper_host::cache;
use taper_host::error::Context as _;

/// The file beside the crate's manifest with the last call of rustc, as the recorder writes it.
const RECORD: &str = "rustc-call.json";
/// The file with all messages of the last compilation, in cargo's format. evcxr returns only errors, and
/// in place of some errors one of their notes.
pub(crate) const MESSAGES: &str = "rustc-messages.json";
/// The source file that evcxr writes.
const SOURCE: &str = "src/lib.rs";

/// A function that copies the files that cargo reads into a work directory.
pub(crate) type Complete<'a> = &'a dyn Fn(&Path) -> Result<()>;

/// `cargo build` or `cargo check`, as evcxr calls it, in the folder of the cell's crate.
pub(crate) struct Build<'a> {
    /// The arguments of `cargo build`, also for a check: so a check uses the compiled packages, and they
    /// need not be checked as well.
    arguments: Vec<OsString>,
    /// Whether the cell is only checked for errors.
    is_check: bool,
    target: &'a str,
    /// The session's folder.
    session: &'a Path,
}

impl<'a> Build<'a> {
    /// Returns the build for these arguments of cargo, or `None` if they are for something else.
    pub(crate) fn asked(arguments: &'a [OsString], session: &'a Path) -> Option<Build<'a>> {
        // evcxr sets `RUSTC`; a user who calls cargo does not.
        std::env::var_os("RUSTC")?;
        let mut texts = arguments.iter().filter_map(|argument| argument.to_str());
        let target = texts
            .clone()
            .skip_while(|text| *text != "--target")
            .nth(1)?;
        let is_check = texts.find(|text| ["build", "check"].contains(text))? == "check";
        let built = |argument: &OsString| match is_check && argument == "check" {
            true => "build".into(),
            false => argument.clone(),
        };
        Some(Build {
            arguments: arguments.iter().map(built).collect(),
            is_check,
            target,
            session,
        })
    }

    /// Compiles the cell, and writes what cargo would write.
    pub(crate) fn run(&self, complete: Complete) -> Result<ExitCode> {
        source::improve(Path::new("."));
        let Some(basis) = basis::of(&self.arguments, self.session) else {
            return self.run_cargo(None, true, complete);
        };
        let basis = format!("{basis}.recipe");
        let Some(recipe) = self.recipe(&basis) else {
            let code = self.run_cargo(Some(basis.clone()), true, complete)?;
            self.keep(&basis);
            return Ok(code);
        };
        match self.replay(&recipe, &basis) {
            Ok(Some(Kept { success, messages })) => {
                pass_on(messages.as_bytes())?;
                Ok(ExitCode::from(if success { 0 } else { 101 }))
            }
            Ok(None) | Err(_) => self.run_cargo(Some(basis), !recipe.links_directly(), complete),
        }
    }

    /// Compiles a first cell of an image again by its new recipe, as sessions will, to keep the result
    /// for them.
    fn keep(&self, basis: &str) {
        if let Some(recipe) = self.recipe(basis).filter(|_| kept::is_asked_for()) {
            // What is not kept is compiled in each session.
            let _ = self.replay(&recipe, basis);
        }
    }

    /// Compiles the cell by a recipe, without the variables that it does not need. Returns `None` if
    /// something other than the cell is wrong. If a name was not found, rustc is called again with all
    /// variables, because it suggests similar names.
    fn replay(&self, recipe: &Recipe, basis: &str) -> Result<Option<Kept>> {
        if self.is_check {
            return Ok(recipe.make(Task::Check, self.session)?.made());
        }
        let file = Path::new(SOURCE);
        let whole = std::fs::read_to_string(file).on_file("read", file)?;
        if let Some(light) = lighten::lighten(&whole) {
            cache::overwrite(file, light.as_bytes())?;
            if let Ended::Done(made) = self.compile(recipe, basis, &light)? {
                return Ok(Some(made));
            }
            cache::overwrite(file, whole.as_bytes())?;
        }
        Ok(self.compile(recipe, basis, &whole)?.made())
    }

    fn compile(&self, recipe: &Recipe, basis: &str, source: &str) -> Result<Ended> {
        let cell = basis::of_cell(basis, source);
        if let Some(kept) = Kept::find(&cell, self.session) {
            return Ok(Ended::Done(kept));
        }
        let task = Task::Build {
            source,
            recipe: basis,
        };
        let ended = recipe.make(task, self.session)?;
        if let Ended::Done(made) = &ended {
            made.keep(&cell, self.session)?;
        }
        Ok(ended)
    }

    fn recipe(&self, name: &str) -> Option<Recipe> {
        serde_json::from_slice(&memory::read(name, self.session)?).ok()
    }

    /// Lets cargo compile the cell, and keeps its call of rustc as the recipe `name`. With `directly`,
    /// the next cells may be linked without `cc`.
    fn run_cargo(
        &self,
        name: Option<String>,
        directly: bool,
        complete: Complete,
    ) -> Result<ExitCode> {
        let folder = std::env::current_dir().map_err(Error::system("find the current folder"))?;
        complete(&folder)?;
        let record = folder.join(RECORD);
        let _ = std::fs::remove_file(&record);
        let mut cargo = tools::cargo(&self.arguments);
        if let Some(recorder) = variables::program(recorder::NAME) {
            recorder::attach(&mut cargo, &recorder, &record);
        }
        let given = variables_of(&cargo);
        cargo.stderr(Stdio::inherit());
        let output = cargo.output().starting(cargo.get_program())?;
        pass_on(&output.stdout)?;
        // Cells are compiled in the same way whether they have errors or not. There is no record
        // if cargo found nothing to do, or stopped at another package.
        if let (Some(name), Some(call)) = (name, recorded(&record)) {
            let linker = Linker::of(&call.arguments, self.target).filter(|_| directly);
            if let Some(recipe) = Recipe::new(call, &given, linker, self.session) {
                let recipe = serde_json::to_vec(&recipe).map_err(Error::json("a call of rustc"))?;
                memory::keep(&name, &recipe, self.session);
            }
        }
        Ok(tools::exit_code(output.status))
    }
}

/// Writes the messages to evcxr, and into a file for the session.
fn pass_on(messages: &[u8]) -> Result<()> {
    // Without the file, the session shows what evcxr makes of the messages.
    let _ = std::fs::write(MESSAGES, messages);
    let written = std::io::stdout().write_all(messages);
    written.map_err(Error::system("pass on the compiler's messages"))
}

fn recorded(file: &Path) -> Option<Call> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

/// Returns the environment that a command will have.
fn variables_of(command: &Command) -> BTreeMap<OsString, OsString> {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => variables.insert(name.to_owned(), value.to_owned()),
            None => variables.remove(name),
        };
    }
    variables
}
