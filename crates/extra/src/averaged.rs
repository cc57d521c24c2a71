//! Averages of a model's weights over the steps of a training.

use crate::erased::{Erased, outlined};
use crate::error::{OrRaise, Result, attempt, refuse};
use crate::nn::{Parameter, Parameters, state_of};
use crate::tensor::Tensor;
use crate::train::{Callback, EpochEnd, FitEnd, Flow, Step};

/// The average of a model's parameters over the steps of a training, which is often better than the last parameters: an
/// exponential moving average (EMA), or the mean (SWA, Izmailov et al., 2018).
///
/// As a callback of a [`Trainer`](crate::train::Trainer), it averages after each step, and sets the model's parameters to the
/// averages when training ends. In a loop of your own, call [`update`](Self::update) after each step. Buffers, such as the
/// statistics of batch normalisation, keep their values from the last step.
///
/// ```
/// use taper::prelude::*;
///
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// let mut trainer = Trainer::new(2).callback(AveragedWeights::ema(0.9));
/// trainer.fit(&mut model, &Digits::new())?; // the parameters are averages now
/// # Ok::<(), Error>(())
/// ```
pub struct AveragedWeights {
    state: Erased<State>,
}

outlined!(Clone for AveragedWeights { state });

#[derive(Clone)]
struct State {
    /// The weight of the average in its next value; `None` for the mean of all.
    decay: Option<f64>,
    /// The number of steps before the first that counts.
    start: usize,
    values: Vec<Tensor>,
    /// How many values of the parameters are in the averages.
    count: usize,
    /// The number of the training's steps that have been looked at.
    steps: usize,
}

impl AveragedWeights {
    /// Averages with weights that fall exponentially: after a step, an average is `decay` times itself plus `1 - decay` times
    /// the parameter.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(1, 1).bias(false);
    /// let mut average = AveragedWeights::ema(0.75);
    /// for weight in [4.0, 8.0] {
    ///     net.parameter("weight").set(&full((1, 1), weight)); // a step
    ///     average.update(&net);
    /// }
    /// average.copy_to(&net);
    /// assert_eq!(net.parameter("weight").tensor().item(), 5.0);
    /// ```
    pub fn ema(decay: f64) -> Self {
        Self::new(Some(decay))
    }

    /// Averages all steps from [`start`](Self::start) on with the same weight.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(1, 1).bias(false);
    /// let mut average = AveragedWeights::swa();
    /// for weight in [4.0, 8.0] {
    ///     net.parameter("weight").set(&full((1, 1), weight)); // a step
    ///     average.update(&net);
    /// }
    /// average.copy_to(&net);
    /// assert_eq!(net.parameter("weight").tensor().item(), 6.0);
    /// ```
    pub fn swa() -> Self {
        Self::new(None)
    }

    #[inline(never)]
    fn new(decay: Option<f64>) -> Self {
        let state = Erased::new(State {
            decay,
            start: 0,
            values: vec![],
            count: 0,
            steps: 0,
        });
        Self { state }
    }

    setters! {
        /// Sets after how many steps averaging begins; 0 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let average = AveragedWeights::swa().start(1000);
        /// ```
        pub fn start(self, steps: usize): self.state.start = steps;
    }

    /// Adds the model's parameters to the averages. The first call copies them.
    ///
    /// # Panics
    /// If the model is not the same as in the last call, or a lazy parameter has no values yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut average = AveragedWeights::ema(0.999);
    /// average.update(&Linear::new(2, 1));
    /// assert!(attempt(|| average.update(&Linear::new(2, 1).bias(false))).is_err());
    /// ```
    #[inline]
    #[track_caller]
    pub fn update(&mut self, model: &impl Parameters) {
        self.state.after_step(model).or_raise();
    }

    /// Sets the parameters of a model to the averages. Without averages, nothing changes.
    ///
    /// # Panics
    /// If the model is another one.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1);
    /// let mut average = AveragedWeights::ema(0.999);
    /// average.update(&net);
    /// let copy = net.replicate(&cpu()); // to evaluate with, while training goes on
    /// average.copy_to(&copy);
    /// ```
    #[inline]
    #[track_caller]
    pub fn copy_to(&self, model: &impl Parameters) {
        self.state.copy_to(model).or_raise();
    }
}

impl State {
    /// Counts a step, and adds the parameters to the averages if it is late enough.
    fn after_step(&mut self, model: &dyn Parameters) -> Result<()> {
        self.steps += 1;
        match self.steps > self.start {
            true => self.add(model),
            false => Ok(()),
        }
    }

    /// Adds the parameters after this many steps, if they have not been added yet.
    fn at(&mut self, steps: usize, model: &dyn Parameters) -> Result<()> {
        if steps <= self.steps {
            return Ok(());
        }
        self.steps = steps - 1;
        self.after_step(model)
    }

    fn add(&mut self, model: &dyn Parameters) -> Result<()> {
        let parameters = self.parameters(model)?;
        let new =
            { parameters.iter() }.map(|parameter| Ok(Tensor::from(&parameter.try_var()?).detach()));
        let new: Vec<Tensor> = new.collect::<Result<_>>()?;
        self.values = match self.count {
            0 => attempt(|| new.iter().map(|x| x.copy_to(x.device())).collect())?,
            count => {
                let share = match self.decay {
                    Some(decay) => 1.0 - decay,
                    None => 1.0 / (count + 1) as f64,
                };
                let pairs = self.values.iter().zip(&new);
                attempt(|| pairs.map(|(old, new)| old + (new - old) * share).collect())?
            }
        };
        self.count += 1;
        Ok(())
    }

    fn copy_to(&self, model: &dyn Parameters) -> Result<()> {
        let mut pairs = self.parameters(model)?.into_iter().zip(&self.values);
        pairs.try_for_each(|(parameter, values)| parameter.try_set(values))
    }

    fn parameters(&self, model: &dyn Parameters) -> Result<Vec<Parameter>> {
        let state = state_of(model).into_iter().filter(|entry| entry.trained);
        let parameters: Vec<Parameter> = state.map(|entry| entry.parameter).collect();
        let shapes = parameters
            .iter()
            .map(|parameter| Some(parameter.try_var().ok()?.dims().to_vec()));
        let fits =
            self.count == 0 || shapes.eq(self.values.iter().map(|x| Some(x.dims().to_vec())));
        refuse!(if !fits; state("AveragedWeights");
            "the model has other parameters than the averages",
            "Use one AveragedWeights for each model");
        Ok(parameters)
    }
}

impl Callback for AveragedWeights {
    fn on_step(&mut self, step: &mut Step<'_>) -> Result<Flow> {
        self.state.at(step.done, step.model)?;
        Ok(Flow::Continue)
    }

    fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
        self.state.at(end.step, end.model)?;
        Ok(Flow::Continue)
    }

    fn on_fit_end(&mut self, end: &FitEnd<'_>) -> Result<()> {
        self.state.copy_to(end.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::ParametersExt;
    use crate::tensor::with_seed;
    use crate::tests::{Quarters, mlp};
    use crate::train::Trainer;
    use std::sync::{Arc, Mutex};

    /// Collects the first parameter after each step.
    #[derive(Clone, Default)]
    struct Values(Arc<Mutex<Vec<Tensor>>>, usize);

    impl Values {
        fn add(&mut self, done: usize, model: &dyn Parameters) {
            if done > self.1 {
                self.1 = done;
                let values = model.parameters()[0].tensor();
                self.0.lock().unwrap().push(values.copy_to(values.device()));
            }
        }
    }

    impl Callback for Values {
        fn on_step(&mut self, step: &mut Step<'_>) -> Result<Flow> {
            self.add(step.done, step.model);
            Ok(Flow::Continue)
        }

        fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
            self.add(end.step, end.model);
            Ok(Flow::Continue)
        }
    }

    #[test]
    fn a_training_ends_with_the_averages() -> Result<()> {
        let values = Values::default();
        let mut model = with_seed(2, mlp);
        Trainer::new(2)
            .callback(values.clone())
            .callback(AveragedWeights::swa().start(2))
            .fit(&mut model, &Quarters::new(50))?;
        let values = values.0.lock().unwrap();
        let mean = Tensor::stack(&values[2..], 0).mean(0);
        let off = (model.parameters()[0].tensor() - mean).abs().max_all();
        assert!(
            values.len() > 2 && off.item() < 1e-6,
            "{} steps",
            values.len()
        );
        Ok(())
    }
}
