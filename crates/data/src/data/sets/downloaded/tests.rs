use super::*;
use crate::data::Dataset;
use std::collections::HashMap;
use std::path::PathBuf;

/// A file in the temporary folder, which is removed when the value is dropped.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, tensors: &[(&str, Tensor)]) -> Self {
        let folder = std::env::temp_dir();
        let file = folder.join(format!("taper_downloaded_{}_{name}", std::process::id()));
        let tensors = tensors
            .iter()
            .map(|(name, tensor)| (*name, tensor.as_candle().clone()));
        let tensors: HashMap<_, _> = tensors.collect();
        safetensors::save(&tensors, &file).unwrap();
        Written(file)
    }

    fn refused(&self) -> String {
        read(&self.0, [1, 2, 2]).unwrap_err().to_string()
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn bytes(values: &[u8], dims: &[usize]) -> Tensor {
    Tensor::from_slice(values, dims)
}

#[test]
fn downloaded_files_are_read() {
    let images = bytes(&[0, 0, 0, 0, 255, 255, 255, 255], &[2, 1, 2, 2]);
    let file = Written::new(
        "good",
        &[("images", images), ("labels", bytes(&[3, 9], &[2]))],
    );
    let data = read(&file.0, [1, 2, 2]).unwrap();
    let batch = data.get(&[1]).unwrap();
    assert_eq!(data.len(), 2);
    assert_eq!(batch.x.dims(), [1, 1, 2, 2]);
    assert_eq!(batch.x.max_all().item(), 1.0);
    assert_eq!(batch.y.to_vec1::<u32>(), [9]);
}

#[test]
fn a_truncated_file_is_refused() {
    let tensors = [
        ("images", bytes(&[1; 4], &[1, 1, 2, 2])),
        ("labels", bytes(&[1], &[1])),
    ];
    let file = Written::new("cut", &tensors);
    let whole = std::fs::read(&file.0).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&file.0, &whole[..length]).unwrap();
        assert!(read(&file.0, [1, 2, 2]).is_err(), "{length} bytes");
    }
}

#[test]
fn tensors_of_the_wrong_shape_or_type_are_refused() {
    let labels = || ("labels", bytes(&[1], &[1]));
    let images = || ("images", bytes(&[1; 4], &[1, 1, 2, 2]));
    let flat = ("images", bytes(&[1; 4], &[1, 4]));
    let reason = Written::new("flat", &[flat, labels()]).refused();
    assert_eq!(
        reason,
        "its images are [1, 4] of u8 instead of [1, 1, 2, 2] of u8"
    );
    let reason = Written::new("none", &[images()]).refused();
    assert_eq!(reason, "it has no labels");
    let more = ("labels", bytes(&[1, 2], &[2]));
    let reason = Written::new("more", &[images(), more]).refused();
    assert_eq!(reason, "its labels are [2] of u8 instead of [1] of u8");
    let wrong = ("labels", bytes(&[10], &[1]));
    let reason = Written::new("wrong", &[images(), wrong]).refused();
    assert_eq!(reason, "its labels are not 0 to 9");
    let floats = ("images", crate::tensor::zeros((1, 1, 2, 2)));
    let reason = Written::new("floats", &[floats, labels()]).refused();
    assert_eq!(
        reason,
        "its images are [1, 1, 2, 2] of f32 instead of [1, 1, 2, 2] of u8"
    );
}

#[test]
fn a_missing_data_set_names_the_command_that_downloads_it() {
    let message = part("Mnist", "no-such-set", "train", [1, 28, 28])
        .unwrap_err()
        .to_string();
    let (what, command) = message.split_once('\n').unwrap();
    assert!(what.starts_with("cannot read Mnist in "), "{message}");
    assert_eq!(command, "cargo taper data get no-such-set");
}
