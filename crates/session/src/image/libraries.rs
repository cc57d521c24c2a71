//! The compiled files of the packages that cells can name.

use super::cargo::{cargo_command, metadata};
use crate::error::{Error, Result};
use cargo_metadata::{Artifact, Message, Metadata, PackageId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use taper_host::error::Context as _;
use taper_host::toolchain;

/// Returns the packages on which the crate in `work` depends, by the names that it has for them, with their compiled
/// files. All of them must be compiled already.
pub(crate) fn of(work: &Path) -> Result<Vec<(String, Vec<PathBuf>)>> {
    let mut command = cargo_command(work, "build")?;
    let output = command
        .args([
            "--offline",
            "--message-format=json-render-diagnostics",
            "--target",
        ])
        .arg(toolchain::host()?)
        .output()
        .starting("cargo")?;
    if !output.status.success() {
        let output = String::from_utf8_lossy(&output.stderr).into_owned();
        let advice = "The packages did not compile. Cargo's messages:".to_owned();
        return Err(Error::Cargo { advice, output });
    }
    let mut files: HashMap<PackageId, Vec<PathBuf>> = HashMap::new();
    let messages = Message::parse_stream(&output.stdout[..]);
    for message in messages.map_while(std::io::Result::ok) {
        if let Message::CompilerArtifact(artifact) = message
            && is_library(&artifact)
        {
            let names = artifact
                .filenames
                .iter()
                .map(|name| name.as_std_path().to_owned());
            files.entry(artifact.package_id).or_default().extend(names);
        }
    }
    let metadata = metadata(work, &["--offline"])?;
    let resolve = metadata
        .resolve
        .unwrap_or_else(|| unreachable!("cargo has resolved the packages"));
    let root = resolve
        .nodes
        .into_iter()
        .find(|node| Some(&node.id) == resolve.root.as_ref());
    let named = root.into_iter().flat_map(|root| root.deps);
    Ok(named
        .filter_map(|used| Some((used.name, files.remove(&used.pkg)?)))
        .collect())
}

/// Returns what cargo says about the packages of the crate in `work`, which are compiled already; `None` if it fails.
pub(crate) fn metadata_of(work: &Path) -> Option<Metadata> {
    let platform = format!("--filter-platform={}", toolchain::host().ok()?);
    metadata(work, &["--offline", &platform]).ok()
}

fn is_library(artifact: &Artifact) -> bool {
    use cargo_metadata::TargetKind::{CDyLib, DyLib, Lib, ProcMacro, RLib};
    let kinds = artifact.target.kind.iter();
    kinds
        .into_iter()
        .any(|kind| matches!(kind, CDyLib | DyLib | Lib | ProcMacro | RLib))
}
