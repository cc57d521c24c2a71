//! The options for loading parameters, and the report of what was loaded.

use crate::error::{Result, attempt, explain};
use crate::input;
use crate::nn::StateEntry;
use crate::notebook::Show;
use crate::tensor::Tensor;
use std::collections::HashMap;
use std::fmt;

/// The options of [`load_parameters_with`](crate::nn::ParametersExt::load_parameters_with): what to accept
/// besides an exact match of names, shapes and types.
///
/// ```
/// use taper::prelude::*;
///
/// let path = std::env::temp_dir().join(format!("taper_load_{}", std::process::id()));
/// let mut trained = seq![Linear::new(3, 4), ReLU, Linear::new(4, 2)];
/// trained.to_dtype(DType::F64);
/// trained.save_parameters(&path)?;
///
/// // The same body with another head, in `f32`.
/// let mut net = seq![Linear::new(3, 4), ReLU, Linear::new(4, 5)];
/// let options = LoadOptions::new().convert().partial();
/// let report = net.load_parameters_with(&path, &cpu(), options)?;
/// assert_eq!(report.loaded, ["0.weight", "0.bias"]);
/// assert_eq!(report.mismatched.len(), 2);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    pub(super) convert: bool,
    pub(super) partial: bool,
}

impl LoadOptions {
    /// Creates options that accept an exact match only.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut net = Linear::new(3, 2);
    /// assert!(net.load_parameters_with("missing.safetensors", &cpu(), LoadOptions::new()).is_err());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Converts floating-point values of another type, such as `bf16`, to the type of the model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let options = LoadOptions::new().convert();
    /// ```
    pub fn convert(mut self) -> Self {
        self.convert = true;
        self
    }

    /// Loads what fits: tensors that are missing, unknown or of another shape are left out, and reported.
    /// It is still an error if nothing fits.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let options = LoadOptions::new().partial();
    /// ```
    pub fn partial(mut self) -> Self {
        self.partial = true;
        self
    }
}

/// The result of loading a file into a model: the tensors that were loaded, and those that were not.
///
/// ```
/// use taper::prelude::*;
///
/// let path = std::env::temp_dir().join(format!("taper_report_{}", std::process::id()));
/// Linear::new(3, 2).bias(false).save_parameters(&path)?;
/// let options = LoadOptions::new().partial();
/// let report = Linear::new(3, 2).load_parameters_with(&path, &cpu(), options)?;
/// assert_eq!(report.show_text(), "loaded 1 of 2 tensors\nmissing in the file: bias");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct LoadReport {
    /// The names of the tensors that were loaded.
    pub loaded: Vec<String>,
    /// The names of the model's tensors that the file lacks.
    pub missing: Vec<String>,
    /// The names of the file's tensors that the model lacks.
    pub unexpected: Vec<String>,
    /// The tensors of another shape or type, with what was found: `weight is [5, 3] instead of [2, 3]`.
    pub mismatched: Vec<String>,
}

impl LoadReport {
    /// Compares the values of a file with a model.
    pub(super) fn of(model: &[StateEntry], values: &HashMap<String, Tensor>) -> Result<Self> {
        let (mut loaded, mut missing, mut mismatched) = (vec![], vec![], vec![]);
        for entry in model {
            let found: Vec<_> = entry
                .names()
                .filter_map(|name| values.get_key_value(name))
                .collect();
            let Some((_, value)) = found.first() else {
                missing.push(entry.name.clone());
                continue;
            };
            for (name, other) in &found[1..] {
                if !equal(value, other)? {
                    return Err(explain(
                        format!(
                            "{} and {name} are one tensor in this model, but differ in the file",
                            entry.name
                        ),
                        "Build the model without the tie, or save the file again; nothing was changed",
                    ));
                }
            }
            match entry.refusal(value) {
                Some(refusal) => mismatched.push(format!("{} is {refusal}", entry.name)),
                None => loaded.push(entry.name.clone()),
            }
        }
        let known = |name: &str| {
            let mut entries = model.iter();
            entries.any(|entry| entry.names().any(|own| own == name))
        };
        // Candle's batch normalisation does not count its batches; PyTorch's does.
        let uncounted = |name: &str| {
            let layer = name.strip_suffix("num_batches_tracked");
            layer.is_some_and(|layer| known(&format!("{layer}running_mean")))
        };
        let unexpected = values
            .keys()
            .filter(|name| !known(name) && !uncounted(name));
        let mut unexpected: Vec<String> = unexpected.cloned().collect();
        unexpected.sort();
        Ok(LoadReport {
            loaded,
            missing,
            unexpected,
            mismatched,
        })
    }

    pub(super) fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.mismatched.is_empty()
    }
}

/// Returns whether two tensors have the same shape, type and values.
fn equal(a: &Tensor, b: &Tensor) -> Result<bool> {
    if a.dims() != b.dims() || a.dtype() != b.dtype() {
        return Ok(false);
    }
    attempt(|| a.ne(b).sum_all().item() == 0.0)
}

impl fmt::Debug for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show_text())
    }
}

impl Show for LoadReport {
    fn show_text(&self) -> String {
        let all = self.loaded.len() + self.missing.len() + self.mismatched.len();
        let mut lines = vec![format!("loaded {} of {all} tensors", self.loaded.len())];
        for (what, names) in [
            ("missing in the file", &self.missing),
            ("unknown to the model", &self.unexpected),
            ("not loaded", &self.mismatched),
        ] {
            if !names.is_empty() {
                let names: Vec<_> = names.iter().map(|name| input::shortened(name)).collect();
                lines.push(format!("{what}: {}", names.join(", ")));
            }
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::*;
    use crate::tensor::{ones, zeros};
    use candle_core::{DType, Device};
    use std::path::PathBuf;

    const CPU: Device = Device::Cpu;

    #[derive(taper_macros::Parameters)]
    struct Tied {
        embedding: Parameter,
        head: Parameter,
    }

    fn tied() -> Tied {
        let embedding = Parameter::new(&zeros((3, 2)));
        let head = embedding.clone();
        Tied { embedding, head }
    }

    fn file(name: &str, tensors: &[(&str, Tensor)]) -> PathBuf {
        let name = format!("taper_load_{}_{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let tensors = tensors
            .iter()
            .map(|(name, t)| (name.to_string(), t.clone()));
        files::save(&path, &tensors.collect::<Vec<_>>()).unwrap();
        path
    }

    /// PyTorch lists a tied tensor under both names.
    #[test]
    fn a_tied_tensor_may_have_any_of_its_names() {
        let (one, zero) = (ones((3, 2)), zeros((3, 2)));
        for names in [&["embedding", "head"][..], &["embedding"], &["head"]] {
            let tensors: Vec<_> = names.iter().map(|name| (*name, one.clone())).collect();
            let path = file("tied", &tensors);
            let mut model = tied();
            model.load_parameters(&path, &CPU).unwrap();
            assert_eq!(model.head.tensor().to_vec2::<f32>(), [[1.0; 2]; 3]);
            assert_eq!(model.num_parameters(), 6);
            std::fs::remove_file(path).unwrap();
        }
        let path = file("untied", &[("embedding", one), ("head", zero)]);
        let message = tied().load_parameters(&path, &CPU).unwrap_err().to_string();
        assert!(
            message.starts_with("embedding and head are one tensor in this model"),
            "{message}"
        );
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn other_types_are_converted_when_asked() {
        for dtype in [DType::BF16, DType::F16, DType::F64] {
            let weight = ones((2, 3)).to_dtype(dtype);
            let path = file("types", &[("weight", weight)]);
            let mut net = Linear::new(3, 2).bias(false);
            assert!(net.load_parameters(&path, &CPU).is_err());
            let options = LoadOptions::new().convert();
            net.load_parameters_with(&path, &CPU, options).unwrap();
            let weight = net.parameter("weight").tensor();
            assert_eq!(weight.to_vec2::<f32>(), [[1.0; 3]; 2]);
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_file_of_which_nothing_fits_is_refused() {
        let path = file("nothing", &[("other", ones(2))]);
        let options = LoadOptions::new().partial();
        let mut net = Linear::new(3, 2);
        let message = net.load_parameters_with(&path, &CPU, options).unwrap_err();
        assert!(
            message
                .to_string()
                .contains("missing weight, missing bias, extra other")
        );
        std::fs::remove_file(path).unwrap();
    }
}
