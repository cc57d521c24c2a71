//! Compiles a cell without cargo, where nothing but the cell is new.
//!
//! For each cell evcxr asks cargo, which looks whether one of 150 packages has changed, finds that
//! none has, and calls rustc; that takes nearly as long as rustc itself. So we note the call of
//! rustc when cargo makes it, and make it ourselves the next time that everything which cargo reads
//! is as it was: arguments, manifest, lock file, configuration.

use super::cargo::{like, real};
use anyhow::{Context, Result};
use ring::digest::{Context as Digest, SHA256};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use taper_host::digest::hex;

/// The name that evcxr gives to the crate of a cell.
const CRATE: &str = "ctx";
/// Where the call is noted, beside the crate's manifest.
const NOTE: &str = "rustc-call.json";

/// `cargo build` or `cargo check`, as evcxr calls it, in the folder of the cell's crate.
pub struct Build<'a> {
    /// Those of `cargo build` in either case: a check that reads what builds have compiled spares
    /// every student to have all packages checked too.
    arguments: Vec<OsString>,
    /// Only what is wrong with the cell is asked for.
    is_check: bool,
    target: &'a str,
}

/// A call of rustc that cargo has made.
#[derive(Serialize, Deserialize)]
struct Noted {
    /// What must be the same for it to be right again.
    basis: String,
    /// As cargo prints it, for a shell.
    call: String,
}

impl<'a> Build<'a> {
    pub fn asked(arguments: &'a [OsString]) -> Option<Build<'a>> {
        // evcxr names rustc, a person who calls cargo does not.
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

    pub fn run(&self) -> Result<ExitCode> {
        let basis = self.basis();
        if let (Some(basis), Some(noted)) = (&basis, self.noted())
            && *basis == noted.basis
            && let Some(code) = self.compile(&noted.call)?
        {
            return Ok(code);
        }
        self.run_cargo(basis)
    }

    /// What cargo reads; `None` where it may find something new every time: a package whose source
    /// the student may be changing, or a cell that looks at what cargo sets.
    fn basis(&self) -> Option<String> {
        let manifest = std::fs::read_to_string("Cargo.toml").ok()?;
        let cell = std::fs::read_to_string("src/lib.rs").ok()?;
        if has_other_source(&manifest) || cell.contains("CARGO_") || cell.contains("OUT_DIR") {
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
        for file in ["Cargo.lock", ".cargo/config.toml", "../.cargo/config.toml"] {
            add(&std::fs::read(file).unwrap_or_default());
        }
        for variable in ["RUSTFLAGS", "RUSTC"] {
            add(std::env::var_os(variable)
                .unwrap_or_default()
                .as_encoded_bytes());
        }
        Some(hex(digest))
    }

    fn noted(&self) -> Option<Noted> {
        serde_json::from_slice(&std::fs::read(NOTE).ok()?).ok()
    }

    /// Makes the call; `None` if rustc itself failed, for which cargo knows words.
    fn compile(&self, call: &str) -> Result<Option<ExitCode>> {
        let call = match self.is_check {
            true => checking(call),
            false => call.to_owned(),
        };
        // Since 1.100 cargo asks for warnings that it does not pass on.
        let call = call.replace("--force-warn=unused_crate_dependencies", "");
        // Nothing is gained by optimising across the parts of so small a crate.
        let call = format!("exec {call} -C lto=off");
        let mut rustc = Command::new("sh");
        super::leave(&mut rustc);
        let mut child = rustc
            .args(["-c", &call])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting rustc")?;
        let said = BufReader::new(child.stderr.take().context("it is piped")?);
        let mut messages = String::new();
        for line in said.lines() {
            let line = line?;
            if line.starts_with(r#"{"$message_type":"diagnostic""#) {
                messages += &format!("{{\"reason\":\"compiler-message\",\"message\":{line}}}\n");
            } else if !line.starts_with('{') {
                eprintln!("{line}");
            }
        }
        let status = child.wait()?;
        if !matches!(status.code(), Some(0 | 1)) {
            return Ok(None);
        }
        if status.success() && !self.is_check {
            // Where cargo puts it elsewhere, cargo does it.
            let Ok(artifact) = self.library(&call) else {
                return Ok(None);
            };
            messages += &artifact;
        }
        std::io::stdout().write_all(messages.as_bytes())?;
        Ok(Some(if status.success() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(101)
        }))
    }

    /// Puts the compiled library where cargo does, and says so as cargo does.
    fn library(&self, call: &str) -> Result<String> {
        let folder = std::env::current_dir()?
            .join("target")
            .join(self.target)
            .join("debug");
        let name = format!(
            "{}{CRATE}{}",
            std::env::consts::DLL_PREFIX,
            std::env::consts::DLL_SUFFIX
        );
        let library = folder.join(&name);
        let _ = std::fs::remove_file(&library);
        std::fs::hard_link(output_folder(call)?.join(&name), &library)
            .with_context(|| format!("placing {}", library.display()))?;
        let artifact = serde_json::json!({
            "reason": "compiler-artifact", "target": { "name": CRATE }, "filenames": [library],
        });
        Ok(format!("{artifact}\n"))
    }

    /// Lets cargo do it, and notes how it calls rustc.
    fn run_cargo(&self, basis: Option<String>) -> Result<ExitCode> {
        let mut child = real("cargo", &self.arguments)
            .arg("--verbose")
            .stderr(Stdio::piped())
            .spawn()
            .context("starting cargo")?;
        let said = BufReader::new(child.stderr.take().context("it is piped")?);
        let mut call = None;
        for line in said.split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            match verbose(&line) {
                Some(Verbose::Cell(found)) => call = Some(found.to_owned()),
                Some(Verbose::Other) => {}
                None => eprintln!("{line}"),
            }
        }
        let status = child.wait()?;
        if let (Some(basis), Some(call)) = (basis, call) {
            self.note(status, &Noted { basis, call })?;
        }
        Ok(like(status))
    }

    /// A cell that does not compile is compiled in the same way as one that does; but then cargo may
    /// have come no further than to another package.
    fn note(&self, status: ExitStatus, noted: &Noted) -> Result<()> {
        if matches!(status.code(), Some(0 | 101)) {
            taper_host::cache::write_atomically(Path::new(NOTE), &serde_json::to_vec(noted)?)?;
        }
        Ok(())
    }
}

/// The call that only checks what this one compiles. It has intermediate results of its own: those of
/// a check lack the machine code that the next cell would take over.
fn checking(call: &str) -> String {
    call.replace("--emit=dep-info,link", "--emit=metadata")
        .replace("/debug/incremental", "/debug/incremental/check")
}

/// The folder into which a call of rustc compiles. Where it lies differs between versions of cargo.
fn output_folder(call: &str) -> Result<&Path> {
    let mut words = call.split_whitespace();
    words.find(|word| *word == "--out-dir");
    words
        .next()
        .map(Path::new)
        .context("the recorded call of rustc has no --out-dir")
}

/// Whether the manifest has a package that lies in a folder, besides `taper`.
fn has_other_source(manifest: &str) -> bool {
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    let dependencies = manifest.get("dependencies").and_then(|d| d.as_table());
    let mut dependencies = dependencies.into_iter().flatten();
    dependencies.any(|(name, value)| name != "taper" && value.get("path").is_some())
}

/// What cargo says only when it is asked to be verbose.
#[derive(Debug, PartialEq)]
enum Verbose<'a> {
    /// The call of rustc for the cell.
    Cell(&'a str),
    Other,
}

fn verbose(line: &str) -> Option<Verbose<'_>> {
    let line = line.trim_start();
    if ["Fresh ", "Dirty "]
        .iter()
        .any(|begin| line.starts_with(begin))
    {
        return Some(Verbose::Other);
    }
    let call = line.strip_prefix("Running `")?.strip_suffix('`')?;
    let is_cell = call.contains(&format!("--crate-name {CRATE} "));
    Some(if is_cell {
        Verbose::Cell(call)
    } else {
        Verbose::Other
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_for_the_cell_is_found_among_what_cargo_says() {
        let call = "     Running `/bin/rustc --crate-name ctx --edition=2024 src/lib.rs`";
        let found = "/bin/rustc --crate-name ctx --edition=2024 src/lib.rs";
        assert_eq!(verbose(call), Some(Verbose::Cell(found)));
        let other = "     Running `/bin/rustc --crate-name ndarray src/lib.rs`";
        assert_eq!(verbose(other), Some(Verbose::Other));
        assert_eq!(verbose("       Fresh libc v0.2.1"), Some(Verbose::Other));
        assert_eq!(verbose("   Compiling ndarray v0.16.1"), None);
    }

    #[test]
    fn a_check_compiles_nothing_and_leaves_the_builds_results_alone() {
        let call =
            "rustc --crate-name ctx --emit=dep-info,link -C incremental=/w/debug/incremental";
        let check =
            "rustc --crate-name ctx --emit=metadata -C incremental=/w/debug/incremental/check";
        assert_eq!(checking(call), check);
    }

    #[test]
    fn the_output_folder_is_the_one_that_cargo_names() {
        let call = "rustc --crate-name ctx --out-dir /w/debug/build/ctx/1f/out --target t";
        let folder = output_folder(call).expect("it is named");
        assert_eq!(folder, Path::new("/w/debug/build/ctx/1f/out"));
        assert!(output_folder("rustc --crate-name ctx").is_err());
    }

    #[test]
    fn a_package_in_a_folder_may_change_at_any_time() {
        let manifest = |more| format!("[dependencies]\ntaper = {{ path = \"/a\" }}\n{more}");
        assert!(!has_other_source(&manifest("rand = \"0.9\"")));
        assert!(has_other_source(&manifest("mine = { path = \"../mine\" }")));
    }
}
