//! The choice of a token from its logits.

use crate::error::{Result, refuse};

/// How to choose tokens.
#[derive(Clone, Debug)]
pub(super) struct Sampling {
    /// 0: always the most likely token.
    pub(super) temperature: f64,
    pub(super) top_k: Option<usize>,
    pub(super) top_p: f64,
    pub(super) repetition_penalty: f64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: None,
            top_p: 1.0,
            repetition_penalty: 1.0,
        }
    }
}

impl Sampling {
    /// Chooses the next token; `uniform` draws a value from 0 to 1, and is not called for the most likely token.
    pub(super) fn choose(
        &self,
        logits: &mut [f32],
        earlier: &[u32],
        uniform: impl FnOnce() -> f64,
    ) -> Result<u32> {
        let candidates = self.candidates(logits, earlier)?;
        if let [(token, _)] = candidates[..] {
            return Ok(token);
        }
        let total: f64 = candidates.iter().map(|(_, weight)| weight).sum();
        let mut left = uniform() * total;
        let chosen = candidates.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        Ok(chosen.unwrap_or(&candidates[0]).0)
    }

    /// Returns the tokens to choose from with their weights, the largest first.
    pub(super) fn candidates(
        &self,
        logits: &mut [f32],
        earlier: &[u32],
    ) -> Result<Vec<(u32, f64)>> {
        check(logits)?;
        self.penalize(logits, earlier);
        let mut order: Vec<u32> = (0..logits.len() as u32).collect();
        let logit = |token: &u32| logits[*token as usize];
        let larger = |a: &u32, b: &u32| logit(b).total_cmp(&logit(a)).then(a.cmp(b));
        let count = match self.temperature {
            0.0 => 1,
            _ => self.top_k.unwrap_or(order.len()).clamp(1, order.len()),
        };
        if count < order.len() {
            order.select_nth_unstable_by(count - 1, larger);
            order.truncate(count);
        }
        order.sort_unstable_by(larger);
        if count == 1 {
            return Ok(vec![(order[0], 1.0)]);
        }
        let largest = f64::from(logit(&order[0]));
        let weight = |token: &u32| ((f64::from(logit(token)) - largest) / self.temperature).exp();
        let mut candidates: Vec<(u32, f64)> = order.iter().map(|t| (*t, weight(t))).collect();
        let total: f64 = candidates.iter().map(|(_, weight)| weight).sum();
        // The fewest tokens that together have the probability.
        let mut before = 0.0;
        candidates.retain(|(_, weight)| {
            let kept = before == 0.0 || before < self.top_p * total;
            before += weight;
            kept
        });
        Ok(candidates)
    }

    /// Makes the tokens of the text less likely, as Keskar et al., 2019.
    fn penalize(&self, logits: &mut [f32], earlier: &[u32]) {
        let penalty = self.repetition_penalty as f32;
        if penalty == 1.0 {
            return;
        }
        let mut earlier = earlier.to_vec();
        earlier.sort_unstable();
        earlier.dedup();
        for token in earlier {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit = match *logit > 0.0 {
                    true => *logit / penalty,
                    false => *logit * penalty,
                };
            }
        }
    }
}

/// Checks that there are logits, and that none is NaN.
pub(super) fn check(logits: &[f32]) -> Result<()> {
    refuse!(if logits.is_empty() || logits.iter().any(|logit| logit.is_nan()); state("generate");
        "the model's logits are NaN, or there are none",
        "Look at the loss of the training: train again with a lower learning rate, or load the parameters again");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGITS: [f32; 5] = [2.0, -1.0, 0.5, 1.5, -3.0];

    fn probabilities(sampling: &Sampling, earlier: &[u32]) -> Vec<(u32, f64)> {
        let candidates = sampling.candidates(&mut LOGITS.clone(), earlier).unwrap();
        let total: f64 = candidates.iter().map(|(_, weight)| weight).sum();
        let mut found: Vec<_> = candidates.iter().map(|(t, w)| (*t, w / total)).collect();
        found.sort_by_key(|(token, _)| *token);
        found
    }

    /// The values come from the logits processors of Hugging Face's library (5.x), in their order: repetition penalty,
    /// temperature, top-k, top-p.
    #[test]
    fn probabilities_are_those_of_hugging_face() {
        let all = Sampling {
            temperature: 0.7,
            top_k: Some(4),
            top_p: 0.9,
            repetition_penalty: 1.3,
        };
        let found = probabilities(&all, &[0, 0, 4]);
        assert_eq!(found.len(), EXPECTED.len(), "{found:?}");
        for ((token, p), (expected_token, expected)) in found.iter().zip(EXPECTED) {
            let is_close = (p - expected).abs() < 1e-6;
            assert!(token == expected_token && is_close, "{found:?}");
        }
    }

    const EXPECTED: &[(u32, f64)] = &[
        (0, 0.460_113_716_429_338),
        (2, 0.104_371_555_877_358),
        (3, 0.435_514_727_693_303),
    ];

    #[test]
    fn a_share_of_zero_keeps_the_most_likely_token() {
        let with = |change: fn(&mut Sampling)| {
            let mut sampling = Sampling::default();
            change(&mut sampling);
            probabilities(&sampling, &[])
        };
        assert_eq!(with(|s| s.top_p = 0.0), [(0, 1.0)]);
        assert_eq!(with(|s| s.top_k = Some(0)), [(0, 1.0)]);
        assert_eq!(with(|s| s.temperature = 0.0), [(0, 1.0)]);
        assert_eq!(with(|s| s.top_k = Some(100)).len(), 5);
        assert!(
            Sampling::default()
                .candidates(&mut [f32::NAN], &[])
                .is_err()
        );
        assert!(Sampling::default().candidates(&mut [], &[]).is_err());
    }

    #[test]
    fn tokens_are_drawn_as_often_as_their_probabilities() {
        let sampling = Sampling::default();
        let (mut counts, n) = ([0; 5], 10_000);
        for i in 0..n {
            let uniform = || (f64::from(i) + 0.5) / f64::from(n);
            counts[sampling.choose(&mut LOGITS.clone(), &[], uniform).unwrap() as usize] += 1;
        }
        for (token, p) in probabilities(&sampling, &[]) {
            let count = f64::from(counts[token as usize]);
            assert!((count / f64::from(n) - p).abs() < 1e-3, "{counts:?}");
        }
    }
}
