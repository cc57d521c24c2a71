//! The folder with Taper's sources: the clone from which this program was built, or the unpacked sources that an
//! installed program carries.

use crate::error::OnFile as _;
use crate::lock::Lock;
use crate::progress::Console;
use crate::{archive, cache, store};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The environment variable that overrides the folder, for a clone that was moved after the build.
pub const VARIABLE: &str = "TAPER_HOME";

/// The sources that an installed program carries: the crate `taper` and the chapters.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// A name that is unique to this content.
    pub id: &'static str,
    /// A compressed archive.
    pub archive: &'static [u8],
}

static CARRIED: OnceLock<Carried> = OnceLock::new();

/// Sets the sources that this program carries: [`folder`] unpacks them and returns their folder. Must be called
/// first in `main`.
pub fn carry(carried: Carried) {
    let _ = CARRIED.set(carried);
}

/// Returns whether this program carries its sources, so that it needs no clone.
pub fn is_carried() -> bool {
    CARRIED.get().is_some()
}

/// Returns how a user calls this program: `taper` where it is installed, `cargo taper` in a clone.
pub fn command() -> &'static str {
    if is_carried() { "taper" } else { "cargo taper" }
}

/// Returns the folder that contains the crate `taper` and the notebooks. The first call in an installed program
/// unpacks them into the cache.
pub fn folder() -> Result<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
    let folder = match (named, CARRIED.get()) {
        (Some(folder), _) => PathBuf::from(folder),
        // Never the folder of the build: on another machine it may belong to any user.
        (None, Some(carried)) => unpacked(carried, &store::find(&carried.folder())?)?,
        (None, None) => concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into(),
    };
    Ok(folder.canonicalize().unwrap_or(folder))
}

/// Returns the folders of the crates that the manifest of `taper` names by their paths.
pub fn members(manifest: &toml::Table) -> Vec<&str> {
    let dependencies = manifest.get("dependencies").and_then(|it| it.as_table());
    let paths = dependencies.into_iter().flatten();
    paths
        .filter_map(|(_, dependency)| dependency.get("path")?.as_str())
        .collect()
}

impl Carried {
    /// Returns the path of the unpacked sources below the cache folder.
    fn folder(&self) -> String {
        format!("sources/{}-{}", env!("CARGO_PKG_VERSION"), self.id)
    }
}

/// Unpacks the sources that a program carries into `folder`, unless an earlier start has done so.
fn unpacked(carried: &Carried, folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        return Ok(folder.to_owned());
    }
    let sources = folder.parent().unwrap_or(folder);
    cache::make(sources)?;
    let _lock = Lock::exclusive(sources, &mut Console::new())?;
    if folder.exists() {
        return Ok(folder.to_owned());
    }
    // A killed start may have left incomplete sources. Because of the rename, `folder` is complete or missing.
    let unfinished = sources.join("unfinished");
    cache::remove(&unfinished)?;
    archive::unpack(carried.archive, &unfinished, 1 << 30)?;
    std::fs::rename(&unfinished, folder).on_file("create", folder)?;
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_a_killed_start_left_is_unpacked_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, sources) = (folder.path().join("from"), folder.path().join("sources"));
        fs::create_dir(&from).expect("a folder");
        fs::write(from.join("lib.rs"), "new").expect("a file");
        fs::create_dir_all(sources.join("unfinished")).expect("a folder");
        fs::write(sources.join("unfinished/old.rs"), "half").expect("a file");
        let mut packer = archive::Packer::new(Vec::new());
        let name = Path::new("lib.rs");
        packer.add(name, &from.join(name)).expect("it is added");
        let packed = packer.finish().expect("an archive");
        let carried = Carried {
            id: "1",
            archive: packed.leak(),
        };
        for _ in 0..2 {
            let unpacked = unpacked(&carried, &sources.join("1")).expect("it is unpacked");
            let text = fs::read_to_string(unpacked.join("lib.rs"));
            assert_eq!(text.expect("the file"), "new");
            assert!(!unpacked.join("old.rs").exists());
        }
    }
}
