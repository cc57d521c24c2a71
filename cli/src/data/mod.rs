//! Data sets that are downloaded: from the Hugging Face hub, or from files at hand, to safetensors.
//!
//! A set has two parts, and each part becomes one file, which the crate `taper` opens. A part is
//! there whole or not at all: it is written beside its place and then renamed ([`store`]), under a
//! lock, and a download that was cut goes on where it ended ([`hub`]).
//!
//! Not through `candle-datasets` and its `hf-hub` 1.0: that one begins a cut download anew and checks
//! no sum, the reader turns CIFAR's pictures on their side and skips rows that it cannot read, and
//! both bring a hundred packages more into every student's set-up.

mod cifar;
mod examples;
mod hub;
mod idx;
mod parquet;
mod sets;
pub mod store;
#[cfg(test)]
mod tests;

use anyhow::{Result, anyhow};
pub use hub::Hub;
pub use sets::{ALL, DataSet, find};
use sets::{Format, Part};
use std::path::{Path, PathBuf};
use taper_host::cache;
use taper_host::lock::Lock;
use taper_host::progress::Progress;

/// Where the pictures come from.
pub enum Source {
    Hub(Hub),
    /// A folder with the files as their authors publish them.
    Folder(PathBuf),
}

/// Puts the parts of a set that are not there yet, or damaged, into the data folder.
pub fn get(
    set: &DataSet,
    source: &Source,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<()> {
    let folder = folder.join(set.name);
    cache::make(&folder)?;
    let _lock = Lock::exclusive(&folder, progress)?;
    for part in &set.parts {
        let file = store::file(&folder, part);
        if store::is_whole(&file, set, part) {
            continue;
        }
        let examples = match source {
            Source::Hub(hub) => download(set, part, hub, &folder, progress)?,
            Source::Folder(from) => read_published(set, part, from).map_err(|error| {
                anyhow!("{error:#}\nGet this file anew, then run the same command again")
            })?,
        };
        store::write(&file, set, part, &examples)?;
    }
    Ok(())
}

fn download(
    set: &DataSet,
    part: &Part,
    hub: &Hub,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<examples::Examples> {
    let name = format!("{}-{}.parquet.part", part.name, &set.hub.revision[..8]);
    let path = folder.join(name);
    hub.download(&set.hub, part, &path, progress)?;
    progress.line(&format!("Unpacking {} ({}).", set.name, part.name));
    let examples = parquet::read(&path, set, part);
    // It has served, or it is of no use.
    std::fs::remove_file(&path)?;
    examples.map_err(|error| {
        anyhow!(
            "the download of {} cannot be read: {error:#}\n\
             Run the same command again; if HF_ENDPOINT names a mirror, try without it",
            set.name
        )
    })
}

fn read_published(set: &DataSet, part: &Part, from: &Path) -> Result<examples::Examples> {
    match set.format {
        Format::Idx => idx::read(from, set, part),
        Format::Cifar => cifar::read(from, set, part),
    }
}
