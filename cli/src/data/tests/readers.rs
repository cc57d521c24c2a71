//! Truncated and invalid files.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Returns the message about a parquet file with these bytes in place of the valid one.
fn refused_parquet(bytes: Vec<u8>) -> String {
    let hub = FakeHub::start([("plain/train.parquet", bytes)]);
    let folder = temporary();
    let message = got(&small(1), &source(&hub), &folder).unwrap_err();
    assert!(
        message.starts_with("the download of small cannot be read: "),
        "{message}"
    );
    assert!(message.contains("train-01234567.parquet.part"), "{message}");
    assert!(message.ends_with("try without it"), "{message}");
    assert_eq!(files(&folder), ["lock"], "unusable files are deleted");
    message
}

fn with_image(image: Option<Vec<u8>>) -> Vec<u8> {
    let valid = png([1, 2, 3], &[0; 6]);
    let mut images = vec![Some(valid); 5];
    images[3] = image;
    parquet_file("image", &images, &[0; 5])
}

#[test]
fn truncated_parquet_is_refused_wherever_it_ends() {
    let whole = valid_parquet(5, 1);
    for length in [
        0,
        1,
        4,
        12,
        whole.len() / 2,
        whole.len() - 9,
        whole.len() - 1,
    ] {
        let message = refused_parquet(whole[..length].to_vec());
        assert!(
            message.contains("is not a complete parquet file"),
            "{message}"
        );
    }
}

#[test]
fn parquet_with_damaged_pages_is_refused() {
    let mut bytes = valid_parquet(5, 1);
    bytes[4..60].fill(0xff);
    let message = refused_parquet(bytes);
    assert!(message.contains("is damaged"), "{message}");
}

#[test]
fn parquet_with_other_contents_is_refused() {
    let valid = png([1, 2, 3], &[0; 6]);
    let message = refused_parquet(valid_parquet(4, 1));
    assert!(message.contains("has 4 examples, expected 5"), "{message}");
    let other = parquet_file("photo", &vec![Some(valid.clone()); 5], &[0; 5]);
    let message = refused_parquet(other);
    assert!(
        message.contains("there is no column image.bytes"),
        "{message}"
    );
    for (label, shown) in [(10, "10"), (-1, "-1"), (256, "256")] {
        let labels = [0, 1, label, 3, 4];
        let message = refused_parquet(parquet_file(
            "image",
            &vec![Some(valid.clone()); 5],
            &labels,
        ));
        let wrong = format!("the label of example 2 is {shown}, not one of 0 to 9");
        assert!(message.contains(&wrong), "{message}");
    }
}

#[test]
fn invalid_images_are_refused() {
    let message = refused_parquet(with_image(Some(b"GIF89a".to_vec())));
    assert!(
        message.contains("the image of example 3: it is not a PNG"),
        "{message}"
    );
    let message = refused_parquet(with_image(Some(png([1, 3, 2], &[0; 6]))));
    assert!(
        message.contains("example 3: it has 3 by 2 pixels of 1 values, expected 2 by 3 of 1"),
        "{message}"
    );
    let message = refused_parquet(with_image(Some(png([3, 2, 3], &[0; 18]))));
    assert!(message.contains("pixels of 3 values"), "{message}");
    let mut cut = png([1, 2, 3], &[0; 6]);
    cut.truncate(cut.len() - 20);
    let message = refused_parquet(with_image(Some(cut)));
    assert!(
        message.contains("the image of example 3: it is damaged"),
        "{message}"
    );
    let message = refused_parquet(with_image(None));
    assert!(
        message.contains("of 5 examples, 4 have an image and 5 a label"),
        "{message}"
    );
}

/// Returns an IDX file.
fn idx(dims: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, dims.len() as u8];
    bytes.extend(dims.iter().flat_map(|dim| dim.to_be_bytes()));
    bytes.extend(values);
    bytes
}

/// Creates a folder with the four files of the small grey set.
fn idx_folder() -> TempDir {
    let folder = temporary();
    for (stem, count) in [("train", 5), ("t10k", 2)] {
        let values: Vec<u8> = (0..count).flat_map(|e| pixels(e, 1).1).collect();
        let labels: Vec<u8> = (0..count as u8).collect();
        let count = count as u32;
        let write = |name: &str, bytes| {
            std::fs::write(folder.path().join(format!("{stem}-{name}")), bytes).unwrap();
        };
        write("images-idx3-ubyte", idx(&[count, 2, 3], &values));
        write("labels-idx1-ubyte", idx(&[count], &labels));
    }
    folder
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// Returns the message after `file` is overwritten with `bytes`.
fn refused(from: TempDir, channels: usize, file: &str, bytes: &[u8]) -> String {
    std::fs::write(from.path().join(file), bytes).unwrap();
    let from = Source::Folder(from.path().to_owned());
    let message = got(&small(channels), &from, &temporary()).unwrap_err();
    assert!(message.contains(file), "{message}");
    assert!(
        message.ends_with("\nDownload this file again, then run the same command again"),
        "{message}"
    );
    message
}

#[test]
fn idx_files_are_read_gzipped_or_not() {
    let (from, folder) = (idx_folder(), temporary());
    got(&small(1), &Source::Folder(from.path().to_owned()), &folder).unwrap();
    assert_good(folder.path(), 1);

    let images = from.path().join("train-images-idx3-ubyte");
    let bytes = gzipped(&std::fs::read(&images).unwrap());
    std::fs::write(from.path().join("train-images.idx3-ubyte.gz"), bytes).unwrap();
    std::fs::remove_file(images).unwrap();
    let folder = temporary();
    got(&small(1), &Source::Folder(from.path().to_owned()), &folder).unwrap();
    assert_good(folder.path(), 1);
}

#[test]
fn truncated_and_invalid_idx_files_are_refused() {
    let images = "train-images-idx3-ubyte";
    let labels = "train-labels-idx1-ubyte";
    let right = idx(&[5, 2, 3], &[0; 30]);
    let says = |file, bytes: &[u8], what: &str| {
        let message = refused(idx_folder(), 1, file, bytes);
        assert!(message.contains(what), "{message}");
    };
    says(images, &[], "cannot be read: ");
    says(images, &right[..10], "cannot be read: ");
    says(images, &right[..40], "has fewer than 30 values");
    says(
        images,
        &[&right[..], &[0]].concat(),
        "has more than 30 values",
    );
    says(
        images,
        b"<!DOCTYPE html> Not found",
        "it begins with [60, 33, 68, 79] instead of [0, 0, 8, 3]",
    );
    says(
        images,
        &idx(&[4, 2, 3], &[0; 24]),
        "dimensions [4, 2, 3], expected [5, 2, 3]",
    );
    says(images, &idx(&[u32::MAX; 3], &[]), "expected [5, 2, 3]");
    says(
        labels,
        &idx(&[5], &[0, 1, 2, 3, 10]),
        "the label of example 4 is 10, not one of 0 to 9",
    );
    let cut = gzipped(&right);
    says(images, &cut[..cut.len() / 2], "cannot be read: ");
}

#[test]
fn missing_published_files_are_named() {
    for (channels, file) in [(1, "train-images-idx3-ubyte"), (3, "data_batch_1.bin")] {
        let empty = temporary();
        let from = Source::Folder(empty.path().to_owned());
        let message = got(&small(channels), &from, &temporary()).unwrap_err();
        assert!(message.contains(file), "{message}");
    }
}

/// Creates a folder with the six files of the small colour set: one example each, two in the last.
fn cifar_folder() -> TempDir {
    let folder = temporary();
    let record = |example: usize| {
        let mut record = vec![example as u8];
        record.extend(pixels(example, 3).1);
        record
    };
    for batch in 0..5 {
        let name = format!("data_batch_{}.bin", batch + 1);
        std::fs::write(folder.path().join(name), record(batch)).unwrap();
    }
    let test = [record(0), record(1)].concat();
    std::fs::write(folder.path().join("test_batch.bin"), test).unwrap();
    folder
}

#[test]
fn cifar_files_are_read() {
    let (from, folder) = (cifar_folder(), temporary());
    got(&small(3), &Source::Folder(from.path().to_owned()), &folder).unwrap();
    assert_good(folder.path(), 3);
}

#[test]
fn truncated_and_invalid_cifar_files_are_refused() {
    let says = |file, bytes: &[u8], what: &str| {
        let message = refused(cifar_folder(), 3, file, bytes);
        assert!(message.contains(what), "{message}");
    };
    says(
        "data_batch_3.bin",
        &[0; 18],
        "has 18 bytes, expected 19: 1 examples of 19",
    );
    says("data_batch_5.bin", &[0; 38], "has 38 bytes");
    says("test_batch.bin", &[], "has 0 bytes");
    says(
        "data_batch_2.bin",
        &[99; 19],
        "the label of example 0 is 99, not one of 0 to 9",
    );
}
