//! How many packages `taper` brings along: each is in every student's first build.

use std::collections::BTreeSet;
use std::process::Command;

/// Raising it needs a reason in the commit.
const CEILING: usize = 140;

#[test]
fn taper_stays_below_its_ceiling() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "-p",
            "taper",
            "-e",
            "normal",
            "--prefix",
            "none",
            "--no-dedupe",
        ])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let listed = String::from_utf8_lossy(&output.stdout);
    let packages: BTreeSet<&str> = listed.lines().collect();
    assert!(packages.len() > 1, "cargo lists the packages:\n{listed}");
    assert!(
        packages.len() <= CEILING,
        "taper brings {} packages, the ceiling is {CEILING}. What is new, and which notebook cannot do without it?",
        packages.len()
    );
}
