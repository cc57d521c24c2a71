//! The folder that is taken away: a cargo project with its own copy of the crate `taper`.

use super::program::Program;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use taper_host::cache;
use toml::{Table, Value};

/// The first line of a manifest that we may replace.
const MARK: &str = "# Made by `taper export`.";

/// Writes, or brings up to date, the project in `folder`; `home` is the clone of Taper, `config` cargo's
/// configuration for cells.
pub fn write(
    folder: &Path,
    home: &Path,
    config: &str,
    programs: &BTreeMap<String, Program>,
) -> Result<()> {
    let manifest = folder.join("Cargo.toml");
    refuse_what_is_not_ours(folder, &manifest)?;
    let sources = folder.join("src/bin");
    cache::make(&sources)?;
    copy_taper(home, &folder.join("taper"))?;
    copy(&home.join("Cargo.lock"), &folder.join("Cargo.lock"))?;
    for (name, program) in programs {
        let file = sources.join(format!("{name}.rs"));
        cache::write_atomically(&file, program.source.as_bytes())?;
        // A cell keeps its own layout where there is no rustfmt, or where it is at a loss.
        let _ = Command::new("rustfmt")
            .args(["--edition", "2024"])
            .arg(&file)
            .stderr(Stdio::null())
            .status();
    }
    // Last: where it is, the rest is.
    let text = manifest_of(programs, config)?;
    Ok(cache::write_atomically(&manifest, text.as_bytes())?)
}

fn refuse_what_is_not_ours(folder: &Path, manifest: &Path) -> Result<()> {
    let is_empty = match folder.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !folder.exists(),
    };
    let is_ours = || std::fs::read_to_string(manifest).is_ok_and(|text| text.starts_with(MARK));
    // An export that was cut short has no manifest yet.
    let is_half_ours = || !manifest.exists() && folder.join("taper/macros").exists();
    if is_empty || is_ours() || is_half_ours() {
        return Ok(());
    }
    bail!(
        "{} holds something that `taper export` has not made\nName a new folder, or an empty one",
        folder.display()
    )
}

fn manifest_of(programs: &BTreeMap<String, Program>, config: &str) -> Result<String> {
    let mut dependencies = Table::new();
    for (name, value) in programs.values().flat_map(|program| &program.dependencies) {
        let value: Table = format!("it = {value}")
            .parse()
            .with_context(|| format!("`:dep {name} = {value}` is no dependency of Cargo's"))?;
        dependencies.extend(value.into_iter().map(|(_, value)| (name.clone(), value)));
    }
    dependencies.insert("taper".into(), path("taper"));
    let dependencies = toml::to_string(&Table::from_iter([(
        "dependencies".to_owned(),
        Value::Table(dependencies),
    )]))?;
    Ok(format!(
        "{MARK}
# On a machine with an NVIDIA GPU: cargo run --release --features cuda --bin NAME

[package]
name = \"notebooks\"
version = \"0.1.0\"
edition = \"2024\"

[features]
cuda = [\"taper/cuda\"]
metal = [\"taper/metal\"]

{dependencies}
{}
[workspace]
",
        profile(config)?
    ))
}

/// As in a notebook: what computes is optimised.
fn profile(config: &str) -> Result<String> {
    let mut config: Table = config.parse()?;
    let dev = config
        .get_mut("profile")
        .and_then(|profile| profile.get_mut("dev"));
    if let Some(Value::Table(dev)) = dev {
        dev.insert("debug".into(), 0.into());
        if let Some(Value::Table(packages)) = dev.get_mut("package") {
            // The cells' own crate, as evcxr names it.
            packages.remove("ctx");
        }
    }
    Ok(toml::to_string(&config)?)
}

fn path(path: &str) -> Value {
    Value::Table(Table::from_iter([("path".to_owned(), path.into())]))
}

/// The crate without the command and without what only its tests need.
fn copy_taper(home: &Path, to: &Path) -> Result<()> {
    let text = std::fs::read_to_string(home.join("Cargo.toml"))
        .with_context(|| format!("{} is no clone of Taper", home.display()))?;
    let root: Table = text.parse()?;
    let workspace = root.get("workspace").and_then(|w| w.get("package"));
    for (folder, crate_type) in [("", Some("rlib")), ("macros", None)] {
        let (from, to) = (home.join(folder), to.join(folder));
        let text = std::fs::read_to_string(from.join("Cargo.toml"))?;
        let mut manifest: Table = text.parse()?;
        manifest.retain(|key, _| ["package", "lib", "dependencies", "features"].contains(&key));
        inherit(&mut manifest, workspace);
        if let (Some(kind), Some(Value::Table(lib))) = (crate_type, manifest.get_mut("lib")) {
            lib.insert("crate-type".into(), Value::Array(vec![kind.into()]));
        }
        cache::make(&to)?;
        cache::write_atomically(
            &to.join("Cargo.toml"),
            toml::to_string(&manifest)?.as_bytes(),
        )?;
        copy_folder(&from.join("src"), &to.join("src"))?;
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&home.join(licence), &to.join(licence))?;
    }
    Ok(())
}

/// Puts the workspace's values in place of `version.workspace = true` and the like.
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
    // What was renamed since the last export must not stay.
    let _ = std::fs::remove_dir_all(to);
    cache::make(to)?;
    for entry in from
        .read_dir()
        .with_context(|| format!("reading {}", from.display()))?
    {
        let (from, to) = {
            let entry = entry?;
            (entry.path(), to.join(entry.file_name()))
        };
        if from.is_dir() {
            copy_folder(&from, &to)?;
        } else {
            copy(&from, &to)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to)
        .with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    Ok(())
}
