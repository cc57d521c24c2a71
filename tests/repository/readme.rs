//! Each block of commands or code in the README is run by a test, or listed with the reason why not.

use super::read;
use std::collections::BTreeSet;

/// What runs a command.
enum By {
    /// A file that contains this text.
    File(&'static str, &'static str),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

const MANIFEST: &str =
    "lines of a manifest; tests/slow/export.rs builds projects that depend on a copy of the crate";

const BLOCKS: [(&str, By); 22] = [
    (
        "cargo taper lab notebooks/01-welcome.ipynb",
        By::File("tests/slow/lab.rs", "\"lab\", \"--no-browser\""),
    ),
    (
        "cargo test --no-fail-fast",
        By::File(".ci/common", "cargo test --locked --no-fail-fast"),
    ),
    (
        "cargo test --test slow --test setup",
        By::File(".ci/run", "tests --test slow --test setup"),
    ),
    (
        "packaging/wheel dist",
        By::File(".ci/run", "packaging/wheel \"$cache/wheel\""),
    ),
    (
        "pip install dist/taper_notebook-*.whl",
        By::File("packaging/check-wheel", "pip install --quiet --no-index"),
    ),
    (
        "taper course course",
        By::File("packaging/check-wheel", "as_student taper course course"),
    ),
    (
        "taper lab course/01-welcome.ipynb",
        By::File("packaging/check-wheel", "taper lab --no-browser"),
    ),
    (
        "taper image export image.tar.gz",
        By::File("packaging/check-wheel", "taper image export"),
    ),
    (
        "taper image import image.tar.gz --sha256 …",
        By::File("packaging/check-wheel", "taper image import"),
    ),
    (
        "taper setup --image https://… --sha256 …",
        By::File("tests/setup/transfer.rs", "[\"setup\", \"--image\"]"),
    ),
    (
        "taper setup --system --prefix /opt/taper",
        By::File("packaging/jupyterhub/install", "setup --system --prefix"),
    ),
    (
        "taper class /opt/class",
        By::File("tests/hub/run.py", "[taper, \"class\", PREFIX"),
    ),
    (
        "cargo taper cuda cargo run --release --features cudnn --manifest-path FOLDER/Cargo.toml --bin NAME",
        By::Nothing("needs an NVIDIA GPU; .ci/nightly builds such a program"),
    ),
    (
        "cargo taper book serve --open",
        By::File("tests/slow/book_run.rs", "\"book\", \"serve\""),
    ),
    (
        "cargo taper publish notebook.ipynb --to page",
        By::File("tests/slow/publish.rs", "\"publish\", path, \"--to\""),
    ),
    (
        "cargo taper export --distributed notebooks/NN-name.ipynb --to FOLDER",
        By::File(
            "tests/distributed/cluster.py",
            "\"export\", \"--distributed\"",
        ),
    ),
    (
        "cargo build --release --features mpi",
        By::File(
            "crates/notebook/src/export/jobs/slurm.sh",
            "cargo build --release --features mpi",
        ),
    ),
    ("cd FOLDER", By::Nothing("leads into the exported folder")),
    (
        "mpirun -n 2 target/release/name",
        By::File("tests/distributed/run.py", "\"mpirun\", \"-n\""),
    ),
    (
        "// Input: 1, 28, 28\n// Labels: zero, one, two\nnet",
        By::File(
            "tests/slow/publish.rs",
            "// Labels: ring, disc, square\\nnet",
        ),
    ),
    ("[dependencies]", By::Nothing(MANIFEST)),
    (
        "taper = { path = \"path/to/taper\" }",
        By::Nothing(MANIFEST),
    ),
];

#[test]
fn each_block_of_the_readme_is_run_by_a_test() {
    let readme = read("README.md");
    let lines = readme.lines().filter_map(|line| line.strip_prefix("    "));
    let commands = lines.map(|line| line.split("  #").next().unwrap_or_default().trim());
    // Between two fences, after the line that names the language.
    let fenced = readme.split("```").skip(1).step_by(2);
    let fenced = fenced.map(|block| block.split_once('\n').map_or("", |(_, code)| code.trim()));
    let found: BTreeSet<&str> = commands.chain(fenced).collect();
    let listed: BTreeSet<&str> = BLOCKS.iter().map(|(block, _)| *block).collect();
    assert_eq!(found, listed, "the README's blocks and those of this test");
    for (block, by) in BLOCKS {
        match by {
            By::File(file, text) => {
                assert!(read(file).contains(text), "{block}: {file} has no {text}")
            }
            By::Nothing(reason) => assert!(!reason.is_empty(), "{block}"),
        }
    }
}
