use super::*;
use crate::ops::testing::compare;
use crate::tensor::{randint, randn, tensor, zeros};
use candle_core::{D, Var};

const CPU: Device = Device::Cpu;

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
            let inputs = vec![case.input(randn(shape, &CPU))];
            let places = indices("argmax", &inputs[0], dim, smallest).unwrap();
            let want = indices_with_candle(&inputs[0], dim, smallest).unwrap();
            let [places, want] =
                [places, want].map(|x| x.flatten_all().unwrap().to_vec1::<u32>().unwrap());
            assert_eq!(places, want);
            let kernel = move |x: &[Tensor]| values("max", &x[0], dim, smallest);
            let candle = move |x: &[Tensor]| values_with_candle(&x[0], dim, smallest);
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
        let x = Tensor::new(rows, &CPU).unwrap();
        for (x, dim) in [(x.clone(), 1), (x.t().unwrap(), 0)] {
            for smallest in [false, true] {
                let var = Var::from_tensor(&x.contiguous().unwrap()).unwrap();
                let y = values("max", &var, dim, smallest).unwrap();
                let found = y.to_vec1::<f64>().unwrap();
                assert!(found[0] == 2.0 && found[1].is_nan(), "{length}: {found:?}");
                let places = indices("argmax", &x, dim, smallest).unwrap();
                assert_eq!(places.to_vec1::<u32>().unwrap(), [0, 1]);
                let gradients = y.sum_all().unwrap().backward().unwrap();
                let gradient = gradients.get(&var).unwrap().sum(1 - dim).unwrap();
                let gradient = gradient.to_vec1::<f64>().unwrap();
                assert_eq!(gradient[..3], [1.0, 1.0, 0.0], "{length}");
            }
        }
    }
}

#[test]
fn a_long_line_is_searched_in_pieces() {
    let mut values = vec![0f32; 3 * TASK + 5];
    values[2 * TASK + 1] = 4.0;
    let x = Tensor::from_vec(values, 3 * TASK + 5, &CPU).unwrap();
    assert_eq!(max(&x, 0).unwrap().to_scalar::<f32>().unwrap(), 4.0);
    assert_eq!(min(&x, 0).unwrap().to_scalar::<f32>().unwrap(), 0.0);
    let place = argmax(&x, 0).unwrap().to_scalar::<u32>().unwrap();
    assert_eq!(place as usize, 2 * TASK + 1);
}

#[test]
fn other_types_and_empty_dimensions() {
    let x = tensor(&[[1, 5], [3, 4]], &CPU).unwrap();
    assert_eq!(max(&x, 0).unwrap().to_vec1::<i64>().unwrap(), [3, 5]);
    assert_eq!(argmin(&x, 1).unwrap().to_vec1::<u32>().unwrap(), [0, 0]);
    let x = randint(0, 9, (4, 3), &CPU).unwrap();
    let half = x.to_dtype(DType::BF16).unwrap();
    let largest = max(&half, D::Minus1).unwrap();
    assert_eq!(largest.dtype(), DType::BF16);
    let x = zeros((0, 3), &CPU).unwrap();
    assert_eq!(max(&x, 1).unwrap().dims(), [0]);
    assert_eq!(
        max(&x, 0).unwrap_err().to_string(),
        "max cannot take an input of shape [0, 3]\nExpected at least one value along dimension 0"
    );
}
