//! Asks cargo for the name of a package.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;
use taper_host::mutex::lock;
use taper_host::process::wait_within;
use taper_host::toolchain;

/// How long an answer is awaited, in which cargo may have to ask the registry.
const PATIENCE: Duration = Duration::from_secs(3);

/// What cargo says about a name that it has changed.
const CHANGED: &str = "translating `";

/// The answers that are known.
static KNOWN: LazyLock<Mutex<HashMap<String, Option<String>>>> = LazyLock::new(Mutex::default);

/// Returns the name of the package whose crate has this name: the package `num-traits` is the crate `num_traits`. `None`
/// if cargo does not know it.
pub(crate) fn package_of(name: &str) -> Option<String> {
    if !name.contains('_') {
        return Some(name.to_owned());
    }
    if let Some(known) = lock(&KNOWN).get(name) {
        return known.clone();
    }
    // What cargo has seen before needs no connection.
    let found = ask(name, &["--offline"]).or_else(|| ask(name, &["--config", "net.retry=0"]));
    lock(&KNOWN).insert(name.to_owned(), found.clone());
    found
}

/// Asks cargo how it would add the package, which changes nothing.
fn ask(name: &str, arguments: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().ok()?;
    let manifest = folder.path().join("Cargo.toml");
    let text = "[package]\nname = \"cell\"\nversion = \"0.0.0\"\n[lib]\npath = \"Cargo.toml\"\n[workspace]\n";
    std::fs::write(&manifest, text).ok()?;
    let toolchain = toolchain::get().ok()?;
    let said = folder.path().join("said");
    let mut cargo = toolchain
        .command(&toolchain.cargo)
        .args(["add", "--dry-run", "--color", "never", "--manifest-path"])
        .arg(&manifest)
        .args(arguments)
        .args(["--", name])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&said).ok()?)
        .spawn()
        .ok()?;
    let status = wait_within(&mut cargo, PATIENCE).ok()??;
    if !status.success() {
        return None;
    }
    let said = std::fs::read_to_string(&said).ok()?;
    let changed = said.split_once(CHANGED);
    let changed = changed.and_then(|(_, rest)| rest.split('`').nth(2));
    Some(changed.unwrap_or(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_knows_whether_a_name_has_a_hyphen() {
        // Taper itself depends on these packages, so that cargo knows them without a connection.
        assert_eq!(package_of("num_traits").as_deref(), Some("num-traits"));
        assert_eq!(package_of("serde_json").as_deref(), Some("serde_json"));
        assert_eq!(package_of("itertools").as_deref(), Some("itertools"));
        assert_eq!(package_of("no_such_package_of_cells"), None);
    }
}
