//! Writes and checks the files that the crate `taper` opens: safetensors with `images`, `(n, channels, height, width)`,
//! and `labels`, `(n,)`, both of bytes.

use super::examples::Examples;
use super::sets::{CLASSES, DataSet, Part};
use anyhow::{Context, Result};
use safetensors::Dtype;
use safetensors::tensor::{SafeTensors, TensorView, serialize_to_file};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use taper_host::cache;

/// Overrides the folder of the data sets.
pub(crate) const VARIABLE: &str = "TAPER_DATA";

/// Returns the folder of all data sets: `$TAPER_DATA`, else `data` in Taper's cache.
pub(crate) fn folder() -> Result<PathBuf> {
    match std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Ok(cache::folder()?.join("data")),
    }
}

/// Returns the file of a part, in the folder of its set.
pub(crate) fn file(folder: &Path, part: &Part) -> PathBuf {
    folder.join(format!("{}.safetensors", part.name))
}

/// Returns whether both files of a set exist.
pub(crate) fn is_there(set: &DataSet, folder: &Path) -> bool {
    let folder = folder.join(set.name);
    set.parts.iter().all(|part| file(&folder, part).exists())
}

/// Returns whether the crate `taper` will open this file.
pub(crate) fn is_whole(file: &Path, set: &DataSet, part: &Part) -> bool {
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

/// Writes a temporary file and renames it. The caller holds the folder's lock.
pub(crate) fn write(file: &Path, set: &DataSet, part: &Part, examples: &Examples) -> Result<()> {
    let temporary = file.with_extension("safetensors.part");
    let [images, labels] = shapes(set, part);
    let tensors = [
        view(images, &examples.images)?,
        view(labels, &examples.labels)?,
    ];
    serialize_to_file(tensors, None, &temporary)
        .map_err(anyhow::Error::from)
        .and_then(|()| Ok(File::open(&temporary)?.sync_all()?))
        .and_then(|()| Ok(fs::rename(&temporary, file)?))
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
