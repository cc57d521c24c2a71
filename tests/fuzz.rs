//! Damaged notebooks, archives and messages: each is refused in a sentence or read, none ends the program.
//!
//! ```text
//! FUZZ_SEED=2 FUZZ_INPUTS=5000 cargo test -p taper-cli --test fuzz
//! ```
//!
//! The files of data are damaged beside the code that reads them: in `src/fuzz.rs` and `cli/src/data/tests`.

#[path = "common/fuzz.rs"]
mod fuzz;
#[path = "common/peer.rs"]
mod peer;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use fuzz::{Random, each_damaged, setting};
use peer::{Kernel, Peer};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;
use taper_host::archive::{Packer, first_files, unpack};
use taper_notebook::Notebook;

/// The longest message about a damaged file, in bytes: it must not contain the file.
const LONGEST: usize = 2000;

fn fixtures() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = [
        "crates/book/src/fixtures/notebooks/every.ipynb",
        "crates/book/src/fixtures/notebooks/wrong.ipynb",
        "packaging/class/areas.ipynb",
    ];
    files
        .map(|file| std::fs::read(root.join(file)).expect("a notebook"))
        .to_vec()
}

#[test]
fn damaged_notebooks_are_read_or_refused() {
    each_damaged(&fixtures(), 400, |bytes| {
        if let Err(error) = Notebook::read("a.ipynb", bytes) {
            let message = error.to_string();
            assert!(message.len() < LONGEST, "{message}");
            let (_, next) = message.split_once('\n').expect("a next step");
            assert!(!next.trim().is_empty(), "{message}");
        }
    });
}

#[test]
fn a_notebook_with_a_value_of_megabytes_is_refused_in_few_words() {
    let long = "x".repeat(5_000_000);
    let notebook = |key: &str, value: Value| {
        let mut notebook = json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []});
        notebook[key] = value;
        notebook.to_string().into_bytes()
    };
    for (key, value) in [
        (
            "cells",
            json!([{"cell_type": long, "metadata": {}, "source": ""}]),
        ),
        (
            "cells",
            json!([{"cell_type": "code", "metadata": {"tags": long}, "source": "", "outputs": []}]),
        ),
        ("metadata", json!({"taper": {"rtol": long}})),
        (
            "metadata",
            json!({"kernelspec": {"name": long, "language": long}}),
        ),
        ("metadata", json!(long)),
    ] {
        if let Err(error) = Notebook::read("a.ipynb", notebook(key, value)) {
            let message = error.to_string();
            let begin: String = message.chars().take(200).collect();
            assert!(message.len() < LONGEST, "{} bytes: {begin}", message.len());
        }
    }
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("it is compressed");
    encoder.finish().expect("it is compressed")
}

#[test]
fn damaged_archives_write_only_below_their_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    let mut packer = Packer::new(Vec::new());
    for (name, size) in [
        ("built.json", 40),
        ("work/target/a", 3000),
        ("packages/b/c.rs", 0),
    ] {
        std::fs::write(&file, vec![7; size]).expect("a file");
        packer.add(Path::new(name), &file).expect("it is added");
    }
    let packed = packer.finish().expect("an archive");
    let mut whole = Vec::new();
    GzDecoder::new(&packed[..])
        .read_to_end(&mut whole)
        .expect("an archive");
    std::fs::remove_file(file).expect("it is removed");
    let to = folder.path().join("to");
    const LIMIT: u64 = 4000;
    each_damaged(&[whole], 400, |bytes| {
        // Half of them damaged after compression.
        let archive = match bytes.len() % 2 {
            0 => compress(&bytes),
            _ => Random::new(bytes.len() as u64).damaged(&packed),
        };
        let _ = first_files(&archive[..], &["built.json", "work/target/a"]);
        let _ = unpack(&archive[..], &to, LIMIT);
        let beside = std::fs::read_dir(folder.path())
            .expect("a folder")
            .flatten();
        assert!(
            beside
                .map(|entry| entry.file_name())
                .all(|name| name == "to")
        );
        assert!(size_of(&to) <= LIMIT);
        let _ = std::fs::remove_dir_all(&to);
    });
}

/// Returns the size of all files in a folder. Fails if one is a link or a device.
fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| {
        let metadata = entry.metadata().expect("it exists");
        match metadata.is_dir() {
            true => size_of(&entry.path()),
            false if metadata.is_file() => metadata.len(),
            false => panic!("{:?} is neither a file nor a folder", entry.path()),
        }
    });
    sizes.sum()
}

/// The requests that get a reply, and an unknown one.
const REQUESTS: [&str; 8] = [
    "kernel_info_request",
    "execute_request",
    "complete_request",
    "inspect_request",
    "is_complete_request",
    "history_request",
    "comm_info_request",
    "unknown_request",
];

#[test]
fn damaged_messages_are_answered_or_dropped() {
    let kernel = Kernel::start();
    let mut random = Random::new(setting("FUZZ_SEED", 1) as u64);
    let mut peer = kernel.connect("shell");
    for number in 0..setting("FUZZ_INPUTS", 400) {
        let request = REQUESTS[number % REQUESTS.len()];
        let id = format!("message {number}");
        let parts = kernel.message(request, &id, contents(request).to_string().as_bytes());
        match number % 4 {
            // Signed, with a damaged content: exactly one reply.
            0 => {
                let content = random.damaged(&parts[5]);
                peer.send(&kernel.message(request, &id, &content));
                peer.expect_reply(&id);
            }
            // Signed, with any damaged part.
            1 => {
                let mut parts = parts;
                let at = 2 + random.below(4);
                parts[at] = random.damaged(&parts[at]);
                parts[1] = kernel.sign(&parts[2..6]);
                peer.send(&parts);
            }
            // Not signed.
            2 => {
                let mut parts = parts;
                for _ in 0..1 + random.below(3) {
                    let at = random.below(parts.len());
                    parts[at] = random.damaged(&parts[at]);
                }
                parts.truncate(1 + random.below(parts.len() + 3));
                peer.send(&parts);
            }
            // Not even frames, on any channel.
            _ => {
                let frames = Peer::frames(&parts);
                let noise = random.damaged(&frames);
                for channel in ["shell", "control", "stdin", "iopub", "hb"] {
                    kernel.connect(channel).send_raw(&noise);
                }
            }
        }
        if number % 50 == 49 {
            let id = format!("alive {number}");
            peer.send(&kernel.message("kernel_info_request", &id, b"{}"));
            peer.skip_to_reply(&id);
        }
    }
    kernel.end();
}

fn contents(request: &str) -> Value {
    match request {
        "execute_request" => json!({"code": "1 + 1", "silent": false, "store_history": true,
            "user_expressions": {"a": "b"}, "allow_stdin": false, "stop_on_error": true}),
        "complete_request" => json!({"code": "st", "cursor_pos": 2}),
        "inspect_request" => json!({"code": "std", "cursor_pos": 1, "detail_level": 0}),
        "is_complete_request" => json!({"code": "fn f() {"}),
        "history_request" => {
            json!({"output": false, "raw": true, "hist_access_type": "tail", "n": 10})
        }
        "comm_info_request" => json!({"target_name": "a"}),
        _ => json!({}),
    }
}
