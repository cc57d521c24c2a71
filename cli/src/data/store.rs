//! The files that the crate `taper` opens: safetensors with `images`, `(n, channels, height, width)`,
//! and `labels`, `(n,)`, both of bytes.

use super::examples::Examples;
use super::sets::{CLASSES, DataSet, Part};
use anyhow::{Context, Result};
use safetensors::Dtype;
use safetensors::tensor::{SafeTensors, TensorView, serialize_to_file};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use taper_host::cache;

/// Overrides where data sets lie.
pub const VARIABLE: &str = "TAPER_DATA";

/// The folder of all data sets: `$TAPER_DATA`, else `data` in Taper's cache.
pub fn folder() -> Result<PathBuf> {
    match std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Ok(cache::folder()?.join("data")),
    }
}

/// The file of a part, in the folder of its set.
pub fn file(folder: &Path, part: &Part) -> PathBuf {
    folder.join(format!("{}.safetensors", part.name))
}

/// Whether both files of a set are there.
pub fn is_there(set: &DataSet, folder: &Path) -> bool {
    let folder = folder.join(set.name);
    set.parts.iter().all(|part| file(&folder, part).exists())
}

/// Whether the crate `taper` will open this file.
pub fn is_whole(file: &Path, set: &DataSet, part: &Part) -> bool {
    let Ok(bytes) = fs::read(file) else {
        return false;
    };
    let Ok(tensors) = SafeTensors::deserialize(&bytes) else {
        return false;
    };
    let fits = |(name, shape): &(&str, Vec<usize>)| {
        let tensor = tensors.tensor(name);
        tensor.is_ok_and(|tensor| tensor.dtype() == Dtype::U8 && tensor.shape() == shape)
    };
    let labels = tensors.tensor("labels");
    shapes(set, part).iter().all(fits)
        && labels.is_ok_and(|labels| labels.data().iter().all(|&label| label < CLASSES))
}

/// Writes beside the place and then renames. The caller holds the folder's lock.
pub fn write(file: &Path, set: &DataSet, part: &Part, examples: &Examples) -> Result<()> {
    let beside = file.with_extension("safetensors.part");
    let [images, labels] = shapes(set, part);
    let tensors = [
        view(images, &examples.images)?,
        view(labels, &examples.labels)?,
    ];
    serialize_to_file(tensors, None, &beside)
        .map_err(anyhow::Error::from)
        .and_then(|()| Ok(File::open(&beside)?.sync_all()?))
        .and_then(|()| Ok(fs::rename(&beside, file)?))
        .with_context(|| format!("writing {}", file.display()))
}

fn view<'a>(
    (name, shape): (&'static str, Vec<usize>),
    bytes: &'a [u8],
) -> Result<(&'static str, TensorView<'a>)> {
    Ok((name, TensorView::new(Dtype::U8, shape, bytes)?))
}

fn shapes(set: &DataSet, part: &Part) -> [(&'static str, Vec<usize>); 2] {
    let [channels, height, width] = set.shape;
    [
        ("images", vec![part.count, channels, height, width]),
        ("labels", vec![part.count]),
    ]
}
