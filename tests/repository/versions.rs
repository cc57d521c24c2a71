//! The oldest supported Rust is defined in one place, `rust-version`; all other places must agree with it.

use super::read;

fn oldest_rust() -> String {
    let manifest: toml::Table = read("Cargo.toml").parse().expect("Cargo.toml is TOML");
    let version = &manifest["workspace"]["package"]["rust-version"];
    version.as_str().expect("a version").to_owned()
}

#[test]
fn ci_tests_the_oldest_supported_rust_and_the_next_one() {
    let workflow = read(".github/workflows/ci.yml");
    for rust in [
        format!("\"{}\"", oldest_rust()),
        "stable".into(),
        "beta".into(),
    ] {
        let line = format!("{{ os: ubuntu-24.04, rust: {rust} }}");
        assert!(
            workflow.contains(&line),
            ".github/workflows/ci.yml lacks {line}"
        );
    }
}

#[test]
fn the_readme_names_the_oldest_supported_rust() {
    let named = format!("Rust {} or newer", oldest_rust());
    assert!(
        read("README.md").contains(&named),
        "README.md lacks {named:?}"
    );
}

/// The message of a set-up that fails names it, too.
#[test]
fn the_readme_names_the_newest_rust_that_was_tested() {
    let checks = read("crates/host/src/checks.rs");
    let newest = checks.split("NEWEST_TESTED: &str = \"").nth(1);
    let newest = newest.and_then(|rest| rest.split('"').next());
    let named = format!("stable Rust ({})", newest.expect("a release"));
    assert!(
        read("README.md").contains(&named),
        "README.md lacks {named:?}"
    );
}

#[test]
fn users_choose_their_toolchain() {
    for file in ["rust-toolchain.toml", "rust-toolchain"] {
        let path = super::root().join(file);
        assert!(
            !path.exists(),
            "{file} would override the toolchain for which a user's image was built"
        );
    }
}

/// `cargo install` without `--locked` takes the newest releases that the manifests allow, and rust-analyzer's do not
/// compile with them.
#[test]
fn packages_that_must_not_be_newer_are_pinned_in_the_manifest() {
    let manifest: toml::Table = read("Cargo.toml").parse().expect("Cargo.toml is TOML");
    let lock: toml::Table = read("Cargo.lock").parse().expect("Cargo.lock is TOML");
    let locked = lock["package"].as_array().expect("packages");
    let salsas = locked.iter().filter_map(|package| {
        let name = package["name"].as_str()?;
        name.starts_with("salsa")
            .then_some((name, &package["version"]))
    });
    let mut count = 0;
    for (name, version) in salsas {
        let version = format!("={}", version.as_str().expect("a version"));
        let pinned = &manifest["workspace"]["dependencies"][name]["version"];
        assert_eq!(pinned.as_str(), Some(version.as_str()), "{name}");
        count += 1;
    }
    assert_eq!(count, 3);
}
