//! Random choices with given probabilities.

use super::check;
use crate::error::{self, refuse};
use crate::tensor::{Raw, Tensor, moved, random};
use candle_core::{DType, Device, Result};
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Draws `count` different indices for each row of weights, with probabilities in proportion to the weights:
        /// `(…, n)` to `(…, count)`, as `i64`. Weights need not add up to 1.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let p = tensor(&[1.0, -2.0, 0.5]).softmax(0); // (3,)
        /// let token = p.multinomial(1).item() as usize;
        /// assert!(token < 3);
        /// ```
        ///
        /// # Panics
        /// If a weight is negative or not finite, or fewer than `count` weights of a row are above 0.
        pub fn multinomial(&self, count: usize) -> Tensor = drawn(self, count, false);

        /// Draws indices as [`multinomial`](Self::multinomial) does, but an index may be drawn again.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let drawn = tensor(&[0.0, 1.0]).multinomial_with_replacement(3); // (3,)
        /// assert_eq!(drawn.to_vec1::<i64>(), [1, 1, 1]);
        /// ```
        ///
        /// # Panics
        /// If a weight is negative or not finite, or all weights of a row are 0.
        pub fn multinomial_with_replacement(&self, count: usize) -> Tensor = drawn(self, count, true);

        /// Draws 1 with the probability of each element, else 0, in the type of the tensor.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(tensor(&[1.0, 0.0]).bernoulli().to_vec1::<f32>(), [1.0, 0.0]);
        /// ```
        ///
        /// # Panics
        /// If an element is not from 0 to 1, or the tensor has an integer type.
        pub fn bernoulli(&self) -> Tensor = flipped(self);
    }
}

#[raises]
fn flipped(x: &Tensor) -> Result<Tensor> {
    check::floating(&"bernoulli", x.raw())?;
    let x = x.detach();
    if let Some(wrong) = doubles(&x).into_iter().find(|p| !(0.0..=1.0).contains(p)) {
        let advice = "Make probabilities of logits: x.sigmoid()";
        return Err(
            error::argument("bernoulli", "probabilities from 0 to 1", wrong, advice).into(),
        );
    }
    let p = x.to_dtype(DType::F32);
    Ok(p.rand_like().lt(&p).to_dtype(x.dtype()))
}

#[raises]
fn drawn(x: &Tensor, count: usize, replacement: bool) -> Result<Tensor> {
    check::floating(&"multinomial", x.raw())?;
    let [before @ .., n] = x.dims() else {
        let advice = "Add a dimension: x.unsqueeze(0)";
        refuse!(shape("multinomial", x.dims()); "rows of weights", advice);
    };
    if replacement {
        check::output(&"multinomial", &[before, &[count, 8]].concat(), x.raw())?;
    }
    let weights = doubles(x);
    let mut indices = vec![];
    for row in weights.chunks_exact((*n).max(1)) {
        let needed = if replacement { count.min(1) } else { count };
        check_weights(row, needed)?;
        match replacement {
            true => draw_each(row, count, &mut indices),
            false => draw_different(row, count, &mut indices),
        }
    }
    if *n == 0 && count > 0 {
        check_weights(&[], count)?;
    }
    let indices = Raw::from_vec(indices, [before, &[count]].concat(), &Device::Cpu)?;
    moved(&indices, x.device()).map(Tensor::from_raw)
}

fn doubles(x: &Tensor) -> Vec<f64> {
    x.detach().to_dtype(DType::F64).to_vec()
}

fn check_weights(row: &[f64], needed: usize) -> Result<()> {
    let mut each = row.iter().enumerate();
    let found = match each.find(|(_, weight)| !(weight.is_finite() && **weight >= 0.0)) {
        Some((i, weight)) => format!("{weight} at index {i}"),
        None => match row.iter().filter(|weight| **weight > 0.0).count() {
            count if count < needed => format!("{count} weights above 0, to draw {needed}"),
            _ => return Ok(()),
        },
    };
    refuse!(argument("multinomial", found);
        "enough finite weights of at least 0",
        "Pass probabilities, such as logits.softmax(-1), or draw with multinomial_with_replacement(count)")
}

fn draw_each(row: &[f64], count: usize, indices: &mut Vec<i64>) {
    let mut total = 0.0;
    let sums: Vec<f64> = { row.iter() }
        .map(|weight| {
            total += weight;
            total
        })
        .collect();
    let last = row.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
    for _ in 0..count {
        let place = random() * total;
        indices.push(sums.partition_point(|sum| *sum <= place).min(last) as i64);
    }
}

/// Draws without replacement: `ln(u) / w` is largest for an index with the probability of its weight.
fn draw_different(row: &[f64], count: usize, indices: &mut Vec<i64>) {
    let key = |weight: &f64| match *weight > 0.0 {
        true => (1.0 - random()).ln() / weight,
        false => f64::NEG_INFINITY,
    };
    let mut keys: Vec<(f64, i64)> = row.iter().map(key).zip(0..).collect();
    keys.sort_by(|a, b| b.0.total_cmp(&a.0));
    indices.extend(keys.iter().take(count).map(|(_, index)| *index));
}

#[cfg(test)]
mod tests {
    use crate::error::attempt;
    use crate::tensor::{manual_seed, tensor, zeros};

    #[test]
    fn indices_are_drawn_as_often_as_their_weights_say() {
        manual_seed(1);
        let weights = [1.0, 0.0, 3.0, 4.0];
        let p = tensor(&weights).broadcast_as((8000, 4));
        let share = |index: i64, drawn: &[i64]| {
            drawn.iter().filter(|i| **i == index).count() as f64 / drawn.len() as f64
        };
        let one = p.multinomial(1).to_vec::<i64>();
        let many = p.multinomial_with_replacement(2).to_vec::<i64>();
        for (i, weight) in weights.iter().enumerate() {
            for drawn in [&one, &many] {
                assert!((share(i as i64, drawn) - weight / 8.0).abs() < 0.02);
            }
        }
        // The second index after index 3 has the weights that are left.
        let pairs = p.multinomial(2).to_vec2::<i64>();
        let after: Vec<i64> = { pairs.iter() }
            .filter(|pair| pair[0] == 3)
            .map(|pair| pair[1])
            .collect();
        assert!((share(2, &after) - 0.75).abs() < 0.03 && share(3, &after) == 0.0);
    }

    #[test]
    fn weights_that_cannot_be_drawn_from_are_refused() {
        for (weights, count) in [
            (vec![1.0, -1.0], 1),
            (vec![f64::NAN], 1),
            (vec![0.0, 0.0], 1),
            (vec![1.0, 0.0], 2),
        ] {
            let message = attempt(|| tensor(weights).multinomial(count))
                .unwrap_err()
                .to_string();
            assert!(message.starts_with("multinomial: expected "), "{message}");
        }
        assert!(attempt(|| zeros(2).multinomial_with_replacement(1)).is_err());
        assert!(attempt(|| tensor(&[1.5]).bernoulli()).is_err());
    }
}
