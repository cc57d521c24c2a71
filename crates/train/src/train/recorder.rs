//! The metrics that a model plots while it trains, kept on their device.

use crate::data::Share;
use crate::distributed::Communicator;
use crate::error::{Result, attempt};
use crate::tensor::{Metric, Tensor, collect_metrics, record_metric};
use candle_core::DType;
use std::collections::BTreeMap;

/// Adds a metric to those of the current step; see [`Module::plot`](super::Module::plot).
pub(super) fn plot(key: &str, value: &Tensor, train: bool) {
    record_metric(|| Metric {
        name: format!("{}_{key}", if train { "train" } else { "val" }),
        value: value.detach(),
        weight: 1.0,
    });
}

/// Runs a step on a batch of `examples`; returns its result and the metrics that the model plotted.
pub(super) fn collect<T>(examples: usize, step: impl FnOnce() -> T) -> (T, Vec<Metric>) {
    let (result, mut metrics) = collect_metrics(step);
    for metric in &mut metrics {
        metric.weight = examples as f64;
    }
    (result, metrics)
}

/// The metrics of some steps, until they are fetched from their devices.
#[derive(Default)]
pub(super) struct Recorder {
    /// The metrics of each batch.
    waiting: Vec<Vec<Metric>>,
}

impl Recorder {
    /// Adds the metrics of a batch, with weight 0 on a rank that has no examples of the batch.
    pub(super) fn add(&mut self, share: Share, mut metrics: Vec<Metric>) {
        if share.own == 0 {
            metrics.iter_mut().for_each(|metric| metric.weight = 0.0);
        }
        self.waiting.push(metrics);
    }

    /// Fetches all waiting metrics, with one transfer for each device, and removes them. What the devices have
    /// plotted under one name in a batch becomes one value: ranks may have used different numbers of devices.
    pub(super) fn fetch(&mut self) -> Result<Fetched> {
        let batches = std::mem::take(&mut self.waiting);
        let all: Vec<&Metric> = batches.iter().flatten().collect();
        let mut fetched = attempt(|| values_of(&all))?.into_iter();
        let mut values = Vec::new();
        for batch in &batches {
            let start = values.len();
            for (metric, value) in batch.iter().zip(&mut fetched) {
                add_to_batch(&mut values, start, metric, f64::from(value));
            }
        }
        Ok(Fetched { values })
    }
}

/// Fetches the value of each metric.
fn values_of(metrics: &[&Metric]) -> Vec<f32> {
    let mut values = vec![0f32; metrics.len()];
    let mut left: Vec<usize> = (0..metrics.len()).collect();
    while let Some(&first) = left.first() {
        let device = metrics[first].value.device();
        let (here, others): (Vec<usize>, Vec<usize>) = left
            .iter()
            .partition(|&&i| metrics[i].value.device().same_device(device));
        let tensors = here
            .iter()
            .map(|&i| metrics[i].value.to_dtype(DType::F32).mean_all());
        let fetched = Tensor::stack(&tensors.collect::<Vec<_>>(), 0).to_vec1::<f32>();
        for (i, value) in here.into_iter().zip(fetched) {
            values[i] = value;
        }
        left = others;
    }
    values
}

/// Adds a metric to those of its batch, which begin at `start`: name, value, weight.
fn add_to_batch(values: &mut Vec<(String, f64, f64)>, start: usize, metric: &Metric, value: f64) {
    let mut batch = values[start..].iter_mut();
    match batch.find(|(name, ..)| *name == metric.name) {
        Some((_, mean, weight)) => {
            let sum = *mean * *weight + value * metric.weight;
            *weight += metric.weight;
            if *weight > 0.0 {
                *mean = sum / *weight;
            }
        }
        None => values.push((metric.name.clone(), value, metric.weight)),
    }
}

/// Metrics that were fetched: name, value, weight.
#[derive(Default)]
pub(super) struct Fetched {
    values: Vec<(String, f64, f64)>,
}

impl Fetched {
    pub(super) fn new(values: Vec<(String, f64, f64)>) -> Self {
        Self { values }
    }

    pub(super) fn entries(&self) -> Vec<(String, f64, f64)> {
        self.values.clone()
    }

    /// Replaces the values by the means over all ranks, which have plotted the same metrics.
    pub(super) fn reduce(&mut self, ranks: &dyn Communicator) -> Result<()> {
        let sums = self.values.iter();
        let sums = sums.flat_map(|(_, value, weight)| match *weight {
            0.0 => [0.0; 2],
            weight => [(value * weight) as f32, weight as f32],
        });
        let sums = ranks.sums(&sums.collect::<Vec<_>>())?;
        for ((_, value, weight), sum) in self.values.iter_mut().zip(sums.as_chunks::<2>().0) {
            (*value, *weight) = (f64::from(sum[0]) / f64::from(sum[1]), f64::from(sum[1]));
        }
        Ok(())
    }

    pub(super) fn extend(&mut self, other: Fetched) {
        self.values.extend(other.values);
    }

    /// Returns the values of a metric in the order in which they were plotted.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = f64> {
        let named = self.values.iter().filter(move |(n, ..)| n == name);
        named.map(|(_, value, _)| *value)
    }

    /// Returns the weighted mean of each metric.
    pub(super) fn means(&self) -> BTreeMap<String, f64> {
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (name, value, weight) in &self.values {
            let (sum, total) = sums.entry(name.clone()).or_default();
            *sum += value * weight;
            *total += weight;
        }
        sums.into_iter()
            .map(|(name, (sum, total))| (name, sum / total))
            .collect()
    }
}
