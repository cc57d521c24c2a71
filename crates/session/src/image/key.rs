//! Identifies an image by all that it is compiled from.

use super::configuration;
use anyhow::{Context, Result};
use ring::digest::{Context as Digest, SHA256};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use taper_host::cache;
use taper_host::checkout;
use taper_host::digest::{self, hex};
use taper_host::error::OnFile as _;
use taper_host::gpu::settings::Settings;
use taper_host::toolchain;

/// Incremented when images that an older build of this program made must not be used any more.
const FORMAT: u32 = 4;

/// Identifies one image.
#[derive(Clone, Debug)]
pub struct Key {
    /// The folder's name: a digest of compiler, locked dependencies, features, profile, toolkit and the user's
    /// configuration of cargo.
    pub id: String,
    /// A digest of the same without the paths on this machine.
    pub(crate) portable: String,
    /// A digest of the sources of `taper`. When only they change, the image is updated in place.
    pub sources: String,
    /// The folder of the crate `taper`.
    pub(crate) taper: PathBuf,
    /// The enabled features of `taper`.
    pub(crate) features: Vec<String>,
}

impl Key {
    /// Computes the key for the crate in `taper`, the compiler on the PATH and the settings.
    ///
    /// # Errors
    ///
    /// When there is no compiler, or a source file or `Cargo.lock` cannot be read.
    pub fn new(taper: &Path, settings: &Settings) -> Result<Key> {
        let folder = taper.display();
        let taper = taper.canonicalize();
        let taper =
            taper.with_context(|| format!("the folder of Taper does not exist: {folder}"))?;
        let lock = std::fs::read_to_string(taper.join("Cargo.lock"));
        let lock = lock.with_context(|| format!("{folder} has no Cargo.lock: check the clone"))?;
        cache::unicode("the folder of Taper", &taper, "Move it to another one.")?;
        // Recorded calls contain the path of rustc. The same release may be installed twice, and one
        // installation updated.
        let rustc = &toolchain::get()?.rustc;
        let on_machine = [rustc, &taper].map(|path| path.to_string_lossy().into_owned());
        let mut compiled = vec![
            crate::workspace::CARGO_CONFIG.to_owned(),
            configuration::of_user()?,
        ];
        compiled.extend(settings.features.iter().cloned());
        let environment = settings.environment.iter();
        compiled.extend(environment.map(|(name, value)| format!("{name}={value}")));
        compiled.extend(locked_dependencies("taper", &lock)?);
        let version = [FORMAT.to_string(), toolchain::version()?.to_owned()];
        Ok(Key {
            id: digest_of(&[&version, &on_machine, &compiled])[..16].to_owned(),
            portable: digest_of(&[&version, &compiled]),
            sources: sources(&taper)?,
            taper,
            features: settings.features.clone(),
        })
    }
}

fn digest_of(parts: &[&[String]]) -> String {
    let parts = parts.iter().copied().flatten();
    let all: String = parts.flat_map(|part| [part.as_str(), "\0"]).collect();
    digest::of(all.as_bytes())
}

/// The message for a lock file without a list of packages.
pub(super) const NO_PACKAGES: &str = "Cargo.lock lists no packages: check the clone";

/// A package in Cargo.lock.
#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    #[serde(default)]
    checksum: String,
    #[serde(default)]
    dependencies: Vec<String>,
}

/// Returns name, version and checksum of `root` and its dependencies in Cargo.lock.
fn locked_dependencies(root: &str, lock: &str) -> Result<BTreeSet<String>> {
    let mut lock: BTreeMap<String, toml::Value> =
        toml::from_str(lock).context("cannot parse Cargo.lock")?;
    let packages = lock.remove("package").context(NO_PACKAGES)?;
    let packages: Vec<Locked> = packages.try_into().context("cannot parse Cargo.lock")?;
    let mut by_name: BTreeMap<&str, Vec<&Locked>> = BTreeMap::new();
    for package in &packages {
        by_name.entry(&package.name).or_default().push(package);
    }
    let mut found = BTreeSet::new();
    let mut wanted = vec![root];
    while let Some(dependency) = wanted.pop() {
        // `name`, `name version` where there are several versions, or `name version (source)`.
        let mut words = dependency.split(' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next());
        for package in by_name.get(name).into_iter().flatten() {
            let entry = format!("{name} {} {}", package.version, package.checksum);
            let is_wanted = version.is_none_or(|version| package.version == version);
            if is_wanted && found.insert(entry) {
                wanted.extend(package.dependencies.iter().map(String::as_str));
            }
        }
    }
    Ok(found)
}

/// Returns a digest of the crate's source files: the same for a clone and for an installed program, which carries them.
fn sources(taper: &Path) -> Result<String> {
    let manifest = taper.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).on_file("read", &manifest)?;
    let manifest: toml::Table = text.parse().context("cannot parse Cargo.toml")?;
    let mut files = Vec::new();
    list_files(&taper.join("src"), &mut files)?;
    for member in checkout::members(&manifest) {
        files.push(taper.join(member).join("Cargo.toml"));
        list_files(&taper.join(member).join("src"), &mut files)?;
    }
    // Those of editors, which no program carries.
    let is_hidden = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(['.', '_']))
    };
    files.retain(|file| !is_hidden(file));
    files.sort();
    let mut digest = Digest::new(&SHA256);
    digest.update(manifest_of_crate(manifest).as_bytes());
    for file in files {
        let content = std::fs::read(&file).on_file("read", &file)?;
        let name = file.strip_prefix(taper).unwrap_or(&file);
        digest.update(name.to_string_lossy().as_bytes());
        digest.update(&(content.len() as u64).to_le_bytes());
        digest.update(&content);
    }
    Ok(hex(digest))
}

/// Returns what the manifest of the workspace says about compiling the crate. A program carries no more of it.
fn manifest_of_crate(mut manifest: toml::Table) -> String {
    let kept = [
        "workspace",
        "package",
        "lints",
        "lib",
        "dependencies",
        "features",
    ];
    manifest.retain(|name, _| kept.contains(&name));
    if let Some(workspace) = manifest
        .get_mut("workspace")
        .and_then(|it| it.as_table_mut())
    {
        workspace.retain(|name, _| ["package", "lints", "resolver"].contains(&name));
    }
    manifest.to_string()
}

pub(super) fn list_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).on_file("read", folder)? {
        let path = entry.on_file("read", folder)?.path();
        if path.is_dir() {
            list_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        [[package]]
        name = "taper"
        version = "0.1.0"
        dependencies = ["a", "b 2.0.0 (registry+https://github.com/rust-lang/crates.io-index)"]
        [[package]]
        name = "a"
        version = "1.0.0"
        [[package]]
        name = "b"
        version = "1.0.0"
        [[package]]
        name = "b"
        version = "2.0.0"
        dependencies = ["a"]
        [[package]]
        name = "b"
        version = "2.0.0-beta"
        [[package]]
        name = "unrelated"
        version = "3.0.0"
    "#;

    /// Writes a crate with this manifest and these files, and returns its digest.
    fn digest(manifest: &str, files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            cache::make(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        };
        write("Cargo.toml", manifest);
        for name in ["member/Cargo.toml", "member/src/lib.rs", "src/lib.rs"] {
            write(name, "");
        }
        files.iter().for_each(|(name, text)| write(name, text));
        sources(folder.path()).expect("a digest")
    }

    #[test]
    fn a_clone_and_an_installed_program_have_the_same_sources() {
        let clone = r#"
            [workspace]
            members = ["member", "cli"]
            resolver = "3"
            [workspace.package]
            version = "0.1.0"
            [workspace.dependencies]
            serde = "1"
            [package]
            name = "taper"
            [dependencies]
            half = "2"
            member = { path = "member" }
            [dev-dependencies]
            serde = "1"
            [profile.dev]
            debug = false
        "#;
        let carried = r#"
            [workspace]
            members = ["member"]
            resolver = "3"
            [workspace.package]
            version = "0.1.0"
            [package]
            name = "taper"
            [dependencies]
            half = "2"
            member = { path = "member" }
        "#;
        let installed = digest(carried, &[]);
        assert_eq!(
            digest(clone, &[("src/.lib.rs.swp", "open in an editor")]),
            installed
        );
        for other in [
            carried.replace("half = \"2\"", "half = \"3\""),
            carried.replace("0.1.0", "0.2.0"),
        ] {
            assert_ne!(digest(&other, &[]), installed);
        }
        for new in ["src/new.rs", "member/src/new.rs"] {
            assert_ne!(digest(carried, &[(new, "")]), installed);
        }
    }

    #[test]
    fn packages_that_taper_does_not_need_are_left_out() {
        let found = locked_dependencies("taper", LOCK).expect("the lock file is valid");
        let found: Vec<_> = found.iter().map(|p| p.trim_end()).collect();
        assert_eq!(found, ["a 1.0.0", "b 2.0.0", "taper 0.1.0"]);
    }
}
