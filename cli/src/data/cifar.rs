//! Reads the binary version of CIFAR-10: for each example one byte for the class, then the bytes of
//! the image.

use super::examples::{Examples, check_label};
use super::sets::{DataSet, Part};
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;

const TRAIN: [&str; 5] = [
    "data_batch_1.bin",
    "data_batch_2.bin",
    "data_batch_3.bin",
    "data_batch_4.bin",
    "data_batch_5.bin",
];
const TEST: [&str; 1] = ["test_batch.bin"];

/// Reads the files of one part.
pub(crate) fn read(folder: &Path, set: &DataSet, part: &Part) -> Result<Examples> {
    let files: &[&str] = match part.name {
        "test" => &TEST,
        _ => &TRAIN,
    };
    let mut examples = Examples::with_capacity(set, part.count);
    for name in files {
        let count = part.count / files.len();
        read_file(&folder.join(name), set.bytes(), count, &mut examples)?;
    }
    Ok(examples)
}

fn read_file(path: &Path, image: usize, count: usize, into: &mut Examples) -> Result<()> {
    // Opening a pipe would wait for its writer.
    ensure!(path.is_file(), "there is no file {}", path.display());
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let expected = count * (1 + image);
    if bytes.len() != expected {
        bail!(
            "{} has {} bytes, expected {expected}: {count} examples of {}",
            path.display(),
            bytes.len(),
            1 + image
        );
    }
    for (example, record) in bytes.chunks_exact(1 + image).enumerate() {
        into.labels.push(check_label(path, example, record[0])?);
        into.images.extend_from_slice(&record[1..]);
    }
    Ok(())
}
