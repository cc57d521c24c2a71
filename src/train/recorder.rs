//! Numbers that a model plots while it trains, kept on their device.

use candle_core::{DType, Result, Tensor};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// One number that a model plotted, and how many examples it stands for.
pub(super) struct Note {
    pub(super) name: String,
    pub(super) value: Tensor,
    pub(super) weight: f64,
}

thread_local! {
    /// What the model plots on this thread, while somebody listens.
    static NOTES: RefCell<Option<Vec<Note>>> = const { RefCell::new(None) };
}

/// See [`Module::plot`](super::Module::plot).
pub(super) fn note(key: &str, value: &Tensor, train: bool) {
    NOTES.with_borrow_mut(|notes| {
        if let Some(notes) = notes {
            notes.push(Note {
                name: format!("{}_{key}", if train { "train" } else { "val" }),
                value: value.detach(),
                weight: 1.0,
            });
        }
    });
}

/// Runs a step on a batch of `examples`, and gives what the model plotted as well.
pub(super) fn listen<T>(
    examples: usize,
    step: impl FnOnce() -> Result<T>,
) -> Result<(T, Vec<Note>)> {
    NOTES.set(Some(Vec::new()));
    let result = step();
    let mut notes = NOTES.take().unwrap_or_default();
    for note in &mut notes {
        note.weight = examples as f64;
    }
    Ok((result?, notes))
}

/// Means of what was plotted over some steps.
#[derive(Default)]
pub(super) struct Recorder {
    waiting: Vec<Note>,
}

impl Recorder {
    pub(super) fn add(&mut self, notes: Vec<Note>) {
        self.waiting.extend(notes);
    }

    /// Fetches all that waits, with one transfer for each device, and forgets it.
    pub(super) fn fetch(&mut self) -> Result<Fetched> {
        let notes = std::mem::take(&mut self.waiting);
        let mut values = vec![0f32; notes.len()];
        let mut left: Vec<usize> = (0..notes.len()).collect();
        while let Some(&first) = left.first() {
            let device = notes[first].value.device();
            let (here, elsewhere): (Vec<usize>, Vec<usize>) = left
                .iter()
                .partition(|&&i| notes[i].value.device().same_device(device));
            let tensors = here
                .iter()
                .map(|&i| notes[i].value.to_dtype(DType::F32)?.mean_all());
            let tensors: Vec<Tensor> = tensors.collect::<Result<_>>()?;
            let numbers = Tensor::stack(&tensors, 0)?.to_vec1::<f32>()?;
            for (i, number) in here.into_iter().zip(numbers) {
                values[i] = number;
            }
            left = elsewhere;
        }
        let notes = notes.into_iter().zip(values);
        Ok(Fetched {
            numbers: notes
                .map(|(note, value)| (note.name, f64::from(value), note.weight))
                .collect(),
        })
    }
}

/// Numbers that have arrived: name, value, weight.
#[derive(Default)]
pub(super) struct Fetched {
    numbers: Vec<(String, f64, f64)>,
}

impl Fetched {
    pub(super) fn extend(&mut self, other: Fetched) {
        self.numbers.extend(other.numbers);
    }

    /// The values with this name, in the order in which they were plotted.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = f64> {
        let named = self.numbers.iter().filter(move |(n, ..)| n == name);
        named.map(|(_, value, _)| *value)
    }

    /// The weighted mean of each name.
    pub(super) fn means(&self) -> BTreeMap<String, f64> {
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (name, value, weight) in &self.numbers {
            let (sum, total) = sums.entry(name.clone()).or_default();
            *sum += value * weight;
            *total += weight;
        }
        sums.into_iter()
            .map(|(name, (sum, total))| (name, sum / total))
            .collect()
    }
}
