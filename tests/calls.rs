//! What a cell compiles of the library: next to nothing, whatever it calls. `benches/calls/calls.py` calls every
//! public function, method and type of the prelude, and fails if a call is larger than its limit.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "reads object files of Linux")]
fn a_cell_compiles_next_to_nothing_of_what_it_calls() {
    let description = description();
    let mut build = cargo("build");
    // A test beside the library makes cargo select the features of `cargo test`, which has compiled it.
    build.args(["--test", "calls", "--message-format=json"]);
    let report = Path::new(env!("CARGO_TARGET_TMPDIR")).join("artifacts");
    fs::write(&report, run(build)).unwrap();
    let mut calls = Command::new("python3");
    calls.arg("benches/calls/calls.py").arg(description);
    calls.arg(report).arg("--check");
    let report = run(calls);
    // The prelude has more functions than that.
    let count = report
        .split_whitespace()
        .next()
        .and_then(|count| count.parse().ok());
    assert!(count > Some(1000), "{report}");
}

/// The crates of the library that have public items.
const CRATES: [&str; 8] = [
    "taper",
    "taper-tensor",
    "taper-distributed",
    "taper-display",
    "taper-nn",
    "taper-data",
    "taper-train",
    "taper-extra",
];

/// Lets rustdoc describe the public items of the library's crates, and returns the file of `taper`.
fn description() -> PathBuf {
    let rustdoc = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rustdoc");
    // Descriptions are not stable yet.
    let script = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
    fs::write(&rustdoc, script).unwrap();
    fs::set_permissions(&rustdoc, fs::Permissions::from_mode(0o755)).unwrap();
    for package in CRATES {
        let mut cargo = cargo("rustdoc");
        cargo.args(["--package", package]).env("RUSTDOC", &rustdoc);
        cargo.args(["--", "-Zunstable-options", "--output-format=json"]);
        run(cargo);
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    target.expect("the target folder").join("doc/taper.json")
}

fn cargo(command: &str) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([command, "--locked", "--lib"]);
    cargo
}

fn run(mut command: Command) -> String {
    let output = command
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}\n{errors}");
    text
}
