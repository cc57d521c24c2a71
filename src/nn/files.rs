//! Parameters in safetensors files, whole or not at all.

use crate::error::explain;
use crate::nn::StateEntry;
use candle_core::{Device, Result, Tensor, safetensors};
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;

/// Writes the tensors beside the path and then renames, so that no reader sees half a file.
pub(crate) fn save(path: &Path, tensors: &[(String, Tensor)]) -> Result<()> {
    let tensors: HashMap<&str, Tensor> = tensors
        .iter()
        .map(|(name, tensor)| Ok((name.as_str(), tensor.to_device(&Device::Cpu)?.contiguous()?)))
        .collect::<Result<_>>()?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = safetensors::save(&tensors, &part)
        .and_then(|()| Ok(File::open(&part)?.sync_all()?))
        .and_then(|()| Ok(fs::rename(&part, path)?));
    written.map_err(|error| {
        // Nothing more can be done about a part that cannot be removed.
        let _ = fs::remove_file(&part);
        explain(
            format!("cannot write {}: {error}", path.display()),
            "Choose a folder that exists, has room, and that you may write to",
        )
    })
}

/// All tensors of a file, on the device.
pub(crate) fn load(path: &Path, device: &Device) -> Result<HashMap<String, Tensor>> {
    let data = fs::read(path).map_err(|error| {
        explain(
            format!("cannot read {}: {error}", path.display()),
            "Give the path of a file that save_parameters, or PyTorch, has written",
        )
    })?;
    safetensors::load_buffer(&data, device).map_err(|error| {
        explain(
            format!(
                "{} is damaged or no safetensors file: {error}",
                path.display()
            ),
            "Save it anew; nothing was loaded from it",
        )
    })
}

/// The tensors of a file, which are those of the model.
pub(super) fn load_for(
    path: &Path,
    device: &Device,
    model: &[StateEntry],
) -> Result<HashMap<String, Tensor>> {
    let values = load(path, device)?;
    check(path, model, &values)?;
    Ok(values)
}

/// Refuses values that are not exactly those of the model.
pub(crate) fn check(
    path: &Path,
    model: &[StateEntry],
    values: &HashMap<String, Tensor>,
) -> Result<()> {
    let mut wrong = Vec::new();
    for StateEntry {
        name, parameter, ..
    } in model
    {
        let Some(value) = values.get(name) else {
            wrong.push(format!("missing {name}"));
            continue;
        };
        // A lazy parameter takes any shape.
        let Ok(own) = parameter.tensor() else {
            continue;
        };
        if own.dims() != value.dims() {
            let (want, got) = (own.dims(), value.dims());
            wrong.push(format!("{name} is {got:?} instead of {want:?}"));
        } else if own.dtype() != value.dtype() {
            let (want, got) = (own.dtype().as_str(), value.dtype().as_str());
            wrong.push(format!("{name} is {got} instead of {want}"));
        }
    }
    let known = |name: &String| model.iter().any(|entry| entry.name == *name);
    let mut extra: Vec<_> = values.keys().filter(|name| !known(name)).collect();
    extra.sort();
    wrong.extend(extra.into_iter().map(|name| format!("extra {name}")));
    if wrong.is_empty() {
        return Ok(());
    }
    Err(explain(
        format!(
            "{} does not fit this model: {}",
            path.display(),
            wrong.join(", ")
        ),
        "Load it into the model that it was saved from; nothing was changed",
    ))
}

/// Sets the model to values that [`check`] has accepted.
pub(crate) fn assign(model: &[StateEntry], values: &HashMap<String, Tensor>) -> Result<()> {
    model
        .iter()
        .try_for_each(|entry| entry.parameter.set(&values[&entry.name]))
}

#[cfg(test)]
mod tests {
    use crate::nn::{Linear, ParametersExt};
    use crate::tensor::ones;
    use candle_core::Device;
    use std::path::PathBuf;

    const CPU: Device = Device::Cpu;

    fn temporary(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("taper_files_{}_{name}", std::process::id()))
    }

    fn bias_of(net: &Linear) -> Vec<f32> {
        let bias = net.parameter("bias").unwrap().tensor().unwrap();
        bias.to_vec1().unwrap()
    }

    #[test]
    fn a_model_comes_back_as_it_was_saved() {
        let path = temporary("round_trip");
        let net = Linear::new(3, 2).unwrap();
        net.save_parameters(&path).unwrap();
        let mut other = crate::nn::LazyLinear::new(2);
        other.load_parameters(&path, &CPU).unwrap();
        let bias = other.parameter("bias").unwrap().tensor().unwrap();
        assert_eq!(bias.to_vec1::<f32>().unwrap(), bias_of(&net));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_file_of_another_model_is_refused_with_all_that_is_wrong() {
        let path = temporary("other");
        crate::seq![Linear::new(3, 2).unwrap()]
            .save_parameters(&path)
            .unwrap();
        let mut net = Linear::new(3, 2).unwrap();
        let message = net.load_parameters(&path, &CPU).unwrap_err().to_string();
        let wrong = "missing weight, missing bias, extra 0.bias, extra 0.weight";
        assert!(message.contains(wrong), "{message}");
        let mut net = crate::seq![Linear::without_bias(4, 2).unwrap()];
        let message = net.load_parameters(&path, &CPU).unwrap_err().to_string();
        let wrong = "0.weight is [2, 3] instead of [2, 4], extra 0.bias\n";
        assert!(message.contains(wrong), "{message}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_cut_file_changes_nothing() {
        let path = temporary("cut");
        let mut net = Linear::new(3, 2).unwrap();
        net.save_parameters(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        net.parameter("bias")
            .unwrap()
            .set(&ones(2, &CPU).unwrap())
            .unwrap();
        for length in [0, 4, 20, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            let message = net.load_parameters(&path, &CPU).unwrap_err().to_string();
            assert!(message.contains("is damaged"), "{message}");
            assert_eq!(bias_of(&net), [1.0, 1.0]);
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_failed_save_leaves_the_old_file_and_no_part() {
        let folder = temporary("folder");
        std::fs::create_dir_all(folder.join("taken")).unwrap();
        let net = Linear::new(3, 2).unwrap();
        let message = net.save_parameters(folder.join("taken")).unwrap_err();
        assert!(message.to_string().starts_with("cannot write"), "{message}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        assert!(net.save_parameters(folder.join("none/x")).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
