//! Beam search.

use super::continuation::Continuation;
use super::sampling::{Sampling, check};
use crate::error::Result;
use crate::notebook::check_interrupt;

/// A text that a beam search has found. Returned by [`Generate::beams`](super::Generate::beams).
///
/// ```
/// use taper::prelude::*;
///
/// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
/// let beams = generate(&model, &[0]).max_tokens(5).beams(1)?;
/// assert_eq!(beams[0].tokens, generate(&model, &[0]).max_tokens(5).temperature(0.0).tokens()?);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Beam {
    /// The new tokens.
    pub tokens: Vec<u32>,
    /// The logarithm of their probability, divided by a power of their number.
    pub score: f64,
}

/// A search for the most likely continuations.
pub(super) struct Search<'a> {
    pub(super) continuation: Continuation<'a>,
    pub(super) count: usize,
    pub(super) max_tokens: usize,
    pub(super) stop_tokens: Vec<u32>,
    pub(super) length_penalty: f64,
    pub(super) repetition_penalty: f64,
}

/// A continuation that has not ended, with the logarithm of its probability.
struct Open {
    tokens: Vec<u32>,
    score: f64,
}

/// A token that may follow a continuation.
struct Candidate {
    beam: usize,
    token: u32,
    score: f64,
}

impl Search<'_> {
    pub(super) fn run(mut self, prompt: &[u32]) -> Result<Vec<Beam>> {
        let (mut ended, mut open) = (
            Vec::new(),
            vec![Open {
                tokens: prompt.to_vec(),
                score: 0.0,
            }],
        );
        for length in 1..=self.max_tokens {
            check_interrupt()?;
            let candidates = self.candidates(&open)?;
            let mut next: Vec<(usize, Open)> = vec![];
            for Candidate { beam, token, score } in candidates {
                let mut tokens = open[beam].tokens.clone();
                tokens.push(token);
                if self.stop_tokens.contains(&token) {
                    ended.push(self.beam(&tokens[prompt.len()..], score));
                } else if next.len() < self.count {
                    next.push((beam, Open { tokens, score }));
                }
            }
            if next.is_empty() || self.is_decided(&mut ended, next[0].1.score, length) {
                open.clear();
                break;
            }
            let parents: Vec<u32> = next.iter().map(|(beam, _)| *beam as u32).collect();
            if parents.iter().copied().ne(0..open.len() as u32) {
                self.continuation.select(&parents);
            }
            open = next.into_iter().map(|(_, open)| open).collect();
        }
        ended.extend(
            open.iter()
                .map(|o| self.beam(&o.tokens[prompt.len()..], o.score)),
        );
        best(&mut ended, self.count);
        Ok(ended)
    }

    /// Returns the best tokens to follow, twice as many as beams: at most half of them could end their texts.
    fn candidates(&mut self, open: &[Open]) -> Result<Vec<Candidate>> {
        let sequences: Vec<Vec<u32>> = open.iter().map(|open| open.tokens.clone()).collect();
        let all = self.continuation.logits(&sequences)?;
        let sampling = Sampling {
            top_k: Some(2 * self.count),
            repetition_penalty: self.repetition_penalty,
            ..Sampling::default()
        };
        let mut candidates = vec![];
        for (beam, mut logits) in all.into_iter().enumerate() {
            check(&logits)?;
            let best = sampling.candidates(&mut logits, &open[beam].tokens)?;
            // The weights are relative to the largest logit; `logits` has the penalties now.
            let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = { logits.iter() }
                .map(|logit| f64::from(logit - largest).exp())
                .sum();
            let log = |weight: f64| weight.ln() - sum.ln();
            candidates.extend(best.into_iter().map(|(token, weight)| Candidate {
                beam,
                token,
                score: open[beam].score + log(weight),
            }));
        }
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
        candidates.truncate(2 * self.count);
        Ok(candidates)
    }

    fn beam(&self, tokens: &[u32], score: f64) -> Beam {
        Beam {
            tokens: tokens.to_vec(),
            score: score / (tokens.len() as f64).powf(self.length_penalty),
        }
    }

    /// Returns whether no open text can become better than the ended ones, if none gets longer than the longest may.
    fn is_decided(&self, ended: &mut Vec<Beam>, score: f64, length: usize) -> bool {
        best(ended, self.count);
        let longest = if self.length_penalty > 0.0 {
            self.max_tokens
        } else {
            length
        };
        let most = score / (longest as f64).powf(self.length_penalty);
        ended.len() == self.count && ended.last().is_some_and(|worst| worst.score >= most)
    }
}

/// Keeps the best beams, the best first.
fn best(beams: &mut Vec<Beam>, count: usize) {
    beams.sort_by(|a, b| b.score.total_cmp(&a.score));
    beams.truncate(count);
}
