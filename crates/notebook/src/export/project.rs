//! Writes the exported folder: a cargo project with its own copy of the `taper` crate.

use super::jobs::jobs;
use super::program::Program;
use crate::document::write::Target;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use taper_host::checkout;
use taper_host::error::OnFile as _;
use taper_host::toolchain;
use toml::{Table, Value};

/// The first line of a manifest that an export may replace.
const MARK: &str = "# Made by `taper export`.";

/// Writes or updates the project in `folder`; `home` is the clone of Taper, `config` Cargo's
/// configuration for cells.
///
/// # Errors
///
/// Fails if the folder holds anything but an export, if a file cannot be copied or written, or if a
/// `:dep` line of a program is not a dependency of Cargo's.
pub fn write_project(
    folder: &Path,
    home: &Path,
    config: &str,
    programs: &BTreeMap<String, Program>,
) -> Result<()> {
    let manifest = folder.join("Cargo.toml");
    refuse_other_files(folder, &manifest)?;
    let sources = folder.join("src/bin");
    create_folder(&sources)?;
    copy_taper(home, &folder.join("taper"))?;
    copy(&home.join("Cargo.lock"), &folder.join("Cargo.lock"))?;
    for (name, program) in programs {
        let file = sources.join(format!("{name}.rs"));
        write(&file, &program.source)?;
        // Cells keep their own layout if rustfmt is missing or cannot parse them.
        if let Ok(toolchain) = toolchain::get() {
            let mut rustfmt = toolchain.command("rustfmt");
            let rustfmt = rustfmt.args(["--edition", "2024"]).arg(&file);
            let _ = rustfmt.stderr(Stdio::null()).status();
        }
    }
    // Last: a project with a manifest is complete.
    write(&manifest, &manifest_of(programs, config)?)
}

fn refuse_other_files(folder: &Path, manifest: &Path) -> Result<()> {
    let is_empty = match folder.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !folder.exists(),
    };
    let is_export = || fs::read_to_string(manifest).is_ok_and(|text| text.starts_with(MARK));
    // An export that was interrupted has no manifest yet.
    let is_part_of_export = || !manifest.exists() && folder.join("taper/macros").exists();
    if is_empty || is_export() || is_part_of_export() {
        return Ok(());
    }
    bail!(
        "{} holds files that `taper export` has not written\nName a new or an empty folder",
        folder.display()
    )
}

fn manifest_of(programs: &BTreeMap<String, Program>, config: &str) -> Result<String> {
    let mut dependencies = Table::new();
    for (name, value) in programs.values().flat_map(|program| &program.dependencies) {
        let parsed = format!("it = {value}").parse::<Table>();
        let parsed = parsed
            .with_context(|| format!("`:dep {name} = {value}` is not a valid Cargo dependency"))?;
        dependencies.extend(parsed.into_iter().map(|(_, value)| (name.clone(), value)));
    }
    dependencies.insert(
        "taper".into(),
        Value::Table(table([("path", "taper".into())])),
    );
    let dependencies = table([("dependencies", Value::Table(dependencies))]);
    Ok(format!(
        "{MARK}
# On a machine with an NVIDIA GPU: taper cuda cargo run --release --features cudnn --bin NAME

[package]
name = \"notebooks\"
version = \"0.1.0\"
edition = \"2024\"

[features]
cuda = [\"taper/cuda\"]
cudnn = [\"taper/cudnn\"]
metal = [\"taper/metal\"]
mpi = [\"taper/mpi\"]
nccl = [\"taper/nccl\"]

{dependencies}
{}
[workspace]
",
        profile(config)?
    ))
}

/// Returns Cargo's configuration for cells as a part of the manifest, so that the project is optimised like
/// a notebook's session.
fn profile(config: &str) -> Result<Table> {
    let mut config = parse(config, "Cargo's configuration for cells")?;
    let dev = config
        .get_mut("profile")
        .and_then(|profile| profile.get_mut("dev"));
    if let Some(Value::Table(dev)) = dev {
        dev.insert("debug".into(), 0.into());
        if let Some(Value::Table(packages)) = dev.get_mut("package") {
            // The cells' own crate.
            packages.remove("ctx");
        }
    }
    Ok(config)
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    Table::from_iter(entries.map(|(key, value)| (key.to_owned(), value)))
}

fn parse(text: &str, name: &str) -> Result<Table> {
    text.parse().with_context(|| format!("cannot parse {name}"))
}

/// Copies the crate `taper` and those of which it consists, without the command and without the dependencies of tests.
fn copy_taper(home: &Path, to: &Path) -> Result<()> {
    let root = read_manifest(home)?;
    let workspace = root.get("workspace").and_then(|w| w.get("package"));
    for folder in [""].into_iter().chain(checkout::members(&root)) {
        let (from, to) = (home.join(folder), to.join(folder));
        let mut manifest = read_manifest(&from)?;
        manifest.retain(|key, _| ["package", "lib", "dependencies", "features"].contains(&key));
        inherit(&mut manifest, workspace);
        if let Some(Value::Table(lib)) = manifest.get_mut("lib") {
            // A program needs no shared library.
            lib.remove("crate-type");
        }
        create_folder(&to)?;
        write(&to.join("Cargo.toml"), &manifest.to_string())?;
        copy_folder(&from.join("src"), &to.join("src"))?;
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&home.join(licence), &to.join(licence))?;
    }
    Ok(())
}

fn read_manifest(folder: &Path) -> Result<Table> {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path)
        .with_context(|| format!("{} is not a clone of Taper", folder.display()))?;
    parse(&text, &path.display().to_string())
}

/// Writes the job files of the programs into an exported project; see [`write_project`].
///
/// # Errors
///
/// Fails if a file cannot be written.
pub fn write_jobs<'a>(folder: &Path, programs: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let folder = folder.join("jobs");
    create_folder(&folder)?;
    for (name, text) in programs.into_iter().flat_map(jobs) {
        write(&folder.join(name), &text)?;
    }
    Ok(())
}

/// Replaces `version.workspace = true` and the like by the workspace's values.
fn inherit(manifest: &mut Table, workspace: Option<&Value>) {
    let Some(Value::Table(package)) = manifest.get_mut("package") else {
        return;
    };
    for (key, value) in package.iter_mut() {
        if value.get("workspace").is_some()
            && let Some(shared) = workspace.and_then(|workspace| workspace.get(key))
        {
            *value = shared.clone();
        }
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    // Old copies of files that were renamed or removed since the last export must not stay.
    let _ = fs::remove_dir_all(to);
    create_folder(to)?;
    for entry in from.read_dir().on_file("read", from)? {
        let entry = entry.on_file("read", from)?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_folder(&from, &to)?;
        } else {
            copy(&from, &to)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).on_file("copy", from)?;
    Ok(())
}

fn create_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).on_file("create the folder", folder)
}

fn write(path: &Path, text: &str) -> Result<()> {
    Target::new(path)
        .and_then(|target| target.write(text))
        .on_file("write", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_holds_the_program_and_a_copy_of_taper() {
        let home = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let config =
            "[profile.dev.package.ctx]\nopt-level = 0\n[profile.dev.package.taper]\nopt-level = 3";
        let program = Program {
            source: "fn main() {}\n".into(),
            dependencies: BTreeMap::from([("rand".into(), "{ version = \"0.9\" }".into())]),
            warnings: Vec::new(),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let write = |program| {
            let programs = BTreeMap::from([("gpus".to_owned(), program)]);
            write_project(folder.path(), home, config, &programs)
        };
        write(program).expect("it is written");

        let source = fs::read_to_string(folder.path().join("src/bin/gpus.rs"));
        assert_eq!(source.expect("the program"), "fn main() {}\n");
        let manifest = read_manifest(folder.path()).expect("a manifest");
        assert_eq!(
            manifest["dependencies"]["taper"]["path"].as_str(),
            Some("taper")
        );
        assert_eq!(
            manifest["dependencies"]["rand"]["version"].as_str(),
            Some("0.9")
        );
        let packages = manifest["profile"]["dev"]["package"].as_table();
        assert!(packages.is_some_and(|of| of.contains_key("taper") && !of.contains_key("ctx")));
        let copied = read_manifest(&folder.path().join("taper")).expect("a manifest");
        assert!(copied["package"]["version"].is_str());
        for member in checkout::members(&copied) {
            let file = folder.path().join("taper").join(member).join("src/lib.rs");
            assert!(file.exists(), "{}", file.display());
        }

        let wrong = Program {
            source: String::new(),
            dependencies: BTreeMap::from([("rand".into(), "0.9.0".into())]),
            warnings: Vec::new(),
        };
        let error = write(wrong).expect_err("not a version");
        assert!(
            error.to_string().starts_with("`:dep rand = 0.9.0` is not"),
            "{error}"
        );
    }

    #[test]
    fn a_folder_with_other_files_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("mine.txt"), "").expect("it is written");
        let error = write_project(folder.path(), Path::new("/"), "", &BTreeMap::new());
        let error = error.expect_err("it is refused").to_string();
        assert!(
            error.contains("holds files that `taper export` has not written"),
            "{error}"
        );
    }
}
