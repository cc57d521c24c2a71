use super::*;
use crate::error::attempt;
use crate::ops::tape::foreign;
use crate::ops::testing::{compare, variable};
use crate::tensor::{Candle, Tensor, rand, randn, tensor, zeros};
use candle_core::{DType, Device};

const CPU: Device = Device::Cpu;
const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;
const ALL: [Arithmetic; 7] = [
    Arithmetic::Add,
    Arithmetic::Sub,
    Arithmetic::Mul,
    Arithmetic::Div,
    Arithmetic::Maximum,
    Arithmetic::Minimum,
    Arithmetic::Pow,
];

/// Shapes that are equal, or in which dimensions of one or both are broadcast.
#[test]
fn the_kernels_agree_with_candle() {
    for op in ALL {
        compare(op.name(), 40, |case| {
            let sizes = [1, 2, 3, 7, 40, 300];
            let shape: Vec<usize> = (0..4).map(|_| case.one_of(&sizes)).collect();
            if shape.iter().product::<usize>() > 1 << 17 {
                return None;
            }
            let mut operand = || {
                let dims = shape[case.one_of(&[0, 0, 1, 2, 3])..].iter();
                let dims = dims.map(|size| {
                    if case.one_of(&[true, true, false]) {
                        *size
                    } else {
                        1
                    }
                });
                dims.collect::<Vec<_>>()
            };
            let (a, b) = (operand(), operand());
            // Positive, because of powers; no divisor is close to 0.
            let inputs = [a, b].map(|shape| case.input(rand(shape) + 0.5));
            let kernel = move |x: &[Raw]| arithmetic(op, &x[0], &x[1]);
            let candle = move |x: &[Raw]| {
                let shape = broadcast_shape("", &x[0], &x[1])?;
                let of = |x: &Candle| x.broadcast_as(&shape[..]);
                foreign(&[&x[0], &x[1]], &mut |x| {
                    (op.of_candle())(&of(&x[0])?, &of(&x[1])?)
                })
            };
            Some((inputs.to_vec(), Box::new(kernel), Box::new(candle)))
        });
    }
}

/// Columns, with their elements in memory in several orders, next to rows of about the sizes of blocks.
#[test]
fn an_element_for_each_row_counts_for_all_of_it() {
    for (rows, run) in [(300, 33), (100, 64), (90, 100), (200, 31), (130, 32)] {
        let (x, several) = (randn((2, rows, run)), randn((2, rows, 3)));
        let columns = [
            several.narrow(2, 1, 1),
            several.transpose(1, 2).contiguous().narrow(1, 0, 1).t(),
            randn((rows, 1)),
        ];
        for column in columns {
            let full = column.broadcast_as((2, rows, run));
            let copied = full.contiguous();
            for op in ALL {
                let of = |a: &Tensor, b: &Tensor| {
                    let y = arithmetic(op, a.raw(), b.raw()).expect("shapes that fit");
                    Tensor::from(&y).abs().to_vec::<f32>()
                };
                let bits = |y: Vec<f32>| y.into_iter().map(f32::to_bits).collect::<Vec<_>>();
                assert_eq!(bits(of(&x, &column)), bits(of(&x, &copied)), "{op:?}");
                assert_eq!(bits(of(&full, &x)), bits(of(&copied, &x)), "{op:?}");
                assert_eq!(bits(of(&full, &full)), bits(of(&copied, &copied)), "{op:?}");
                let one = tensor(0.5);
                assert_eq!(bits(of(&one, &full)), bits(of(&one, &copied)), "{op:?}");
            }
        }
    }
}

#[test]
fn the_kernels_with_numbers_agree_with_candle() {
    for op in ALL {
        for swapped in [false, true] {
            for number in [2.0, 3.0, -1.0, 0.5, 1.7] {
                if op == Arithmetic::Pow && swapped && number < 0.0 {
                    continue;
                }
                compare(op.name(), 2, |case| {
                    let shape = (case.between(1, 90), case.between(1, 800));
                    let inputs = vec![case.input(rand(shape) + 0.5)];
                    let kernel =
                        move |x: &[Raw]| arithmetic_number(op, &x[0], number.into(), swapped);
                    let candle = move |x: &[Raw]| {
                        let number =
                            Raw::full(number, x[0].shape(), &CPU)?.to_dtype(x[0].dtype())?;
                        match swapped {
                            true => op.with_candle(&number, &x[0]),
                            false => op.with_candle(&x[0], &number),
                        }
                    };
                    Some((inputs, Box::new(kernel), Box::new(candle)))
                });
            }
        }
    }
}

#[test]
fn comparisons_agree_with_candle() {
    use candle_core::op::CmpOp;
    let (a, b) = (
        (randn((30, 70)) * 3.0).round(),
        (randn((30, 1)) * 3.0).round(),
    );
    for op in [
        CmpOp::Eq,
        CmpOp::Ne,
        CmpOp::Lt,
        CmpOp::Le,
        CmpOp::Gt,
        CmpOp::Ge,
    ] {
        let got = compare::compare(op, a.raw(), b.raw()).unwrap();
        let want = a.raw().cmp(b.broadcast_as((30, 70)).raw(), op).unwrap();
        assert_eq!(got.to_vec2::<u8>().unwrap(), want.to_vec2::<u8>().unwrap());
        let got = compare_number(op, a.raw(), 1.into()).unwrap();
        let want = a.as_candle().cmp(1f32, op).unwrap();
        assert_eq!(got.to_vec2::<u8>().unwrap(), want.to_vec2::<u8>().unwrap());
    }
    let x = tensor(&[1_i64 << 53, 1, 2]);
    assert_eq!(x.eq(((1_i64 << 53) - 1) as f64).to_vec1::<u8>(), [0, 0, 0]);
    assert_eq!(x.lt(1.5).to_vec1::<u8>(), [0, 1, 0]);
    assert_eq!(x.eq(NAN).to_vec1::<u8>(), [0, 0, 0]);
}

/// Checks the values and both gradients; `b` may be broadcast.
fn check(op: Arithmetic, [a, b]: [&[f64]; 2], y: &[f64], gradients: [&[f64]; 2]) {
    let [a, b] = [a, b].map(|x| variable(&tensor(x).to_dtype(DType::F64)));
    let got = Tensor::from(arithmetic(op, a.raw(), b.raw()).unwrap());
    let store = got.sum_all().backward();
    let got = [got, store.of(&a), store.of(&b)].map(|x| x.to_vec1::<f64>());
    for (got, want) in got.iter().zip([y, gradients[0], gradients[1]]) {
        let same =
            |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 || a == b || a.is_nan() && b.is_nan();
        assert!(
            got.iter().zip(want).all(same),
            "{op:?}: {got:?}, not {want:?}"
        );
    }
}

/// The values are PyTorch's.
#[test]
fn edges_are_those_of_pytorch() {
    let (a, b) = (&[1.0, 2.0, NAN, 1.0][..], &[1.0, 1.0, 1.0, NAN][..]);
    let gradients = [&[0.5, 1.0, 1.0, 1.0][..], &[0.5, 0.0, 1.0, 1.0][..]];
    check(
        Arithmetic::Maximum,
        [a, b],
        &[1.0, 2.0, NAN, NAN],
        gradients,
    );
    let gradients = [&[0.5, 0.0, 1.0, 1.0][..], &[0.5, 1.0, 1.0, 1.0][..]];
    check(
        Arithmetic::Minimum,
        [a, b],
        &[1.0, 1.0, NAN, NAN],
        gradients,
    );
    check(
        Arithmetic::Pow,
        [
            &[-2.0, -2.0, 0.0, 0.0, 0.0, 2.0],
            &[2.0, 0.5, 0.0, 2.0, -1.0, 0.0],
        ],
        &[4.0, NAN, 1.0, 0.0, INF, 1.0],
        [
            &[-4.0, NAN, 0.0, 0.0, -INF, 0.0],
            &[NAN, NAN, 0.0, 0.0, -INF, 2f64.ln()],
        ],
    );
    check(
        Arithmetic::Div,
        [&[1.0, 0.0], &[0.0, 0.0]],
        &[INF, NAN],
        [&[INF, INF], &[-INF, NAN]],
    );
}

#[test]
fn powers_with_numbers_are_those_of_pytorch() {
    let check = |number: f64, swapped: bool, x: &[f64], y: &[f64], gradient: &[f64]| {
        let x = variable(&tensor(x).to_dtype(DType::F64));
        let got = arithmetic_number(Arithmetic::Pow, x.raw(), number.into(), swapped);
        let got = Tensor::from(got.unwrap());
        let gradients = got.sum_all().backward().of(&x).to_vec1::<f64>();
        let same =
            |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 || a == b || a.is_nan() && b.is_nan();
        let got = got.to_vec1::<f64>();
        assert!(got.iter().zip(y).all(same), "{number}: {got:?}");
        assert!(
            gradients.iter().zip(gradient).all(same),
            "{number}: {gradients:?}"
        );
    };
    let ln2 = 2f64.ln();
    check(0.0, false, &[0.0, 2.0, NAN], &[1.0; 3], &[0.0; 3]);
    check(0.5, false, &[0.0, 4.0], &[0.0, 2.0], &[INF, 0.25]);
    check(3.0, false, &[-2.0, 0.0], &[-8.0, 0.0], &[12.0, 0.0]);
    check(4.0, false, &[-2.0, 0.0], &[16.0, 0.0], &[-32.0, 0.0]);
    check(-1.0, false, &[-2.0, 0.0], &[-0.5, INF], &[-0.25, -INF]);
    check(
        2.0,
        true,
        &[0.0, 1.0, -1.0],
        &[1.0, 2.0, 0.5],
        &[ln2, 2.0 * ln2, 0.5 * ln2],
    );
    check(
        0.0,
        true,
        &[0.0, 1.0, -1.0],
        &[1.0, 0.0, INF],
        &[0.0, 0.0, -INF],
    );
    check(-2.0, true, &[0.0, 1.0, 0.5], &[1.0, -2.0, NAN], &[NAN; 3]);
}

#[test]
fn integers_are_exact_or_refused() {
    let x = tensor(&[1_u32, 2, 10]);
    assert_eq!((&x - 3).to_vec1::<i64>(), [-2, -1, 7]);
    assert_eq!((9 - &x).to_vec1::<i64>(), [8, 7, -1]);
    assert_eq!((9.5 - &x).to_vec1::<f32>(), [8.5, 7.5, -0.5]);
    assert_eq!((&x / 4).to_vec1::<f32>(), [0.25, 0.5, 2.5]);
    assert_eq!((&x / 0).to_vec1::<f32>(), [f32::INFINITY; 3]);
    assert_eq!((&x / &x).to_vec1::<f32>(), [1.0; 3]);
    assert_eq!((-&x).to_vec1::<i64>(), [-1, -2, -10]);
    assert_eq!(x.pow(2).to_vec1::<i64>(), [1, 4, 100]);
    assert_eq!(x.pow(0.5).to_vec1::<f32>()[0], 1.0);
    assert_eq!(x.maximum(4).to_vec1::<i64>(), [4, 4, 10]);
    let mask = x.gt(1);
    assert_eq!((&mask + &mask).to_vec1::<i64>(), [0, 2, 2]);
    let most = tensor(&[i64::MAX]);
    assert_eq!(
        attempt(|| &most + 1).unwrap_err().to_string(),
        "+: expected integers whose result fits into 64 bits, found a result that does not fit\n\
         Compute with floating-point numbers: x.to_dtype(DType::F64)"
    );
    for wrong in [
        attempt(|| &most * 2),
        attempt(|| x.pow(20)),
        attempt(|| x.pow(-1)),
    ] {
        assert!(wrong.is_err());
    }
}

#[test]
fn empty_tensors_and_16_bits() {
    let x = zeros((0, 3));
    assert_eq!((&x + zeros(3)).dims(), [0, 3]);
    assert_eq!((&x * 2.0).dims(), [0, 3]);
    assert!(attempt(|| &x + zeros(2)).is_err());
    // The gradient of the broadcast operand is a sum of 4096 ones.
    let one = variable(&tensor(&[1.0]).to_dtype(DType::BF16));
    let x = Tensor::from(Raw::ones(4096, DType::BF16, &CPU).unwrap());
    let y = &x * &one;
    assert_eq!(y.dtype(), DType::BF16);
    let gradient = y.sum_all().backward().of(&one);
    assert_eq!(gradient.to_dtype(DType::F32).item(), 4096.0);
}

#[test]
fn a_scalar_does_not_widen_a_tensor() {
    let x = tensor(&[1.0, 2.0]);
    let half = x.to_dtype(DType::F16);
    let double = tensor(0.5).to_dtype(DType::F64);
    assert_eq!((&x + &double).dtype(), DType::F32);
    assert_eq!((&double * &half).dtype(), DType::F16);
    assert_eq!((&half - tensor(0.5)).dtype(), DType::F16);
    assert_eq!((&double + tensor(1.0)).dtype(), DType::F64);
    assert_eq!((tensor(&[1, 2]) + tensor(0.5)).dtype(), DType::F32);
    assert_eq!(x.gt(1.0).where_cond(&half, tensor(0.5)).dtype(), DType::F16);
    assert_eq!((&x + double.unsqueeze(0)).dtype(), DType::F64);
}

#[test]
fn the_sign_is_that_of_the_divisor() {
    let (a, b) = ([7.0, -7.0, 7.0, -7.0, 6.0], [3.0, 3.0, -3.0, -3.0, 3.0]);
    let (x, y) = (variable(&tensor(&a)), variable(&tensor(&b)));
    let z = &x % &y;
    assert_eq!(z.to_vec1::<f32>(), [1.0, 2.0, -2.0, -1.0, 0.0]);
    let gradients = z.sum_all().backward();
    assert_eq!(gradients.of(&x).to_vec1::<f32>(), [1.0; 5]);
    assert_eq!(
        gradients.of(&y).to_vec1::<f32>(),
        [-2.0, 3.0, 3.0, -2.0, -2.0]
    );
    assert_eq!(
        (tensor(&[7, -7]) % tensor(&[-3, -3])).to_vec1::<i64>(),
        [-2, -1]
    );
    // Exact where the quotient has more digits than a float.
    assert_eq!(
        (tensor(&[1e30]) % 7.0).to_vec1::<f32>(),
        [(1e30f32 as f64 % 7.0) as f32]
    );
    assert!((tensor(&[1.0]) % 0.0).isnan().item() == 1.0);
    assert!(attempt(|| tensor(&[1]) % 0).is_err());
    assert_eq!((zeros((0, 2)) % 2.0).dims(), [0, 2]);
}
