//! The function for attention.

use crate::nn::testing::{DIRT, assert_same, variable};
use crate::ops::{AttentionMask, backward_graph, scaled_dot_product_attention, where_cond};
use crate::tensor::{Tensor, full, manual_seed, randn, tensor};
use candle_core::DType;

/// Masks of 4 queries and 4 keys that hide key 3 from the queries 0 to 2 or from all, with the queries that see no
/// dirt.
fn masks() -> Vec<(&'static str, AttentionMask, usize)> {
    let none = AttentionMask::none;
    let pairs = tensor(&[[1, 1, 1, 0], [1, 1, 1, 0], [0, 1, 1, 0], [1, 1, 1, 1]]);
    let added = where_cond(&pairs, 0.0, f64::NEG_INFINITY);
    let dirty = full((4, 4), 0.5).index_put((.., 3), f64::NAN);
    vec![
        ("lengths", none().lengths(&tensor(&[3, 3]), 4), 4),
        (
            "keys",
            none().keys(&tensor(&[[1, 1, 0, 0], [1, 0, 1, 0]])),
            4,
        ),
        ("causal", AttentionMask::causal(), 3),
        ("window", AttentionMask::window(2), 3),
        ("pairs", none().pairs(&pairs), 3),
        ("added", none().pairs(&added), 3),
        (
            "causal, lengths",
            AttentionMask::causal().lengths(&tensor(&[2, 3]), 4),
            4,
        ),
        (
            "lengths, scores",
            none().pairs(&dirty).lengths(&tensor(&[3, 3]), 4),
            4,
        ),
    ]
}

/// The output of attention for the first queries, the gradients of queries, keys and values, and with `second` the
/// gradients of these.
fn attended(mask: &AttentionMask, rows: usize, x: [&Tensor; 3], second: bool) -> Vec<Tensor> {
    let vars = x.map(variable);
    let [q, k, v] = &vars;
    let y = scaled_dot_product_attention(q, k, v, mask).narrow(-2, 0, rows);
    let loss = y.sqr().sum_all();
    let mut found = vec![y];
    let gradients = match second {
        true => backward_graph(&loss),
        false => loss.backward(),
    };
    found.extend(vars.each_ref().map(|x| gradients.of(x)));
    if second {
        let sums = found[1..].iter().map(|gradient| gradient.sqr().sum_all());
        let gradients = sums.reduce(|a, b| a + b).unwrap().backward();
        found.extend(vars.each_ref().map(|x| gradients.of(x)));
    }
    found
}

#[test]
fn hidden_keys_and_values_reach_no_output_and_no_gradient() {
    manual_seed(1);
    for (name, mask, rows) in masks() {
        for (size, leading) in [(6, &[2][..]), (5, &[2]), (6, &[2, 3])] {
            let shape = |size: usize| [leading, &[4, size]].concat();
            let [q, k] = [(); 2].map(|()| randn(shape(6)));
            let v = randn(shape(size));
            let hidden =
                |x: &Tensor, value: f64| x.index_put((crate::tensor::Ellipsis, 3, ..), value);
            for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
                for second in [false, true] {
                    if second && !matches!(dtype, DType::F32 | DType::F64) {
                        continue;
                    }
                    let run = |k: &Tensor, v: &Tensor| {
                        attended(
                            &mask,
                            rows,
                            [&q, k, v].map(|x| x.to_dtype(dtype)).each_ref(),
                            second,
                        )
                    };
                    let want = run(&hidden(&k, 0.0), &hidden(&v, 0.0));
                    for dirt in DIRT {
                        let what =
                            format!("{name}, {size}, {leading:?}, {dtype:?}, {second}, {dirt}");
                        assert_same(&what, &run(&hidden(&k, dirt), &hidden(&v, dirt)), &want);
                        assert_same(&what, &run(&hidden(&k, dirt), &hidden(&v, 0.0)), &want);
                        assert_same(&what, &run(&hidden(&k, 0.0), &hidden(&v, dirt)), &want);
                    }
                }
            }
        }
    }
}

/// What a query attends to stays visible.
#[test]
fn dirt_that_is_not_hidden_reaches_its_queries() {
    manual_seed(1);
    let mask = AttentionMask::causal();
    for dtype in [DType::F32, DType::F16] {
        for dirt in DIRT {
            let x = |value: f64| randn((1, 4, 6)).index_put((0, 2, 1), value).to_dtype(dtype);
            let clean = x(0.0);
            let found = |q: &Tensor, k: &Tensor, v: &Tensor| {
                let y = scaled_dot_product_attention(q, k, v, &mask);
                y.to_dtype(DType::F64).to_vec3::<f64>().remove(0)
            };
            // A key makes the weights of all its queries NaN, a value its own feature.
            let of_key = found(&clean, &x(dirt), &clean);
            let of_value = found(&clean, &clean, &x(dirt));
            for query in 0..4 {
                let wrong = |row: &[f64]| row.iter().filter(|x| !x.is_finite()).count();
                let sees = query >= 2;
                assert_eq!(wrong(&of_key[query]), if sees { 6 } else { 0 }, "{dirt}");
                assert_eq!(wrong(&of_value[query]), usize::from(sees), "{dirt}");
                if sees {
                    assert!(of_value[query][1].total_cmp(&dirt).is_eq() || dirt.is_nan());
                }
            }
            let of_query = found(&x(dirt), &clean, &clean);
            let finite = |row: &Vec<f64>| row.iter().all(|x| x.is_finite());
            assert_eq!(
                Vec::from_iter(of_query.iter().map(finite)),
                [true, true, false, true]
            );
        }
    }
}
