//! Each command of the README is run by a test, or listed with the reason why not.

use super::read;
use std::collections::BTreeSet;

/// What runs a command.
enum By {
    /// A file that contains this text.
    File(&'static str, &'static str),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

const COMMANDS: [(&str, By); 16] = [
    (
        "cargo taper lab notebooks/01-welcome.ipynb",
        By::File("tests/lab.rs", "\"lab\", \"--no-browser\""),
    ),
    (
        "cargo test",
        By::File(".ci/common", "cargo test --locked --no-fail-fast"),
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
        "taper setup --system --prefix /opt/taper",
        By::File("packaging/jupyterhub/install", "setup --system --prefix"),
    ),
    (
        "taper class /opt/class",
        By::File("tests/hub/run.py", "[taper, \"class\", PREFIX"),
    ),
    (
        "cargo taper cuda cargo run --release --features cuda --manifest-path FOLDER/Cargo.toml --bin NAME",
        By::Nothing("needs an NVIDIA GPU; .ci/nightly builds such a program"),
    ),
    (
        "cargo taper book serve --open",
        By::File("tests/book_run.rs", "\"book\", \"serve\""),
    ),
    (
        "cargo taper publish notebook.ipynb --to page",
        By::File("tests/publish.rs", "\"publish\", path, \"--to\""),
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
    (
        "mpirun -n 2 target/release/name",
        By::File("tests/distributed/run.py", "\"mpirun\", \"-n\""),
    ),
];

#[test]
fn each_command_of_the_readme_is_run_by_a_test() {
    let readme = read("README.md");
    let blocks = readme.lines().filter_map(|line| line.strip_prefix("    "));
    let commands = blocks.map(|line| line.split("  #").next().unwrap_or_default().trim());
    // Cargo.toml's lines, and a change of the folder.
    let is_command =
        |line: &&str| !line.starts_with('[') && !line.contains(" = ") && !line.starts_with("cd ");
    let found: BTreeSet<&str> = commands.filter(is_command).collect();
    let listed: BTreeSet<&str> = COMMANDS.iter().map(|(command, _)| *command).collect();
    assert_eq!(
        found, listed,
        "the README's commands and those of this test"
    );
    for (command, by) in COMMANDS {
        match by {
            By::File(file, text) => {
                assert!(read(file).contains(text), "{command}: {file} has no {text}")
            }
            By::Nothing(reason) => assert!(!reason.is_empty(), "{command}"),
        }
    }
}
