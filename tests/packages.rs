//! The packages that are compiled: how many `taper` depends on, since each is part of every student's first
//! build; which packages of the command are optimized; which matrix products have AVX-512 kernels.

use std::collections::BTreeSet;
use std::process::Command;

/// The most packages of others on which `taper` may depend. If you raise it, state the reason in the commit message.
const LIMIT: usize = 137;

/// The package that reads a cell. Its dependencies run as well.
const PARSER: &str = "ra_ap_syntax";

#[test]
fn taper_has_at_most_this_many_packages() {
    let mut packages = below("taper");
    packages.retain(|package| !package.starts_with("taper"));
    assert!(
        packages.len() <= LIMIT,
        "taper depends on {} packages of others, the limit is {LIMIT}. Which one is new, and which notebook needs it?",
        packages.len()
    );
}

#[test]
fn the_packages_of_rust_analyzer_that_read_a_cell_are_optimized() {
    let is_analyzer = |name: &&str| name.starts_with("ra_ap_") || name.starts_with("ra-ap-");
    let packages = below(PARSER);
    let expected: BTreeSet<&str> = packages
        .iter()
        .filter(|package| !package.contains("(proc-macro)"))
        .filter_map(|package| package.split(' ').next())
        .filter(is_analyzer)
        .collect();
    let manifest = include_str!("../Cargo.toml");
    let listed = manifest.lines().filter(|line| line.contains("opt-level"));
    let listed: BTreeSet<&str> = listed
        .filter_map(|line| line.split(' ').next())
        .filter(is_analyzer)
        .collect();
    assert_eq!(listed, expected, "[profile.dev.package] in Cargo.toml");
}

/// Kernels for complex numbers, which no chapter multiplies, would lengthen the first build by five seconds of
/// processor time.
#[test]
fn matrix_products_of_real_numbers_alone_have_avx_512_kernels() {
    let packages = tree("taper", "{p} {f}");
    let with_kernels = packages.iter().filter(|package| package.contains("x86-v4"));
    let with_kernels: BTreeSet<&str> = with_kernels
        .filter_map(|package| package.split(' ').next())
        .filter(|name| name.starts_with("gemm"))
        .collect();
    let expected = ["gemm-common", "gemm-f16", "gemm-f32", "gemm-f64"];
    assert_eq!(with_kernels, BTreeSet::from(expected));
}

/// Returns the package and all its dependencies, as `cargo tree` lists them.
fn below(package: &str) -> BTreeSet<String> {
    tree(package, "{p}")
}

/// Returns the package and all its dependencies, each in this format of `cargo tree --format`.
fn tree(package: &str, format: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "-p", package, "-e", "normal"])
        .args(["--prefix", "none", "--no-dedupe", "--format", format])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let listed = String::from_utf8_lossy(&output.stdout);
    assert!(
        listed.lines().count() > 1,
        "cargo lists the packages:\n{listed}"
    );
    listed.lines().map(str::to_owned).collect()
}
