//! Downloads data sets from the Hugging Face hub, or reads the authors' files, and stores them as safetensors.
//!
//! A data set has two parts, and each part becomes one file, which the crate `taper` opens. A part is
//! complete or missing: it is written to a temporary file and then renamed ([`store`]), under a lock.
//! An interrupted download is resumed ([`hub`]).
//!
//! Why not `candle-datasets` with its `hf-hub` 1.0: it restarts an interrupted download from the
//! beginning and verifies no checksum, its reader transposes CIFAR's images and skips rows that it
//! cannot read, and both add a hundred packages to every student's set-up.

mod cifar;
mod examples;
mod hub;
mod idx;
mod parquet;
mod sets;
pub(crate) mod store;
#[cfg(test)]
mod tests;

use anyhow::{Result, anyhow, ensure};
pub(crate) use hub::Hub;
pub(crate) use sets::{ALL, DataSet, find};
use sets::{Format, Part};
use std::path::{Path, PathBuf};
use taper_host::cache;
use taper_host::lock::Lock;
use taper_host::progress::Progress;

/// Where the images come from.
pub(crate) enum Source {
    Hub(Hub),
    /// A folder with the files as their authors publish them.
    Folder(PathBuf),
}

/// Writes the parts of a set that are missing or damaged into the data folder.
pub(crate) fn get(
    set: &DataSet,
    source: &Source,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<()> {
    if let Source::Folder(from) = source {
        ensure!(
            from.is_dir(),
            "{} is not a folder: name the one with the published files",
            from.display()
        );
    }
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
                anyhow!("{error:#}\nDownload this file again, then run the same command again")
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
    // Either its examples are in memory now, or it cannot be read.
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
