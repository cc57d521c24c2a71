//! Several optimisers as one.

use super::Optimizer;
use crate::error::{Result, refuse};
use crate::tensor::{GradStore, Tensor};

/// Several optimisers for the parts of a model, such as the generator and the discriminator of a GAN: what
/// `Module::configure_optimizers` returns for a module with a
/// `manual_step`, in which each makes its own steps.
///
/// ```
/// use taper::prelude::*;
///
/// let (generator, discriminator) = (Linear::new(2, 3), Linear::new(3, 1));
/// let optimizers = Optimizers::new()
///     .with(Adam::new(generator.parameters(), 0.001))
///     .with(SGD::new(discriminator.parameters(), 0.1));
/// assert_eq!(optimizers.lrs(), [0.001, 0.1]);
/// ```
#[derive(Default)]
pub struct Optimizers {
    all: Vec<Box<dyn Optimizer>>,
}

impl Optimizers {
    /// Creates an empty list.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Optimizers::new().lrs().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an optimiser.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Optimizers::new().with(SGD::new(vec![], 0.1)).lr(), 0.1);
    /// ```
    pub fn with(mut self, optimizer: impl Optimizer + 'static) -> Self {
        self.all.push(Box::new(optimizer));
        self
    }
}

impl Optimizer for Optimizers {
    /// Lets each optimiser make a step with the gradients of its own parameters.
    fn step(&mut self, gradients: &GradStore) {
        for optimizer in &mut self.all {
            optimizer.step(gradients);
        }
    }

    fn lr(&self) -> f64 {
        self.all.first().map_or(0.0, |optimizer| optimizer.lr())
    }

    fn set_lr(&mut self, lr: f64) {
        self.all
            .iter_mut()
            .for_each(|optimizer| optimizer.set_lr(lr));
    }

    fn lrs(&self) -> Vec<f64> {
        self.all
            .iter()
            .flat_map(|optimizer| optimizer.lrs())
            .collect()
    }

    fn set_lrs(&mut self, mut lrs: &[f64]) {
        for optimizer in &mut self.all {
            let count = optimizer.lrs().len().min(lrs.len());
            optimizer.set_lrs(&lrs[..count]);
            lrs = &lrs[count..];
        }
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let mut state = vec![];
        for (i, optimizer) in self.all.iter().enumerate() {
            let own = optimizer.state()?.into_iter();
            state.extend(own.map(|(name, values)| (format!("optimizer{i}.{name}"), values)));
        }
        Ok(state)
    }

    fn load_state(&mut self, state: &[(String, Tensor)]) -> Result<()> {
        let before = self.state()?;
        let mut loaded = 0;
        for i in 0..self.all.len() {
            let own = part(state, i);
            loaded += own.len();
            if let Err(error) = self.all[i].load_state(&own) {
                self.set_back(i, &before)?;
                return Err(error);
            }
        }
        if loaded < state.len() {
            self.set_back(self.all.len(), &before)?;
            refuse!(state("Optimizers");
                "the state is of more optimisers, or of another kind",
                "Load it into the same list of optimisers as it was saved from");
        }
        Ok(())
    }

    fn parts(&mut self) -> Option<&mut [Box<dyn Optimizer>]> {
        Some(&mut self.all)
    }
}

impl Optimizers {
    /// Restores the first optimisers.
    fn set_back(&mut self, count: usize, before: &[(String, Tensor)]) -> Result<()> {
        (0..count).try_for_each(|i| self.all[i].load_state(&part(before, i)))
    }
}

/// Returns the state of one optimiser.
fn part(state: &[(String, Tensor)], i: usize) -> Vec<(String, Tensor)> {
    let prefix = format!("optimizer{i}.");
    let own = state.iter().filter_map(|(name, values)| {
        let name = name.strip_prefix(&prefix)?;
        Some((name.to_owned(), values.clone()))
    });
    own.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Layer, Linear, ParametersExt};
    use crate::optim::{Adam, SGD};
    use crate::tensor::ones;

    #[test]
    fn a_state_is_restored_as_a_whole_or_not_at_all() -> Result<()> {
        let (a, b) = (Linear::new(2, 2), Linear::new(2, 2));
        let new = |lr: f64| {
            Optimizers::new()
                .with(Adam::new(a.parameters(), lr))
                .with(SGD::new(b.parameters(), 2.0 * lr).momentum(0.9))
        };
        let mut optimizers = new(0.1);
        let loss = (a.forward(&ones((1, 2))) + b.forward(&ones((1, 2)))).sum_all();
        optimizers.step(&loss.backward());
        optimizers.set_lrs(&[0.3, 0.5]);
        let state = optimizers.state()?;

        let mut other = new(0.1);
        other.load_state(&state)?;
        assert_eq!(other.lrs(), [0.3, 0.5]);
        assert_eq!(other.state()?.len(), state.len());

        let mut damaged = state.clone();
        damaged.retain(|(name, _)| name != "optimizer1.SGD.lr");
        let mut other = new(0.1);
        assert!(other.load_state(&damaged).is_err());
        assert_eq!(other.lrs(), [0.1, 0.2]);
        let mut single = Optimizers::new().with(Adam::new(a.parameters(), 0.1));
        assert!(single.load_state(&state).is_err());
        assert_eq!(single.lrs(), [0.1]);
        Ok(())
    }
}
