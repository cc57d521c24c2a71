//! The crate `taper`, which a session loads before the first cell.

use std::borrow::Cow;
use std::path::PathBuf;
use taper_evaluator::commands;

/// The import that the session makes.
const PRELUDE: &str = "use taper::prelude::*;";

/// Lets evcxr learn that cells use `?`. Otherwise it learns so from a compile error in the first cell
/// with `?`, and mistakes that error for one about the display of the cell's value.
const QUESTION_MARK: &str = "Ok::<(), Error>(())?;";

/// Where the crate is, and how it was compiled.
pub(crate) struct PreloadedCrate {
    folder: PathBuf,
    /// The features with which the image was built.
    features: Vec<String>,
}

impl PreloadedCrate {
    pub(crate) fn new(folder: PathBuf, features: Vec<String>) -> Self {
        PreloadedCrate { folder, features }
    }

    /// Returns the cell that loads the crate. A linker that evcxr finds on the PATH would compile all packages
    /// again in kernels that have another PATH.
    pub(crate) fn first_cell(&self) -> String {
        let folder = toml_string(&self.folder.to_string_lossy());
        let features: Vec<String> = self.features.iter().map(|f| toml_string(f)).collect();
        let features = match features.is_empty() {
            true => String::new(),
            false => format!(", features = [{}]", features.join(", ")),
        };
        let home = crate::compile::cargo_home().unwrap_or_default();
        let home = home.to_string_lossy();
        format!(
            ":build_env CARGO_HOME={home}\n:linker system\n:dep taper = {{ path = {folder}{features} }}\n{PRELUDE}\n{QUESTION_MARK}"
        )
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

    /// Returns whether the line is `:dep taper = { path = "…" }` with the path of the loaded crate.
    fn is_our_dependency(&self, line: &str) -> bool {
        let Some(dependency) = line.strip_prefix(":dep ") else {
            return false;
        };
        let Some((name, value)) = dependency.split_once('=') else {
            return false;
        };
        let path = value
            .trim()
            .strip_prefix('{')
            .and_then(|v| v.strip_suffix('}'))
            .and_then(|v| v.trim().strip_prefix("path"))
            .and_then(|v| v.trim_start().strip_prefix('='))
            .and_then(|v| v.trim().strip_prefix('"'))
            .and_then(|v| v.strip_suffix('"'));
        let same = |path: &str| std::fs::canonicalize(path).is_ok_and(|p| p == self.folder);
        name.trim() == "taper" && path.is_some_and(same)
    }
}

fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_load_taper_again_become_blank() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path().canonicalize().expect("the folder exists");
        let loaded = PreloadedCrate::new(folder.clone(), vec![]);
        let cell = format!(
            ":dep taper = {{ path = \"{}\" }}\nuse taper::prelude::*;\nlet x = 1;",
            folder.display()
        );
        let left = loaded.without_reloading(&cell);
        assert_eq!(left.lines().nth(2), Some("let x = 1;"));
        assert_eq!(left.trim(), "let x = 1;");
    }

    #[test]
    fn another_taper_is_still_loaded() {
        let here = tempfile::tempdir().expect("a temporary folder");
        let loaded = PreloadedCrate::new(here.path().join("taper"), vec![]);
        let asked = format!(":dep taper = {{ path = \"{}\" }}", here.path().display());
        for cell in [
            asked.as_str(),
            ":dep taper = \"0.1\"",
            ":dep taper = { path = \"..\", features = [\"cuda\"] }",
        ] {
            assert_eq!(loaded.without_reloading(cell), cell);
        }
    }
}
