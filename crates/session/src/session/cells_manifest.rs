//! The packages in the manifest of the cells' crate.

use std::path::Path;

/// The files of the cells' crate that say which packages it depends on, and in which versions.
const FILES: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// What the files contain.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Declared([Option<Vec<u8>>; 2]);

impl Declared {
    pub(super) fn read(work: &Path) -> Declared {
        Declared(FILES.map(|file| std::fs::read(work.join(file)).ok()))
    }

    /// Returns whether both declare the same packages.
    pub(super) fn is_same(&self, other: &Declared) -> bool {
        self.0[0] == other.0[0]
    }

    /// Writes the files as they were.
    pub(super) fn restore(&self, work: &Path) {
        for (file, content) in FILES.iter().zip(&self.0) {
            let file = work.join(file);
            let _ = match content {
                Some(content) => std::fs::write(file, content),
                None => std::fs::remove_file(file),
            };
        }
    }
}

/// Adds the packages to the manifest of the cells' crate. Returns `None` if they cannot be declared.
pub(super) fn add(work: &Path, dependencies: &[(&str, &str)]) -> Option<()> {
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
    std::fs::write(&file, toml::to_string(&manifest).ok()?).ok()
}

/// Returns whether a package is in a folder, where its source may have changed.
pub(super) fn has_folders(work: &Path) -> bool {
    let packages = packages(work);
    let mut others = packages.iter().filter(|(name, _)| *name != "taper");
    others.any(|(_, value)| value.get("path").is_some())
}

fn packages(work: &Path) -> toml::Table {
    let manifest = std::fs::read_to_string(work.join("Cargo.toml")).unwrap_or_default();
    let mut manifest: toml::Table = manifest.parse().unwrap_or_default();
    match manifest.remove("dependencies") {
        Some(toml::Value::Table(packages)) => packages,
        _ => toml::Table::new(),
    }
}

/// Returns whether the cells' crate depends on the package that code calls by this name.
fn declares(work: &Path, name: &str) -> bool {
    packages(work).keys().any(|it| it.replace('-', "_") == name)
}

/// Returns the packages that a cell asks for with `extern crate`, as cells for evcxr do, and that no `:dep` has added:
/// each in its newest version.
pub(super) fn extern_crates<'a>(code: &'a str, work: &Path) -> Vec<(&'a str, &'static str)> {
    const BUILT_IN: [&str; 6] = ["std", "core", "alloc", "proc_macro", "self", "taper"];
    let name = |line: &'a str| {
        let rest = line.strip_prefix("extern crate ")?.trim_end();
        rest.strip_suffix(';')?.split_whitespace().next()
    };
    let names = code.lines().filter_map(name);
    let is_new = |name: &&str| !BUILT_IN.contains(name) && !declares(work, name);
    names.filter(is_new).map(|name| (name, "\"*\"")).collect()
}

/// Returns the packages that the cells' crate depends on, one a line.
pub(crate) fn list(work: &Path) -> String {
    let packages = packages(work).into_iter();
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
        && let Ok(absolute) = std::fs::canonicalize(&path).or_else(|_| std::path::absolute(&path))
        && let Some(absolute) = absolute.to_str()
    {
        *path = absolute.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extern_crate_asks_for_packages_that_were_not_added() {
        let work = tempfile::tempdir().expect("a folder");
        let manifest = "[dependencies]\nonce-cell = \"1\"\n";
        std::fs::write(work.path().join("Cargo.toml"), manifest).expect("it is written");
        let code = "extern crate rand;\nextern crate itoa as it ; // it\nextern crate once_cell;\nextern crate std;\n\
                    mod a {\n    extern crate inner;\n}\nextern crate half";
        assert_eq!(extern_crates(code, work.path()), [("rand", "\"*\"")]);
        let renamed = extern_crates("extern crate itoa as it;", work.path());
        assert_eq!(renamed, [("itoa", "\"*\"")]);
    }
}
