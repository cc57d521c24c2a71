//! A digest of everything that a session depends on from its start.

use crate::error::{Error, Result};
use ring::digest::{Context as Digest, SHA256};
use std::ffi::OsString;
use std::path::PathBuf;
use taper_host::digest::hex;
use taper_host::process;
use taper_host::toolchain;
use taper_session::image::Key;

/// Prefixes of variables that configure the compiler, the loader or Taper.
const PREFIXES: [&str; 8] = [
    "CARGO", "RUST", "TAPER_", "CC", "LD_", "DYLD_", "HOME", "CFLAGS",
];

/// Returns a digest of the image, the program, the tools and the variables: a spare may serve
/// exactly the kernels with the same fingerprint.
pub(super) fn fingerprint(key: &Key) -> Result<String> {
    let mut digest = Digest::new(&SHA256);
    let mut add = |bytes: &[u8]| {
        digest.update(&(bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    add(key.id.as_bytes());
    add(key.sources.as_bytes());
    add(version()?.as_bytes());
    let toolchain = toolchain::get().map_err(Error::session)?;
    for program in [&toolchain.rustc, &toolchain.cargo, &on_path("cc")] {
        add(program.as_os_str().as_encoded_bytes());
    }
    let mut variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    variables.sort();
    // The folder itself, not the variable CARGO_HOME: the default folder is the same with and without it.
    add(taper_session::cargo_home()
        .unwrap_or_default()
        .as_os_str()
        .as_encoded_bytes());
    for (variable, value) in variables {
        let name = variable.to_string_lossy();
        if name != "CARGO_HOME" && PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            add(variable.as_encoded_bytes());
            add(value.as_encoded_bytes());
        }
    }
    Ok(hex(digest)[..16].to_owned())
}

/// Returns the time and the length of this program, which distinguish the build from others.
fn version() -> Result<String> {
    let program = process::program().map_err(Error::session)?;
    let modified = std::fs::metadata(&program).and_then(|file| Ok((file.modified()?, file.len())));
    let (modified, length) = modified.map_err(Error::io(format!("read {}", program.display())))?;
    Ok(format!("{modified:?} {length}"))
}

/// Returns the path of a program on the PATH; an empty path if there is none.
fn on_path(program: &str) -> PathBuf {
    let path = toolchain::path();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(program));
    found.find(|file| file.is_file()).unwrap_or_default()
}
