//! The search for hyperparameters: a grid, random settings, successive halving.

mod results;
mod space;
#[cfg(test)]
mod tests;
mod trial;

pub use results::SearchResults;
pub use trial::Trial;

use crate::erased::Erased;
use crate::error::{self, Error, Problem, Result, attempt, refuse};
use crate::notebook::{check_interrupt, progress};
use crate::plot::{ProgressBoard, Values};
use crate::tensor::with_seed;
use space::{Choices, Hyperparameter, Value};
use std::cmp::Ordering;
use std::time::SystemTime;
use trial::Run;

/// The most trials of a search.
const MOST: usize = 100_000;

/// Trains with many settings of hyperparameters, and returns them in the order of their scores.
///
/// A function takes a [`Trial`], trains with its setting, and returns a score, such as a validation loss; a
/// lower one is better unless [`maximize`](Self::maximize) is set. Each trial begins with the same
/// [`seed`](Self::seed), so that the search has the same result in each run. A trial that returns an error, or panics with
/// an error of Taper, is a row of the results; the others go on. If the user interrupts the cell, the results are
/// those of the trials that were complete.
///
/// A board below the cell shows the score of each trial as soon as it is known.
///
/// ```
/// use taper::prelude::*;
///
/// let results = Search::new(4) // epochs
///     .log_uniform("lr", 0.001, 1.0)
///     .choice("hidden", &[8, 16])
///     .halving(4, 2, |trial| {
///         let net = seq![Flatten, LazyLinear::new(trial.count("hidden")), ReLU, LazyLinear::new(10)];
///         let mut model = Classifier::new(net, trial.value("lr"));
///         let history = trial.trainer().fit(&mut model, &Digits::new())?;
///         Ok(history.last("val_loss").unwrap())
///     })?;
/// let epochs: Vec<usize> = results.trials().iter().map(Trial::epochs).collect();
/// assert_eq!(epochs, [4, 2, 1, 1]); // half of them go on with twice the epochs
/// assert!(results.best()?.value("lr") > 0.001);
/// # Ok::<(), Error>(())
/// ```
pub struct Search {
    state: Erased<State>,
}

struct State {
    max_epochs: usize,
    space: Vec<Hyperparameter>,
    seed: u64,
    maximize: bool,
}

impl Search {
    /// Creates a search in which no trial trains longer than this many epochs.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(10).choice("lr", &[0.01, 0.1]);
    /// let results = search.grid(|trial| Ok(trial.epochs() as f64 * trial.value("lr")))?;
    /// assert_eq!(results.best()?.score(), 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline(never)]
    pub fn new(max_epochs: usize) -> Self {
        let state = Erased::new(State {
            max_epochs,
            space: vec![],
            seed: 0,
            maximize: false,
        });
        Self { state }
    }

    setters! {
        /// Adds a hyperparameter with a list of values: an array, a range or a tensor.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let search = Search::new(1).choice("layers", &(1..4)).choice("dropout", &[0.0, 0.5]);
        /// let results = search.grid(|trial| Ok(trial.value("layers") + trial.value("dropout")))?;
        /// assert_eq!(results.trials().len(), 6);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn choice(self, name: &str, values: &dyn Values): self.state.add(name, Choices::numbers(values));

        /// Adds a hyperparameter with a list of names, such as those of optimisers.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let search = Search::new(1).names("optimizer", &["sgd", "adam"]);
        /// let results = search.grid(|trial| Ok(f64::from(trial.name("optimizer") == "sgd")))?;
        /// assert_eq!(results.best()?.name("optimizer"), "adam");
        /// # Ok::<(), Error>(())
        /// ```
        pub fn names(self, name: &str, names: &[&str]): self.state.add(name, Choices::names(names));

        /// Adds a hyperparameter whose values are drawn between `low` and `high`, with equal probability.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let search = Search::new(1).uniform("dropout", 0.2, 0.5);
        /// let results = search.random(8, |trial| Ok(trial.value("dropout")))?;
        /// assert!((0.2..0.5).contains(&results.best()?.score()));
        /// # Ok::<(), Error>(())
        /// ```
        pub fn uniform(self, name: &str, low: f64, high: f64): self.state.add(name, Choices::Uniform(low, high));

        /// Adds a hyperparameter whose values are drawn between `low` and `high` so that their logarithms have equal
        /// probability: between 0.001 and 0.01 lie as many as between 0.01 and 0.1. For learning rates.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let search = Search::new(1).log_uniform("lr", 0.001, 1.0);
        /// let results = search.random(8, |trial| Ok(trial.value("lr")))?;
        /// assert!(results.best()?.score() < 0.1);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn log_uniform(self, name: &str, low: f64, high: f64): self.state.add(name, Choices::LogUniform(low, high));

        /// Sets the seed with which settings are drawn and each trial begins; 0 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let best = |seed| -> Result<f64> {
        ///     let search = Search::new(1).seed(seed).uniform("lr", 0.0, 1.0);
        ///     Ok(search.random(3, |trial| Ok(trial.value("lr")))?.best()?.score())
        /// };
        /// assert_eq!(best(1)?, best(1)?);
        /// assert_ne!(best(1)?, best(2)?);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn seed(self, seed: u64): self.state.seed = seed;

        /// Makes a higher score the better one, as for an accuracy.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let search = Search::new(1).choice("lr", &[0.1, 0.3, 0.2]).maximize();
        /// assert_eq!(search.grid(|trial| Ok(trial.value("lr")))?.best()?.score(), 0.3);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn maximize(self): self.state.maximize = true;
    }

    /// Runs a trial for each combination of the values; all hyperparameters need a list.
    ///
    /// # Errors
    /// If a hyperparameter has a range or nothing to choose from, there are too many combinations, or the user interrupts
    /// the first trial.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(1).choice("x", &[1, 2]).choice("y", &[3, 4]);
    /// let results = search.grid(|trial| Ok(trial.value("x") * trial.value("y")))?;
    /// assert_eq!(
    ///     results.show_text(),
    ///     "trial  x  y  epochs   score\n    1  1  3       1  3.0000\n    2  1  4       1  4.0000\n    \
    ///      3  2  3       1  6.0000\n    4  2  4       1  8.0000"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn grid(&self, run: impl FnMut(&Trial) -> Result<f64>) -> Result<SearchResults> {
        let mut run = run;
        self.state.grid(&mut run)
    }

    /// Runs this many trials with settings that are drawn at random.
    ///
    /// # Errors
    /// If a range or a list has nothing to choose from, there are no trials, or the user interrupts the first one.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(1).uniform("x", -1.0, 1.0);
    /// let results = search.random(20, |trial| Ok(trial.value("x").powi(2)))?;
    /// assert!(results.best()?.value("x").abs() < 0.3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn random(
        &self,
        trials: usize,
        run: impl FnMut(&Trial) -> Result<f64>,
    ) -> Result<SearchResults> {
        let mut run = run;
        self.state.random(trials, &mut run)
    }

    /// Runs this many random trials for a few epochs, then the best of them for `factor` times as many, until the last
    /// round has all epochs: successive halving (Jamieson and Talwalkar, 2016). From round to round, one trial of
    /// `factor` is kept.
    ///
    /// The function is called once for each round of a trial. With [`Trial::trainer`], it continues where the round
    /// before ended.
    ///
    /// # Errors
    /// As for [`random`](Self::random), and if `factor` is below 2.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(9).uniform("x", -1.0, 1.0);
    /// let mut epochs = 0;
    /// let results = search.halving(9, 3, |trial| {
    ///     epochs += trial.epochs();
    ///     Ok(trial.value("x").powi(2))
    /// })?;
    /// assert_eq!(epochs, 9 * 1 + 3 * 3 + 1 * 9); // a third of random(9, …)
    /// assert_eq!(results.best()?.epochs(), 9);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn halving(
        &self,
        trials: usize,
        factor: usize,
        run: impl FnMut(&Trial) -> Result<f64>,
    ) -> Result<SearchResults> {
        let mut run = run;
        self.state.halving(trials, factor, &mut run)
    }
}

/// The user's function.
type Function<'a> = &'a mut dyn FnMut(&Trial) -> Result<f64>;

impl State {
    fn add(&mut self, name: &str, choices: Choices) {
        let name = name.to_owned();
        self.space.push(Hyperparameter { name, choices });
    }

    fn grid(&self, run: Function<'_>) -> Result<SearchResults> {
        space::check(&self.space)?;
        let lists = self.space.iter().map(Hyperparameter::list);
        let lists: Vec<&[Value]> = lists.collect::<Result<_>>()?;
        let count =
            { lists.iter() }.try_fold(1, |count: usize, list| count.checked_mul(list.len()));
        self.check_count(count.unwrap_or(usize::MAX))?;
        let settings = (0..count.unwrap_or_default()).map(|i| space::combination(&lists, i));
        self.rounds(settings.collect(), &[self.max_epochs], 2, run)
    }

    fn random(&self, trials: usize, run: Function<'_>) -> Result<SearchResults> {
        self.rounds(self.drawn(trials)?, &[self.max_epochs], 2, run)
    }

    fn halving(&self, trials: usize, factor: usize, run: Function<'_>) -> Result<SearchResults> {
        let settings = self.drawn(trials)?;
        refuse!(if factor < 2; argument("Search::halving", factor);
            "a factor of at least 2", "Pass 2 or 3");
        let last = { trials.ilog(factor) }.min(self.max_epochs.ilog(factor));
        let epochs = (0..=last)
            .rev()
            .map(|left| self.max_epochs / factor.pow(left));
        self.rounds(settings, &Vec::from_iter(epochs), factor, run)
    }

    fn drawn(&self, trials: usize) -> Result<Vec<Vec<Value>>> {
        space::check(&self.space)?;
        self.check_count(trials)?;
        let setting = |_| self.space.iter().map(|it| it.choices.draw()).collect();
        Ok(with_seed(self.seed, || (0..trials).map(setting).collect()))
    }

    fn check_count(&self, trials: usize) -> Result<()> {
        let (expected, found, advice) = match (self.max_epochs, trials) {
            (0, _) => ("at least 1 epoch".to_owned(), 0, "Use Search::new(10)"),
            (_, 1..=MOST) => return Ok(()),
            _ => (
                format!("1 to {MOST} trials"),
                trials,
                "Choose some of them with .random(20, …)",
            ),
        };
        refuse!(argument("Search", found); expected, advice)
    }

    /// Runs trials for the epochs of each round, and keeps one of `factor` for the next.
    fn rounds(
        &self,
        settings: Vec<Vec<Value>>,
        rounds: &[usize],
        factor: usize,
        run: Function<'_>,
    ) -> Result<SearchResults> {
        let folder = (rounds.len() > 1).then(Folder::new).transpose()?;
        let names: Vec<String> = self.space.iter().map(|it| it.name.clone()).collect();
        let new = |(i, setting)| {
            let checkpoint = folder.as_ref().map(|it| it.0.join(format!("{}", i + 1)));
            Trial::new(i + 1, &names, setting, checkpoint)
        };
        let mut trials: Vec<Trial> = settings.into_iter().enumerate().map(new).collect();
        let board = ProgressBoard::new().xlabel("trial").ylabel("score");
        let (mut kept, mut interrupt) = (trials.len(), None);
        'rounds: for &epochs in rounds {
            let label = match epochs {
                1 => "1 epoch".to_owned(),
                _ => format!("{epochs} epochs"),
            };
            for trial in progress(&mut trials[..kept]).description(&label) {
                if let Err(error) = self.trial(trial, epochs, run) {
                    interrupt = Some(error);
                    break 'rounds;
                }
                board.draw(trial.run.number, trial.score(), &label, 1);
            }
            trials[..kept].sort_by(|a, b| self.order(&a.run, &b.run));
            let usable = trials[..kept].iter().filter(|it| it.run.is_usable());
            kept = (kept / factor).max(1).min(usable.count());
            if kept == 0 {
                break;
            }
        }
        trials.retain(|trial| trial.run.epochs > 0);
        trials.sort_by(|a, b| self.order(&a.run, &b.run));
        match interrupt {
            Some(error) if trials.is_empty() => Err(error),
            interrupt => Ok(SearchResults::new(names, trials, interrupt.is_some())),
        }
    }

    /// Runs a trial. Returns an error only if the user interrupts it; the trial is then as before.
    fn trial(&self, trial: &mut Trial, epochs: usize, run: Function<'_>) -> Result<()> {
        check_interrupt()?;
        let before = std::mem::replace(&mut trial.run.epochs, epochs);
        let score = attempt(|| with_seed(self.seed, || run(trial))).and_then(|score| score);
        let is_interrupt =
            |error: &Error| error::of(error).is_some_and(|it| it.problem == Problem::Interrupted);
        match score {
            Ok(score) => trial.run.score = score,
            Err(error) if is_interrupt(&error) => {
                trial.run.epochs = before;
                return Err(error);
            }
            Err(error) => {
                trial.run.score = f64::NAN;
                trial.run.error = Some(error.to_string());
            }
        }
        Ok(())
    }

    /// Compares two trials: what failed comes last, then what has no score; more epochs come first, then the better score.
    fn order(&self, a: &Run, b: &Run) -> Ordering {
        let failure = |it: &Run| (it.error.is_some(), it.score.is_nan());
        let cost = |it: &Run| if self.maximize { -it.score } else { it.score };
        { failure(a).cmp(&failure(b)) }
            .then(b.epochs.cmp(&a.epochs))
            .then(cost(a).total_cmp(&cost(b)))
            .then(a.number.cmp(&b.number))
    }
}

/// A temporary folder for the checkpoints of trials, which is deleted at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let name = format!("taper-search-{}-{}", std::process::id(), time.as_nanos());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in a folder that the system empties.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
