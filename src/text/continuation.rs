//! The logits of the next token of some sequences, with a cache where the model allows it.

use crate::error::{Result, attempt, refuse};
use crate::nn::{KvCache, Layer, evaluating, state_of};
use crate::tensor::{Raw, Tensor, no_grad};
use candle_core::{DType, Device};

/// The largest difference of the logits with a cache, relative to the largest logit, in `f32`.
const TOLERANCE: f64 = 1e-3;
/// The same for types of 16 bits.
const ROUGH_TOLERANCE: f64 = 5e-2;

/// A model that continues sequences.
pub(super) struct Continuation<'a> {
    model: &'a dyn Layer,
    device: Device,
    /// The most tokens that the model takes.
    pub(super) context: Option<usize>,
    pub(super) use_of_cache: UseOfCache,
}

/// Whether the model can continue a sequence from a cache. This is tried, because a layer outside of this crate may look
/// at all steps.
pub(super) enum UseOfCache {
    Off,
    /// The cache has been filled, if it has steps, but not been used yet.
    Untried(KvCache),
    /// A step from the cache gave the same as all steps.
    Tried(KvCache),
}

impl<'a> Continuation<'a> {
    pub(super) fn new(model: &'a dyn Layer) -> Self {
        let state = state_of(model);
        let device = state
            .iter()
            .find_map(|entry| entry.parameter.planned_device());
        Self {
            model,
            device: device.unwrap_or(Device::Cpu),
            context: None,
            use_of_cache: UseOfCache::Untried(KvCache::new()),
        }
    }

    /// Returns the logits of the next token of each sequence. All sequences have the same length, and extend the
    /// sequences of the call before.
    pub(super) fn logits(&mut self, sequences: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let length = sequences.first().map_or(0, Vec::len);
        refuse!(if length == 0; state("generate");
            "the prompt has no token",
            "Begin with at least one token, such as a token for the start of a text");
        if self.context.is_some_and(|context| length > context) {
            self.use_of_cache = UseOfCache::Off;
        }
        let model = self.model;
        evaluating(model, || no_grad(|| self.computed(sequences)))
    }

    /// Replaces the sequences by some of them.
    pub(super) fn select(&mut self, sequences: &[u32]) {
        if let UseOfCache::Untried(cache) | UseOfCache::Tried(cache) = &mut self.use_of_cache {
            cache.select(sequences);
        }
    }

    fn computed(&mut self, sequences: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        match std::mem::replace(&mut self.use_of_cache, UseOfCache::Off) {
            UseOfCache::Off => self.of_all(sequences),
            UseOfCache::Tried(mut cache) => {
                let logits = self.of_new(sequences, &mut cache)?;
                self.use_of_cache = UseOfCache::Tried(cache);
                Ok(logits)
            }
            UseOfCache::Untried(mut cache) if cache.steps() == 0 => {
                match self.of_new(sequences, &mut cache) {
                    Ok(logits) => {
                        self.use_of_cache = UseOfCache::Untried(cache);
                        Ok(logits)
                    }
                    Err(_) => self.of_all(sequences),
                }
            }
            UseOfCache::Untried(mut cache) => {
                let all = self.of_all(sequences)?;
                let new = attempt(|| self.of_new(sequences, &mut cache)).and_then(|new| new);
                if new.is_ok_and(|new| self.agree(&all, &new)) {
                    self.use_of_cache = UseOfCache::Tried(cache);
                }
                Ok(all)
            }
        }
    }

    fn agree(&self, all: &[Vec<f32>], new: &[Vec<f32>]) -> bool {
        let of = |logits: &[Vec<f32>]| -> Vec<f32> { logits.concat() };
        let (all, new) = (of(all), of(new));
        let largest = all.iter().fold(0f32, |most, x| most.max(x.abs()));
        let halves = state_of(self.model).iter().any(|entry| {
            entry
                .parameter
                .spec()
                .is_some_and(|spec| matches!(spec.dtype(), DType::F16 | DType::BF16))
        });
        let tolerance = if halves { ROUGH_TOLERANCE } else { TOLERANCE };
        let off = |(a, b): (&f32, &f32)| f64::from((a - b).abs()) > tolerance * f64::from(largest);
        all.len() == new.len() && !all.iter().zip(&new).any(off)
    }

    /// Computes all steps, or as many of the last as the model takes.
    fn of_all(&self, sequences: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let first = self
            .context
            .map_or(0, |context| sequences[0].len().saturating_sub(context));
        last_logits(&self.model.forward(&self.tokens(sequences, first)?))
    }

    /// Computes the steps that the cache does not have.
    fn of_new(&self, sequences: &[Vec<u32>], cache: &mut KvCache) -> Result<Vec<Vec<f32>>> {
        let tokens = self.tokens(sequences, cache.steps())?;
        last_logits(&cache.continued(self.model, &tokens)?)
    }

    /// Returns the tokens from `first` on: `(batch, steps)`.
    fn tokens(&self, sequences: &[Vec<u32>], first: usize) -> Result<Tensor> {
        let steps = sequences[0].len() - first;
        let tokens = sequences
            .iter()
            .flat_map(|tokens| tokens[first..].iter().copied());
        let tokens = Raw::from_vec(tokens.collect(), (sequences.len(), steps), &self.device)?;
        Ok(tokens.into())
    }
}

/// Returns the logits of the last step of each sequence.
fn last_logits(logits: &Tensor) -> Result<Vec<Vec<f32>>> {
    refuse!(if logits.rank() != 3; shape("generate", logits.dims());
        "a model that returns logits (batch, steps, vocabulary)",
        "Return the logits of all steps: head.forward(&x)");
    let steps = logits.dim(1);
    let last = logits.narrow(1, steps - 1, 1).squeeze(1); // (batch, vocabulary)
    Ok(last.to_dtype(DType::F32).to_vec2())
}
