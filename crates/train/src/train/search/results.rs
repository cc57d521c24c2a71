//! The trials of a search, in the order of their scores.

use super::Trial;
use crate::erased::Erased;
use crate::error::{self, Result, problem};
use crate::notebook::{Table, debug_as_shown, show_as_table};
use crate::plot::{Figure, Scale, bar, scatter, short};
use crate::train::history::number;

/// The trials of a [`Search`](super::Search), the best first: a table, and figures.
///
/// Trials that trained for more epochs come first; those without a score are the last.
///
/// ```
/// use taper::prelude::*;
///
/// let search = Search::new(1).choice("x", &[3, -2, 1]);
/// let results = search.grid(|trial| Ok(trial.value("x").powi(2)))?;
/// assert_eq!(results.best()?.value("x"), 1.0);
/// assert!(results.show_text().starts_with("trial   x  epochs   score\n    3   1       1  1.0000\n"));
/// # Ok::<(), Error>(())
/// ```
pub struct SearchResults {
    found: Erased<Found>,
}

struct Found {
    names: Vec<String>,
    trials: Vec<Trial>,
    is_interrupted: bool,
}

impl SearchResults {
    pub(super) fn new(names: Vec<String>, trials: Vec<Trial>, is_interrupted: bool) -> Self {
        let found = Found {
            names,
            trials,
            is_interrupted,
        };
        Self {
            found: Erased::new(found),
        }
    }

    /// Returns the best trial.
    ///
    /// # Errors
    /// If no trial has a score.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let results = Search::new(1).choice("x", &[1, 2]).grid(|_| Err(Error::msg("no data")))?;
    /// assert!(results.best().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn best(&self) -> Result<&Trial> {
        let first = self.found.trials.first();
        first.filter(|trial| trial.run.is_usable()).ok_or_else(|| {
            let reason = first.and_then(Trial::error).unwrap_or("all scores are NaN");
            let reason = reason.lines().next().unwrap_or_default();
            problem!(state("SearchResults::best");
                "no trial has a score: {reason}",
                "Run the function of the search for one setting alone")
        })
    }

    /// Returns all trials, the best first.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let results = Search::new(1).choice("x", &[2, 1]).grid(|trial| Ok(trial.value("x")))?;
    /// let scores: Vec<f64> = results.trials().iter().map(Trial::score).collect();
    /// assert_eq!(scores, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn trials(&self) -> &[Trial] {
        &self.found.trials
    }

    /// Draws the score of each trial over a hyperparameter; the axis is logarithmic if the values span more than two powers
    /// of ten. For a hyperparameter with names, draws the best score of each.
    ///
    /// # Errors
    /// If there is no hyperparameter of this name.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let search = Search::new(1).choice("x", &[1, 2]).names("kind", &["a", "b"]);
    /// let results = search.grid(|trial| Ok(trial.value("x") + trial.value("kind")))?;
    /// assert_eq!(results.plot("x")?.show_text(), "score over x\nseries 1: 3 at 2 (4 points)");
    /// assert_eq!(results.plot("kind")?.show_text(), "score over kind\nseries 1: a 1, b 2");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn plot(&self, name: &str) -> Result<Figure> {
        let Some(column) = self.found.names.iter().position(|known| known == name) else {
            return Err(error::name("hyperparameter", name, &self.found.names));
        };
        let usable = self.found.trials.iter().filter(|it| it.run.is_usable());
        let (mut bars, mut x, mut y) = (Vec::<(&str, f64)>::new(), vec![], vec![]);
        for trial in usable {
            let value = &trial.run.setting[column].1;
            x.push(value.number);
            y.push(trial.score());
            if let Some(name) = &value.name
                && bars.iter().all(|(known, _)| known != name)
            {
                bars.push((name, trial.score()));
            }
        }
        let figure = match bars.is_empty() {
            true => scatter(&x, &[&y]),
            false => {
                let heights = Vec::from_iter(bars.iter().map(|bar| bar.1));
                bar(bars.iter().map(|bar| bar.0), &[&heights])
            }
        };
        let figure = figure.xlabel(name).ylabel("score");
        let low = x.iter().copied().fold(f64::INFINITY, f64::min);
        let high = x.iter().copied().fold(0.0, f64::max);
        Ok(match low > 0.0 && high / low > 100.0 {
            true => figure.xscale(Scale::Log),
            false => figure,
        })
    }

    fn table(&self) -> Table {
        let Found { names, trials, .. } = &*self.found;
        let has_errors = trials.iter().any(|trial| trial.error().is_some());
        let mut heads = vec!["trial"];
        heads.extend(names.iter().map(String::as_str));
        heads.extend(["epochs", "score"]);
        let right = 0..heads.len();
        heads.extend(has_errors.then_some("error"));
        let note = "The search was interrupted before its end.".to_owned();
        let note = self.found.is_interrupted.then_some(note);
        let mut table = Table::new(heads).right(right).note(note);
        for trial in trials {
            let mut row = vec![trial.run.number.to_string()];
            let values = trial.run.setting.iter().map(|(_, value)| value);
            row.extend(values.map(|it| it.name.clone().unwrap_or_else(|| short(it.number))));
            row.extend([trial.epochs().to_string(), number(trial.score())]);
            let error = trial.error().and_then(|text| text.lines().next());
            row.extend(has_errors.then(|| error.unwrap_or_default().to_owned()));
            table.push(row);
        }
        table
    }
}

show_as_table!(SearchResults);
debug_as_shown!(SearchResults);
