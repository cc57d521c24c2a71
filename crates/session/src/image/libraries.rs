//! What cargo says about the packages that cells can name.

use super::cargo::metadata;
use super::layout::{METADATA, PACKAGES};
use crate::analysis::SEEN_BELOW_TAPER;
use crate::environment::packages;
use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand};
use std::path::{Path, PathBuf};
use taper_host::{cache, checkout, toolchain};

/// Returns what cargo says about the packages of the crate in `work`, which are compiled already; `None` if it fails.
/// The image keeps this for its own packages, so cargo is not asked, and writes nothing into its home. Where packages were
/// compiled on another machine, cargo does not know them, and the image does.
pub(crate) fn metadata_of(work: &Path) -> Option<Metadata> {
    let (manifest, metadata) = kept(work).unzip();
    let is_same = manifest.is_some_and(|kept| Some(kept) == manifest_of(work));
    let of_image = metadata.as_ref().filter(|_| is_same).cloned();
    of_image.or_else(|| asked(work).ok()).or(metadata)
}

fn manifest_of(work: &Path) -> Option<String> {
    std::fs::read_to_string(work.join("Cargo.toml")).ok()
}

fn asked(work: &Path) -> Result<Metadata> {
    let platform = format!("--filter-platform={}", toolchain::host()?);
    metadata(work, &["--offline", &platform])
}

/// Keeps what cargo says in the image, after a line with the manifest about which it says it.
pub(super) fn keep_metadata(work: &Path) -> Result<()> {
    let metadata = asked(work)?;
    let metadata = serde_json::to_string(&metadata);
    let metadata = metadata.context("cannot write what cargo says as JSON")?;
    let manifest = serde_json::Value::from(manifest_of(work).unwrap_or_default());
    let mut text = format!("{manifest}\n{metadata}");
    for (placeholder, folder) in folders(work) {
        text = text.replace(&folder, placeholder);
    }
    cache::write_atomically(&work.join(METADATA), text.as_bytes())
}

/// Returns the manifest and the metadata that the image keeps.
fn kept(work: &Path) -> Option<(String, Metadata)> {
    let mut text = std::fs::read_to_string(work.join(METADATA)).ok()?;
    for (placeholder, folder) in folders(work) {
        text = text.replace(placeholder, &folder);
    }
    let (manifest, metadata) = text.split_once('\n')?;
    let manifest = serde_json::from_str(manifest).ok()?;
    Some((manifest, MetadataCommand::parse(metadata).ok()?))
}

/// Returns the folders that differ between machines, each with a placeholder that no path contains.
fn folders(work: &Path) -> impl Iterator<Item = (&'static str, String)> {
    let imported = Some(work.with_file_name(PACKAGES)).filter(|packages| packages.exists());
    let folders = [
        ("{taper}", checkout::folder().ok()),
        ("{packages}", imported.or_else(packages)),
    ];
    let folders = folders.into_iter();
    folders.filter_map(|(placeholder, folder)| Some((placeholder, folder?.to_str()?.to_owned())))
}

/// Returns the folders below cargo's `home` with the sources of the packages that the analysis reads.
pub(super) fn sources(work: &Path, home: &Path) -> Vec<PathBuf> {
    let kept = kept(work);
    let packages = kept.iter().flat_map(|(_, metadata)| &metadata.packages);
    packages
        .filter(|package| SEEN_BELOW_TAPER.contains(&package.name.as_str()))
        .filter_map(|package| package.manifest_path.parent())
        .map(|folder| folder.as_std_path().to_owned())
        .filter(|folder| folder.starts_with(home))
        .collect()
}
