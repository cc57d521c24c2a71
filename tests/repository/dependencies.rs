//! Checks the rules of `deny.toml` without cargo-deny and without a network: licences, bans and sources
//! of the packages that are compiled on this platform.

use serde_json::Value;
use std::process::Command;

/// Returns what `cargo metadata` prints about the packages of this platform.
fn metadata() -> Value {
    let host = Command::new("rustc")
        .args(["--print", "host-tuple"])
        .output()
        .expect("rustc starts");
    let host = String::from_utf8(host.stdout).expect("a target's name");
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--locked",
            "--format-version",
            "1",
            "--filter-platform",
            host.trim(),
        ])
        .current_dir(super::root())
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns all packages that the workspace compiles on this platform.
fn packages() -> Vec<Value> {
    let metadata = metadata();
    // `packages` contains those of all platforms, the resolved graph only those of this one.
    let nodes = metadata["resolve"]["nodes"]
        .as_array()
        .expect("a resolved graph");
    let used: Vec<&Value> = nodes.iter().map(|node| &node["id"]).collect();
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .filter(|package| used.contains(&&package["id"]))
        .cloned()
        .collect()
}

fn rules() -> toml::Table {
    super::read("deny.toml").parse().expect("deny.toml is TOML")
}

fn strings(value: &toml::Value) -> Vec<&str> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(toml::Value::as_str)
        .collect()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().expect("a package has a name")
}

#[test]
fn every_licence_is_allowed() {
    let rules = rules();
    let allowed = strings(&rules["licenses"]["allow"]);
    let packages = packages();
    assert!(
        packages.len() > 100,
        "cargo lists only {} packages",
        packages.len()
    );
    let refused: Vec<String> = packages
        .iter()
        .map(|package| (name(package), package["license"].as_str().unwrap_or("none")))
        .filter(|(_, licence)| !is_allowed(licence, &allowed))
        .map(|(name, licence)| format!("{name}: {licence}"))
        .collect();
    assert!(
        refused.is_empty(),
        "not allowed by deny.toml:\n{}",
        refused.join("\n")
    );
}

#[test]
fn no_banned_package_is_used() {
    let rules = rules();
    let bans = rules["bans"]["deny"].as_array().expect("a list").iter();
    let bans: Vec<_> = bans
        .map(|ban| (ban["crate"].as_str(), &ban["reason"]))
        .collect();
    for package in packages() {
        let ban = bans
            .iter()
            .find(|(banned, _)| *banned == Some(name(&package)));
        if let Some((_, reason)) = ban {
            panic!("{} is banned by deny.toml: {reason}", name(&package));
        }
    }
}

#[test]
fn every_package_has_an_allowed_source_and_a_version_requirement() {
    let rules = rules();
    let registries = strings(&rules["sources"]["allow-registry"]);
    for package in packages() {
        let Some(source) = package["source"].as_str() else {
            assert_versions_are_chosen(&package);
            continue;
        };
        let registry = source.strip_prefix("registry+").unwrap_or(source);
        assert!(
            registries.contains(&registry),
            "{} comes from {source}",
            name(&package)
        );
    }
}

/// All else is used as its authors have released it: nothing is copied, and nothing takes the place of a release.
#[test]
fn the_repository_contains_only_its_own_packages() {
    let root = super::root();
    assert!(!root.join("vendor").exists(), "vendor/ is a copy");
    let manifest: toml::Table = super::read("Cargo.toml").parse().expect("TOML");
    for table in ["patch", "replace"] {
        assert!(!manifest.contains_key(table), "[{table}] changes a release");
    }
    let metadata = metadata();
    let members = metadata["workspace_members"].as_array().expect("members");
    let packages = metadata["packages"].as_array().expect("packages");
    let own = packages
        .iter()
        .filter(|package| package["source"].is_null());
    for package in own {
        assert!(
            members.contains(&package["id"]),
            "{} is a path dependency outside of the workspace",
            name(package)
        );
    }
}

/// Asserts that a package of the workspace has no dependency from a registry without a version.
fn assert_versions_are_chosen(package: &Value) {
    for dependency in package["dependencies"].as_array().expect("dependencies") {
        let any = dependency["req"] == "*" && dependency["path"].is_null();
        assert!(
            !any,
            "{} accepts any version of {}: write a version requirement",
            name(package),
            dependency["name"]
        );
    }
}

/// Returns whether one alternative of an SPDX expression consists of allowed licences only. Older
/// packages write `/` for `OR`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut expression = Expression {
        words: &words,
        allowed,
    };
    let is_allowed = expression.any();
    is_allowed && expression.words.is_empty()
}

struct Expression<'a> {
    words: &'a [&'a str],
    allowed: &'a [&'a str],
}

impl<'a> Expression<'a> {
    /// Reads `A OR B`; returns whether it is allowed.
    fn any(&mut self) -> bool {
        let mut result = self.all();
        while self.accept("OR") {
            result |= self.all();
        }
        result
    }

    /// Reads `A AND B`, which binds more tightly than `OR`.
    fn all(&mut self) -> bool {
        let mut result = self.licence();
        while self.accept("AND") {
            result &= self.licence();
        }
        result
    }

    /// Reads `( A )`, `A` or `A WITH exception`.
    fn licence(&mut self) -> bool {
        if self.accept("(") {
            return self.any() & self.accept(")");
        }
        let Some(mut licence) = self.next().map(str::to_owned) else {
            return false;
        };
        if self.accept("WITH") {
            licence = format!("{licence} WITH {}", self.next().unwrap_or_default());
        }
        self.allowed.contains(&licence.as_str())
    }

    fn accept(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }
}

#[test]
fn licence_expressions_are_read_as_spdx_defines_them() {
    let allowed = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
    for expression in [
        "MIT",
        "Unlicense/MIT",
        "Apache-2.0 OR MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
        "MIT OR Apache-2.0 AND GPL-3.0",
    ] {
        assert!(is_allowed(expression, &allowed), "{expression}");
    }
    for expression in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "Apache-2.0",
        "(MIT",
        "MIT MIT",
        "none",
    ] {
        assert!(!is_allowed(expression, &allowed), "{expression}");
    }
}
