//! The tags that set how much of a cell the book shows: those of Jupyter Book and MyST.

use serde_json::Value;

/// How a part of a cell appears.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Visibility {
    #[default]
    Shown,
    /// Folded; the reader can open it.
    Hidden,
    /// Not in the book.
    Removed,
}

/// The visibility of a cell's parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tags {
    /// `hide-cell`, `remove-cell`: the code and its outputs together.
    pub(crate) cell: Visibility,
    /// `hide-input`, `remove-input`
    pub(crate) input: Visibility,
    /// `hide-output`, `remove-output`
    pub(crate) output: Visibility,
    /// `remove-stdout`
    pub(crate) no_stdout: bool,
    /// `remove-stderr`
    pub(crate) no_stderr: bool,
    /// `scroll-output`: a long output scrolls.
    pub(crate) scroll: bool,
}

impl Tags {
    /// Reads a cell's metadata; a part that is folded in JupyterLab is folded in the book.
    pub(crate) fn read(metadata: &Value) -> Tags {
        let mut read = Tags::default();
        let is_set = |pointer: &str| metadata.pointer(pointer) == Some(&Value::Bool(true));
        if is_set("/jupyter/source_hidden") {
            read.input = Visibility::Hidden;
        }
        if is_set("/jupyter/outputs_hidden") || is_set("/collapsed") {
            read.output = Visibility::Hidden;
        }
        let tags = metadata["tags"].as_array().into_iter().flatten();
        for tag in tags.filter_map(Value::as_str) {
            // Jupyter Book has accepted both spellings.
            match tag.replace('_', "-").as_str() {
                "hide-cell" => read.cell = Visibility::Hidden,
                "hide-input" => read.input = Visibility::Hidden,
                "hide-output" => read.output = Visibility::Hidden,
                "remove-cell" => read.cell = Visibility::Removed,
                "remove-input" => read.input = Visibility::Removed,
                "remove-output" => read.output = Visibility::Removed,
                "remove-stdout" => read.no_stdout = true,
                "remove-stderr" => read.no_stderr = true,
                "scroll-output" | "output-scroll" => read.scroll = true,
                _ => {}
            }
        }
        read
    }

    /// Returns whether the cell's outputs are in the book.
    pub(crate) fn has_output(self) -> bool {
        self.cell != Visibility::Removed && self.output != Visibility::Removed
    }
}
