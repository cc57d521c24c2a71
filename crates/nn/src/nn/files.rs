//! Parameters in safetensors files, written and loaded completely or not at all.

use crate::error::{Error, Result, problem};
use crate::input;
use crate::nn::{LoadOptions, LoadReport, StateEntry};
use crate::tensor::{Candle, Tensor};
use candle_core::{Device, safetensors};
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;

/// Writes the tensors to a temporary file in the same folder and renames it, so that no reader sees half a
/// file.
pub fn save(path: &Path, tensors: &[(String, Tensor)]) -> Result<()> {
    let tensors: HashMap<&str, Candle> = tensors
        .iter()
        .map(|(name, tensor)| {
            let values = tensor.as_candle().to_device(&Device::Cpu)?;
            Ok((name.as_str(), values.contiguous()?))
        })
        .collect::<Result<_>>()?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    // Renaming would put a file in the place of a device such as /dev/null.
    let written = input::refuse_device(path)
        .map_err(candle_core::Error::from)
        .and_then(|()| safetensors::save(&tensors, &part))
        .and_then(|()| Ok(File::open(&part)?.sync_all()?))
        .and_then(|()| Ok(fs::rename(&part, path)?));
    written.map_err(|error| {
        // Nothing more can be done about a temporary file that cannot be removed.
        let _ = fs::remove_file(&part);
        problem!(
            ("cannot write {}: {error}", path.display());
            "Choose a file in a folder that exists, that you may write to, and whose disk is not full")
    })
}

/// Reads all tensors of a file onto the device.
pub fn load(path: &Path, device: &Device) -> Result<HashMap<String, Tensor>> {
    parse(path, &read(path)?, device)
}

/// Returns the content of a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    input::read(path).map_err(|error| {
        problem!(
            ("cannot read {}: {error}", path.display());
            "Pass the path of a safetensors file, as save_parameters or PyTorch writes it")
    })
}

/// Returns the tensors in the content of a file.
pub fn parse(path: &Path, data: &[u8], device: &Device) -> Result<HashMap<String, Tensor>> {
    let tensors = safetensors::load_buffer(data, device).map_err(|error| {
        problem!(
            ("{} is damaged or not a safetensors file: {error}", path.display());
            "Save it again; nothing was loaded from it")
    })?;
    let tensors = tensors.into_iter();
    Ok(tensors
        .map(|(name, values)| (name, values.into()))
        .collect())
}

/// Loads a file into the model, as far as the options allow.
pub(super) fn load_into(
    path: &Path,
    device: &Device,
    model: &[StateEntry],
    options: LoadOptions,
) -> Result<(HashMap<String, Tensor>, LoadReport)> {
    let mut values = options.renamed(load(path, device)?)?;
    if options.convert {
        convert(model, &mut values)?;
    }
    let report = LoadReport::of(model, &values)?;
    match report.is_complete() || options.partial && !report.loaded.is_empty() {
        true => Ok((values, report)),
        false => Err(misfit(path, model, &values, &report, Some(&options))),
    }
}

/// Returns an error unless the names, shapes and types of the values are exactly those of the model.
pub fn check(path: &Path, model: &[StateEntry], values: &HashMap<String, Tensor>) -> Result<()> {
    let report = LoadReport::of(model, values)?;
    match report.is_complete() {
        true => Ok(()),
        false => Err(misfit(path, model, values, &report, None)),
    }
}

/// Returns the error for values that do not fit. Its advice depends on whether the names would be those of the model with
/// another prefix, and whether there are options for that.
fn misfit(
    path: &Path,
    model: &[StateEntry],
    values: &HashMap<String, Tensor>,
    report: &LoadReport,
    options: Option<&LoadOptions>,
) -> Error {
    let entries = model.iter().map(|entry| (entry.name.as_str(), entry));
    let entries: HashMap<&str, &StateEntry> = entries.collect();
    let prefixes = report.prefixes(&|name, other| {
        let pair = entries.get(name).zip(values.get(other));
        pair.is_some_and(|(entry, value)| entry.refusal(value).is_none())
    });
    let Some(prefixes) = prefixes else {
        return refused(path, report);
    };
    let is_whole = report.mismatched.is_empty()
        && report.missing.len() == prefixes.found
        && report.unexpected.len() == prefixes.found;
    let advice = match options.map(|options| options.code(&prefixes, !is_whole)) {
        Some(code) => format!(
            "Load it with load_parameters_with(path, &device, {code}); nothing was changed"
        ),
        None => "Change its names to those of the model, or load a file with LoadOptions::new().strip_prefix(…)".into(),
    };
    problem!(("{} does not fit this model: {}", path.display(), prefixes.sentence()); advice)
}

/// Sets each parameter and buffer that has a matching value.
pub fn assign(model: &[StateEntry], values: &HashMap<String, Tensor>) -> Result<()> {
    model.iter().try_for_each(|entry| {
        let value = value_of(entry, values).filter(|value| entry.refusal(value).is_none());
        value.map_or(Ok(()), |value| entry.parameter.try_set(value))
    })
}

/// Converts floating-point values to the types of the model.
pub fn convert(model: &[StateEntry], values: &mut HashMap<String, Tensor>) -> Result<()> {
    for entry in model {
        let Some(dtype) = entry.parameter.spec().map(|spec| spec.dtype()) else {
            continue;
        };
        for name in entry.names() {
            if let Some(value) = values.get_mut(name)
                && value.dtype().is_float()
                && dtype.is_float()
            {
                *value = value.raw().to_dtype(dtype)?.into();
            }
        }
    }
    Ok(())
}

/// Returns the value of an entry, which may be stored under any of the entry's names.
fn value_of<'a>(entry: &StateEntry, values: &'a HashMap<String, Tensor>) -> Option<&'a Tensor> {
    entry.names().find_map(|name| values.get(name))
}

fn refused(path: &Path, report: &LoadReport) -> Error {
    let wrong = report.missing.iter().map(|name| format!("missing {name}"));
    let wrong = wrong.chain(report.mismatched.iter().cloned());
    let extra = report.unexpected.iter();
    let wrong: Vec<String> = wrong
        .chain(extra.map(|name| format!("extra {name}")))
        .collect();
    // All names of a large model would hide the rest of the message.
    let more = match wrong.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let wrong: Vec<_> = wrong
        .iter()
        .take(MOST_NAMES)
        .map(|it| input::shortened(it))
        .collect();
    let wrong = wrong.join(", ");
    problem!(
        ("{} does not fit this model: {wrong}{more}", path.display());
        "Load it into the model that it was saved from, or parts of it with load_parameters_with; nothing was changed")
}

/// The largest number of names in an error message.
const MOST_NAMES: usize = 20;

#[cfg(test)]
mod tests {
    use crate::nn::tests::message_of;
    use crate::nn::*;
    use crate::tensor::ones;
    use candle_core::{DType, Device};
    use std::path::PathBuf;

    const CPU: Device = Device::Cpu;

    fn temporary(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("taper_files_{}_{name}", std::process::id()))
    }

    fn bias_of(net: &Linear) -> Vec<f32> {
        let bias = net.parameter("bias").tensor();
        bias.to_vec1()
    }

    #[test]
    fn a_model_comes_back_as_it_was_saved() {
        let path = temporary("round_trip");
        let net = Linear::new(3, 2);
        net.save_parameters(&path).unwrap();
        let mut other = crate::nn::LazyLinear::new(2);
        other.load_parameters(&path, &CPU).unwrap();
        let bias = other.parameter("bias").tensor();
        assert_eq!(bias.to_vec1::<f32>(), bias_of(&net));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_file_of_another_model_is_refused_with_all_that_is_wrong() {
        let path = temporary("other");
        crate::seq![Linear::new(3, 2)]
            .save_parameters(&path)
            .unwrap();
        let mut net = LayerNorm::new(2);
        let message = net.load_parameters(&path, &CPU).unwrap_err().to_string();
        let wrong = "missing weight, missing bias, extra 0.bias, extra 0.weight\nLoad it";
        assert!(message.contains(wrong), "{message}");
        let mut net = crate::seq![Linear::new(4, 2).bias(false)];
        let message = net.load_parameters(&path, &CPU).unwrap_err().to_string();
        let wrong = "0.weight is [2, 3] instead of [2, 4], extra 0.bias\n";
        assert!(message.contains(wrong), "{message}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn lazy_layers_refuse_what_does_not_fit_what_they_know() {
        let path = temporary("lazy");
        let save = |net: &dyn Layer, dtype: DType| {
            let state = state_of(net).into_iter();
            let tensors = state.map(|entry| (entry.name, entry.parameter.tensor().to_dtype(dtype)));
            super::save(&path, &tensors.collect::<Vec<_>>()).unwrap();
        };
        let refusal = |net: &mut dyn Layer| {
            let message = net.load_parameters(&path, &CPU).unwrap_err().to_string();
            assert!(state_of(net).iter().all(|e| !e.parameter.is_initialized()));
            message.lines().next().unwrap().to_owned()
        };

        save(&Linear::new(3, 5), DType::F32);
        let message = refusal(&mut LazyLinear::new(2));
        let wrong = "weight is [5, 3] instead of [2, _], bias is [5] instead of [2]";
        assert!(message.ends_with(wrong), "{message}");
        save(&Linear::new(3, 2), DType::F64);
        let message = refusal(&mut LazyLinear::new(2));
        let wrong = "weight is f64 instead of f32, bias is f64 instead of f32";
        assert!(message.ends_with(wrong), "{message}");

        save(&Conv2d::new(1, 6, 3), DType::F32);
        let message = refusal(&mut LazyConv2d::new(6, 5));
        let wrong = "weight is [6, 1, 3, 3] instead of [6, _, 5, 5]";
        assert!(message.ends_with(wrong), "{message}");
        LazyConv2d::new(6, 3).load_parameters(&path, &CPU).unwrap();

        save(&BatchNorm1d::new(3), DType::F16);
        let message = refusal(&mut LazyBatchNorm1d::new());
        let wrong = "num_batches_tracked is f16 instead of i64";
        assert!(message.ends_with(wrong), "{message}");
        std::fs::remove_file(path).unwrap();

        let weight = LazyLinear::new(2).replicate(&CPU);
        let weight = weight.parameter("weight");
        let message = message_of(|| weight.set(&ones((3, 3))));
        let wrong = "a parameter of [2, _] f32 cannot hold [3, 3] f32\n";
        assert!(message.starts_with(wrong), "{message}");
    }

    #[test]
    fn names_of_megabytes_are_not_printed_whole() {
        let path = temporary("long");
        super::save(&path, &[("x".repeat(5_000_000), ones(1))]).unwrap();
        let mut net = Linear::new(3, 2);
        let message = net.load_parameters(&path, &CPU).unwrap_err().to_string();
        assert!(message.len() < 1000, "{} bytes", message.len());
        let partial = LoadOptions::new().partial();
        super::save(
            &path,
            &[("x".repeat(5_000_000), ones(1)), ("bias".into(), ones(2))],
        )
        .unwrap();
        let report = net.load_parameters_with(&path, &CPU, partial).unwrap();
        assert!(format!("{report:?}").len() < 1000);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_cut_file_changes_nothing() {
        let path = temporary("cut");
        let mut net = Linear::new(3, 2);
        net.save_parameters(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        net.parameter("bias").set(&ones(2));
        for length in [0, 4, 20, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            let message = net.load_parameters(&path, &CPU).unwrap_err().to_string();
            assert!(message.contains("is damaged"), "{message}");
            assert_eq!(bias_of(&net), [1.0, 1.0]);
        }
        std::fs::remove_file(path).unwrap();
    }

    /// An administrator may replace anything, also /dev/null.
    #[test]
    fn a_pipe_or_a_device_is_not_replaced() {
        let path = temporary("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let message = Linear::new(3, 2).save_parameters(&path).unwrap_err();
        let message = message.to_string();
        assert!(message.contains("it is a pipe or a device"), "{message}");
        assert!(!path.metadata().unwrap().is_file(), "it is still a pipe");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_failed_save_leaves_the_old_file_and_no_part() {
        let folder = temporary("folder");
        std::fs::create_dir_all(folder.join("taken")).unwrap();
        let net = Linear::new(3, 2);
        let message = net.save_parameters(folder.join("taken")).unwrap_err();
        assert!(message.to_string().starts_with("cannot write"), "{message}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        assert!(net.save_parameters(folder.join("none/x")).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
