//! A limit for the number of packages that `taper` depends on: each is in every student's first build.

use std::collections::BTreeSet;
use std::process::Command;

/// If you raise it, give the reason in the commit message.
const LIMIT: usize = 140;

#[test]
fn taper_has_at_most_this_many_packages() {
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
        packages.len() <= LIMIT,
        "taper depends on {} packages, the limit is {LIMIT}. Which one is new, and which notebook needs it?",
        packages.len()
    );
}
