//! The crate `taper`, which a session has loaded before its first cell.

use std::borrow::Cow;
use std::path::PathBuf;
use taper_evaluator::commands;

/// Imports that hold from the start.
const PRELUDE: &str = "use taper::prelude::*;";

/// Tells evcxr that cells use `?`. Else it learns it from a compile error in the first that does,
/// and takes that error for one about showing the cell's value.
const QUESTION_MARK: &str = "Ok::<(), Error>(())?;";

pub(crate) struct PreloadedCrate {
    folder: PathBuf,
    /// Those with which the image was built.
    features: Vec<String>,
}

impl PreloadedCrate {
    pub(crate) fn new(folder: PathBuf, features: Vec<String>) -> Self {
        PreloadedCrate { folder, features }
    }

    /// The cell that loads it.
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
            ":build_env CARGO_HOME={home}\n:dep taper = {{ path = {folder}{features} }}\n{PRELUDE}\n{QUESTION_MARK}"
        )
    }

    /// The code without the lines that ask for what is there already. Other lines keep their
    /// place, so errors still point at the right ones.
    pub(crate) fn without_reloading<'a>(&self, code: &'a str) -> Cow<'a, str> {
        commands::blank_out(code, |line| self.is_there_already(line))
    }

    fn is_there_already(&self, line: &str) -> bool {
        let line = line.trim();
        line == PRELUDE || self.is_our_dependency(line)
    }

    /// `:dep taper = { path = "…" }` where the path leads to the crate that we have loaded.
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
    fn lines_that_load_taper_again_become_blank_and_the_rest_stays_in_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("it exists");
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
    fn another_taper_is_loaded_as_asked() {
        let here = tempfile::tempdir().expect("a folder");
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
