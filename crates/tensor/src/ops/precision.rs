//! Products with rounded inputs, as in PyTorch's autocast.
//!
//! Linear layers and products of matrices round their `f32` inputs to the type of this thread, and return `f32`. All else,
//! such as weights, norms, losses and the optimiser's state, stays in `f32`. Rounding has the derivative 1, and the backward
//! pass computes each product in the type in which the forward pass has computed it.

use crate::tensor::{Raw, precision};
use candle_core::{DType, Result};

/// Returns the product of inputs that are rounded to this thread's [`precision`]; `None` if they are computed as they are.
pub(super) fn rounded(
    inputs: [&Raw; 2],
    product: impl FnOnce([&Raw; 2]) -> Result<Raw>,
) -> Option<Result<Raw>> {
    let dtype = precision()?;
    if inputs.iter().any(|x| x.dtype() != DType::F32) {
        return None;
    }
    let rounded = || {
        let [a, b] = inputs.map(|x| x.to_dtype(dtype));
        product([&a?, &b?])?.to_dtype(DType::F32)
    };
    Some(rounded())
}

#[cfg(test)]
mod tests {
    use crate::ops::checkpoint;
    use crate::ops::testing::variable;
    use crate::tensor::{Tensor, randn, with_precision, with_seed};
    use candle_core::DType;

    const HALF: DType = DType::BF16;

    fn half<T>(work: impl FnOnce() -> T) -> T {
        with_precision(Some(HALF), work)
    }

    fn round(x: &Tensor) -> Tensor {
        x.to_dtype(HALF).to_dtype(DType::F32)
    }

    fn assert_equal(a: &Tensor, b: &Tensor) {
        assert_eq!(a.to_vec::<f32>(), b.to_vec::<f32>());
    }

    #[test]
    fn products_round_their_inputs_and_their_result_and_nothing_else_is_rounded() {
        let (a, b) = with_seed(1, || (randn((3, 5)), randn((5, 4))));
        let want = round(&round(&a).matmul(&round(&b)));
        assert_equal(&half(|| a.matmul(&b)), &want);
        assert_ne!(want.to_vec::<f32>(), a.matmul(&b).to_vec::<f32>());
        assert_equal(&half(|| (&a + 1e-4).exp()), &(&a + 1e-4).exp());
        let double = |x: &Tensor| x.to_dtype(DType::F64);
        let exact = double(&a).matmul(&double(&b)).to_vec::<f64>();
        assert_eq!(
            half(|| double(&a).matmul(&double(&b))).to_vec::<f64>(),
            exact
        );
    }

    #[test]
    fn the_backward_pass_computes_in_the_types_of_the_forward_pass() {
        let w = variable(&with_seed(4, || randn((5, 5))));
        let gradient = |forward: &dyn Fn() -> Tensor| forward().sum_all().backward().of(&w);
        let product = || w.matmul(&w);
        let exact = gradient(&product);
        assert_equal(
            &half(|| product().sum_all()).backward().of(&w),
            &half(|| gradient(&product)),
        );
        let single = product().sum_all();
        assert_equal(&half(|| single.backward().of(&w)), &exact);
        let again = half(|| checkpoint(&w, |x| x.matmul(x)).sum_all());
        assert_equal(&again.backward().of(&w), &half(|| gradient(&product)));
    }
}
