//! Checkpoints in one file or several.

use super::LlamaConfig;
use super::config::unreadable;
use crate::error::Result;
use crate::input;
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

/// Refuses a configuration of a model that is larger than its files, before memory is taken for it. An element takes at least
/// a byte.
pub(super) fn check_size(folder: &Path, config: &LlamaConfig) -> Result<()> {
    let mut bytes = 0;
    for path in parts(folder)? {
        bytes += std::fs::metadata(&path)
            .map_err(|reason| unreadable(&path, reason))?
            .len();
    }
    match config.elements() > u128::from(bytes) {
        true => Err(unreadable(
            folder,
            format_args!(
                "config.json describes a model of {} elements, its files have {bytes} bytes",
                config.elements()
            ),
        )),
        false => Ok(()),
    }
}

/// Returns the files with the parameters.
fn parts(folder: &Path) -> Result<Vec<PathBuf>> {
    let index = folder.join("model.safetensors.index.json");
    if !index.exists() {
        return Ok(vec![folder.join("model.safetensors")]);
    }
    let text = input::read(&index).map_err(|reason| unreadable(&index, reason))?;
    let content: Value =
        serde_json::from_slice(&text).map_err(|reason| unreadable(&index, reason))?;
    let files = content["weight_map"].as_object();
    let files = files.ok_or_else(|| unreadable(&index, "it has no weight_map"))?;
    let names: BTreeSet<&str> = files.values().filter_map(Value::as_str).collect();
    // A name with a folder could point anywhere.
    if let Some(name) = names.iter().find(|name| name.contains(['/', '\\'])) {
        return Err(unreadable(
            &index,
            format_args!("it names {:?} outside the folder", input::shortened(name)),
        ));
    }
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}
