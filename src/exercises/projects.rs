//! The projects: predictions for inputs whose targets are sealed.

use super::judge::fnv;
use crate::error::{self, Result, refuse};
use crate::tensor::Tensor;
use candle_core::{DType, Device};
use std::fmt::{self, Display, Formatter};

/// How far the probabilities of a row may be from a sum of 1.
const ROUNDING: f64 = 1e-3;

struct Project {
    name: &'static str,
    metric: Metric,
    /// The score of a simple prediction, which the chapter computes.
    baseline: f64,
    goal: f64,
    /// The targets as `tests/exercises/seal.py` writes them.
    sealed: &'static [u8],
}

#[derive(Clone, Copy, PartialEq)]
enum Metric {
    /// The mean error in percent of the target; the targets are positive.
    RelativeError,
    /// The share of right classes in percent, of this many classes.
    Accuracy(u16),
    /// Minus the mean binary logarithm of the probability of the right class, of this many classes.
    Bits(u16),
}

macro_rules! sealed {
    ($name:literal) => {
        include_bytes!(concat!("sealed/", $name, ".bin"))
    };
}

static PROJECTS: [Project; 3] = [
    Project {
        name: "diamonds",
        metric: Metric::RelativeError,
        baseline: 39.8,
        goal: 9.5,
        sealed: sealed!("diamonds"),
    },
    Project {
        name: "askew-digits",
        metric: Metric::Accuracy(10),
        baseline: 28.8,
        goal: 90.0,
        sealed: sealed!("askew-digits"),
    },
    Project {
        name: "looking-glass",
        metric: Metric::Bits(65),
        baseline: 4.55,
        goal: 2.2,
        sealed: sealed!("looking-glass"),
    },
];

/// Scores predictions for the test set of a project, whose targets are sealed, and prints the score, the baseline and the
/// score to reach.
///
/// The targets are enciphered, and nothing else opens them: they cannot be read by accident. The inputs are in files beside the
/// chapters of the projects.
///
/// | project | predictions | score |
/// |---|---|---|
/// | `diamonds` | prices, `(1000,)` | mean error in percent of the price |
/// | `askew-digits` | digits, `(1000,)` | share of right digits in percent |
/// | `looking-glass` | a probability for each character, `(2000, 65)` | bits per character |
///
/// # Errors
/// If there is no project of this name, or if the predictions have another shape, are not finite, not a class, or no
/// probabilities.
///
/// ```
/// use taper::prelude::*;
///
/// let always_one = ones(1000);
/// score("askew-digits", &always_one)?; // askew-digits: 10.0 % right, larger is better
///
/// let error = score("askew-digits", &ones(10)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "score: expected predictions of shape [1000], one for each input, found shape [10]\n\
///      Predict all inputs of askew-digits, in their order"
/// );
/// # Ok::<(), Error>(())
/// ```
pub fn score(project: &str, predictions: &Tensor) -> Result<()> {
    let Some(known) = PROJECTS.iter().find(|known| known.name == project) else {
        return Err(error::name(
            "project",
            project,
            PROJECTS.iter().map(|known| known.name),
        ));
    };
    println!("{}", known.score(predictions)?);
    Ok(())
}

impl Project {
    fn score(&self, predictions: &Tensor) -> Result<Standing<'_>> {
        let targets = self.targets();
        let expected = match self.metric {
            Metric::Bits(classes) => vec![targets.len(), classes.into()],
            _ => vec![targets.len()],
        };
        let name = self.name;
        refuse!(if predictions.dims() != expected; shape("score", predictions.dims());
            "predictions of shape {expected:?}, one for each input", "Predict all inputs of {name}, in their order");
        let values = predictions.to_device(&Device::Cpu).to_dtype(DType::F64);
        let rows: Vec<f64> = values.to_vec();
        let rows: Vec<&[f64]> = rows.chunks(rows.len() / targets.len()).collect();
        for (i, row) in rows.iter().enumerate() {
            self.metric.check(i, row)?;
        }
        let each = rows.iter().zip(&targets);
        let sum: f64 = each.map(|(row, &target)| self.metric.of(row, target)).sum();
        let score = sum / targets.len() as f64;
        refuse!(if score.is_infinite(); "score: a character that follows has the probability 0, which costs infinitely many bits";
            "Give each character a probability above 0: mix a small share of equal probabilities into all of them");
        Ok(Standing {
            project: self,
            score,
        })
    }

    fn targets(&self) -> Vec<u16> {
        let key = |i: usize| fnv(&format!("{}/{i}", self.name)) as u16;
        let pairs = self.sealed.chunks_exact(2).enumerate();
        pairs
            .map(|(i, pair)| u16::from_le_bytes([pair[0], pair[1]]) ^ key(i))
            .collect()
    }
}

impl Metric {
    /// Returns an error if a prediction is not of the kind that is scored.
    fn check(self, i: usize, row: &[f64]) -> Result<()> {
        if let Some(value) = row.iter().find(|value| !value.is_finite()) {
            refuse!(argument("score", format_args!("{value} for input {i}"));
                "finite predictions", "Look for the first NaN: a rate that is too large, a logarithm of 0, or a division by 0");
        }
        match self {
            Metric::RelativeError => {}
            Metric::Accuracy(classes) => {
                let is_class = row[0].fract() == 0.0 && (0.0..classes.into()).contains(&row[0]);
                refuse!(if !is_class; argument("score", format_args!("{} for input {i}", row[0]));
                    ("classes from 0 to {}", classes - 1), "Pass the index of the largest logit, as `argmax(1)` returns it");
            }
            Metric::Bits(_) => {
                let sum: f64 = row.iter().sum();
                let is_distribution =
                    row.iter().all(|&p| p >= 0.0) && (sum - 1.0).abs() <= ROUNDING;
                refuse!(if !is_distribution; argument("score", format_args!("a sum of {sum:.4} for input {i}"));
                    "probabilities that are not negative and add up to 1", "Pass probabilities, not logits: `softmax(1)`");
            }
        }
        Ok(())
    }

    /// Returns what one prediction adds to the mean.
    fn of(self, row: &[f64], target: u16) -> f64 {
        match self {
            Metric::RelativeError => 100.0 * (row[0] / f64::from(target) - 1.0).abs(),
            Metric::Accuracy(_) => 100.0 * f64::from(row[0] == f64::from(target)),
            Metric::Bits(_) => -row[usize::from(target)].log2(),
        }
    }
}

/// Where a student stands.
struct Standing<'a> {
    project: &'a Project,
    score: f64,
}

impl Display for Standing<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let project = self.project;
        let (unit, digits, what) = match project.metric {
            Metric::RelativeError => ("%", 1, "mean error, smaller is better"),
            Metric::Accuracy(_) => ("%", 1, "right, larger is better"),
            Metric::Bits(_) => ("bits", 3, "per character, smaller is better"),
        };
        // As it is shown, so that a baseline is reached by its own score.
        let scale = 10f64.powi(digits as i32);
        let score = (self.score * scale).round() / scale;
        write!(f, "{}: {score:.digits$} {unit} {what}", project.name)?;
        for (label, limit) in [("baseline", project.baseline), ("to reach", project.goal)] {
            let missing = match project.metric {
                Metric::Accuracy(_) => limit - score,
                _ => score - limit,
            };
            write!(f, "\n  {label} {limit:.digits$} {unit}: ")?;
            match missing <= 0.0 {
                true => write!(f, "reached")?,
                false => write!(f, "{missing:.digits$} missing")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{full, ones, tensor};

    fn project(name: &str) -> &'static Project {
        let found = PROJECTS.iter().find(|project| project.name == name);
        found.expect("it exists")
    }

    fn targets(name: &str) -> Vec<f64> {
        project(name).targets().into_iter().map(f64::from).collect()
    }

    fn standing(name: &str, predictions: &Tensor) -> String {
        let standing = project(name).score(predictions);
        standing.expect("a score").to_string()
    }

    fn refused(name: &str, predictions: &Tensor) -> String {
        score(name, predictions)
            .expect_err("an error")
            .to_string()
            .replace('\n', " | ")
    }

    #[test]
    fn the_seals_open() {
        let prices = targets("diamonds");
        assert_eq!(prices.len(), 1000);
        assert!(prices.iter().all(|price| (326.0..=18823.0).contains(price)));
        let digits = targets("askew-digits");
        for digit in 0..10 {
            let count = digits.iter().filter(|&&each| each == f64::from(digit));
            assert_eq!(count.count(), 100);
        }
        let tokenizer = crate::data::CharTokenizer::new(crate::data::ALICE);
        let characters: Vec<u32> = project("looking-glass")
            .targets()
            .into_iter()
            .map(u32::from)
            .collect();
        let text = tokenizer.decode(&characters).expect("characters of ALICE");
        let spaces = text.matches(' ').count();
        assert_eq!(text.len(), 2000);
        assert!((300..450).contains(&spaces), "{spaces}");
    }

    #[test]
    fn right_predictions_have_the_best_score() {
        let prices = tensor(targets("diamonds"));
        assert_eq!(
            standing("diamonds", &prices).lines().next(),
            Some("diamonds: 0.0 % mean error, smaller is better")
        );
        let (above, below) = (&prices * 1.2, &prices * 0.8);
        for askew in [above, below] {
            assert!(standing("diamonds", &askew).starts_with("diamonds: 20.0 % "));
        }
        let digits = tensor(targets("askew-digits"));
        assert_eq!(
            standing("askew-digits", &digits),
            "askew-digits: 100.0 % right, larger is better\n  baseline 28.8 %: reached\n  to reach 90.0 %: reached"
        );
    }

    #[test]
    fn constant_predictions_miss_the_baseline() {
        assert_eq!(
            standing("askew-digits", &ones(1000)),
            "askew-digits: 10.0 % right, larger is better\n  baseline 28.8 %: 18.8 missing\n  to reach 90.0 %: 80.0 missing"
        );
        let uniform = full((2000, 65), 1.0 / 65.0);
        let first = standing("looking-glass", &uniform);
        assert!(
            first.starts_with("looking-glass: 6.022 bits per character"),
            "{first}"
        );
    }

    #[test]
    fn a_mistake_is_explained() {
        let mut probabilities = vec![1.0 / 65.0; 2000 * 65];
        probabilities[65] += 0.5;
        let too_much = tensor(probabilities.clone()).reshape((2000, 65));
        probabilities.fill(0.0);
        (0..2000).for_each(|row| probabilities[row * 65] = 1.0);
        let certain = tensor(probabilities).reshape((2000, 65));
        for (name, predictions, expected) in [
            (
                "rubies",
                ones(1000),
                "there is no project named \"rubies\" | Choose one of: diamonds, askew-digits, looking-glass",
            ),
            (
                "looking-glass",
                ones(2000),
                "score: expected predictions of shape [2000, 65], one for each input, found shape [2000] | Predict all inputs of looking-glass, in their order",
            ),
            (
                "diamonds",
                full(1000, f64::NAN),
                "score: expected finite predictions, found NaN for input 0 | Look for the first NaN: a rate that is too large, a logarithm of 0, or a division by 0",
            ),
            (
                "askew-digits",
                full(1000, 10.0),
                "score: expected classes from 0 to 9, found 10 for input 0 | Pass the index of the largest logit, as `argmax(1)` returns it",
            ),
            (
                "looking-glass",
                too_much,
                "score: expected probabilities that are not negative and add up to 1, found a sum of 1.5000 for input 1 | Pass probabilities, not logits: `softmax(1)`",
            ),
            (
                "looking-glass",
                certain,
                "score: a character that follows has the probability 0, which costs infinitely many bits | Give each character a probability above 0: mix a small share of equal probabilities into all of them",
            ),
        ] {
            assert_eq!(refused(name, &predictions), expected);
        }
    }
}
