//! Compiles a cell without cargo, where nothing but the cell is new.
//!
//! For each cell evcxr asks cargo, which looks whether one of 150 packages has changed, finds that
//! none has, and calls rustc; that takes longer than rustc itself. So the call that cargo makes is
//! recorded, and made again as long as everything that cargo reads is as it was: arguments, manifest,
//! lock file, configuration. Where there is no record, or a replay goes wrong, cargo is called.

use super::linker::Linker;
use super::recorder::{self, Call};
use super::replay::{Ended, Recipe};
use super::{source, tools, variables};
use crate::error::{Error, Result};
use ring::digest::{Context as Digest, SHA256};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use taper_host::error::Context as _;
use taper_host::{cache, digest::hex};

/// Beside the crate's manifest: the last call, as the recorder writes it.
const RECORD: &str = "rustc-call.json";
/// And what is made of it.
const RECIPE: &str = "rustc-recipe.json";
/// All messages of the last compilation, in cargo's form: evcxr reads the errors alone, and some of their notes
/// in place of the error.
pub(crate) const MESSAGES: &str = "rustc-messages.json";

/// `cargo build` or `cargo check`, as evcxr calls it, in the folder of the cell's crate.
pub(crate) struct Build<'a> {
    /// Those of `cargo build` in either case: a check that reads what builds have compiled spares
    /// every student to have all packages checked too.
    arguments: Vec<OsString>,
    /// Only what is wrong with the cell is asked for.
    is_check: bool,
    target: &'a str,
}

#[derive(Serialize, Deserialize)]
struct Noted {
    /// What must be the same for the recipe to be right again.
    basis: String,
    recipe: Recipe,
}

impl<'a> Build<'a> {
    /// The build that these arguments of cargo ask for.
    pub(crate) fn asked(arguments: &'a [OsString]) -> Option<Build<'a>> {
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
        })
    }

    /// Compiles, and writes what cargo would write.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        source::improve(Path::new("."));
        let basis = self.basis();
        let noted = noted().filter(|noted| Some(&noted.basis) == basis.as_ref());
        let Some(Noted { recipe, .. }) = noted else {
            return self.run_cargo(basis, true);
        };
        match recipe.make(self.is_check) {
            Ok(Ended::Done { success, messages }) => {
                pass_on(messages.as_bytes())?;
                Ok(if success {
                    ExitCode::SUCCESS
                } else {
                    ExitCode::from(101)
                })
            }
            Ok(Ended::Unclear) | Err(_) => self.run_cargo(basis, !recipe.links_directly()),
        }
    }

    /// A digest of what cargo reads; `None` where it may find something new every time: a package whose
    /// source the student may be changing.
    fn basis(&self) -> Option<String> {
        let manifest = std::fs::read_to_string("Cargo.toml").ok()?;
        if has_other_source(&manifest) {
            return None;
        }
        let mut digest = Digest::new(&SHA256);
        let mut add = |bytes: &[u8]| {
            digest.update(&(bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        self.arguments
            .iter()
            .for_each(|argument| add(argument.as_encoded_bytes()));
        add(manifest.as_bytes());
        let own = variables::cargo_home().map(|home| home.join("config.toml"));
        let files =
            ["Cargo.lock", ".cargo/config.toml", "../.cargo/config.toml"].map(PathBuf::from);
        for file in files.into_iter().chain(own) {
            add(&std::fs::read(file).unwrap_or_default());
        }
        for variable in ["RUSTFLAGS", "RUSTC"] {
            add(std::env::var_os(variable)
                .unwrap_or_default()
                .as_encoded_bytes());
        }
        Some(hex(digest))
    }

    /// Lets cargo do it, and keeps how it called rustc. `directly`: the next cells may be linked
    /// without `cc`.
    fn run_cargo(&self, basis: Option<String>, directly: bool) -> Result<ExitCode> {
        let folder = std::env::current_dir();
        let record = folder.map_err(Error::system("find the current folder"))?;
        let record = record.join(RECORD);
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
        if let (Some(basis), Some(call)) = (basis, recorded(&record)) {
            let linker = Linker::of(&call.arguments, self.target).filter(|_| directly);
            let recipe = Recipe::new(call, &given, linker);
            let noted = serde_json::to_vec(&Noted { basis, recipe });
            let noted = noted.map_err(Error::json("a call of rustc"))?;
            cache::write_atomically(Path::new(RECIPE), &noted)?;
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

fn noted() -> Option<Noted> {
    serde_json::from_slice(&std::fs::read(RECIPE).ok()?).ok()
}

fn recorded(file: &Path) -> Option<Call> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

/// The environment that a command will have.
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

/// Returns whether the manifest has a path dependency besides `taper`.
fn has_other_source(manifest: &str) -> bool {
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    let dependencies = manifest.get("dependencies").and_then(|d| d.as_table());
    let mut dependencies = dependencies.into_iter().flatten();
    dependencies.any(|(name, value)| name != "taper" && value.get("path").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_in_a_folder_may_change_at_any_time() {
        let manifest = |more| format!("[dependencies]\ntaper = {{ path = \"/a\" }}\n{more}");
        assert!(!has_other_source(&manifest("rand = \"0.9\"")));
        assert!(has_other_source(&manifest("mine = { path = \"../mine\" }")));
    }
}
