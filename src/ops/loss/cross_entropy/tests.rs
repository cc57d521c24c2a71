use super::*;
use crate::ops::lookup::or_nan;
use crate::tensor::{full, randn, tensor, zeros};
use candle_core::{Device, Var};

const CPU: Device = Device::Cpu;

#[test]
fn wrong_inputs_are_explained() {
    let logits = zeros((2, 3), &CPU).unwrap();
    let message = |y: Tensor| cross_entropy(&logits, &y).unwrap_err().to_string();
    assert_eq!(
        message(tensor(&[0, 3], &CPU).unwrap()),
        "cross_entropy: class 3 is out of range: there are 3, from 0 to 2\n\
         Use class indices from 0 to 2, or give the model more outputs"
    );
    assert!(message(tensor(&[-1, 0], &CPU).unwrap()).contains("class -1 is out of range"));
    assert!(message(zeros(2, &CPU).unwrap()).contains("class indices, but the targets are f32"));
    assert!(message(tensor(&[0], &CPU).unwrap()).ends_with("for each example: (2,)"));
    let flat = cross_entropy(&zeros(3, &CPU).unwrap(), &tensor(&[0], &CPU).unwrap());
    assert!(flat.unwrap_err().to_string().contains("(batch, classes)"));
    let none = cross_entropy(&zeros((1, 0), &CPU).unwrap(), &tensor(&[0], &CPU).unwrap());
    assert!(none.unwrap_err().to_string().contains("shape [1, 0]\n"));
}

/// Computes the loss as on a GPU, where indices are not checked.
#[test]
fn without_a_check_a_class_out_of_range_gives_nan() {
    let logits = Var::from_tensor(&randn((3, 4), &CPU).unwrap()).unwrap();
    let loss = |classes: &[i64]| {
        let target = |y: &Tensor| {
            log_softmax(&logits, 1)?
                .gather(&y.unsqueeze(1)?, 1)?
                .squeeze(1)
        };
        or_nan(&tensor(classes, &CPU)?, 4, target)?
            .mean_all()?
            .neg()
    };
    let good = loss(&[0, 3, 2]).unwrap();
    let expected = cross_entropy(&logits, &tensor(&[0, 3, 2], &CPU).unwrap()).unwrap();
    let number = |loss: &Tensor| loss.to_scalar::<f32>().unwrap();
    assert!((number(&good) - number(&expected)).abs() < 1e-6);
    let gradient = |loss: &Tensor| {
        let gradients = loss.backward().unwrap();
        let gradient = gradients.get(&logits).unwrap().flatten_all();
        gradient.unwrap().to_vec1::<f32>().unwrap()
    };
    for (a, b) in gradient(&good).into_iter().zip(gradient(&expected)) {
        assert!((a - b).abs() < 1e-6);
    }
    for wrong in [
        [0, 4, 2],
        [-1, 0, 0],
        [i64::MAX, 0, 0],
        [u32::MAX.into(), 0, 0],
    ] {
        assert!(number(&loss(&wrong).unwrap()).is_nan(), "{wrong:?}");
    }
}

#[test]
fn unusual_batches_are_computed_or_refused() {
    let none = zeros((0, 3), &CPU).unwrap();
    let y = Tensor::zeros(0, DType::I64, &CPU).unwrap();
    assert_eq!(
        cross_entropy(&none, &y).unwrap_err().to_string(),
        "cross_entropy: expected at least one example, found an empty batch\n\
         Skip empty batches, or use Reduction::Sum"
    );
    let y = Tensor::zeros(2, DType::I64, &CPU).unwrap();
    let integers = Tensor::zeros((2, 3), DType::I64, &CPU).unwrap();
    let message = cross_entropy(&integers, &y).unwrap_err().to_string();
    assert!(
        message.contains("expected floating-point numbers, found i64"),
        "{message}"
    );
    let half = zeros((2, 16_384), &CPU)
        .unwrap()
        .to_dtype(DType::BF16)
        .unwrap();
    let loss = cross_entropy(&half, &y)
        .unwrap()
        .to_dtype(DType::F32)
        .unwrap();
    let (loss, want) = (loss.to_scalar::<f32>().unwrap(), 16_384f32.ln());
    assert!((loss - want).abs() < 0.03, "{loss} is not {want}");
}

#[test]
fn a_mean_over_many_examples_keeps_its_digits() {
    let count = 20_000_000;
    let y = Tensor::zeros(count, DType::U8, &CPU).unwrap();
    let loss = nll_loss(&full((count, 1), -0.7, &CPU).unwrap(), &y).unwrap();
    let loss = loss.to_scalar::<f32>().unwrap();
    assert!((loss - 0.7).abs() < 1e-6, "{loss}");
}

/// The kernel computes with logits what it would compute with the stored log-probabilities.
#[test]
fn logits_have_the_loss_and_gradients_of_their_log_probabilities() {
    for (rows, classes, smoothing) in [(1, 1, 0.0), (70, 10, 0.1), (3, 5000, 0.0), (5, 1025, 0.2)] {
        let x = Var::from_tensor(&randn((rows, classes), &CPU).unwrap()).unwrap();
        let y: Vec<i64> = (0..rows).map(|row| (row * 7 % classes) as i64).collect();
        let y = Tensor::new(y, &CPU).unwrap();
        let settings = CrossEntropyLoss::new().label_smoothing(smoothing).settings;
        let log_p = log_softmax(&x, 1).unwrap();
        let [(loss, gradient), (same_loss, same_gradient)] =
            [(x.as_tensor(), true), (&log_p, false)].map(|(input, logits)| {
                let loss = settings
                    .of_rows("cross_entropy", input, &y, logits)
                    .unwrap();
                let gradients = loss.backward().unwrap();
                let gradient = gradients.get(&x).unwrap().to_vec2::<f32>().unwrap();
                (loss.to_scalar::<f32>().unwrap(), gradient)
            });
        assert_eq!(loss, same_loss);
        assert_eq!(gradient, same_gradient);
    }
}
