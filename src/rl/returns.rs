//! What actions are worth.

use crate::error::raise;
use crate::tensor::Tensor;
use candle_core::DType;

/// Returns the discounted return of each step of an episode: its reward, and `discount` times the return of the next step.
///
/// The result is `(steps,)`, of `f32`.
///
/// ```
/// use taper::rl::returns;
///
/// assert_eq!(returns(&[1.0, 0.0, 4.0], 0.5).to_vec1::<f32>(), [2.0, 2.0, 4.0]);
/// ```
pub fn returns(rewards: &[f64], discount: f64) -> Tensor {
    let mut sums = rewards.to_vec();
    for i in (1..sums.len()).rev() {
        sums[i - 1] += discount * sums[i];
    }
    column(sums)
}

/// Returns how much better each action of an episode was than the estimated value of its observation: the generalised
/// advantage estimation of Schulman et al., 2015. With `lambda = 1` it is the return minus the value, with `lambda = 0` the
/// error of one step.
///
/// `values` are the estimates of all observations and of the one after the last action: 0 if the episode ended there in a
/// final state. The result is `(steps,)`, of `f32`.
///
/// # Panics
/// If there is not one value more than rewards.
///
/// ```
/// use taper::rl::advantages;
///
/// let errors = advantages(&[1.0, 1.0], &[0.5, 2.0, 0.0], 0.5, 0.0);
/// assert_eq!(errors.to_vec1::<f32>(), [1.5, -1.0]);
/// let differences = advantages(&[1.0, 1.0], &[0.5, 2.0, 0.0], 0.5, 1.0);
/// assert_eq!(differences.to_vec1::<f32>(), [1.0, -1.0]);
/// ```
#[track_caller]
pub fn advantages(rewards: &[f64], values: &[f64], discount: f64, lambda: f64) -> Tensor {
    raise!(if values.len() != rewards.len() + 1; argument("advantages", values.len());
        ("{} values, one more than rewards", rewards.len() + 1),
        "Append the value of the last observation, or 0 if the episode has ended");
    let mut sums = vec![0.0; rewards.len()];
    let mut later = 0.0;
    for i in (0..rewards.len()).rev() {
        let error = rewards[i] + discount * values[i + 1] - values[i];
        later = error + discount * lambda * later;
        sums[i] = later;
    }
    column(sums)
}

fn column(values: Vec<f64>) -> Tensor {
    let count = values.len();
    Tensor::from_vec(values, count).to_dtype(DType::F32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;

    #[test]
    fn a_missing_value_is_reported() {
        let error = attempt(|| advantages(&[1.0], &[1.0], 0.9, 0.9)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "advantages: expected 2 values, one more than rewards, found 1\n\
             Append the value of the last observation, or 0 if the episode has ended"
        );
        assert_eq!(advantages(&[], &[0.0], 0.9, 0.9).dims(), [0]);
    }
}
