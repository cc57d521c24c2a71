//! Tests with sets of a few images, from a hub on this machine and from published files.

mod damaged;
mod download;
#[path = "../../../tests/common/fuzz.rs"]
mod fuzz;
#[path = "../../../tests/common/hub.rs"]
mod hub;
mod readers;

use super::sets::{Format, Part, Repository};
use super::{DataSet, Source, get, store};
use crate::download::Client;
use hub::{FakeHub, parquet_file, png};
use safetensors::SafeTensors;
use std::path::Path;
use std::time::Duration;
use taper_host::progress::{Progress, Step};
use tempfile::TempDir;

/// Returns a set of five training images and two test images of 2 by 3 pixels.
fn small(channels: usize) -> DataSet {
    let part = |name, count, path| Part {
        name,
        count,
        path,
        sha256: None,
    };
    DataSet {
        name: "small",
        about: "",
        megabytes: 0,
        shape: [channels, 2, 3],
        parts: [
            part("train", 5, "plain/train.parquet"),
            part("test", 2, "plain/test.parquet"),
        ],
        hub: Repository {
            name: "someone/small",
            revision: "0123456789abcdef",
            column: "image",
        },
        format: if channels == 1 {
            Format::Idx
        } else {
            Format::Cifar
        },
    }
}

/// Returns the pixel values of an image, in the order of a PNG and in ours.
fn pixels(example: usize, channels: usize) -> (Vec<u8>, Vec<u8>) {
    let interleaved: Vec<u8> = (0..6 * channels)
        .map(|i| (example * 40 + i) as u8)
        .collect();
    let by_channel =
        (0..channels).flat_map(|c| interleaved.iter().copied().skip(c).step_by(channels));
    let by_channel = by_channel.collect();
    (interleaved, by_channel)
}

/// Returns a parquet file of `count` valid examples.
fn valid_parquet(count: usize, channels: usize) -> Vec<u8> {
    let images: Vec<_> = (0..count)
        .map(|example| Some(png([channels, 2, 3], &pixels(example, channels).0)))
        .collect();
    let labels: Vec<i64> = (0..count as i64).collect();
    parquet_file("image", &images, &labels)
}

fn valid_hub(channels: usize) -> FakeHub {
    FakeHub::start([
        ("plain/train.parquet", valid_parquet(5, channels)),
        ("plain/test.parquet", valid_parquet(2, channels)),
    ])
}

fn source(hub: &FakeHub) -> Source {
    let timeout = Duration::from_millis(500);
    let client = Client::new(None, timeout).expect("a client");
    Source::Hub(super::Hub::new(&hub.endpoint, client))
}

/// Records the lines that the user would see.
#[derive(Default)]
struct Lines(Vec<String>);

impl Progress for Lines {
    fn line(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }

    fn step(&mut self, _step: &Step) {}
}

fn got(set: &DataSet, source: &Source, folder: &TempDir) -> Result<(), String> {
    let result = get(set, source, folder.path(), &mut Lines::default());
    result.map_err(|error| format!("{error:#}"))
}

fn assert_good(folder: &Path, channels: usize) {
    for (part, count) in [("train", 5), ("test", 2)] {
        let bytes = std::fs::read(folder.join("small").join(format!("{part}.safetensors")));
        let bytes = bytes.expect("the file of the part");
        let tensors = SafeTensors::deserialize(&bytes).expect("a safetensors file");
        let images = tensors.tensor("images").expect("the images");
        assert_eq!(images.shape(), [count, channels, 2, 3]);
        let expected: Vec<u8> = (0..count).flat_map(|e| pixels(e, channels).1).collect();
        assert_eq!(images.data(), expected);
        let labels = tensors.tensor("labels").expect("the labels");
        assert_eq!(labels.data(), &[0, 1, 2, 3, 4][..count]);
    }
}

/// Returns the file names in the folder of the set.
fn files(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path().join("small")).expect("the folder of the set");
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn temporary() -> TempDir {
    TempDir::new().expect("a temporary folder")
}

#[test]
fn complete_files_are_kept_and_damaged_ones_are_replaced() {
    let (hub, folder, set) = (valid_hub(1), temporary(), small(1));
    got(&set, &source(&hub), &folder).unwrap();
    got(&set, &source(&hub), &folder).unwrap();
    assert_eq!(hub.transfers().len(), 2);
    assert!(store::is_there(&set, folder.path()));
    let file = folder.path().join("small/test.safetensors");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    // One label of train is not a valid class.
    let file = folder.path().join("small/train.safetensors");
    let mut bytes = std::fs::read(&file).unwrap();
    let labels = SafeTensors::deserialize(&bytes).unwrap();
    let labels = labels.tensor("labels").unwrap().data();
    let offset = labels.as_ptr().addr() - bytes.as_ptr().addr();
    bytes[offset] = 200;
    std::fs::write(&file, bytes).unwrap();
    // As a killed process leaves it.
    std::fs::write(folder.path().join("small/test.safetensors.part"), [7; 5000]).unwrap();
    got(&set, &source(&hub), &folder).unwrap();
    assert_eq!(hub.transfers().len(), 4);
    assert_good(folder.path(), 1);
    assert_eq!(
        files(&folder),
        ["lock", "test.safetensors", "train.safetensors"]
    );
}
