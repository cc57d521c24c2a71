//! Metrics of texts.

use crate::error::{OrRaise, Result, refuse};
use crate::ops::cross_entropy;
use crate::tensor::{Tensor, no_grad};
use std::collections::HashMap;

/// Returns the perplexity of predictions: the exponential of the mean cross-entropy. A model that chooses among `n` equally
/// likely tokens has the perplexity `n`.
///
/// # Shapes
/// Logits `(…, classes)`, and integers `(…)`.
///
/// # Panics
/// If the shapes do not fit, or a class is out of range.
///
/// ```
/// use taper::prelude::*;
///
/// let logits = zeros((2, 5, 8)); // (batch, steps, tokens)
/// assert!((perplexity(&logits, &zeros((2, 5)).to_dtype(DType::I64)) - 8.0).abs() < 1e-5);
/// ```
#[track_caller]
pub fn perplexity(logits: &Tensor, classes: &Tensor) -> f64 {
    let rows = logits.reshape(((), logits.dim(-1)));
    no_grad(|| cross_entropy(&rows, &classes.flatten_all()))
        .item()
        .exp()
}

/// Returns the BLEU score of texts, each with one or more references: how many of its n-grams, sequences of 1 to `n` words,
/// occur in a reference, and less for texts that are shorter than the references. From Papineni et al., 2002, over the whole
/// corpus, without smoothing; words are separated by white space.
///
/// # Panics
/// If there is not a list of references for each text, or `n` is 0.
///
/// ```
/// use taper::prelude::*;
///
/// let score = bleu(&["the cat sat here"], &[&["the cat sat down", "a cat sat here"]], 2);
/// assert!((score - (1.0f64 * 1.0).sqrt()).abs() < 1e-12);
/// ```
#[track_caller]
pub fn bleu(texts: &[&str], references: &[&[&str]], n: usize) -> f64 {
    score(texts, references, n).or_raise()
}

fn score(texts: &[&str], references: &[&[&str]], n: usize) -> Result<f64> {
    let is_referenced = |own: &&[&str]| !own.is_empty();
    refuse!(if texts.len() != references.len() || !references.iter().all(is_referenced) || n == 0;
        argument("bleu", format_args!("{} texts, {} lists of references, n = {n}", texts.len(), references.len()));
        "one or more references for each text, and n-grams of at least one word",
        "Pass the references of each text: &[&[\"a reference\"], …]");
    let (mut length, mut closest) = (0, 0);
    let (mut matches, mut all) = (vec![0; n], vec![0; n]);
    for (text, references) in texts.iter().zip(references) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let references: Vec<Vec<&str>> = { references.iter() }
            .map(|text| text.split_whitespace().collect())
            .collect();
        length += words.len();
        let lengths = references.iter().map(Vec::len);
        closest += lengths
            .min_by_key(|other| (other.abs_diff(words.len()), *other))
            .unwrap_or_default();
        for size in 1..=n {
            let (found, count) = clipped(&words, &references, size);
            matches[size - 1] += found;
            all[size - 1] += count;
        }
    }
    if matches.contains(&0) {
        return Ok(0.0);
    }
    let logs = matches
        .iter()
        .zip(&all)
        .map(|(m, a)| (*m as f64 / *a as f64).ln());
    let mean = logs.sum::<f64>() / n as f64;
    let brevity = (1.0 - closest as f64 / length as f64).min(0.0);
    Ok((mean + brevity).exp())
}

/// Returns how many n-grams of a text occur in a reference, each at most as often as there, and how many there are.
fn clipped(words: &[&str], references: &[Vec<&str>], n: usize) -> (usize, usize) {
    let own = counts(words, n);
    let others: Vec<_> = references.iter().map(|words| counts(words, n)).collect();
    let found = own.iter().map(|(gram, count)| {
        let most = others.iter().filter_map(|other| other.get(gram)).max();
        (*count).min(most.copied().unwrap_or_default())
    });
    (found.sum(), own.values().sum())
}

fn counts<'a>(words: &'a [&'a str], n: usize) -> HashMap<&'a [&'a str], usize> {
    let mut counts = HashMap::new();
    for gram in words.windows(n) {
        *counts.entry(gram).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;

    /// The corpus and the score of nltk 3.10's example of `corpus_bleu`.
    #[test]
    fn it_agrees_with_nltk() {
        let texts = [
            "It is a guide to action which ensures that the military always obeys the commands of the party",
            "he read the book because he was interested in world history",
        ];
        let references: [&[&str]; 2] = [
            &[
                "It is a guide to action that ensures that the military will forever heed Party commands",
                "It is the guiding principle which guarantees the military forces always being under the command of the Party",
                "It is the practical guide for the army always to heed the directions of the party",
            ],
            &["he was interested in world history because he read the book"],
        ];
        let score = bleu(&texts, &references, 4);
        assert!((score - 0.5920778868801042).abs() < 1e-12, "{score}");
        assert_eq!(bleu(&["a b"], &[&["c d"]], 1), 0.0);
        assert!(attempt(|| bleu(&["a"], &[], 1)).is_err());
    }
}
