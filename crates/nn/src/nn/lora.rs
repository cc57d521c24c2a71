//! Low-rank adapters: fine-tuning that trains a few parameters beside the frozen weights.

use crate::erased::{Erased, outlined};
use crate::error::{OrRaise, Result, name, raise};
use crate::nn::linear_weights::linear_weights;
use crate::nn::parameter::LowRank;
use crate::nn::{
    Init, LoadOptions, Parameter, Parameters, StateEntry, check, files, state, state_of,
};
use crate::notebook::Show;
use crate::tensor::{Tensor, with_device, zeros};
use std::path::Path;

/// The prefix of the names in files of Hugging Face's library for adapters.
const PREFIX: &str = "base_model.model.";

/// Freezes a model, and adds an adapter of this rank to each of its linear layers: `y = x · weightᵀ + x · Aᵀ · Bᵀ`, where
/// only `A` and `B` are trained. `B` begins with zeros, so that the model computes the same at first. From Hu et al.,
/// 2021.
///
/// Create the optimiser afterwards. [`LoraConfig`] has more settings.
///
/// # Panics
/// If `rank` is 0, or the model has no linear layer.
///
/// ```
/// use taper::prelude::*;
///
/// let mut net = seq![Linear::new(64, 64), ReLU, Linear::new(64, 64)];
/// let adapters = lora(&mut net, 2);
/// assert_eq!(adapters.num_parameters(), 4 * 2 * 64);
/// let loss = net.forward(&randn((4, 64))).sqr().mean_all();
/// SGD::new(net.parameters(), 0.1).step(&loss.backward()); // changes the adapters only
/// adapters.merge(); // the weights contain what was learned
/// assert_eq!(net.num_parameters(), 2 * (64 * 64 + 64));
/// ```
#[track_caller]
#[inline]
pub fn lora(model: &mut dyn Parameters, rank: usize) -> Lora {
    LoraConfig::new(rank).apply(model)
}

/// The settings of low-rank adapters, with the names of Hugging Face's library.
///
/// ```
/// use taper::prelude::*;
///
/// let mut model = GroupedQueryAttention::new(32, 4, 4);
/// let adapters = LoraConfig::new(4).alpha(8.0).targets(&["q_proj", "v_proj"]).apply(&mut model);
/// assert_eq!(adapters.parameters().len(), 2 * 2);
/// ```
pub struct LoraConfig {
    rank: usize,
    alpha: f64,
    targets: Erased<Option<Vec<String>>>,
}

outlined!(Clone Debug for LoraConfig { rank, alpha, targets });

impl LoraConfig {
    /// Creates settings for adapters of this rank.
    ///
    /// # Panics
    /// If `rank` is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut net = Linear::new(8, 8);
    /// assert_eq!(LoraConfig::new(1).apply(&mut net).num_parameters(), 16);
    /// ```
    #[track_caller]
    pub fn new(rank: usize) -> Self {
        check::positive("LoraConfig", &[("rank", rank)]);
        Self {
            rank,
            alpha: rank as f64,
            targets: None.into(),
        }
    }

    setters! {
        /// Sets the strength: the output of an adapter is multiplied by `alpha / rank`; 1 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LoraConfig::new(8).alpha(16.0);
        /// ```
        pub fn alpha(self, alpha: f64): self.alpha = alpha;

        /// Adds adapters only to layers whose path contains one of these names; by default to all linear layers but those
        /// that share their weight with an embedding.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LoraConfig::new(8).targets(&["q_proj", "k_proj"]);
        /// ```
        pub fn targets(self, names: &[&str]): self.targets = owned(names);
    }

    /// Freezes the parameters of the model, and adds the adapters. Adapters that it has are replaced.
    ///
    /// # Panics
    /// If there is no linear layer with one of the names.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut net = seq![Linear::new(4, 4)];
    /// let error = attempt(|| LoraConfig::new(1).targets(&["head"]).apply(&mut net)).unwrap_err();
    /// assert_eq!(error.to_string(), "there is no linear layer named \"head\"\nChoose one of: 0.weight");
    /// ```
    #[track_caller]
    pub fn apply(&self, model: &mut dyn Parameters) -> Lora {
        let state = state_of(model);
        let mut layers = linear_weights(model);
        match &*self.targets {
            None => layers.retain(|(_, weight)| !is_tied(&state, weight)),
            Some(targets) => {
                let wanted = |path: &str| {
                    targets
                        .iter()
                        .any(|name| path.split('.').any(|part| part == name))
                };
                let known: Vec<String> = layers.iter().map(|(path, _)| path.clone()).collect();
                layers.retain(|(path, _)| wanted(path));
                if layers.is_empty() {
                    raise(name("linear layer", &targets.join(", "), known))
                }
            }
        }
        raise!(if layers.is_empty();
            "lora: the model has no linear layer with values";
            "Adapters belong to Linear layers; call the model once if they are lazy");
        for entry in &state {
            entry.parameter.set_frozen(true);
        }
        for (_, weight) in &layers {
            weight.set_low_rank(Some(self.low_rank(weight)));
        }
        let layers = layers.into();
        Lora { layers }
    }

    #[track_caller]
    fn low_rank(&self, weight: &Parameter) -> LowRank {
        let (outputs, inputs) = weight.tensor().dims2();
        let bound = 1.0 / (inputs as f64).sqrt();
        let values = with_device(&weight.device(), || {
            let a = Init::Uniform(bound).tensor((self.rank, inputs));
            [a, zeros((outputs, self.rank))]
        });
        let [a, b] = values.map(|values| Parameter::new(&values.to_dtype(weight.dtype())));
        let scale = self.alpha / self.rank as f64;
        LowRank { a, b, scale }
    }
}

fn owned(names: &[&str]) -> Erased<Option<Vec<String>>> {
    Some(names.iter().map(|name| (*name).to_owned()).collect()).into()
}

/// Returns whether other layers share a weight.
fn is_tied(state: &[StateEntry], weight: &Parameter) -> bool {
    let mut entries = state.iter();
    entries.any(|entry| entry.parameter.is_same(weight) && !entry.aliases.is_empty())
}

/// The adapters of a model. Returned by [`lora`].
///
/// ```
/// use taper::prelude::*;
///
/// let mut net = seq![Linear::new(64, 64)];
/// let adapters = lora(&mut net, 2);
/// assert_eq!(adapters.show_text(), "Lora(1 layer, 256 parameters)");
/// ```
pub struct Lora {
    layers: Erased<Vec<(String, Parameter)>>,
}

impl Lora {
    /// Returns the parameters that are trained.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut net = seq![Linear::new(64, 64)];
    /// let adapters = lora(&mut net, 2);
    /// let optimizer = AdamW::new(adapters.parameters(), 1e-3);
    /// ```
    pub fn parameters(&self) -> Vec<Parameter> {
        self.state()
            .into_iter()
            .map(|entry| entry.parameter)
            .collect()
    }

    /// Returns the number of their elements.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(lora(&mut Linear::new(64, 32), 2).num_parameters(), 2 * (64 + 32));
    /// ```
    pub fn num_parameters(&self) -> usize {
        state::count(&self.state())
    }

    /// Writes the adapters alone to a safetensors file, with the names of Hugging Face's library.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let path = std::env::temp_dir().join(format!("taper_lora_{}", std::process::id()));
    /// let mut net = seq![Linear::new(64, 64)];
    /// let mut other = net.replicate(&cpu());
    /// lora(&mut net, 2).save(&path)?;
    /// lora(&mut other, 2).load(&path)?;
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_to(path.as_ref())
    }

    fn save_to(&self, path: &Path) -> Result<()> {
        let values = |entry: StateEntry| (entry.name, entry.parameter.tensor().detach());
        let tensors: Vec<(String, Tensor)> = self.state().into_iter().map(values).collect();
        files::save(path, &tensors)
    }

    /// Loads the adapters from a file.
    ///
    /// # Errors
    /// If the file is missing or damaged, or has adapters of another rank or for other layers. They are then unchanged.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(lora(&mut Linear::new(8, 8), 2).load("missing.safetensors").is_err());
    /// ```
    pub fn load(&self, path: impl AsRef<Path>) -> Result<()> {
        self.load_from(path.as_ref())
    }

    fn load_from(&self, path: &Path) -> Result<()> {
        let state = self.state();
        let device = state[0].parameter.device();
        let options = LoadOptions::new().convert();
        let (values, _) = files::load_into(path, &device, &state, options)?;
        files::assign(&state, &values)
    }

    /// Adds the adapters to the weights and removes them. The model computes the same as before, and its
    /// parameters stay frozen; see [`unfreeze`](crate::nn::ParametersExt::unfreeze).
    ///
    /// # Panics
    /// If the weights are quantized.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut net = Linear::new(8, 8);
    /// let x = randn((2, 8));
    /// let adapters = lora(&mut net, 2);
    /// adapters.parameters()[1].set(&randn((8, 2)));
    /// let y = net.forward(&x); // (2, 8)
    /// adapters.merge();
    /// assert!((net.forward(&x) - y).abs().max_all().item() < 1e-5);
    /// ```
    #[track_caller]
    pub fn merge(self) {
        raise!(if self.layers.iter().any(|(_, w)| w.quantized().is_some());
            "lora: adapters cannot be merged into quantized weights";
            "Keep the adapters, or train them beside the weights before quantize(…)");
        for (_, weight) in self.layers.iter() {
            let merged = weight.tensor().detach();
            weight.set_low_rank(None);
            weight.try_set(&merged).or_raise();
        }
    }

    /// Removes the adapters: the model computes what it did before.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut net = Linear::new(8, 8);
    /// lora(&mut net, 2).remove();
    /// assert_eq!(net.num_parameters(), 72);
    /// ```
    pub fn remove(self) {
        for (_, weight) in self.layers.iter() {
            weight.set_low_rank(None);
        }
    }

    /// Returns the adapters with their names in a file.
    fn state(&self) -> Vec<StateEntry> {
        let entry = |name: String, parameter: Parameter| StateEntry {
            name,
            aliases: vec![],
            parameter,
            trained: true,
        };
        let of = |(path, weight): &(String, Parameter)| {
            let layer = path.strip_suffix("weight").unwrap_or(path);
            let low_rank = weight.low_rank().into_iter();
            let parts = low_rank.flat_map(|LowRank { a, b, .. }| [("lora_A", a), ("lora_B", b)]);
            let entries = parts.map(|(part, p)| entry(format!("{PREFIX}{layer}{part}.weight"), p));
            entries.collect::<Vec<_>>()
        };
        self.layers.iter().flat_map(of).collect()
    }
}

outlined!(Debug for Lora { layers });

impl Show for Lora {
    fn show_text(&self) -> String {
        let (layers, parameters) = (self.layers.len(), self.num_parameters());
        let plural = if layers == 1 { "" } else { "s" };
        format!("Lora({layers} layer{plural}, {parameters} parameters)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Layer, Linear, ParametersExt, Sequential};
    use crate::optim::{Optimizer, SGD};
    use crate::seq;
    use crate::tensor::{manual_seed, randn};
    use candle_core::{DType, Device};

    fn net() -> Sequential {
        manual_seed(3);
        seq![Linear::new(6, 5), Linear::new(5, 4).bias(false)]
    }

    fn difference(a: &Tensor, b: &Tensor) -> f64 {
        (a - b).abs().max_all().item()
    }

    #[test]
    fn only_the_adapters_are_trained() {
        let (mut net, x) = (net(), randn((3, 6)));
        let before = net.state_dict();
        let y = net.forward(&x);
        let adapters = lora(&mut net, 2);
        assert_eq!(difference(&net.forward(&x), &y), 0.0);
        for _ in 0..2 {
            let loss = net.forward(&x).sqr().mean_all();
            SGD::new(net.parameters(), 0.5).step(&loss.backward());
        }
        let trained = net.forward(&x);
        assert!(difference(&trained, &y) > 1e-3);
        adapters.remove();
        assert_eq!(difference(&net.forward(&x), &y), 0.0);
        for ((name, before), (_, after)) in before.iter().zip(net.state_dict()) {
            assert_eq!(difference(before, &after), 0.0, "{name}");
        }
    }

    /// A layer that takes its weight as a tensor, and the linear layer, which computes through the small matrices.
    #[test]
    fn the_whole_weight_has_the_adapter_too() {
        let (mut net, x) = (Linear::new(6, 5).bias(false), randn((3, 6)));
        lora(&mut net, 2).parameters()[1].set(&randn((5, 2)));
        let weight = net.parameter("weight").tensor();
        let whole = x.matmul(&weight.t());
        assert!(difference(&whole, &net.forward(&x)) < 1e-5);
    }

    #[test]
    fn copies_and_conversions_take_the_adapters_along() {
        let (mut net, x) = (net(), randn((3, 6)));
        let adapters = lora(&mut net, 2);
        for part in adapters.parameters() {
            part.set(&randn(part.shape()));
        }
        let y = net.forward(&x);
        let mut copy = net.replicate(&Device::Cpu);
        assert_eq!(difference(&copy.forward(&x), &y), 0.0);
        copy.to_dtype(DType::F64);
        let doubles = copy.forward(&x.to_dtype(DType::F64)).to_dtype(DType::F32);
        assert!(difference(&doubles, &y) < 1e-5);
        copy.freeze();
        assert!(copy.parameters().iter().all(Parameter::is_frozen));
        assert!(!adapters.parameters()[0].is_frozen());
        let names: Vec<String> = net
            .named_parameters()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            names[..3],
            ["0.weight", "0.lora_A.weight", "0.lora_B.weight"]
        );
    }

    #[test]
    fn a_file_has_the_adapters_alone() {
        let path = std::env::temp_dir().join(format!("taper_adapters_{}", std::process::id()));
        let (mut net, x) = (net(), randn((3, 6)));
        let mut other = net.replicate(&Device::Cpu);
        let adapters = lora(&mut net, 2);
        for part in adapters.parameters() {
            part.set(&randn(part.shape()));
        }
        adapters.save(&path).unwrap();
        let names = files::load(&path, &Device::Cpu).unwrap();
        assert!(names.contains_key("base_model.model.1.lora_B.weight") && names.len() == 4);
        lora(&mut other, 2).load(&path).unwrap();
        assert_eq!(difference(&net.forward(&x), &other.forward(&x)), 0.0);
        let message = lora(&mut other, 3).load(&path).unwrap_err().to_string();
        assert!(message.contains("instead of [3, 6]"), "{message}");
        std::fs::remove_file(path).unwrap();
    }
}
