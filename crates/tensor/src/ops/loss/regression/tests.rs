use super::*;
use crate::error::attempt;
use crate::ops::arithmetic::pairs_by_operations;
use crate::ops::loss::Reduction;
use crate::ops::loss::elementwise::{ElementLoss, composed};
use crate::ops::testing::{compare, variable};
use crate::tensor::{full, ones, randn, tensor, zeros};
use candle_core::DType;

#[test]
fn settings_out_of_range_are_errors() {
    let x = zeros(2);
    for wrong in [0.0, -1.0, f64::NAN] {
        assert!(attempt(|| huber_loss(&x, &x, wrong)).is_err());
    }
    assert!(attempt(|| smooth_l1_loss(&x, &x, -1.0)).is_err());
    let none = zeros((0, 2));
    let message = attempt(|| mse_loss(&none, &none));
    assert_eq!(
        message.unwrap_err().to_string(),
        "mse_loss: expected at least one example, found an empty batch\n\
         Skip empty batches, or use Reduction::Sum"
    );
    let sum = MSELoss::new().reduction(Reduction::Sum);
    assert_eq!(sum.forward(&none, &none).item(), 0.0);
}

#[test]
fn integers_are_refused_and_half_precision_is_computed_in_f32() {
    let integers = tensor(&[1u8, 3]);
    for loss in [mse_loss, l1_loss] {
        let message = attempt(|| loss(&integers, &integers)).unwrap_err();
        let message = message.to_string();
        assert!(
            message.contains("expected floating-point numbers, found u8"),
            "{message}"
        );
    }
    let half = |x: f64| full(4096, x).to_dtype(DType::BF16);
    assert_eq!(mse_loss(&half(1.0), &half(0.0)).item(), 1.0);
}

#[test]
fn a_mean_over_many_elements_keeps_its_digits() {
    let (x, y) = (ones(20_000_000), zeros(20_000_000));
    assert_eq!(mse_loss(&x, &y).item(), 1.0);
}

#[test]
fn infinite_differences_have_finite_slopes() {
    let x = variable(&tensor(&[f32::INFINITY, f32::NEG_INFINITY, 0.0]));
    let y = zeros(3);
    for losses in [
        HuberLoss::new().reduction(Reduction::None).forward(&x, &y),
        pairs_by_operations(x.raw(), y.raw(), Huber { delta: 1.0 })
            .unwrap()
            .into(),
    ] {
        let slopes = losses.sum_all().backward().of(&x);
        assert_eq!(slopes.to_vec1::<f32>(), [1.0, -1.0, 0.0]);
    }
}

#[test]
fn the_kernels_agree_with_operations() {
    /// Compares with the operations of another rule, which may not divide by 0.
    fn check_with(rule: impl ElementLoss, other: impl ElementLoss) {
        compare(rule_name(rule), 20, |case| {
            let shape = (case.between(1, 60), case.between(1, 60));
            let inputs = vec![case.input(randn(shape)), case.input(randn(shape))];
            let kernel = move |x: &[Raw]| loss(rule, &x[0], &x[1], Reduction::None);
            let composed = move |x: &[Raw]| composed(other, x);
            Some((inputs, Box::new(kernel), Box::new(composed)))
        });
    }
    fn rule_name<L: ElementLoss>(_: L) -> &'static str {
        L::NAME
    }
    fn check(rule: impl ElementLoss) {
        check_with(rule, rule);
    }
    check(Square {});
    check(Absolute {});
    check(Huber { delta: 0.7 });
    check(SmoothL1 { beta: 1.3 });
    check_with(SmoothL1 { beta: 0.0 }, Absolute {});
}
