//! Compiles what every cell links to: `support.rs` beside this crate's sources, with its modules.

use super::call;
use crate::config::{Config, SUPPORT};
use crate::error::compiler_failed;
use anyhow::{Context, Result};
use std::path::PathBuf;
use taper_host::error::OnFile as _;

/// The files, the crate's root first.
pub(super) const SOURCES: [(&str, &str); 5] = [
    ("support.rs", include_str!("../../support.rs")),
    ("futures.rs", include_str!("../../futures.rs")),
    ("panics.rs", include_str!("../../panics.rs")),
    ("profile.rs", include_str!("../../profile.rs")),
    ("turn.rs", include_str!("../../turn.rs")),
];

/// Compiles the library in the shared folder, unless that is done, and returns its path.
pub(super) fn compile(config: &Config) -> Result<PathBuf> {
    let library = config.shared.join(format!(
        "{}{SUPPORT}{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    let sources = SOURCES.map(|(name, text)| (config.shared.join(name), text));
    let is_written =
        |(file, text): &(PathBuf, &str)| std::fs::read_to_string(file).is_ok_and(|it| it == *text);
    if library.exists() && sources.iter().all(is_written) {
        return Ok(library);
    }
    // A library that exists is complete, and belongs to the sources beside it.
    let _ = std::fs::remove_file(&library);
    std::fs::create_dir_all(&config.shared).on_file("create", &config.shared)?;
    let new = library.with_extension("new");
    for (file, text) in &sources {
        std::fs::write(file, text).on_file("write", file)?;
    }
    let output = call::rustc(config)
        .args([
            "--crate-name",
            SUPPORT,
            "--crate-type=dylib",
            "--edition=2024",
        ])
        .args(["-Copt-level=2", "-Cprefer-dynamic", "-Cdebuginfo=0"])
        .arg(&sources[0].0)
        .arg("-o")
        .arg(&new)
        .output()
        .context("cannot start rustc")?;
    if output.status.success() {
        std::fs::rename(&new, &library).on_file("create", &library)?;
        return Ok(library);
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    Err(compiler_failed("rustc", printed))
}
