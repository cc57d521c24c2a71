//! Notes for predictions that went through a softmax or a sigmoid before a loss that applies it itself: the model
//! trains without an error, but slowly and to worse results.

use crate::error::Note;
use crate::ops::engine::{CpuView, Element, dispatch_dtype};
use crate::tensor::Raw;
use candle_core::{D, DType, Result};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The values of a row that are read first: among the logits of a model, one of them is usually negative.
const FIRST: usize = 8;
/// The most indices of each dimension that are compared.
const MOST: usize = 8;
/// This many rows with the sum 1, one after the other, are taken for distributions.
const ROWS: usize = 2;

/// The note of a loss whose predictions are not probabilities.
pub(super) struct Expectation {
    note: Note,
    /// The calls, and the rows with the sum 1 since the last other row.
    calls: AtomicUsize,
    rows: AtomicUsize,
}

pub(super) static CROSS_ENTROPY: Expectation = Expectation::new(
    "cross_entropy expects logits, but the predictions are probabilities: each row has values from 0 to 1 and the sum 1",
    "Leave Softmax out of the model, as cross_entropy applies it; for logarithms of probabilities there is nll_loss",
);
pub(super) static NLL: Expectation = Expectation::new(
    "nll_loss expects logarithms of probabilities, but the predictions are probabilities: each row has the sum 1",
    "Use log_softmax in place of softmax, or cross_entropy for the logits",
);
pub(super) static DIVERGENCE: Expectation = Expectation::new(
    "kl_div expects logarithms of the predicted probabilities, but found probabilities: each row has the sum 1",
    "Use log_softmax in place of softmax, or pass the logarithms: q.log()",
);
static BINARY: Note = Note::new(
    "bce_with_logits expects logits, but the predictions come from sigmoid",
    "Leave Sigmoid out of the model, as bce_with_logits applies it; for probabilities there is BCELoss",
);

/// Prints the note of binary cross-entropy if the predictions are the output of a sigmoid.
pub(super) fn check_sigmoid(x: &Raw) {
    if !BINARY.is_printed() && x.node().is_some_and(|node| node.is_sigmoid()) {
        BINARY.print();
    }
}

impl Expectation {
    const fn new(found: &'static str, advice: &'static str) -> Self {
        Expectation {
            note: Note::new(found, advice),
            calls: AtomicUsize::new(0),
            rows: AtomicUsize::new(0),
        }
    }

    /// Prints the note if the predictions are distributions over a dimension. On a GPU, where it waits for the device,
    /// it looks at fewer and fewer calls.
    pub(super) fn check(&self, x: &Raw, dim: usize) {
        if self.note.is_printed() || dim >= x.rank() {
            return;
        }
        let call = self.calls.fetch_add(1, Relaxed) + 1;
        if !x.device().is_cpu() && !call.is_power_of_two() {
            return;
        }
        // A tensor that the loss refuses is its error.
        let rows = distributions(&x.detach(), dim).unwrap_or_default();
        match rows {
            Some(rows) if rows + self.rows.fetch_add(rows, Relaxed) >= ROWS => self.note.print(),
            Some(_) => {}
            None => self.rows.store(0, Relaxed),
        }
    }
}

/// Returns how many of the first rows are distributions, and not logits by chance; `None` if a row has another sum.
fn distributions(x: &Raw, dim: usize) -> Result<Option<usize>> {
    let classes = x.dim(dim)?;
    if classes < 2 || x.elem_count() == 0 || !begins_like_one(x, dim)? {
        return Ok(None);
    }
    let mut rows = x.clone();
    for other in (0..x.rank()).filter(|other| *other != dim) {
        rows = rows.narrow(other, 0, x.dim(other)?.min(MOST))?;
    }
    let rows = rows.to_dtype(DType::F64)?.transpose(dim, D::Minus1)?;
    let rows = rows
        .contiguous()?
        .reshape(((), classes))?
        .to_vec2::<f64>()?;
    let off = match x.dtype() {
        DType::F32 | DType::F64 => 1e-4,
        _ => 4e-3, // 16 bits have three digits
    };
    let is_one = |row: &Vec<f64>| {
        let sum: f64 = row.iter().sum();
        (sum - 1.0).abs() <= off && row.iter().all(|p| (0.0..=1.0 + off).contains(p))
    };
    // Zeros with a one, or equal values, may be logits that were written by hand.
    let is_computed = |row: &&Vec<f64>| {
        let most = row.iter().fold(0.0, |most: f64, p| most.max(*p));
        most < 1.0 - off && row.iter().any(|p| most - p > off)
    };
    Ok(match rows.iter().all(is_one) {
        true => Some(rows.iter().filter(is_computed).count()),
        false => None,
    })
}

/// Returns whether the first values of the first row are from 0 to 1.
fn begins_like_one(x: &Raw, dim: usize) -> Result<bool> {
    fn of<T: Element>(x: &Raw, dim: usize) -> Result<bool> {
        let view = CpuView::of_strided(x)?;
        let values = view.as_slice::<T>()?.iter().step_by(x.stride()[dim].max(1));
        let mut first = values.take(FIRST.min(x.dim(dim)?));
        Ok(first.all(|x| *x >= T::ZERO && *x <= T::ONE))
    }
    match x.dtype() {
        DType::F32 | DType::F64 if x.device().is_cpu() => dispatch_dtype!(x, of(x, dim)),
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::loss::{
        BCEWithLogitsLoss, CrossEntropyLoss, KLDivLoss, NLLLoss, bce_with_logits, cross_entropy,
        kl_div, nll_loss,
    };
    use crate::ops::testing::variable;
    use crate::ops::{log_softmax, softmax};
    use crate::tensor::{Tensor, eye, full, manual_seed, rand, randn, tensor};
    use std::process::Command;

    fn found(x: &Tensor, dim: usize) -> Option<usize> {
        distributions(x.raw(), dim).unwrap()
    }

    #[test]
    fn the_output_of_softmax_is_recognised() {
        manual_seed(1);
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            for classes in [2, 10, 1000] {
                let p = softmax(&randn((5, classes)), 1).to_dtype(dtype);
                assert!(found(&p, 1) > Some(1), "{dtype:?}, {classes}");
            }
        }
        assert_eq!(
            found(&softmax(&randn((3, 4, 20, 20)), 1), 1),
            Some(3 * 8 * 8)
        );
        assert_eq!(found(&softmax(&randn(4), 0), 0), Some(1));
        let transposed = softmax(&randn((3, 50)), 1).t();
        assert_eq!(found(&transposed, 0), Some(3));
    }

    #[test]
    fn logits_are_not_taken_for_probabilities() {
        manual_seed(1);
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            for x in [
                randn((5, 10)),
                rand((5, 10)),
                rand((64, 2)),
                randn((5, 10)).relu(),
                log_softmax(&randn((5, 10)), 1),
                softmax(&randn((5, 10)), 1) * 5.0,
                softmax(&randn((5, 10)), 1) + 0.1,
                softmax(&randn((5, 10)), 0),
                randn((5, 10)).sigmoid(),
                full((2, 3), f64::NAN),
            ] {
                assert_eq!(found(&x.to_dtype(dtype), 1), None);
            }
            // What may be written by hand.
            for x in [eye(3), full((2, 2), 0.5), full((4, 10), 0.1)] {
                assert_eq!(found(&x.to_dtype(dtype), 1), Some(0));
            }
        }
        assert_eq!(found(&full((4, 1), 1.0), 1), None);
        assert_eq!(found(&full((0, 3), 1.0), 1), None);
    }

    #[test]
    fn the_output_of_sigmoid_is_recognised_behind_a_view() {
        let x = variable(&randn((4, 1)));
        let y = x.sigmoid();
        for (i, (y, want)) in [
            (y.clone(), true),
            (y.squeeze(1), true),
            (y.reshape(4), true),
            (y.i((.., 0)), true),
            (y.t(), true),
            (&y * 2.0, false),
            (x.tanh(), false),
            (x.clone(), false),
            (x.squeeze(1), false),
            (y.tanh().squeeze(1), false),
        ]
        .into_iter()
        .enumerate()
        {
            let found = y.raw().node().is_some_and(|node| node.is_sigmoid());
            assert_eq!(found, want, "{i}");
        }
    }

    /// Calls each loss as it is meant, and once more with probabilities if the process was asked to.
    #[test]
    #[ignore = "the child process of another test"]
    fn in_a_process() {
        let y = tensor(&[0, 2, 1, 1]);
        let x = variable(&randn((4, 3)));
        for _ in 0..3 {
            cross_entropy(&x, &y);
            cross_entropy(&log_softmax(&x, 1), &y);
            nll_loss(&log_softmax(&x, 1), &y);
            kl_div(&log_softmax(&x, 1), &softmax(&x, 1));
            bce_with_logits(&(&x * x.sigmoid()), &x.gt(0.0).to_dtype(DType::F32));
            bce_with_logits(&rand((4, 3)), &rand((4, 3)));
        }
        if std::env::var_os("PROBABILITIES").is_none() {
            return;
        }
        for _ in 0..3 {
            let p = softmax(&x, 1);
            CrossEntropyLoss::new().label_smoothing(0.1).forward(&p, &y);
            // One example at a time.
            NLLLoss::new().forward(&p.i(0), &y.i(0));
            KLDivLoss::new().forward(&p, &p);
            let y = x.gt(0.0).to_dtype(DType::F32).i((.., 0));
            BCEWithLogitsLoss::new().forward(&x.sigmoid().i((.., 0)), &y);
        }
    }

    #[test]
    fn each_note_is_printed_once() {
        let program = std::env::current_exe().expect("the test's program");
        let name = "ops::loss::notes::tests::in_a_process";
        let printed = |probabilities: bool| {
            let mut command = Command::new(&program);
            command.args(["--exact", name, "--ignored", "--nocapture"]);
            if probabilities {
                command.env("PROBABILITIES", "1");
            }
            let output = command.output().expect("it runs");
            assert!(output.status.success());
            String::from_utf8(output.stderr).expect("text")
        };
        assert_eq!(printed(false).matches("note: ").count(), 0);
        let text = printed(true);
        for found in [
            "cross_entropy expects logits, but the predictions are probabilities",
            "\nLeave Softmax out of the model",
            "nll_loss expects logarithms",
            "kl_div expects logarithms",
            "bce_with_logits expects logits, but the predictions come from sigmoid",
            "\nLeave Sigmoid out of the model",
        ] {
            assert_eq!(text.matches(found).count(), 1, "{found}:\n{text}");
        }
    }
}
