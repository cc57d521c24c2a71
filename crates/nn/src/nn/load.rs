//! The options for loading parameters, and the report of what was loaded.

use crate::error::{Result, attempt, refuse};
use crate::input;
use crate::nn::StateEntry;
use crate::nn::prefix::Prefixes;
use crate::notebook::{Show, debug_as_shown};
use crate::tensor::Tensor;
use std::collections::HashMap;

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
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    pub(super) convert: bool,
    pub(super) partial: bool,
    /// What the names of the file lose at their beginning, and what they get.
    stripped: String,
    added: String,
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

    setters! {
        /// Converts floating-point values of another type, such as `bf16`, to the type of the model.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let options = LoadOptions::new().convert();
        /// ```
        pub fn convert(self): self.convert = true;

        /// Loads what fits: tensors that are missing, unknown or of another shape are left out, and reported.
        /// It is still an error if nothing fits.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let options = LoadOptions::new().partial();
        /// ```
        pub fn partial(self): self.partial = true;

        /// Removes a prefix from the names of the file: `model.` if the file was saved from a model that has this one as its
        /// field `model`, `module.` if PyTorch's `DataParallel` wrapped it, `_orig_mod.` after `torch.compile`. Other names
        /// stay as they are.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// # let path = std::env::temp_dir().join(format!("taper_prefix_{}", std::process::id()));
        /// #[derive(Parameters)]
        /// struct Wrapped { model: Sequential }
        ///
        /// Wrapped { model: seq![Linear::new(3, 4)] }.save_parameters(&path)?;
        /// let mut net = seq![Linear::new(3, 4)];
        /// let options = LoadOptions::new().strip_prefix("model.");
        /// let report = net.load_parameters_with(&path, &cpu(), options)?;
        /// assert_eq!(report.loaded, ["0.weight", "0.bias"]);
        /// # std::fs::remove_file(path)?;
        /// # Ok::<(), Error>(())
        /// ```
        pub fn strip_prefix(self, prefix: impl Into<String>): self.stripped = prefix.into();

        /// Adds a prefix to the names of the file, after [`strip_prefix`](Self::strip_prefix): `model.` if the file was
        /// saved from what is the field `model` of this model.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// # let path = std::env::temp_dir().join(format!("taper_added_{}", std::process::id()));
        /// #[derive(Parameters)]
        /// struct Wrapped { model: Sequential }
        ///
        /// seq![Linear::new(3, 4)].save_parameters(&path)?;
        /// let mut net = Wrapped { model: seq![Linear::new(3, 4)] };
        /// let options = LoadOptions::new().add_prefix("model.");
        /// let report = net.load_parameters_with(&path, &cpu(), options)?;
        /// assert_eq!(report.loaded, ["model.0.weight", "model.0.bias"]);
        /// # std::fs::remove_file(path)?;
        /// # Ok::<(), Error>(())
        /// ```
        pub fn add_prefix(self, prefix: impl Into<String>): self.added = prefix.into();
    }

    /// Returns the values of a file by the names that the options give them.
    pub(super) fn renamed(
        &self,
        values: HashMap<String, Tensor>,
    ) -> Result<HashMap<String, Tensor>> {
        if self.stripped.is_empty() && self.added.is_empty() {
            return Ok(values);
        }
        if !self.stripped.is_empty() && !values.keys().any(|name| name.starts_with(&self.stripped))
        {
            let names = Vec::from_iter(values.keys().map(String::as_str).min());
            let name = names
                .first()
                .map_or("".into(), |name| input::shortened(name));
            refuse!(argument("strip_prefix", format_args!("{:?}", self.stripped));
                "the beginning of a name in the file", "One of its names is {name:?}");
        }
        let mut renamed = HashMap::new();
        for (name, value) in values {
            let rest = name.strip_prefix(&self.stripped).unwrap_or(&name);
            let new = format!("{}{rest}", self.added);
            refuse!(if renamed.insert(new.clone(), value).is_some();
                ("without the prefix {:?}, two tensors of the file are named {new:?}", self.stripped);
                "Save the file with other names, or load it without strip_prefix");
        }
        Ok(renamed)
    }

    /// Returns the code of these options with other prefixes.
    pub(super) fn code(&self, prefixes: &Prefixes, partial: bool) -> String {
        let convert = if self.convert { ".convert()" } else { "" };
        let partial = if self.partial || partial {
            ".partial()"
        } else {
            ""
        };
        format!("LoadOptions::new(){}{convert}{partial}", prefixes.calls())
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
                refuse!(if !equal(value, other)?;
                    ("{} and {name} are one tensor in this model, but differ in the file", entry.name);
                    "Build the model without the tie, or save the file again; nothing was changed");
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

    /// Returns the prefixes with which most of the file would fit the model.
    pub(super) fn prefixes(&self, fits: &dyn Fn(&str, &str) -> bool) -> Option<Prefixes> {
        let found = Prefixes::of(&self.missing, &self.unexpected, fits);
        found.filter(|prefixes| prefixes.found > self.loaded.len())
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

debug_as_shown!(LoadReport);

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
        if let Some(prefixes) = self.prefixes(&|_, _| true) {
            let found = prefixes.sentence();
            lines.push(format!(
                "the file: {found}; load it with {}",
                prefixes.calls()
            ));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests;
