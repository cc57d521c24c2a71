use super::choose::chosen;
use super::*;
use crate::error::attempt;
use crate::ops::broadcast::broadcast_shape;
use crate::ops::tape::foreign;
use crate::ops::testing::{compare, variable};
use crate::ops::{embedding, flip, gather, index_select, where_cond};
use crate::tensor::{Tensor, arange, linspace, ones, rand, randint, randn, tensor, zeros};
use candle_core::DType;

/// Returns a random shape, and one in which some dimensions are 1 or missing.
fn shapes(case: &mut crate::ops::testing::Case) -> [Vec<usize>; 2] {
    let shape: Vec<usize> = (0..3).map(|_| case.one_of(&[1, 2, 7, 40, 300])).collect();
    let part = shape[case.between(0, 2)..].to_vec();
    let part = part.iter().map(|size| {
        if case.one_of(&[true, false]) {
            *size
        } else {
            1
        }
    });
    let part = part.collect();
    [shape, part]
}

#[test]
fn choices_agree_with_candle() {
    compare("where_cond", 40, |case| {
        let [shape, part] = shapes(case);
        if shape.iter().product::<usize>() > 1 << 17 {
            return None;
        }
        let mask = randn(shapes(case)[1][..1].to_vec());
        let mask = if mask.elem_count() == shape[2] {
            mask
        } else {
            randn(1)
        };
        let mask = mask.gt(0.0);
        let inputs = vec![case.input(randn(shape.clone())), case.input(randn(part))];
        let candle = (mask.clone(), shape.clone());
        let kernel = move |x: &[Raw]| chosen(mask.raw(), &x[0], &x[1], &shape);
        let candle = move |x: &[Raw]| {
            let yes = x[0].broadcast_as(&candle.1[..])?;
            let no = x[1].broadcast_as(&candle.1[..])?;
            candle
                .0
                .raw()
                .broadcast_as(&candle.1[..])?
                .where_cond(&yes, &no)
        };
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
}

#[test]
fn the_kernels_of_indices_agree_with_candle() {
    for name in ["index_select", "gather", "flip"] {
        compare(name, 30, |case| {
            let [shape, _] = shapes(case);
            if shape.iter().product::<usize>() > 1 << 17 {
                return None;
            }
            let dim = case.between(0, 2);
            let mut dims = shape.clone();
            dims[dim] = case.between(1, 20);
            let shape_of_indices = if name == "gather" {
                dims
            } else {
                vec![dims[dim]]
            };
            let indices = randint(0, shape[dim] as i64, shape_of_indices);
            let inputs = vec![case.input(randn(shape))];
            let raw = indices.raw().clone();
            let kernel = move |x: &[Raw]| {
                let x = Tensor::from(&x[0]);
                Ok(match name {
                    "gather" => gather(&x, &indices, dim),
                    "flip" => flip(&x, (0, dim.max(1))),
                    _ => index_select(&x, &indices, dim),
                }
                .into())
            };
            let candle = move |x: &[Raw]| match name {
                "gather" => x[0].contiguous()?.gather(&raw, dim),
                "flip" => foreign(&[&x[0].contiguous()?], &mut |x| x[0].flip(&[0, dim.max(1)])),
                _ => x[0].contiguous()?.index_select(&raw, dim),
            };
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}

#[test]
fn masks_and_numbers_are_broadcast() {
    let x = variable(&tensor(&[[1.0, 2.0], [3.0, f64::NAN]]));
    let y = where_cond(&tensor(&[[1], [0]]), &x, -1);
    assert_eq!(y.to_vec2::<f32>(), [[1.0, 2.0], [-1.0, -1.0]]);
    let gradient = y.sum_all().backward().of(&x);
    assert_eq!(gradient.to_vec2::<f32>(), [[1.0, 1.0], [0.0, 0.0]]);
    let mask = tensor(&[1.0, 0.0]);
    assert_eq!(where_cond(&mask, 1, 2).to_vec1::<i64>(), [1, 2]);
    assert_eq!(where_cond(&mask, 1, 2.5).to_vec1::<f32>(), [1.0, 2.5]);
    assert_eq!(where_cond(&zeros((0, 2)), &mask, 1.0).dims(), [0, 2]);
    assert!(attempt(|| where_cond(&zeros(3), &mask, 1.0)).is_err());
    let shape = broadcast_shape("", x.raw(), mask.raw()).unwrap();
    assert_eq!(shape, [2, 2]);
}

#[test]
fn rows_of_any_length_are_reversed() {
    for count in 1..40 {
        let x = arange(0, 3 * count).reshape((3, count as usize));
        let reversed = |row: i64| (0..count).rev().map(|i| row * count + i).collect();
        let want: Vec<Vec<i64>> = (0..3).map(reversed).collect();
        assert_eq!(flip(&x, 1).to_vec2::<i64>(), want);
        assert_eq!(
            flip(&x.to_dtype(DType::F32), 1)
                .to_dtype(DType::I64)
                .to_vec2::<i64>(),
            want
        );
    }
}

#[test]
fn wrong_indices_are_named() {
    let x = arange(0, 6).reshape((2, 3));
    let message = |indices: &[i64]| {
        let indices = tensor(indices);
        attempt(|| index_select(&x, &indices, 1))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message(&[0, 3]),
        "index_select: index 3 is out of range: there are 3, counted from 0\nIndices of dimension 1 count from 0"
    );
    assert!(message(&[-1]).contains("-1 is out of range"));
    assert!(attempt(|| gather(&x, &tensor(&[[2], [0]]), 0)).is_err());
    assert!(attempt(|| gather(&x, &tensor(&[0]), 0)).is_err());
    assert!(attempt(|| index_select(&x, &rand(2), 0)).is_err());
    let y = index_select(&x, &tensor(&[2_u32, 2]), 1);
    assert_eq!(y.to_vec2::<i64>(), [[2, 2], [5, 5]]);
    assert_eq!(flip(&x, (0, 1)).to_vec2::<i64>(), [[5, 4, 3], [2, 1, 0]]);
    assert_eq!(flip(&zeros((0, 2)), 0).dims(), [0, 2]);
}

#[test]
fn sums_at_indices_agree_with_candle() {
    for name in ["index_add", "scatter_add"] {
        compare(name, 20, |case| {
            let [shape, _] = shapes(case);
            if shape.iter().product::<usize>() > 1 << 16 {
                return None;
            }
            let dim = case.between(0, 2);
            let mut of_values = shape.clone();
            if name == "index_add" {
                of_values[dim] = case.one_of(&[1, 5, 50]);
            }
            let inputs = vec![
                case.input(randn(shape.clone())),
                case.input(randn(of_values.clone())),
            ];
            let count = if name == "index_add" {
                of_values[dim..=dim].to_vec()
            } else {
                of_values
            };
            let indices = randint(0, shape[dim] as i64, count);
            let candle = indices.clone();
            let kernel = move |x: &[Raw]| {
                let [x, values] = [&x[0], &x[1]].map(Tensor::from_raw_ref);
                Ok(match name {
                    "index_add" => x.index_add(&indices, values, dim).into(),
                    _ => x.scatter_add(&indices, values, dim).into(),
                })
            };
            let candle = move |x: &[Raw]| {
                let (zeros, values) = (x[0].zeros_like()?, x[1].contiguous()?);
                let sums = match name {
                    "index_add" => zeros.index_add(candle.raw(), &values, dim)?,
                    _ => zeros.scatter_add(candle.raw(), &values, dim)?,
                };
                &x[0].contiguous()? + sums
            };
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}

/// An index that was broadcast is read once for each row, with the same results as a copy for each element.
#[test]
fn broadcast_indices_choose_rows() {
    for dim in 0..3 {
        let (x, y) = (variable(&randn((4, 5, 6))), variable(&randn((4, 5, 6))));
        let count = x.dim(dim);
        let row = randint(0, count as i64, count);
        let mut shape = [1, 1, 1];
        shape[dim] = count;
        let each = row.reshape(&shape[..]).broadcast_as((4, 5, 6));
        let computed = |each: &Tensor| {
            let found = [x.gather(each, dim), x.scatter_add(each, &y, dim)];
            let weights = linspace(0.0, 1.0, 120).reshape((4, 5, 6));
            let loss = (&found[0] * &weights).sum_all() + (&found[1] * &weights).sqr().sum_all();
            let gradients = loss.backward();
            let all = [&found[0], &found[1], &gradients.of(&x), &gradients.of(&y)];
            all.map(|x| x.to_vec::<f32>())
        };
        let copied = Tensor::from_vec(each.to_vec::<i64>(), (4, 5, 6));
        assert_eq!(computed(&each), computed(&copied), "dimension {dim}");
        let wrong = (row + count).reshape(&shape[..]).broadcast_as((4, 5, 6));
        for name in ["gather", "scatter_add"] {
            let message = attempt(|| match name {
                "gather" => x.gather(&wrong, dim),
                _ => x.scatter_add(&wrong, &y, dim),
            });
            assert!(message.unwrap_err().to_string().starts_with(name));
        }
    }
}

#[test]
fn what_is_overwritten_has_no_gradient() {
    let (x, values) = (
        variable(&zeros((2, 3))),
        variable(&tensor(&[[5.0, 6.0], [7.0, 8.0]])),
    );
    let y = x.scatter(&tensor(&[[2, 2], [0, 1]]), &values, 1);
    assert_eq!(y.to_vec2::<f32>(), [[0.0, 0.0, 6.0], [7.0, 8.0, 0.0]]);
    let gradients = y.sum_all().backward();
    assert_eq!(
        gradients.of(&x).to_vec2::<f32>(),
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    );
    assert_eq!(
        gradients.of(&values).to_vec2::<f32>(),
        [[0.0, 1.0], [1.0, 1.0]]
    );
    let labels = arange(0, 4).scatter(&tensor(&[1]), -7, 0);
    assert_eq!(labels.to_vec1::<i64>(), [0, -7, 2, 3]);
}

#[test]
fn sums_at_indices_have_second_derivatives() {
    let values = variable(&tensor(&[1.0, 2.0, 3.0]));
    let indices = tensor(&[1, 0, 1]);
    for sums in [
        zeros(2).scatter_add(&indices, &values, 0),
        zeros(2).index_add(&indices, &values, 0),
    ] {
        // Of the cubes of v₁ and v₀ + v₂.
        let slope = sums.pow(3).sum_all().backward_graph().of(&values);
        assert_eq!(slope.to_vec1::<f32>(), [48.0, 12.0, 48.0]);
        let second = slope.sum_all().backward().of(&values);
        assert_eq!(second.to_vec1::<f32>(), [48.0, 12.0, 48.0]);
    }
}

#[test]
fn values_and_indices_that_do_not_fit_are_refused() {
    let x = zeros((2, 3));
    let (pair, values) = (tensor(&[[0, 1]]), zeros((1, 2)));
    let messages = [
        attempt(|| x.scatter_add(&pair, &zeros((1, 1)), 1)),
        attempt(|| x.scatter_add(&tensor(&[[0, 3]]), &values, 1)),
        attempt(|| x.scatter(&tensor(&[0, 1]), 1.0, 1)),
        attempt(|| x.scatter(&values, 1.0, 1)),
        attempt(|| x.index_add(&tensor(&[0]), &values, 0)),
        attempt(|| x.index_put((0, 0), &values)),
        attempt(|| x.i((&tensor(&[0, 1]), &tensor(&[0, 1, 2])))),
        attempt(|| x.i(&tensor(&[0.0]))),
        attempt(|| x.i(&zeros(3).eq(0))),
        attempt(|| x.i((0, &tensor(&[-4])))),
    ];
    for message in messages.map(|outcome| outcome.unwrap_err().to_string()) {
        assert_eq!(message.lines().count(), 2, "{message}");
    }
}

/// In 16 bits, a sum of ones would not go beyond 256 or 2048.
#[test]
fn gradients_of_16_bits_are_summed_in_f32() {
    let count = 5000;
    for dtype in [DType::BF16, DType::F16] {
        let x = variable(&ones((1, 1)).to_dtype(dtype));
        let indices = zeros(count).to_dtype(DType::I64);
        for y in [
            index_select(&x, &indices, 0),
            gather(&x, &indices.reshape((count, 1)), 0),
            embedding(&indices, &x),
        ] {
            assert_eq!(y.dtype(), dtype);
            let of_x = y.sum_all().backward().of(&x);
            let sum = of_x.to_dtype(DType::F32).item();
            assert!((sum / count as f64 - 1.0).abs() < 4e-3, "{dtype:?}: {sum}");
        }
    }
}
