//! The layers of a chain that are computed in one pass through memory.
//!
//! The rule: a [`Conv2d`](crate::nn::Conv2d) takes with it a batch normalisation in evaluation mode, a
//! [`ReLU`](crate::nn::ReLU), or the one and then the other, if they follow it in the chain. It holds on the CPU, where no
//! gradients are recorded. In training, a batch normalisation takes a ReLU with it, also one after the chain that it ends.
//! Nothing may watch the layers, as a summary does. The output has the same bits as when each layer runs alone. The
//! environment variable `TAPER_FUSE=0` switches it off.

use crate::nn::Layer;
use crate::nn::fusible::Kind;
use crate::nn::summary;
use crate::ops::{self, RunningStats};
use crate::tensor::{Tensor, is_grad_enabled};
use std::sync::LazyLock;

static IS_ON: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("TAPER_FUSE").is_none_or(|setting| setting != "0"));

/// Computes the first layers of a chain in one pass; returns their output and their number, or `None` if the first has to be
/// computed on its own.
pub(super) fn forward(layers: &[Box<dyn Layer>], x: &Tensor) -> Option<(Tensor, usize)> {
    if layers.len() < 2 || !*IS_ON || summary::needs_each_layer() {
        return None;
    }
    let part = |i: usize| layers.get(i).and_then(|layer| layer.fusible().0);
    if matches!(part(1), Some(Kind::Relu)) && matches!(part(0), Some(Kind::NormOfBatch)) {
        return Some((layers[0].forward_relu(x)?, 2));
    }
    if is_grad_enabled() {
        return None;
    }
    let Some(Kind::Convolution {
        weight,
        bias,
        spec,
        padding_mode,
    }) = part(0)
    else {
        return None;
    };
    let mut next = part(1);
    let norm = next.take_if(|part| matches!(part, Kind::Norm { .. }));
    if norm.is_some() {
        next = part(2);
    }
    let relu = matches!(next, Some(Kind::Relu));
    let fixed = match &norm {
        Some(Kind::Norm {
            weight,
            bias,
            mean,
            var,
            eps,
        }) => Some(RunningStats {
            weight: weight.raw(),
            bias: bias.raw(),
            mean: mean.raw(),
            var: var.raw(),
            eps: *eps,
        }),
        _ => None,
    };
    let count = 1 + usize::from(fixed.is_some()) + usize::from(relu);
    if count == 1 {
        return None;
    }
    let bias = bias.as_ref().map(Tensor::raw);
    let y = ops::conv2d_finished(
        x.raw(),
        weight.raw(),
        bias,
        (spec, padding_mode),
        fixed,
        relu,
    )?;
    Some((y.into(), count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{
        BatchNorm2d, Conv2d, LazyConv2d, Parameter, Parameters, ParametersExt, ReLU, Sequential,
    };
    use crate::ops::PaddingMode;
    use crate::seq;
    use crate::tensor::{manual_seed, no_grad, randn, zeros};

    type Chain = Vec<Box<dyn Layer>>;

    fn one_by_one(chain: &[Box<dyn Layer>], x: &Tensor) -> Tensor {
        chain.iter().fold(x.clone(), |x, layer| layer.forward(&x))
    }

    fn followed(conv: Conv2d) -> Chain {
        vec![
            Box::new(conv),
            Box::new(BatchNorm2d::new(32)),
            Box::new(ReLU),
        ]
    }

    #[test]
    fn one_pass_has_the_bits_of_three() {
        let norm = || Box::new(BatchNorm2d::new(4));
        let conv = Conv2d::new;
        manual_seed(1);
        for (chain, shape, together) in [
            (followed(conv(3, 32, 3).padding(1)), [2, 3, 17, 19], 3),
            // Narrow images, many channels, groups, and no bias: each has its own way to the sums.
            (followed(conv(32, 32, 3)), [5, 32, 7, 7], 3),
            (followed(conv(64, 32, 3).padding(1)), [3, 64, 24, 23], 3),
            (
                followed(conv(32, 32, 3).groups(32).stride(2)),
                [2, 32, 20, 20],
                3,
            ),
            (followed(conv(8, 32, 1).bias(false)), [2, 8, 3, 2], 3),
            // Padding that the convolution does not do itself.
            (
                followed(Conv2d::new(3, 32, (3, 2)).padding_same()),
                [2, 3, 9, 9],
                3,
            ),
            (
                followed(conv(3, 32, 3).padding(1).padding_mode(PaddingMode::Reflect)),
                [2, 3, 9, 9],
                3,
            ),
            (
                vec![Box::new(LazyConv2d::new(4, 5)), Box::new(ReLU), norm()],
                [2, 3, 12, 12],
                2,
            ),
            (
                vec![Box::new(conv(3, 4, 5)), norm(), norm()],
                [2, 3, 12, 12],
                2,
            ),
        ] {
            // The running statistics of some batches, which are neither 0 nor 1.
            for _ in 0..3 {
                one_by_one(&chain, &(randn(&shape[..]) * 3.0 + 1.0));
            }
            chain.set_training(false);
            let x = randn(&shape[..]);
            let fused = no_grad(|| forward(&chain, &x));
            let (y, count) = fused.expect("layers that go together");
            assert_eq!(count, together);
            let bits = |y: &Tensor| Vec::from_iter(y.to_vec::<f32>().iter().map(|y| y.to_bits()));
            let expected = one_by_one(&chain, &x);
            assert_eq!(bits(&one_by_one(&chain[count..], &y)), bits(&expected));
        }
    }

    /// A chain of its own ends with the normalisation.
    #[test]
    fn in_training_a_norm_and_its_relu_have_the_bits_of_both() {
        manual_seed(1);
        for shape in [&[4, 3, 9, 9][..], &[33, 5, 2, 2], &[64, 40, 1, 1]] {
            let (x, channels) = (Parameter::new(&randn(shape)).tensor(), shape[1]);
            let inner = seq![Conv2d::new(channels, 6, 1), BatchNorm2d::new(6)];
            let chain: Chain = vec![Box::new(inner), Box::new(ReLU)];
            let of_y = randn((shape[0], 6, shape[2], shape[3])); // also where the ReLU is 0
            let pass = |run: &dyn Fn() -> Tensor| {
                let y = run();
                let of_x = (&y * &of_y).mean(..).backward().of(&x);
                let bits =
                    |y: &Tensor| Vec::from_iter(y.to_vec::<f32>().iter().map(|y| y.to_bits()));
                (bits(&y), bits(&of_x))
            };
            let together = pass(&|| forward(&chain, &x).expect("layers that go together").0);
            assert_eq!(together, pass(&|| one_by_one(&chain, &x)));
        }
    }

    #[test]
    fn nan_and_negative_zero_are_kept() {
        let chain: Chain = vec![Box::new(Conv2d::new(1, 1, 1)), Box::new(ReLU)];
        let x = crate::tensor::tensor(&[[[[f32::NAN, 1.0, -1.0, 0.0]]]]);
        let (y, _) = no_grad(|| forward(&chain, &x)).expect("layers that go together");
        let bits = |y: &Tensor| Vec::from_iter(y.to_vec::<f32>().iter().map(|y| y.to_bits()));
        assert_eq!(bits(&y), bits(&one_by_one(&chain, &x)));
    }

    #[test]
    fn training_gradients_and_summaries_need_each_layer() {
        let (chain, x) = (followed(Conv2d::new(1, 32, 3)), randn((1, 1, 5, 5)));
        let count = || forward(&chain, &x).map(|(_, count)| count);
        assert_eq!(no_grad(count), None, "training");
        assert_eq!(
            forward(&chain[1..], &x.broadcast_as((1, 32, 5, 5))).map(|(_, count)| count),
            Some(2)
        );
        chain.set_training(false);
        assert_eq!(count(), None, "gradients");
        assert_eq!(no_grad(count), Some(3));
        let mut net = Sequential::new();
        chain.into_iter().for_each(|layer| net.push(layer));
        assert_eq!(no_grad(|| net.summary((1, 1, 5, 5))).num_layers(), 3);
        assert_eq!(no_grad(|| net.forward(&x)).dims(), [1, 32, 3, 3]);
    }

    #[test]
    fn an_input_that_does_not_fit_is_refused_by_its_layer() {
        let chain = followed(Conv2d::new(1, 32, 3));
        chain.set_training(false);
        for shape in [&[1, 2, 5, 5][..], &[1, 5, 5], &[1, 1, 2, 2]] {
            assert!(
                no_grad(|| forward(&chain, &zeros(shape))).is_none(),
                "{shape:?}"
            );
        }
        let chain: Chain = vec![
            Box::new(Conv2d::new(1, 2, 3)),
            Box::new(BatchNorm2d::new(3)),
        ];
        chain.set_training(false);
        assert!(no_grad(|| forward(&chain, &randn((1, 1, 5, 5)))).is_none());
    }
}
