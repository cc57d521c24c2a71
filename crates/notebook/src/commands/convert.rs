//! `taper export --to FILE.rs` and `taper import`: notebooks in the percent format, and back.

use crate::document::layout::{layout, name_kernel};
use crate::document::notebook::Notebook;
use crate::document::percent;
use crate::document::write::Target;
use anyhow::{Result, bail};
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use taper_evaluator::joined;
use taper_host::error::OnFile as _;

/// Writes a notebook as a file `.rs` in the percent format. Returns a line for each thing that the file cannot keep, apart
/// from outputs.
///
/// # Errors
///
/// Fails if the notebook cannot be read, if the file cannot be written, or if it holds something else.
pub fn write_script(notebook: &Path, to: &Path) -> Result<Vec<String>> {
    let notebook = Notebook::load(notebook)?;
    if std::fs::read_to_string(to).is_ok_and(|text| !text.is_empty() && !percent::has_cells(&text))
    {
        bail!(
            "{} exists\nIt has no cells. Name another file",
            to.display()
        );
    }
    write(to, &percent::write(&notebook.document))?;
    let cells = notebook.document["cells"].as_array().into_iter().flatten();
    let with_images = cells.filter(|cell| {
        cell["attachments"]
            .as_object()
            .is_some_and(|it| !it.is_empty())
    });
    Ok(with_images
        .map(|cell| {
            format!(
                "cell {}: its attached images are left out",
                text(&cell["id"])
            )
        })
        .collect())
}

/// Writes a file in the percent format as a notebook. With `update`, it replaces the cells of a notebook, and keeps the
/// outputs of those whose source is the same.
///
/// # Errors
///
/// Fails if the file cannot be read, or if the notebook exists and `update` is false.
pub fn read_script(script: &Path, to: &Path, update: bool) -> Result<()> {
    let mut notebook = Notebook::load(script)?;
    if to.exists() {
        if !update {
            bail!(
                "{} exists\n\
                 With --update its cells are replaced, and the outputs of unchanged cells stay; \
                 or name another file with --to",
                to.display()
            );
        }
        keep_outputs(&mut notebook.document, &Notebook::load(to)?.document);
    }
    name_kernel(&mut notebook.document);
    write(to, &layout(&notebook))
}

/// Takes over from the old notebook what a script does not keep: for each cell with the same id, or else the same source.
fn keep_outputs(new: &mut Value, old: &Value) {
    let no_cells = Vec::new();
    let old = old["cells"].as_array().unwrap_or(&no_cells);
    let mut taken: HashSet<usize> = HashSet::new();
    let new: Vec<&mut Value> = new["cells"].as_array_mut().into_iter().flatten().collect();
    let ids: HashSet<String> = new
        .iter()
        .map(|cell| text(&cell["id"]).to_owned())
        .collect();
    for cell in new {
        let is_same = |other: &Value| {
            cell["cell_type"] == other["cell_type"]
                && joined(&cell["source"]) == joined(&other["source"])
        };
        let mut all = old.iter().enumerate();
        let same_id = all.position(|(_, other)| other["id"] == cell["id"] && is_same(other));
        let found = same_id.or_else(|| {
            let mut all = old.iter().enumerate();
            // A cell of the script whose id is that of another old cell is another cell.
            all.position(|(at, other)| {
                !taken.contains(&at) && !ids.contains(text(&other["id"])) && is_same(other)
            })
        });
        let Some(at) = found else { continue };
        taken.insert(at);
        cell["id"] = old[at]["id"].clone();
        for key in ["outputs", "execution_count", "attachments"] {
            if let Some(value) = old[at].get(key) {
                cell[key] = value.clone();
            }
        }
        let Some(metadata) = old[at]["metadata"].as_object() else {
            continue;
        };
        for (key, value) in metadata.iter().filter(|(key, _)| percent::is_left_out(key)) {
            cell["metadata"][key] = value.clone();
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn write(path: &Path, text: &str) -> Result<()> {
    Target::new(path)
        .and_then(|target| target.write(text))
        .on_file("write", path)
}
