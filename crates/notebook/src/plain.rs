//! A notebook as text, in which `git diff` shows what a reader has changed.

use crate::document::notebook::Notebook;
use serde_json::Value;
use std::fmt::Write;
use taper_evaluator::joined;

/// The lines of an output that are shown.
const LINES: usize = 20;

impl Notebook {
    /// Returns the cells as text: each with its kind, its id and its tags, its source, and its outputs as far as they are
    /// text; of images only the kind.
    pub fn plain_text(&self) -> String {
        let mut text = String::new();
        for cell in self.document["cells"].as_array().into_iter().flatten() {
            let kind = cell["cell_type"].as_str().unwrap_or_default();
            let id = cell["id"].as_str().unwrap_or_default();
            let tags = cell["metadata"]["tags"].as_array().into_iter().flatten();
            let tags: String = { tags.filter_map(Value::as_str) }
                .map(|tag| format!(" [{tag}]"))
                .collect();
            let _ = writeln!(
                text,
                "── {kind} {id}{tags}\n{}",
                joined(&cell["source"]).trim_end()
            );
            for output in cell["outputs"].as_array().into_iter().flatten() {
                text += &plain_output(output);
            }
            text.push('\n');
        }
        text
    }
}

fn plain_output(output: &Value) -> String {
    let mut shown = match output["output_type"].as_str() {
        Some("stream") => joined(&output["text"]),
        Some("error") => joined(&output["evalue"]),
        _ => joined(&output["data"]["text/plain"]),
    };
    let data = output["data"]
        .as_object()
        .into_iter()
        .flat_map(|data| data.keys());
    let others: Vec<&str> = data
        .map(String::as_str)
        .filter(|kind| *kind != "text/plain")
        .collect();
    if !others.is_empty() {
        let _ = write!(shown, "\n({})", others.join(", "));
    }
    let lines: Vec<&str> = shown.trim_end().lines().collect();
    let mut text: String = { lines.iter().take(LINES) }
        .map(|line| format!("│ {line}\n"))
        .collect();
    if lines.len() > LINES {
        let _ = writeln!(text, "│ … {} more lines", lines.len() - LINES);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn outputs_are_short_and_images_are_named() {
        let long: String = (0..30).map(|line| format!("{line}\n")).collect();
        let document = json!({
            "cells": [
                {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# T\n", "x"]},
                {"cell_type": "code", "id": "b", "metadata": {"tags": ["slow"]}, "execution_count": 1, "source": "1 + 1", "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": long},
                    {"output_type": "display_data", "metadata": {}, "data": {"text/plain": "y over x", "image/svg+xml": "<svg/>"}},
                ]},
            ],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
        });
        let notebook =
            Notebook::read("n.ipynb", document.to_string().into_bytes()).expect("a notebook");
        let text = notebook.plain_text();
        assert!(
            text.starts_with("── markdown a\n# T\nx\n\n── code b [slow]\n1 + 1\n│ 0\n"),
            "{text}"
        );
        assert!(
            text.ends_with("│ 19\n│ … 10 more lines\n│ y over x\n│ (image/svg+xml)\n\n"),
            "{text}"
        );
    }
}
