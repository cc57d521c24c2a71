//! The packages in the manifest of the cells' crate.

use std::path::Path;

/// Adds the packages to the manifest of the cells' crate, and returns the manifest as it was.
pub(super) fn add(work: &Path, dependencies: &[(&str, &str)]) -> Option<String> {
    let file = work.join("Cargo.toml");
    let before = std::fs::read_to_string(&file).ok()?;
    let mut manifest: toml::Table = before.parse().ok()?;
    let entries = manifest
        .entry("dependencies")
        .or_insert_with(|| toml::Table::new().into())
        .as_table_mut()?;
    for (name, value) in dependencies {
        let mut line: toml::Table = format!("{name} = {value}").parse().ok()?;
        line.iter_mut().for_each(|(_, value)| {
            make_path_absolute(value);
            rename_keys(value);
        });
        entries.extend(line);
    }
    std::fs::write(&file, toml::to_string(&manifest).ok()?).ok()?;
    Some(before)
}

/// Returns the packages that the cells' crate depends on, one a line.
pub(crate) fn list(work: &Path) -> String {
    let manifest = std::fs::read_to_string(work.join("Cargo.toml")).unwrap_or_default();
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    let packages = manifest.get("dependencies").and_then(toml::Value::as_table);
    let packages = packages.into_iter().flatten();
    packages
        .map(|(name, value)| format!("{name} = {value}\n"))
        .collect()
}

/// Writes keys as the current edition of manifests does.
fn rename_keys(dependency: &mut toml::Value) {
    if let Some(table) = dependency.as_table_mut()
        && let Some(value) = table.remove("default_features")
    {
        table.entry("default-features").or_insert(value);
    }
}

/// Makes a dependency's path absolute. In a cell it is relative to the notebook's folder, in a manifest
/// to the manifest's folder.
fn make_path_absolute(dependency: &mut toml::Value) {
    let path = dependency.get_mut("path");
    if let Some(toml::Value::String(path)) = path
        && let Ok(absolute) = std::fs::canonicalize(&path)
        && let Some(absolute) = absolute.to_str()
    {
        *path = absolute.to_owned();
    }
}
