//! Compiles what every cell links to: `support.rs` beside this crate's sources.

use super::call::{self, SUPPORT};
use crate::config::Config;
use crate::error::{Error, Result};
use std::path::PathBuf;

pub(super) const SOURCE: &str = include_str!("../../support.rs");

/// Compiles the library in the shared folder, unless that is done, and returns its path.
pub(super) fn compile(config: &Config) -> Result<PathBuf> {
    let source = config.shared.join("support.rs");
    let library = config.shared.join(format!(
        "{}{SUPPORT}{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    if library.exists() && std::fs::read_to_string(&source).is_ok_and(|text| text == SOURCE) {
        return Ok(library);
    }
    // A library that exists is complete, and belongs to the source beside it.
    let _ = std::fs::remove_file(&library);
    std::fs::create_dir_all(&config.shared).map_err(Error::file("create", &config.shared))?;
    let new = library.with_extension("new");
    std::fs::write(&source, SOURCE).map_err(Error::file("write", &source))?;
    let output = call::rustc(config)
        .args([
            "--crate-name",
            SUPPORT,
            "--crate-type=dylib",
            "--edition=2024",
        ])
        .args(["-Copt-level=2", "-Cprefer-dynamic", "-Cdebuginfo=0"])
        .arg(&source)
        .arg("-o")
        .arg(&new)
        .output()
        .map_err(Error::system("start rustc"))?;
    if output.status.success() {
        std::fs::rename(&new, &library).map_err(Error::file("create", &library))?;
        return Ok(library);
    }
    Err(Error::Compiler {
        program: "rustc",
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
