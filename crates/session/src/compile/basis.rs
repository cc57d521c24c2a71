//! A digest of what cargo reads before it compiles a cell.

use super::{memory, variables};
use ring::digest::{Context as Digest, SHA256};
use std::ffi::OsString;
use std::path::Path;
use taper_host::digest::hex;

/// Returns the digest for a question about the toolchain or its settings. It does not depend on the
/// packages.
pub(crate) fn of_question(arguments: &[OsString], session: &Path) -> String {
    let mut digest = Digest::new(&SHA256);
    add_call(&mut digest, arguments, session);
    hex(digest)
}

/// Returns the digest for a call of cargo about the crate in the work directory. Returns `None` if cargo
/// may find something new every time: a package whose source the student may be changing.
///
/// The digest is the same in an image and in the sessions that are made from it.
pub(crate) fn of(arguments: &[OsString], session: &Path) -> Option<String> {
    let manifest = std::fs::read_to_string(session.join("work/Cargo.toml")).ok()?;
    if has_other_source(&manifest) {
        return None;
    }
    let mut digest = Digest::new(&SHA256);
    add_call(&mut digest, arguments, session);
    add(
        &mut digest,
        &memory::without_folders(manifest.as_bytes(), session),
    );
    add(
        &mut digest,
        &std::fs::read(session.join("work/Cargo.lock")).unwrap_or_default(),
    );
    Some(hex(digest))
}

/// Returns the digest of a cell's source and of `basis`, the digest of everything else.
pub(crate) fn of_cell(basis: &str, source: &str) -> String {
    let mut digest = Digest::new(&SHA256);
    add(&mut digest, basis.as_bytes());
    add(&mut digest, source.as_bytes());
    hex(digest)
}

/// Adds what every call of cargo reads: arguments, configuration, environment.
fn add_call(digest: &mut Digest, arguments: &[OsString], session: &Path) {
    for argument in arguments {
        add(
            digest,
            &memory::without_folders(argument.as_encoded_bytes(), session),
        );
    }
    let own = variables::cargo_home().map(|home| home.join("config.toml"));
    let files = ["work/.cargo/config.toml", ".cargo/config.toml"].map(|file| session.join(file));
    for file in files.into_iter().chain(own) {
        add(digest, &std::fs::read(file).unwrap_or_default());
    }
    for variable in ["RUSTFLAGS", "RUSTC"] {
        let value = std::env::var_os(variable).unwrap_or_default();
        add(
            digest,
            &memory::without_folders(value.as_encoded_bytes(), session),
        );
    }
}

fn add(digest: &mut Digest, bytes: &[u8]) {
    digest.update(&(bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

/// Returns whether the manifest has a path dependency besides `taper`.
fn has_other_source(manifest: &str) -> bool {
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    let dependencies = manifest.get("dependencies").and_then(|d| d.as_table());
    let mut dependencies = dependencies.into_iter().flatten();
    dependencies.any(|(name, value)| name != "taper" && value.get("path").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_in_a_folder_may_change_at_any_time() {
        let manifest = |more| format!("[dependencies]\ntaper = {{ path = \"/a\" }}\n{more}");
        assert!(!has_other_source(&manifest("rand = \"0.9\"")));
        assert!(has_other_source(&manifest("mine = { path = \"../mine\" }")));
    }
}
