use super::*;
use crate::error::attempt;
use crate::ops::testing::{compare, variable};
use crate::tensor::{Raw, Tensor, randint, randn, tensor, zeros};

#[test]
fn the_kernels_agree_with_candle() {
    for smallest in [false, true] {
        compare("max", 40, |case| {
            let sizes = [1, 2, 7, 40, 600];
            let shape: Vec<usize> = (0..3).map(|_| case.one_of(&sizes)).collect();
            let dim = case.between(0, 2);
            if shape.iter().product::<usize>() > 1 << 18 {
                return None;
            }
            let inputs = vec![case.input(randn(shape))];
            let places = indices("argmax", &inputs[0], dim.into(), smallest).unwrap();
            let want = indices_with_candle(&inputs[0], dim, smallest).unwrap();
            let [places, want] =
                [places, want].map(|x| x.flatten_all().unwrap().to_vec1::<u32>().unwrap());
            assert_eq!(places, want);
            let kernel = move |x: &[Raw]| values("max", &x[0], dim.into(), smallest, false);
            let candle = move |x: &[Raw]| values_with_candle(&x[0], dim, smallest);
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}

/// The first row is of equal values; the second has NaN twice.
#[test]
fn the_first_of_equal_values_and_nan_count() {
    for length in [3, 40, 1000] {
        let mut rows = vec![vec![2.0; length], vec![1.0; length]];
        (rows[1][1], rows[1][2]) = (f64::NAN, f64::NAN);
        let x = tensor(rows).to_dtype(DType::F64);
        for (x, dim) in [(x.clone(), 1), (x.t(), 0)] {
            for smallest in [false, true] {
                let [find, place] = match smallest {
                    true => [min, argmin],
                    false => [max, argmax],
                };
                let var = variable(&x.contiguous());
                let y = find(&var, dim);
                let found = y.to_vec1::<f64>();
                assert!(found[0] == 2.0 && found[1].is_nan(), "{length}: {found:?}");
                assert_eq!(place(&x, dim).to_vec1::<u32>(), [0, 1]);
                let gradient = y.sum_all().backward().of(&var).sum(1 - dim);
                assert_eq!(gradient.to_vec1::<f64>()[..3], [1.0, 1.0, 0.0], "{length}");
            }
        }
    }
}

/// The values are PyTorch's.
#[test]
fn equal_elements_share_the_gradient_of_the_largest_of_all() {
    let gradient = |values: &[f64], find: fn(&Tensor) -> Tensor| {
        let x = variable(&tensor(values));
        find(&x).backward().of(&x).to_vec1::<f32>()
    };
    assert_eq!(gradient(&[1.0, 3.0, 3.0], max_all), [0.0, 0.5, 0.5]);
    assert_eq!(gradient(&[1.0, 3.0, 3.0], min_all), [1.0, 0.0, 0.0]);
    assert_eq!(
        gradient(&[1.0, f64::NAN, f64::NAN], max_all),
        [0.0, 0.5, 0.5]
    );
    let x = variable(&tensor(&[[1.0, 4.0, 4.0], [4.0, 4.0, 3.0]]));
    let gradient = (max_all(&x.t()) * 8.0).backward().of(&x);
    assert_eq!(
        gradient.to_vec2::<f32>(),
        [[0.0, 2.0, 2.0], [2.0, 2.0, 0.0]]
    );
    let x = tensor(&[[1.0, 2.0], [4.0, 3.0]]);
    assert_eq!((max_all(&x).item(), min_all(&x).item()), (4.0, 1.0));
    assert_eq!(max_keepdim(&x, 1).to_vec2::<f32>(), [[2.0], [4.0]]);
    assert!(attempt(|| max_all(&zeros(0))).is_err());
}

#[test]
fn a_long_line_is_searched_in_pieces() {
    let mut values = vec![0f32; 3 * TASK + 5];
    values[2 * TASK + 1] = 4.0;
    let x = tensor(values);
    assert_eq!(max(&x, 0).item(), 4.0);
    assert_eq!(min(&x, 0).item(), 0.0);
    let place = argmax(&x, 0).to_scalar::<u32>();
    assert_eq!(place as usize, 2 * TASK + 1);
}

#[test]
fn other_types_and_empty_dimensions() {
    let x = tensor(&[[1, 5], [3, 4]]);
    assert_eq!(max(&x, 0).to_vec1::<i64>(), [3, 5]);
    assert_eq!(argmin(&x, 1).to_vec1::<u32>(), [0, 0]);
    let x = randint(0, 9, (4, 3));
    let half = x.to_dtype(DType::BF16);
    assert_eq!(max(&half, -1).dtype(), DType::BF16);
    let x = zeros((0, 3));
    assert_eq!(max(&x, 1).dims(), [0]);
    assert_eq!(
        attempt(|| max(&x, 0)).unwrap_err().to_string(),
        "max cannot take an input of shape [0, 3]\nExpected at least one value along dimension 0"
    );
}
