//! Damaged files of data sets: each is refused, none ends the program.

use super::fuzz::each_damaged;
use super::*;
use crate::data::{idx, parquet};

#[test]
fn damaged_files_are_read_or_refused() {
    let folder = temporary();
    let set = small(1);
    let part = &set.parts[0];
    let file = folder.path().join("damaged");
    each_damaged(
        &[valid_parquet(5, 1), valid_parquet(5, 1)[..300].to_vec()],
        200,
        |bytes| {
            std::fs::write(&file, bytes).expect("a file");
            let _ = parquet::read(&file, &set, part);
        },
    );
    let images = [
        &[0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 3][..],
        &[7; 30],
    ]
    .concat();
    let labels = [&[0, 0, 8, 1, 0, 0, 0, 5][..], &[1; 5]].concat();
    let folder = temporary();
    each_damaged(std::slice::from_ref(&images), 200, |bytes| {
        std::fs::write(folder.path().join("train-images-idx3-ubyte"), bytes).expect("a file");
        std::fs::write(folder.path().join("train-labels-idx1-ubyte"), &labels).expect("a file");
        let _ = idx::read(folder.path(), &set, part);
    });
}
