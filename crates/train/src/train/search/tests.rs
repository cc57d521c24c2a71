use super::*;
use crate::data::Digits;
use crate::error::Error;
use crate::nn::{Dropout, Flatten, LazyLinear, ReLU};
use crate::notebook::Show;
use crate::optim::Adam;
use crate::seq;
use crate::tensor::{rand, zeros};
use crate::train::{Classifier, Trainer};

fn lr() -> Search {
    Search::new(4).log_uniform("lr", 1e-3, 1.0)
}

fn numbers(results: &SearchResults) -> Vec<usize> {
    results.trials().iter().map(|it| it.run.number).collect()
}

#[test]
fn a_search_is_the_same_in_each_run() -> Result<()> {
    let score = |trial: &Trial| Ok(trial.value("lr") + rand(()).item());
    let rows = |seed| Ok::<_, Error>(lr().seed(seed).random(9, score)?.show_text());
    rand(3); // of another generator
    assert_eq!(rows(1)?, rows(1)?);
    assert_ne!(rows(1)?, rows(2)?);
    let results = lr().random(50, |trial| Ok(trial.value("lr")))?;
    let small = results.trials().iter().filter(|it| it.score() < 0.1);
    assert!((20..47).contains(&small.count()), "two of three decades");
    assert!(
        results
            .trials()
            .iter()
            .all(|it| (1e-3..1.0).contains(&it.score()))
    );
    Ok(())
}

#[test]
fn halving_trains_few_for_long() -> Result<()> {
    for (max_epochs, trials, factor, expected) in [
        (8, 8, 2, vec![(1, 8), (2, 4), (4, 2), (8, 1)]),
        (27, 10, 3, vec![(3, 10), (9, 3), (27, 1)]),
        (4, 20, 2, vec![(1, 20), (2, 10), (4, 5)]),
        (5, 1, 2, vec![(5, 1)]),
        (1, 6, 2, vec![(1, 6)]),
    ] {
        let mut runs = std::collections::BTreeMap::new();
        let search = Search::new(max_epochs).uniform("x", 0.0, 1.0);
        let results = search.halving(trials, factor, |trial| {
            *runs.entry(trial.epochs()).or_insert(0) += 1;
            Ok(trial.value("x"))
        })?;
        assert_eq!(Vec::from_iter(runs), expected);
        assert_eq!(results.trials().len(), trials);
        let x: Vec<f64> = results.trials().iter().map(|it| it.value("x")).collect();
        assert!(x.is_sorted(), "the best go on: {results:?}");
    }
    Ok(())
}

/// Dropout and Adam: their states, and the random generator's, are in the checkpoint.
fn train(trial: &Trial, trainer: Trainer) -> Result<f64> {
    let net = seq![
        Flatten,
        LazyLinear::new(16),
        ReLU,
        Dropout::new(0.2),
        LazyLinear::new(10)
    ];
    let mut model = Classifier::new(net, trial.value("lr")).optimizer(Adam::new);
    let mut trainer = trainer;
    let history = trainer.fit(&mut model, &Digits::new())?;
    assert_eq!(history.epochs.len(), trial.epochs());
    assert!(trainer.board().show_text().contains("no points"));
    Ok(history.last("val_loss").unwrap())
}

#[test]
fn a_trial_that_goes_on_ends_as_one_without_a_break() -> Result<()> {
    let mut folder = None;
    let halved = lr().halving(2, 2, |trial| {
        let path = trial.run.checkpoint.clone().unwrap();
        assert_eq!(path.exists(), trial.epochs() == 4);
        folder = path.parent().map(ToOwned::to_owned);
        train(trial, trial.trainer())
    })?;
    assert!(!folder.unwrap().exists());
    let whole = lr().random(2, |trial| train(trial, trial.trainer()))?;
    let best = halved.best()?;
    let same = whole
        .trials()
        .iter()
        .find(|it| it.run.number == best.run.number);
    assert_eq!(same.map(Trial::score), Some(best.score()));
    Ok(())
}

#[test]
fn a_failed_trial_is_a_row() -> Result<()> {
    let search = Search::new(2).choice("x", &(0..5));
    let run = |trial: &Trial| match trial.count("x") {
        0 => Ok(f64::NAN),
        1 => Err(Error::msg("the data are gone")),
        2 => Ok((zeros(2) + zeros(3)).sum_all().item()),
        _ => Ok(trial.value("x")),
    };
    let results = search.grid(run)?;
    assert_eq!(numbers(&results), [4, 5, 1, 2, 3]);
    let text = results.show_text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "trial  x  epochs   score  error");
    assert_eq!(lines[3], "    1  0       2     NaN");
    assert_eq!(lines[4], "    2  1       2     NaN  the data are gone");
    assert!(lines[5].contains("  +: "), "{text}");
    assert_eq!(
        results.plot("x")?.show_text(),
        "score over x\nseries 1: 4 at 4 (2 points)"
    );
    let halved = Search::new(4).choice("x", &[1]).halving(4, 2, run)?;
    assert!(
        halved.trials().iter().all(|it| it.epochs() == 1),
        "{halved:?}"
    );
    let error = halved.best().err().unwrap().to_string();
    assert!(
        error.contains("no trial has a score: the data are gone"),
        "{error}"
    );
    Ok(())
}

#[test]
fn equal_scores_keep_the_order_and_infinite_ones_are_scores() -> Result<()> {
    let scores = [
        1.0,
        f64::INFINITY,
        0.0,
        f64::NAN,
        1.0,
        f64::NEG_INFINITY,
        0.0,
    ];
    let search = Search::new(1).choice("x", &(0..7));
    let run = |trial: &Trial| Ok(scores[trial.count("x")]);
    assert_eq!(numbers(&search.grid(run)?), [6, 3, 7, 1, 5, 2, 4]);
    assert_eq!(
        numbers(&search.maximize().grid(run)?),
        [2, 1, 5, 3, 7, 6, 4]
    );
    Ok(())
}

#[test]
fn an_interrupt_keeps_the_trials_that_were_complete() -> Result<()> {
    let run = |stop: usize| {
        let mut runs = 0;
        lr().halving(4, 2, move |trial| {
            runs += 1;
            match runs == stop {
                true => Err(error::interrupted()),
                false => Ok(trial.run.number as f64),
            }
        })
    };
    let results = run(3)?;
    assert_eq!(numbers(&results), [1, 2]);
    assert!(
        results
            .show_text()
            .ends_with("\nThe search was interrupted before its end.")
    );
    let results = run(6)?; // the second trial of the second round
    let epochs: Vec<usize> = results.trials().iter().map(Trial::epochs).collect();
    assert_eq!(
        (numbers(&results), epochs),
        (vec![1, 2, 3, 4], vec![2, 1, 1, 1])
    );
    assert!(run(1).is_err(), "there is nothing to keep");
    Ok(())
}

#[test]
fn a_figure_over_a_wide_range_is_logarithmic() -> Result<()> {
    let results = lr().random(60, |trial| Ok(trial.value("lr")))?;
    assert!(results.plot("lr")?.svg().contains(">0.01</text>"));
    let error = results.plot("width").unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no hyperparameter named \"width\"\nChoose one of: lr"
    );
    Ok(())
}

#[test]
fn invalid_searches_are_refused() {
    let run = |_: &Trial| -> Result<f64> { unreachable!("no trial begins") };
    let new = || Search::new(2);
    let none: &[f64] = &[];
    for (results, expected) in [
        (new().random(3, run), "there are no hyperparameters"),
        (
            new().choice("x", &none).grid(run),
            "at least one value for \"x\", found none",
        ),
        (new().names("x", &[]).random(3, run), "at least one value"),
        (new().uniform("x", 1.0, 1.0).random(3, run), "found 1 to 1"),
        (
            new().uniform("x", f64::MIN, f64::MAX).random(3, run),
            "a range from a lower",
        ),
        (
            new().uniform("x", 0.0, f64::NAN).random(3, run),
            "found 0 to NaN",
        ),
        (
            new().log_uniform("x", 0.0, 1.0).random(3, run),
            "values above 0",
        ),
        (lr().grid(run), "a list of values for \"lr\", found a range"),
        (
            lr().log_uniform("lr", 0.1, 1.0).random(3, run),
            "\"lr\" twice",
        ),
        (lr().random(0, run), "expected 1 to 100000 trials, found 0"),
        (lr().random(usize::MAX, run), "1 to 100000 trials"),
        (lr().halving(4, 1, run), "a factor of at least 2, found 1"),
        (
            Search::new(0).choice("x", &[1]).grid(run),
            "at least 1 epoch",
        ),
    ] {
        let error = results.expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 2, "{error}");
    }
    let wide: Vec<usize> = (0..1000).collect();
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let large = names
        .iter()
        .fold(new(), |search, name| search.choice(name, &wide));
    assert!(large.grid(run).is_err(), "10^21 combinations");
}

#[test]
fn a_value_that_does_not_fit_is_explained() -> Result<()> {
    let search = Search::new(1).choice("x", &[0.5]).names("kind", &["a"]);
    let error = |run: fn(&Trial) -> f64| -> Result<String> {
        let results = search.grid(|trial| Ok(run(trial)))?;
        Ok(results.trials()[0].error().unwrap_or_default().to_owned())
    };
    assert!(
        error(|it| it.count("x") as f64)?.contains("an integer of at least 0 for \"x\", found 0.5")
    );
    assert!(error(|it| it.name("x").len() as f64)?.contains("names for \"x\", found 0.5"));
    assert_eq!(error(|it| it.value("kind"))?, "");
    Ok(())
}
