//! The crate `taper`, which a session loads before the first cell.

use std::borrow::Cow;
use std::path::PathBuf;
use taper_rust_cell::commands;
use toml::Value;

const NAME: &str = "taper";

/// The import that the session makes.
pub(super) const PRELUDE: &str = "use taper::prelude::*;";

/// Where the crate is.
pub(crate) struct PreloadedCrate {
    folder: PathBuf,
}

impl PreloadedCrate {
    pub(crate) fn new(folder: PathBuf) -> Self {
        PreloadedCrate { folder }
    }

    /// Blanks the lines that load the crate again. The other lines do not move, so errors still
    /// point to the right lines.
    pub(crate) fn without_reloading<'a>(&self, code: &'a str) -> Cow<'a, str> {
        commands::blank_out(code, |line| self.is_loaded(line))
    }

    fn is_loaded(&self, line: &str) -> bool {
        let line = line.trim();
        line == PRELUDE || self.is_our_dependency(line)
    }

    /// Returns whether the line asks for the loaded crate: by its name alone, by its folder, or by a path that
    /// leads to no crate of that name, as in a chapter that was copied to another folder.
    fn is_our_dependency(&self, line: &str) -> bool {
        let Some(dependency) = line.strip_prefix(":dep ").map(str::trim) else {
            return false;
        };
        if dependency == NAME {
            return true;
        }
        let Some(Value::Table(asked)) = value_of(dependency) else {
            return false;
        };
        match asked.get("path").and_then(Value::as_str) {
            Some(path) if asked.len() == 1 => {
                folder_of_taper(path).is_none_or(|p| p == self.folder)
            }
            _ => false,
        }
    }

    /// Returns the folder of another crate `taper`, if this dependency leads to one.
    pub(crate) fn other(&self, name: &str, value: &str) -> Option<PathBuf> {
        let asked = value_of(&format!("{name} = {value}"))?;
        let folder = folder_of_taper(asked.get("path")?.as_str()?)?;
        (folder != self.folder).then_some(folder)
    }
}

/// Parses what follows `taper =`.
fn value_of(dependency: &str) -> Option<Value> {
    let mut table: toml::Table = dependency.parse().ok()?;
    table.remove(NAME)
}

/// Returns the folder to which the path leads, if there is a crate `taper` in it.
fn folder_of_taper(path: &str) -> Option<PathBuf> {
    let folder = std::fs::canonicalize(path).ok()?;
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let manifest: toml::Table = manifest.parse().ok()?;
    let name = manifest.get("package")?.get("name")?.as_str()?;
    (name == NAME).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_load_taper_again_become_blank() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path().canonicalize().expect("the folder exists");
        let loaded = PreloadedCrate::new(folder.clone());
        let cell = format!(
            ":dep taper = {{ path = \"{}\" }}\nuse taper::prelude::*;\nlet x = 1;",
            folder.display()
        );
        let left = loaded.without_reloading(&cell);
        assert_eq!(left.lines().nth(2), Some("let x = 1;"));
        assert_eq!(left.trim(), "let x = 1;");
    }

    /// Writes the manifest of a crate, and returns its folder.
    fn crate_named(name: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let manifest = format!("[package]\nname = \"{name}\"\n");
        std::fs::write(folder.path().join("Cargo.toml"), manifest).expect("a manifest");
        folder
    }

    #[test]
    fn the_loaded_crate_is_meant_where_there_is_no_other() {
        let (ours, other) = (crate_named("taper"), crate_named("own"));
        let folder = ours.path().canonicalize().expect("the folder exists");
        let loaded = PreloadedCrate::new(folder.clone());
        for line in [
            ":dep taper".to_owned(),
            ":dep taper = { path = \"/no/such/folder\" }".to_owned(),
            format!(":dep taper = {{ path = \"{}\" }}", folder.display()),
            format!(":dep taper = {{ path = {:?} }}", other.path()),
        ] {
            assert_eq!(loaded.without_reloading(&line).trim(), "", "{line}");
        }
    }

    #[test]
    fn another_taper_is_still_loaded() {
        let other = crate_named("taper");
        let loaded = PreloadedCrate::new("/our/taper".into());
        let path = format!("{{ path = {:?} }}", other.path());
        let folder = other.path().canonicalize().ok();
        assert_eq!(loaded.other("taper", &path), folder);
        let asked = format!(":dep taper = {path}");
        for cell in [
            asked.as_str(),
            ":dep taper = \"0.1\"",
            ":dep taper = { path = \"..\", features = [\"cuda\"] }",
            ":dep taper-macros",
        ] {
            assert_eq!(loaded.without_reloading(cell), cell);
        }
    }
}
