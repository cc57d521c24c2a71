//! The user's configuration of cargo, as far as it changes what is compiled.

use crate::environment;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use taper_host::cache;

/// Tables that do not change what is compiled: they are about downloads, the terminal and other
/// commands.
#[rustfmt::skip]
const IRRELEVANT: [&str; 13] = [
    "alias", "cache", "cargo-new", "credential-alias", "doc", "future-incompat-report", "http", "install",
    "net", "registries", "registry", "source", "term",
];

/// Entries of `[build]`, `[host]` and `[target.*]` that Taper overrides, or that only change the speed
/// of a build.
#[rustfmt::skip]
const OVERRIDDEN: [&str; 10] = [
    "build-dir", "dep-info-basedir", "jobs", "runner", "rustc", "rustdoc", "rustdocflags", "rustflags",
    "target", "target-dir",
];

/// Returns the relevant part of all files that cargo reads for an image.
pub(super) fn of_user() -> Result<String> {
    let cache = cache::folder()?;
    let above = cache.ancestors().map(|folder| folder.join(".cargo"));
    let folders: BTreeSet<PathBuf> = above
        .chain(environment::cargo_home())
        .filter_map(|folder| folder.canonicalize().ok())
        .collect();
    Ok(folders.iter().map(|folder| of_folder(folder)).collect())
}

fn of_folder(folder: &Path) -> String {
    let mut files = ["config", "config.toml"]
        .iter()
        .map(|name| folder.join(name));
    let text = files.find_map(|file| std::fs::read_to_string(file).ok());
    text.map(|text| relevant(&text)).unwrap_or_default()
}

/// Returns the configuration without its formatting and without the entries that do not change what is
/// compiled.
fn relevant(text: &str) -> String {
    let Ok(mut config) = text.parse::<toml::Table>() else {
        return text.to_owned(); // cargo reports the error
    };
    config.retain(|name, _| !IRRELEVANT.contains(&name));
    for name in ["build", "host", "target"] {
        if let Some(table) = config.get_mut(name).and_then(toml::Value::as_table_mut) {
            remove_overridden(table);
        }
    }
    config.retain(|_, value| value.as_table().is_none_or(|table| !table.is_empty()));
    match config.is_empty() {
        true => String::new(),
        false => config.to_string(),
    }
}

fn remove_overridden(table: &mut toml::Table) {
    table.retain(|name, value| {
        if let Some(below) = value.as_table_mut() {
            remove_overridden(below);
            return !below.is_empty();
        }
        !OVERRIDDEN.contains(&name)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_compiled_packages_is_relevant() {
        for text in [
            "[build]\nrustc-wrapper = \"sccache\"",
            "[target.x86_64-unknown-linux-gnu]\nlinker = \"clang\"",
            "[profile.dev]\nlto = true",
            "[env]\nCFLAGS = \"-O1\"",
            "[patch.crates-io]\nlibc = { path = \"/libc\" }",
            "a broken file",
        ] {
            assert_ne!(relevant(text), "", "{text}");
        }
        let spaced = "[ profile . dev ]\n# fat\nlto=true";
        assert_eq!(relevant(spaced), relevant("[profile.dev]\nlto = true"));
    }

    #[test]
    fn what_has_no_effect_is_left_out() {
        for text in [
            "[build]\nrustflags = [\"-g\"]\njobs = 2\ntarget-dir = \"/t\"",
            "[target.x86_64-unknown-linux-gnu]\nrustflags = [\"-Clink-arg=-fuse-ld=mold\"]",
            "[target.'cfg(unix)']\nrunner = \"valgrind\"",
            "[net]\noffline = true\n[http]\nproxy = \"a:1\"\n[term]\ncolor = \"never\"",
            "[source.crates-io]\nreplace-with = \"mirror\"",
        ] {
            assert_eq!(relevant(text), "", "{text}");
        }
    }
}
