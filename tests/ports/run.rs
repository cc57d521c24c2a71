//! Runs a program for 20 steps and compares its losses with PyTorch's.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use taper::candle_core::safetensors;
use taper::prelude::*;

pub(crate) const STEPS: usize = 20;

/// The largest difference of a loss, relative to PyTorch's.
const TOLERANCE: f64 = 1e-4;

/// A program that runs. If `run.py` names a folder in `TAPER_PORTS`, it writes the weights and inputs there.
pub(crate) struct Run {
    name: &'static str,
    folder: Option<PathBuf>,
    inputs: HashMap<String, candle_core::Tensor>,
    losses: Vec<f64>,
    steps: usize,
}

impl Run {
    /// Stores the initial weights of a model, which PyTorch loads.
    pub(crate) fn weights(&self, name: &str, model: &dyn Parameters) {
        if let Some(folder) = &self.folder {
            let file = format!("{}.{name}.safetensors", self.name);
            model.save_parameters(folder.join(file)).unwrap();
        }
    }

    /// Stores an input of the step.
    pub(crate) fn input(&mut self, name: &str, x: &Tensor) {
        if self.folder.is_some() {
            self.inputs.insert(name.to_owned(), x.contiguous().into());
        }
    }

    /// Ends a step with these losses.
    pub(crate) fn step(&mut self, losses: &[&Tensor]) {
        self.steps += 1;
        self.losses.extend(losses.iter().map(|loss| loss.item()));
        if let Some(folder) = &self.folder {
            let file = format!("{}.{}.safetensors", self.name, self.steps);
            safetensors::save(&self.inputs, folder.join(file)).unwrap();
            self.inputs.clear();
        }
    }
}

/// Runs the program and compares its losses with the stored ones, or writes them if `run.py` runs it.
pub(crate) fn compare(name: &'static str, program: impl FnOnce(&mut Run)) {
    let folder = std::env::var_os("TAPER_PORTS").map(PathBuf::from);
    let mut run = Run { name, folder, inputs: HashMap::new(), losses: vec![], steps: 0 };
    with_seed(0, || program(&mut run));
    assert_eq!(run.steps, STEPS);
    if let Some(folder) = &run.folder {
        let lines: String = run.losses.iter().map(|loss| format!("{loss}\n")).collect();
        fs::write(folder.join(format!("{name}.txt")), lines).unwrap();
        return;
    }
    let stored = stored(name);
    assert_eq!(run.losses.len(), stored.len(), "{name}");
    for (i, (loss, want)) in run.losses.iter().zip(&stored).enumerate() {
        // A loss may be close to 0, as the difference of two means.
        let off = (loss - want).abs() / want.abs().max(0.1);
        assert!(
            off <= TOLERANCE,
            "{name}, loss {i}: {loss}, PyTorch's is {want}. If its data or initial weights have changed: \
             python3 tests/ports/run.py --store"
        );
    }
}

fn stored(name: &str) -> Vec<f64> {
    let lines = include_str!("losses.txt").lines();
    let mut words = lines.map(str::split_whitespace);
    let words = words.find_map(|mut words| (words.next() == Some(name)).then_some(words));
    let losses = words.into_iter().flatten().map(|loss| loss.parse());
    losses.collect::<std::result::Result<_, _>>().unwrap()
}

pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ports").join(name)
}
