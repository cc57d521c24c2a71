//! Invalid inputs and settings: an operation returns a result, or panics with an error of two lines; it never
//! panics otherwise, or aborts.

use super::*;
use crate::error::attempt;
use crate::tensor::Tensor;
use crate::testing::{Operation, backward_passes, caught, messages, sweep};
use candle_core::DType;

const OPERATIONS: &[(&str, Operation)] = &[
    ("relu", |x, _, _| relu(x)),
    ("gelu", |x, _, _| gelu(x)),
    ("exp", |x, _, _| exp(x)),
    ("log", |x, _, _| log(x)),
    ("sum", |x, _, size| sum(x, size)),
    ("mean", |x, _, size| mean(x, size)),
    ("max", |x, _, size| max(x, size)),
    ("min", |x, _, size| min(x, size)),
    ("argmax", |x, _, size| argmax(x, size)),
    ("argmin", |x, _, size| argmin(x, size)),
    ("matmul", |x, y, _| matmul(x, y)),
    ("cat", |x, y, size| cat(&[x, y], size)),
    ("elu", |x, _, _| elu(x, 1.0)),
    ("softmax", |x, _, size| softmax(x, size)),
    ("log_softmax", |x, _, size| log_softmax(x, size)),
    ("linear", |x, w, _| linear(x, w, None)),
    ("linear, bias", |x, w, _| linear(x, w, Some(x))),
    ("conv2d", |x, w, _| conv2d(x, w, Some(w), Conv2dSpec::new())),
    ("conv2d, stride", |x, w, size| {
        conv2d(x, w, None, Conv2dSpec::new().stride(size))
    }),
    ("conv2d, padding", |x, w, size| {
        conv2d(x, w, None, Conv2dSpec::new().padding((size, 0)))
    }),
    ("conv2d, dilation", |x, w, size| {
        conv2d(x, w, None, Conv2dSpec::new().dilation(size))
    }),
    ("conv2d, groups", |x, w, size| {
        conv2d(x, w, None, Conv2dSpec::new().groups(size))
    }),
    ("conv1d", |x, w, _| conv1d(x, w, None, Conv2dSpec::new())),
    ("max_pool2d", |x, _, size| {
        max_pool2d(x, Pool2dSpec::new((1, size)))
    }),
    ("max_pool2d, stride", |x, _, size| {
        max_pool2d(x, Pool2dSpec::new(2).stride(size))
    }),
    ("max_pool2d_with_indices", |x, _, size| {
        max_pool2d_with_indices(x, Pool2dSpec::new(2).ceil_mode(true).stride(size)).1
    }),
    ("max_pool2d, dilation", |x, _, size| {
        max_pool2d(x, Pool2dSpec::new(2).dilation(size))
    }),
    ("avg_pool2d, ceil_mode", |x, _, size| {
        let spec = Pool2dSpec::new(2).ceil_mode(true).stride(size);
        avg_pool2d(x, spec.count_include_pad(false))
    }),
    ("avg_pool2d", |x, _, size| {
        avg_pool2d(x, Pool2dSpec::new(size).padding(size / 2))
    }),
    ("avg_pool2d, padding", |x, _, size| {
        avg_pool2d(x, Pool2dSpec::new(3).padding(size))
    }),
    ("adaptive_avg_pool2d", |x, _, size| {
        adaptive_avg_pool2d(x, size)
    }),
    ("layer_norm", |x, w, _| layer_norm(x, w, w, 1e-5)),
    ("layer_norm, bias", |x, w, _| layer_norm(x, w, x, 1e-5)),
    ("rms_norm", |x, w, _| rms_norm(x, w, 1e-5)),
    ("group_norm", |x, w, size| group_norm(x, size, w, w, 1e-5)),
    ("dropout", |x, _, size| dropout(x, size as f64)),
    ("one_hot", |x, _, size| one_hot(x, size)),
    ("mse_loss", |x, y, _| mse_loss(x, y)),
    ("huber_loss", |x, y, size| huber_loss(x, y, size as f64)),
    ("bce_with_logits", |x, y, _| bce_with_logits(x, y)),
    ("bce_with_logits, pos_weight", |x, w, _| {
        BCEWithLogitsLoss::new().pos_weight(w).forward(x, x)
    }),
    ("bce_with_logits, weight", |x, w, _| {
        BCEWithLogitsLoss::new().weight(w).forward(x, x)
    }),
    ("cross_entropy, weight", |x, w, _| {
        CrossEntropyLoss::new().weight(w).forward(x, w)
    }),
    ("scaled_dot_product_attention", |x, w, _| {
        scaled_dot_product_attention(x, w, x, &AttentionMask::causal())
    }),
    ("scaled_dot_product_attention, pairs", |x, w, _| {
        let mask = AttentionMask::none().pairs(w);
        scaled_dot_product_attention(x, x, x, &mask)
    }),
    ("scaled_dot_product_attention, lengths", |x, w, size| {
        let mask = AttentionMask::none().lengths(w, size % 9);
        scaled_dot_product_attention(x, x, x, &mask)
    }),
    ("kl_div", |x, y, _| kl_div(x, y)),
    ("cross_entropy", |x, y, _| cross_entropy(x, y)),
    ("nll_loss", |x, y, _| nll_loss(x, y)),
    ("embedding", |x, w, _| embedding(x, w)),
];

/// Functions that are composed of others.
const COMPOSED: &[(&str, Operation)] = &[
    ("i, mask", |x, y, _| x.i(&y.ne(0))),
    ("i, pairs", |x, y, _| {
        x.i((&x.to_dtype(DType::I64), &y.to_dtype(DType::I64)))
    }),
    ("index_put", |x, y, size| x.index_put(size, y)),
    ("scatter", |x, y, size| {
        x.scatter(&y.to_dtype(DType::I64), y, size)
    }),
    ("scatter_add", |x, y, size| {
        x.scatter_add(&y.to_dtype(DType::I64), y, size)
    }),
    ("index_add", |x, y, size| {
        x.index_add(&y.to_dtype(DType::I64), y, size)
    }),
    ("topk", |x, _, size| x.topk(size, 0).0),
    ("median", |x, _, size| x.median(size)),
    ("quantile", |x, _, size| x.quantile(size as f64, 0)),
    ("unique", |x, _, _| x.unique()),
    ("bincount", |x, _, size| {
        x.to_dtype(DType::I64).bincount(size)
    }),
    ("nonzero", |x, _, _| x.nonzero()),
    ("prod", |x, _, size| x.prod(size)),
    ("cumprod", |x, _, size| x.cumprod(size)),
    ("logsumexp", |x, _, size| x.logsumexp(size)),
    ("any", |x, _, size| x.any(size)),
    ("vector_norm", |x, _, size| x.vector_norm(size as f64, 0)),
    ("normalize", |x, _, size| x.normalize(size)),
    ("cosine_similarity", |x, y, size| {
        x.cosine_similarity(y, size)
    }),
    ("cdist", |x, y, _| x.cdist(y)),
    ("triu", |x, _, size| x.triu(size as i64)),
    ("diagonal", |x, _, size| x.diagonal(-(size as i64))),
    ("diag_embed", |x, _, size| x.diag_embed(size as i64)),
    ("outer", |x, y, _| x.outer(y)),
    ("solve", |x, y, _| x.solve(y)),
    ("inverse", |x, _, _| x.inverse()),
    ("cholesky", |x, _, _| x.cholesky()),
    ("split", |x, _, size| cat(&x.split(size, 0), 0)),
    ("movedim", |x, _, size| x.movedim(size, 0)),
    ("tile", |x, _, size| x.tile(size)),
    ("repeat_interleave", |x, _, size| {
        x.repeat_interleave(size, 0)
    }),
    ("pad", |x, _, size| {
        x.pad(&[size as i64, 1], PaddingMode::Reflect)
    }),
    ("pad_with", |x, _, size| x.pad_with(&[1, size as i64], 1.0)),
    ("Tensor::unfold", |x, _, size| x.unfold(0, size, 1)),
    ("Tensor::unfold, step", |x, _, size| x.unfold(0, 1, size)),
    ("unfold", |x, _, size| unfold(x, size, Conv2dSpec::new())),
    ("unfold, padding", |x, _, size| {
        unfold(x, 1, Conv2dSpec::new().padding(size))
    }),
    ("fold", |x, _, size| fold(x, size, 1, Conv2dSpec::new())),
    ("pixel_shuffle", |x, _, size| x.pixel_shuffle(size)),
    ("pixel_unshuffle", |x, _, size| x.pixel_unshuffle(size)),
    ("interpolate", |x, _, size| {
        interpolate(x, size, Interpolation::Nearest, false)
    }),
    ("grid_sample", |x, y, _| {
        grid_sample(x, y, Interpolation::Bilinear, PaddingMode::Zeros, false)
    }),
    ("multinomial", |x, _, size| x.multinomial(size)),
    ("multinomial_with_replacement", |x, _, size| {
        x.multinomial_with_replacement(size)
    }),
    ("bernoulli", |x, _, _| x.bernoulli()),
    ("%", |x, y, _| x % y),
    ("&", |x, y, _| x & y),
];

#[test]
fn invalid_inputs_are_refused_in_two_lines() {
    let refused = sweep(OPERATIONS, 1);
    assert!(refused >= 300, "only {refused} inputs were refused");
    let refused = sweep(COMPOSED, 3);
    assert!(refused >= 300, "only {refused} inputs were refused");
}

/// Candle accepts these shapes of 16 values, because the product of their sizes wraps to 16.
#[test]
fn shapes_whose_number_of_elements_overflows_are_refused() {
    let wide = (1 << 60) + 1;
    let shapes: [&[usize]; 4] = [&[16, wide], &[wide, 16], &[16, 1, wide], &[1, 16, wide, 1]];
    let tensors = shapes.map(|shape| Tensor::from_vec(vec![1f32; 16], shape));
    let mut wrong = Vec::new();
    for (name, operation) in OPERATIONS {
        for (x, w) in tensors
            .iter()
            .flat_map(|x| tensors.iter().map(move |w| (x, w)))
        {
            match caught(|| operation(x, w, 1)) {
                Ok(Err(error)) if error.to_string().lines().count() == 2 => {}
                result => wrong.push(format!("{name} of {:?}: {result:?}", [x.dims(), w.dims()])),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_backward_pass_of_a_valid_input_does_not_panic() {
    backward_passes(OPERATIONS);
    backward_passes(COMPOSED);
}

/// The message of an error does not depend on whether it is caught, Candle's own included.
#[test]
fn an_attempt_has_the_message_of_the_panic() {
    let compared = messages(OPERATIONS) + messages(COMPOSED);
    assert!(compared > 100, "{compared}");
    let message = attempt(|| Tensor::from_vec(vec![1f32, 2.0, 3.0], (2, 2))).unwrap_err();
    assert!(
        message
            .to_string()
            .starts_with("shape mismatch: [2, 2] has 4 elements, but there are 3\n")
    );
}
