//! Layers within `with_precision`.

use crate::nn::{Layer, Linear, ParametersExt};
use crate::tensor::{Tensor, rand, with_precision, with_seed};
use candle_core::DType;

#[test]
fn a_layer_keeps_its_bias_and_its_weights() {
    let round = |x: &Tensor| x.to_dtype(DType::BF16).to_dtype(DType::F32);
    let elements = |x: &Tensor| x.to_vec::<f32>();
    let layer = with_seed(2, || Linear::new(6, 3));
    let x = with_seed(3, || rand((4, 6)));
    let [weight, bias] = ["weight", "bias"].map(|name| layer.parameter(name).tensor());
    let want = round(&round(&x).matmul(&round(&weight.detach()).t())) + bias.detach();
    let y = with_precision(Some(DType::BF16), || layer.forward(&x));
    assert_eq!(elements(&y), elements(&want));
    let gradients = with_precision(Some(DType::BF16), || y.sqr().sum_all().backward());
    let of_y = round(&(&want * 2.0));
    let of_weight = round(&of_y.t().matmul(&round(&x)));
    assert_eq!(elements(&gradients.of(&weight)), elements(&of_weight));
    assert_eq!(
        elements(&gradients.of(&bias)),
        elements(&(&want * 2.0).sum(0))
    );
    assert_eq!(weight.dtype(), DType::F32);
}
