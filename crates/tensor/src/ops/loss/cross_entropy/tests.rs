use super::*;
use crate::error::attempt;
use crate::ops::lookup::or_nan;
use crate::ops::testing::variable;
use crate::tensor::{full, rand, randn, tensor, zeros};
use candle_core::Device;

const CPU: Device = Device::Cpu;

#[test]
fn wrong_inputs_are_explained() {
    let message = |logits: &Tensor, y: &Tensor| {
        let error = attempt(|| cross_entropy(logits, y)).unwrap_err();
        error.to_string()
    };
    let (logits, one) = (zeros((2, 3)), tensor(&[0]));
    assert_eq!(
        message(&logits, &tensor(&[0, 3])),
        "cross_entropy: class 3 is out of range: there are 3, from 0 to 2\n\
         Use class indices from 0 to 2, or give the model more outputs"
    );
    let negative = message(&logits, &tensor(&[-1, 0]));
    assert!(negative.contains("class -1 is out of range"));
    let floats = message(&logits, &zeros(2));
    assert!(floats.contains("class indices, but the targets are f32"));
    assert!(message(&logits, &one).ends_with("for each example: (2,)"));
    assert!(message(&zeros(3), &one).contains("(batch, classes)"));
    assert!(message(&zeros((1, 0)), &one).contains("shape [1, 0]\n"));
}

/// PyTorch: `F.cross_entropy(torch.zeros(3, 4), torch.tensor([1, -100, 2]))` is `log(4)`.
#[test]
fn padding_is_ignored() {
    let logits = variable(&zeros((3, 4)));
    let loss = cross_entropy(&logits, &tensor(&[1, -100, 2]));
    assert!((loss.item() - 4f64.ln()).abs() < 1e-6);
    let gradient = loss.backward().of(&logits);
    assert_eq!(gradient.i(1).to_vec1::<f32>(), [0.0; 4]);
    assert!(attempt(|| cross_entropy(&logits, &tensor(&[1, -1, 2]))).is_err());
}

/// Computes the loss as on a GPU, where indices are not checked.
#[test]
fn without_a_check_a_class_out_of_range_gives_nan() {
    let logits = variable(&randn((3, 4)));
    let loss = |classes: &[i64]| {
        let log_p = log_probabilities(logits.raw()).unwrap();
        let target = |y: &Raw| log_p.gather(&y.unsqueeze(1)?, 1)?.squeeze(1);
        let targets = or_nan(tensor(classes).raw(), 4, target).unwrap();
        -Tensor::from(targets).mean_all()
    };
    let good = loss(&[0, 3, 2]);
    let expected = cross_entropy(&logits, &tensor(&[0, 3, 2]));
    assert!((good.item() - expected.item()).abs() < 1e-6);
    let gradient = |loss: &Tensor| loss.backward().of(&logits).to_vec::<f32>();
    for (a, b) in gradient(&good).into_iter().zip(gradient(&expected)) {
        assert!((a - b).abs() < 1e-6);
    }
    for wrong in [
        [0, 4, 2],
        [-1, 0, 0],
        [i64::MAX, 0, 0],
        [u32::MAX.into(), 0, 0],
    ] {
        assert!(loss(&wrong).item().is_nan(), "{wrong:?}");
    }
}

#[test]
fn unusual_batches_are_computed_or_refused() {
    let classes = |count: usize| zeros(count).to_dtype(DType::I64);
    let (none, y) = (zeros((0, 3)), classes(0));
    assert_eq!(
        attempt(|| cross_entropy(&none, &y))
            .unwrap_err()
            .to_string(),
        "cross_entropy: expected at least one example, found an empty batch\n\
         Skip empty batches, or use Reduction::Sum"
    );
    let y = classes(2);
    let integers = zeros((2, 3)).to_dtype(DType::I64);
    let message = attempt(|| cross_entropy(&integers, &y)).unwrap_err();
    let message = message.to_string();
    assert!(
        message.contains("expected floating-point numbers, found i64"),
        "{message}"
    );
    let half = zeros((2, 16_384)).to_dtype(DType::BF16);
    let (loss, want) = (cross_entropy(&half, &y).item(), 16_384f64.ln());
    assert!((loss - want).abs() < 0.03, "{loss} is not {want}");
}

#[test]
fn a_mean_over_many_examples_keeps_its_digits() {
    let count = 20_000_000;
    let y = zeros(count).to_dtype(DType::U8);
    let loss = nll_loss(&full((count, 1), -0.7), &y).item();
    assert!((loss - 0.7).abs() < 1e-6, "{loss}");
}

/// The kernel computes with logits what it would compute with the stored log-probabilities; their sums are added in
/// another order.
#[test]
fn logits_have_the_loss_and_gradients_of_their_log_probabilities() {
    for (rows, classes, smoothing) in [(1, 1, 0.0), (70, 10, 0.1), (3, 5000, 0.0), (5, 1025, 0.2)] {
        let x = variable(&randn((rows, classes)));
        let y: Vec<i64> = (0..rows).map(|row| (row * 7 % classes) as i64).collect();
        let y = Raw::new(y, &CPU).unwrap();
        let settings = CrossEntropyLoss::new().label_smoothing(smoothing).settings;
        let log_p = log_probabilities(x.raw()).unwrap();
        let [(loss, gradient), (same_loss, same_gradient)] = [(x.raw(), true), (&log_p, false)]
            .map(|(input, logits)| {
                let loss = settings.of_rows("cross_entropy", input, &y, logits);
                let loss = Tensor::from(loss.unwrap());
                (loss.item(), loss.backward().of(&x))
            });
        assert!((loss - same_loss).abs() < 1e-6, "{loss} is not {same_loss}");
        let farthest = (gradient - same_gradient).abs().max_all().item();
        assert!(
            farthest * rows as f64 <= 1e-6,
            "{rows} × {classes}: {farthest}"
        );
    }
}

/// As for one example and one place at a time, for every number of places.
#[test]
fn probabilities_at_places_have_the_losses_of_their_rows() {
    for places in [&[][..], &[4], &[4, 5], &[3, 3, 3], &[2, 3, 4, 5]] {
        let shape = [&[2, 3], places].concat();
        let logits = variable(&randn(&shape[..]));
        let y = crate::ops::softmax(&rand(&shape[..]), 1);
        let loss = CrossEntropyLoss::new().weight(&tensor(&[1.0, 2.0, 0.5]));
        let loss = loss.label_smoothing(0.1).reduction(Reduction::None);
        let losses = loss.forward(&logits, &y);
        assert_eq!(losses.dims(), [&[2], places].concat());
        let rows = |x: &Tensor| {
            let order = [&[0], &(2..shape.len()).collect::<Vec<_>>()[..], &[1]].concat();
            x.permute(order).reshape(((), 3))
        };
        let of_rows = loss.forward(&rows(&logits), &rows(&y));
        for (loss, want) in losses.to_vec::<f32>().iter().zip(of_rows.to_vec::<f32>()) {
            assert!((loss - want).abs() < 1e-6, "{loss} is not {want}");
        }
        let [gradient, want] = [losses, of_rows].map(|x| x.sum_all().backward().of(&logits));
        let off = (gradient - want).abs().max_all().item();
        assert!(off < 1e-6, "{off}");
    }
}
