//! How much of a cell the book shows, by the tags that Jupyter Book and MyST know.

use serde_json::Value;

/// What happens to a part of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shown {
    #[default]
    Open,
    /// Folded, to be opened by the reader.
    Hidden,
    /// Not in the book.
    Removed,
}

/// How a cell is to be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// `hide-cell`, `remove-cell`: the code and its outputs together.
    pub cell: Shown,
    /// `hide-input`, `remove-input`
    pub input: Shown,
    /// `hide-output`, `remove-output`
    pub output: Shown,
    /// `remove-stdout`
    pub no_stdout: bool,
    /// `remove-stderr`
    pub no_stderr: bool,
    /// `scroll-output`: a long output gets a window of its own.
    pub scroll: bool,
}

impl Look {
    /// From a cell's metadata; what is folded in JupyterLab is folded in the book.
    pub fn read(metadata: &Value) -> Look {
        let mut look = Look::default();
        let is_set = |pointer: &str| metadata.pointer(pointer) == Some(&Value::Bool(true));
        if is_set("/jupyter/source_hidden") {
            look.input = Shown::Hidden;
        }
        if is_set("/jupyter/outputs_hidden") || is_set("/collapsed") {
            look.output = Shown::Hidden;
        }
        let tags = metadata["tags"].as_array().into_iter().flatten();
        for tag in tags.filter_map(Value::as_str) {
            // Jupyter Book took both spellings for a while.
            match tag.replace('_', "-").as_str() {
                "hide-cell" => look.cell = Shown::Hidden,
                "hide-input" => look.input = Shown::Hidden,
                "hide-output" => look.output = Shown::Hidden,
                "remove-cell" => look.cell = Shown::Removed,
                "remove-input" => look.input = Shown::Removed,
                "remove-output" => look.output = Shown::Removed,
                "remove-stdout" => look.no_stdout = true,
                "remove-stderr" => look.no_stderr = true,
                "scroll-output" | "output-scroll" => look.scroll = true,
                _ => {}
            }
        }
        look
    }

    /// Whether outputs are in the book at all.
    pub fn has_output(self) -> bool {
        self.cell != Shown::Removed && self.output != Shown::Removed
    }
}
