//! Reads MNIST and Fashion-MNIST as their authors publish them: two zeros, the type of a value (8 for
//! bytes), the number of dimensions, each dimension as 4 bytes, then the values.

use super::examples::{Examples, check_label};
use super::sets::{DataSet, Part};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

/// Reads the images and labels of one part.
pub(crate) fn read(folder: &Path, set: &DataSet, part: &Part) -> Result<Examples> {
    let stem = match part.name {
        "test" => "t10k",
        name => name,
    };
    let [_, height, width] = set.shape;
    let file = find(folder, &format!("{stem}-images"), "idx3-ubyte")?;
    let images = values(&file, &[part.count, height, width])?;
    let file = find(folder, &format!("{stem}-labels"), "idx1-ubyte")?;
    let labels = values(&file, &[part.count])?;
    for (example, &label) in labels.iter().enumerate() {
        check_label(&file, example, label)?;
    }
    Ok(Examples { images, labels })
}

/// Finds a file, whose name may have a dot, and which may be gzipped.
fn find(folder: &Path, stem: &str, kind: &str) -> Result<PathBuf> {
    let names = ["-", "."].into_iter().flat_map(|dot| {
        let name = format!("{stem}{dot}{kind}");
        [name.clone(), name + ".gz"]
    });
    // Opening a pipe would wait for its writer.
    let found = names.map(|name| folder.join(name)).find(|f| f.is_file());
    found.with_context(|| {
        format!(
            "there is no {stem}-{kind}, nor {stem}-{kind}.gz, in {}",
            folder.display()
        )
    })
}

/// Returns the values that follow a header, whose dimensions must be `dims`.
fn values(path: &Path, dims: &[usize]) -> Result<Vec<u8>> {
    let count = dims.iter().product();
    let mut file = open(path)?;
    let mut header = vec![0; 4 + 4 * dims.len()];
    let mut values = Vec::with_capacity(count);
    file.read_exact(&mut header)
        .and_then(|()| check_header(&header, dims))
        // One more than expected, to notice a file that is too long.
        .and_then(|()| file.take(count as u64 + 1).read_to_end(&mut values))
        .with_context(|| format!("{} cannot be read", path.display()))?;
    if values.len() != count {
        let how_many = if values.len() > count {
            "more"
        } else {
            "fewer"
        };
        bail!("{} has {how_many} than {count} values", path.display());
    }
    Ok(values)
}

fn check_header(header: &[u8], dims: &[usize]) -> std::io::Result<()> {
    let (magic, sizes) = header.split_at(4);
    let expected = [0, 0, 8, dims.len() as u8];
    if magic != expected {
        return Err(std::io::Error::other(format!(
            "it begins with {magic:?} instead of {expected:?}"
        )));
    }
    let sizes = sizes.chunks_exact(4);
    let found: Vec<usize> = sizes
        .map(|size| u32::from_be_bytes(size.try_into().expect("four bytes")) as usize)
        .collect();
    if found != dims {
        return Err(std::io::Error::other(format!(
            "its header declares dimensions {found:?}, expected {dims:?}"
        )));
    }
    Ok(())
}

/// Opens a file, and unpacks it if it is gzipped, whatever its name is.
fn open(path: &Path) -> Result<Box<dyn Read>> {
    let mut file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let mut start = Vec::new();
    file.by_ref().take(2).read_to_end(&mut start)?;
    file.rewind()?;
    let file = BufReader::new(file);
    Ok(match start[..] {
        [0x1f, 0x8b] => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        _ => Box::new(file),
    })
}
