//! Checkpoints in one file or several.

use super::config::unreadable;
use crate::error::Result;
use crate::nn::{StateEntry, files};
use candle_core::Device;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Sets the parameters of a model to the values in the files of a folder, converted to their types.
pub(super) fn load(folder: &Path, model: &[StateEntry]) -> Result<()> {
    let mut values = HashMap::new();
    for path in parts(folder)? {
        values.extend(files::load(&path, &Device::Cpu)?);
    }
    // Older files have the angles of the positions, which follow from the configuration.
    values.retain(|name, _| !name.ends_with("rotary_emb.inv_freq"));
    files::convert(model, &mut values)?;
    files::check(folder, model, &values)?;
    files::assign(model, &values)
}

/// Returns the files with the parameters.
fn parts(folder: &Path) -> Result<Vec<PathBuf>> {
    let index = folder.join("model.safetensors.index.json");
    if !index.exists() {
        return Ok(vec![folder.join("model.safetensors")]);
    }
    let text = std::fs::read_to_string(&index).map_err(|reason| unreadable(&index, reason))?;
    let content: Value =
        serde_json::from_str(&text).map_err(|reason| unreadable(&index, reason))?;
    let files = content["weight_map"].as_object();
    let files = files.ok_or_else(|| unreadable(&index, "it has no weight_map"))?;
    let names: BTreeSet<&str> = files.values().filter_map(Value::as_str).collect();
    // A name with a folder could point anywhere.
    if let Some(name) = names.iter().find(|name| name.contains(['/', '\\'])) {
        return Err(unreadable(
            &index,
            format_args!("it names {name:?} outside the folder"),
        ));
    }
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}
