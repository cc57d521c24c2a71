//! Consistency across the files of the repository: rules for dependencies, Rust versions, and the paths
//! that documents name.

mod dependencies;
mod documents;
mod from_pytorch;
mod programs;
mod pytorch_names;
mod reading_times;
mod readme;
mod security;
mod versions;

use std::path::{Path, PathBuf};

/// Returns the folder of the repository.
fn root() -> PathBuf {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.parent()
        .expect("the package is in the repository")
        .to_owned()
}

/// Returns the folders of the library's sources.
fn library() -> Vec<PathBuf> {
    let crates = [
        "tensor",
        "distributed",
        "display",
        "nn",
        "data",
        "train",
        "extra",
    ];
    let crates = crates.map(|name| root().join("crates").join(name).join("src"));
    [root().join("src")].into_iter().chain(crates).collect()
}

/// Returns the text of a file of the repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
