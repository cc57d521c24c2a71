use crate::error::attempt;
use crate::ops;
use crate::ops::testing::variable;
use crate::tensor::Candle;
use crate::tensor::{Tensor, rand, randn, tensor, with_seed};
use candle_core::{DType, Device, Var};

fn values(x: &Tensor) -> Vec<f64> {
    x.to_dtype(DType::F64).to_vec()
}

fn assert_near(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        let error = (got - want).abs();
        assert!(
            error <= tolerance * want.abs().max(1.0),
            "{what}: {got} is not {want}"
        );
    }
}

type Views = fn(&Tensor) -> Vec<Tensor>;

/// Views of a tensor of the shape (4, 6, 5).
const VIEWS: [Views; 12] = [
    |x| vec![x.narrow(1, 1, 3)],
    |x| vec![x.narrow(0, 1, 2), x.narrow(0, 2, 2), x.narrow(2, 0, 1)],
    |x| vec![x.transpose(1, 2), x.permute((2, 0, 1))],
    |x| vec![x.permute((1, 2, 0)).narrow(1, 2, 2).transpose(0, 2)],
    |x| vec![x.reshape((8, 15)), x.unsqueeze(1), x.clone()],
    |x| vec![x.flatten_all().narrow(0, 7, 50), x.clone()],
    |x| vec![x.narrow(2, 3, 1).squeeze(2), x.narrow(1, 5, 1).squeeze(1)],
    |x| vec![x.narrow(1, 0, 1).broadcast_as((4, 6, 5)), x.t()],
    |x| vec![x.narrow(1, 2, 0), x.narrow(0, 0, 4).t().contiguous()],
    |x| {
        vec![
            x.unsqueeze(0)
                .broadcast_as((3, 4, 6, 5))
                .narrow(2, 1, 4)
                .t(),
        ]
    },
    |x| vec![x.i((.., 2)), x.i((1, .., 3)), x.t().reshape((10, 12))],
    |x| vec![x.narrow(0, 1, 1).broadcast_as((4, 6, 5)).narrow(1, 2, 3)],
];

/// The sum of the elements of all views, each times a factor of its own, so that no two elements have the same gradient.
fn loss(views: &[Tensor], power: f64) -> Tensor {
    let terms = views.iter().enumerate().map(|(i, view)| {
        let factors = (0..view.elem_count()).map(|k| ((k * (i + 1)) as f64 / 7.0).sin());
        let factors = Tensor::from_vec(factors.collect::<Vec<_>>(), view.shape());
        (view.pow(power) * factors.to_dtype(view.dtype())).sum_all()
    });
    terms.reduce(|a, b| a + b).expect("a view")
}

/// Along the tape, with shortcuts, without them, and by differences.
#[test]
fn the_gradients_of_views_agree() {
    for (i, views) in VIEWS.iter().enumerate() {
        let start = with_seed(3, || rand((4, 6, 5))).to_dtype(DType::F64) + 0.5;
        for base in [Tensor::clone as fn(&Tensor) -> Tensor, Tensor::exp] {
            let x = variable(&start);
            let of = |x: &Tensor| loss(&views(&base(x)), 2.0);
            let got = values(&of(&x).backward().of(&x));
            let composed = of(&x).backward_graph().of(&x);
            assert_near(&values(&composed), &got, 1e-12, &format!("{i}, composed"));
            let direction = with_seed(4, || randn((4, 6, 5))).to_dtype(DType::F64);
            let at = |step: f64| of(&(&start + &direction * step)).item();
            let near = (at(1e-6) - at(-1e-6)) / 2e-6;
            let along = got.iter().zip(values(&direction)).map(|(g, d)| g * d).sum();
            assert_near(&[along], &[near], 1e-6, &format!("{i}, by differences"));
            // The second derivative of squares is twice the factors, whatever the view.
            let second = (composed * &direction).sum_all().backward().of(&x);
            let slope = |step: f64| {
                let x = variable(&(&start + &direction * step));
                values(&of(&x).backward().of(&x))
            };
            let (above, below) = (slope(1e-6), slope(-1e-6));
            let near: Vec<_> = above
                .iter()
                .zip(below)
                .map(|(a, b)| (a - b) / 2e-6)
                .collect();
            assert_near(&values(&second), &near, 1e-6, &format!("{i}, second"));
        }
    }
}

#[test]
fn the_gradients_of_views_in_16_bits_agree() {
    for (i, views) in VIEWS.iter().enumerate() {
        let start = with_seed(3, || rand((4, 6, 5)));
        let of = |dtype: DType| {
            let x = variable(&start.to_dtype(dtype));
            values(&loss(&views(&x), 1.0).backward().of(&x))
        };
        assert_near(&of(DType::BF16), &of(DType::F32), 0.05, &format!("{i}"));
    }
}

#[test]
fn an_output_sums_the_gradients_of_all_its_uses() {
    let x = variable(&tensor(&[0.3, -1.2]).to_dtype(DType::F64));
    let s = |x: f64| 1.0 / (1.0 + (-x).exp());
    let y = ops::sigmoid(&x);
    let loss = (ops::sigmoid(&y) + &y * &y + ops::sigmoid(&y)).sum_all();
    let want = [0.3f32, -1.2].map(|x| {
        let y = s(f64::from(x));
        (2.0 * s(y) * (1.0 - s(y)) + 2.0 * y) * y * (1.0 - y)
    });
    for _ in 0..2 {
        assert_near(&values(&loss.backward().of(&x)), &want, 1e-12, "twice");
    }
}

#[test]
fn a_variable_may_be_the_loss_and_a_constant_may_not() {
    let x = variable(&tensor(&[1.0, 2.0]));
    assert_eq!(x.backward().of(&x).to_vec1::<f32>(), [1.0, 1.0]);
    let error = attempt(|| x.detach().sum(0).backward()).err();
    let error = error.expect("an error").to_string();
    assert!(error.contains("not computed from a parameter"), "{error}");
}

#[test]
fn the_gradient_of_a_view_can_be_asked_for() {
    let x = variable(&tensor(&[[1.0, 2.0], [3.0, 4.0]]));
    let row = x.i(1);
    let loss = || (row.narrow(0, 1, 1).sqr() + x.i((0, 0))).sum_all();
    let of = ops::grad(&loss(), &[&row, &x]);
    assert_eq!(of[0].to_vec1::<f32>(), [0.0, 8.0]);
    assert_eq!(of[1].to_vec2::<f32>(), [[1.0, 0.0], [0.0, 8.0]]);
    row.retain_grad();
    let gradients = loss().backward();
    assert_eq!(gradients.of(&row).to_vec1::<f32>(), [0.0, 8.0]);
    assert_eq!(gradients.of(&x).to_vec2::<f32>(), [[1.0, 0.0], [0.0, 8.0]]);
}

/// Gradients flow through what Candle computes, to its variables and to ours; not through the values alone.
#[test]
fn candles_graphs_are_nodes() {
    let w = Var::new(&[2f32, 3.0], &Device::Cpu).unwrap();
    let x = variable(&tensor(&[5.0, 7.0]));
    let theirs = |x: &Candle| x.broadcast_mul(&w)?.sqr();
    let y = (&x * 2.0).apply(&theirs) * 3.0; // 12 (x w)²
    let gradients = (y.sum_all() + Tensor::from(&w).sum_all()).backward();
    assert_eq!(
        gradients.of(&x).to_vec1::<f32>(),
        [24.0 * 5.0 * 4.0, 24.0 * 7.0 * 9.0]
    );
    let of_w = gradients.of(&Tensor::from(&w)).to_vec1::<f32>();
    assert_eq!(of_w, [24.0 * 25.0 * 2.0 + 1.0, 24.0 * 49.0 * 3.0 + 1.0]);
    // A tensor with a graph of Candle's, which has no input of ours.
    let y = Tensor::from(w.sqr().unwrap());
    assert_eq!(
        y.backward().of(&Tensor::from(&w)).to_vec1::<f32>(),
        [4.0, 6.0]
    );
    assert!(!Tensor::from(x.exp().as_candle()).track_op());
    assert!(!crate::tensor::no_grad(|| x.apply(&theirs)).track_op());
}

#[test]
fn views_and_second_derivatives_work_in_every_type() {
    let x = variable(&tensor(&[0.5, 1.5]));
    let y = x.to_dtype(DType::F64).exp().to_dtype(DType::F32);
    let slope = y.sum_all().backward_graph().of(&x);
    let second = slope.sum_all().backward().of(&x);
    assert_near(&values(&second), &[0.5f64.exp(), 1.5f64.exp()], 1e-6, "exp");
}
