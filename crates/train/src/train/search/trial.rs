//! One trial of a search.

use super::space::Value;
use crate::erased::Erased;
use crate::error::{self, OrRaise, Result, problem, refuse};
use crate::train::{Checkpoint, Trainer};
use std::path::PathBuf;

/// A trial of a [`Search`](super::Search): a setting of the hyperparameters, and, after the run, its score.
///
/// ```
/// use taper::prelude::*;
///
/// fn train(trial: &Trial) -> Result<f64> {
///     Ok(trial.value("lr") * trial.epochs() as f64)
/// }
///
/// let results = Search::new(3).choice("lr", &[0.5]).grid(train)?;
/// assert_eq!(results.best()?.score(), 1.5);
/// # Ok::<(), Error>(())
/// ```
pub struct Trial {
    pub(super) run: Erased<Run>,
}

/// The contents of a trial.
pub(super) struct Run {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) setting: Vec<(String, Value)>,
    /// The epochs of the current run, or of the last complete run; 0 before the first.
    pub(super) epochs: usize,
    /// NaN without a complete run.
    pub(super) score: f64,
    pub(super) error: Option<String>,
    /// The file from which [`Trial::trainer`] continues.
    pub(super) checkpoint: Option<PathBuf>,
}

impl Trial {
    pub(super) fn new(
        number: usize,
        names: &[String],
        setting: Vec<Value>,
        checkpoint: Option<PathBuf>,
    ) -> Self {
        let setting = names.iter().cloned().zip(setting).collect();
        let run = Erased::new(Run {
            number,
            setting,
            epochs: 0,
            score: f64::NAN,
            error: None,
            checkpoint,
        });
        Self { run }
    }

    /// Returns the value of a hyperparameter; of one with names, the position of the name.
    ///
    /// # Panics
    /// If there is no hyperparameter of this name.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(1).choice("lr", &[0.5]);
    /// let results = search.grid(|trial| Ok(trial.value("learning_rate")))?;
    /// assert_eq!(results.trials()[0].error(), Some("there is no hyperparameter named \"learning_rate\"\nChoose one of: lr"));
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn value(&self, name: &str) -> f64 {
        self.run.number_of(name).or_raise()
    }

    /// Returns the value of a hyperparameter that counts something, such as hidden units.
    ///
    /// # Panics
    /// If there is no hyperparameter of this name, or its value is negative or not an integer.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(1).choice("hidden", &[16]);
    /// let results = search.grid(|trial| Ok(Linear::new(trial.count("hidden"), 1).num_parameters() as f64))?;
    /// assert_eq!(results.best()?.score(), 17.0);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn count(&self, name: &str) -> usize {
        self.run.count_of(name).or_raise()
    }

    /// Returns the name that a hyperparameter has.
    ///
    /// # Panics
    /// If there is no hyperparameter of this name, or its values are not [names](super::Search::names).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(1).names("activation", &["relu", "tanh"]);
    /// let results = search.grid(|trial| {
    ///     let net = match trial.name("activation") {
    ///         "relu" => seq![ReLU],
    ///         _ => seq![Tanh],
    ///     };
    ///     Ok(net.forward(&full(1, 2.0)).item())
    /// })?;
    /// assert_eq!(results.best()?.name("activation"), "tanh");
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn name(&self, name: &str) -> &str {
        self.run.name_of(name).or_raise()
    }

    /// Returns the number of epochs to train in all rounds until now, including this one; after the search, those of the
    /// last round.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(2).choice("lr", &[0.5]);
    /// assert_eq!(search.grid(|trial| Ok(trial.epochs() as f64))?.best()?.score(), 2.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn epochs(&self) -> usize {
        self.run.epochs
    }

    /// Returns the score; NaN if the trial failed, or has none yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let results = Search::new(1).choice("x", &[3]).grid(|trial| Ok(trial.score()))?;
    /// assert!(results.trials()[0].score().is_nan());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn score(&self) -> f64 {
        self.run.score
    }

    /// Returns the error with which the trial failed.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(1).choice("hidden", &[0, 8]);
    /// let results = search.grid(|trial| Ok(Linear::new(4, trial.count("hidden")).num_parameters() as f64))?;
    /// let errors: Vec<bool> = results.trials().iter().map(|trial| trial.error().is_some()).collect();
    /// assert_eq!(errors, [false, true]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn error(&self) -> Option<&str> {
        self.run.error.as_deref()
    }

    /// Returns a trainer for the epochs of this trial, without a board of its own. In
    /// [`Search::halving`](super::Search::halving), it continues the training of the round before, with the same result as
    /// a training without a break: from a checkpoint of the model, the optimiser and the random generator.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(2).choice("lr", &[0.1]);
    /// let results = search.grid(|trial| {
    ///     let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], trial.value("lr"));
    ///     let history = trial.trainer().fit(&mut model, &Digits::new())?;
    ///     Ok(history.epochs.len() as f64)
    /// })?;
    /// assert_eq!(results.best()?.score(), 2.0);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline(never)]
    pub fn trainer(&self) -> Trainer {
        let mut trainer = Trainer::new(self.run.epochs);
        trainer.has_board = false;
        let Some(path) = &self.run.checkpoint else {
            return trainer;
        };
        let saved = path.exists();
        trainer = trainer.callback(Checkpoint::new(path).every(self.run.epochs));
        match saved {
            true => trainer.resume_from(path),
            false => trainer,
        }
    }
}

impl Run {
    /// Returns whether the trial has a score.
    pub(super) fn is_usable(&self) -> bool {
        !self.score.is_nan()
    }

    fn find(&self, name: &str) -> Result<&Value> {
        let found = self.setting.iter().find(|(known, _)| known == name);
        let known = self.setting.iter().map(|(known, _)| known);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| error::name("hyperparameter", name, known))
    }

    fn number_of(&self, name: &str) -> Result<f64> {
        self.find(name).map(|value| value.number)
    }

    fn count_of(&self, name: &str) -> Result<usize> {
        let number = self.find(name)?.number;
        refuse!(if !(number >= 0.0 && number.fract() == 0.0); argument("Trial::count", number);
            "an integer of at least 0 for {name:?}",
            "Use .value(…) for it, or a list of integers in the search");
        Ok(number as usize)
    }

    fn name_of(&self, name: &str) -> Result<&str> {
        let value = self.find(name)?;
        value.name.as_deref().ok_or_else(|| {
            problem!(argument("Trial::name", value.number);
                "names for {name:?}", "Use .value(…) for it, or .names(…) in the search")
        })
    }
}
