use super::*;

#[test]
fn functions_are_exact_to_a_few_units_in_the_last_place() {
    check_functions::<false>();
    check_functions::<true>();
}

fn check_functions<const FUSED: bool>() {
    // Miri interprets a thousand times slower.
    let step = if cfg!(miri) { 20_011 } else { 1 };
    for i in (-200_000..200_000).step_by(step) {
        let x = i as f32 * 0.000_5;
        let (got, want) = (Float::exp::<FUSED>(x), f64::from(x).exp());
        let off = (f64::from(got) - want).abs();
        assert!(
            off <= want * 3e-7 + 2e-38 || got.is_infinite() && want > f64::from(f32::MAX),
            "exp({x}) is {want}, not {got}"
        );
        let (got, want) = (Float::exp_m1::<FUSED>(x), f64::from(x).exp_m1());
        let off = (f64::from(got) - want).abs();
        assert!(
            off <= want.abs() * 4e-7 || got.is_infinite() && want > f64::from(f32::MAX),
            "exp({x}) - 1 is {want}, not {got}"
        );
        let (got, want) = (Float::tanh::<FUSED>(x), f64::from(x).tanh());
        let off = (f64::from(got) - want).abs();
        assert!(off <= want.abs() * 3e-7, "tanh({x}) is {want}, not {got}");
    }
    for i in (-150_000..150_000).step_by(step) {
        let x = i as f32 * 0.000_1;
        let (got, want) = (x.normal::<FUSED>(), f64::from(x).normal::<FUSED>());
        let off = [f64::from(got.0) - want.0, f64::from(got.1) - want.1];
        assert!(off[0].abs() <= 1.2e-7, "{x}: {}, not {}", want.0, got.0);
        assert!(off[1].abs() <= 1.2e-7, "{x}: {}, not {}", want.1, got.1);
    }
    for bits in (1..0x7f80_0000).step_by(997 * step) {
        let x = f32::from_bits(bits);
        let (got, want) = (Float::ln::<FUSED>(x), f64::from(x).ln());
        let off = (f64::from(got) - want).abs();
        assert!(off <= want.abs() * 2.4e-7, "ln({x}) is {want}, not {got}");
        for x in [x, -x].into_iter().filter(|x| *x > -1.0) {
            let (got, want) = (Float::ln_1p::<FUSED>(x), f64::from(x).ln_1p());
            let off = (f64::from(got) - want).abs();
            assert!(
                off <= want.abs() * 3e-7 + 2e-38,
                "ln(1 + {x}) is {want}, not {got}"
            );
        }
    }
    for i in (-200_000..200_000).step_by(step) {
        let x = i as f32 * 0.000_04;
        let (got, want) = (Float::erf::<FUSED>(x), Float::erf::<FUSED>(f64::from(x)));
        let off = (f64::from(got) - want).abs();
        assert!(off <= want.abs() * 2e-7, "erf({x}): {got}, not {want}");
        for x in [i as f32 * 0.003, i as f32 * 1234.5] {
            let (got, want) = (Float::sin::<FUSED>(x), f64::from(x).sin());
            let off = (f64::from(got) - want).abs();
            assert!(off <= want.abs() * 1e-7, "sin({x}) is {want}, not {got}");
            let (got, want) = (Float::cos::<FUSED>(x), f64::from(x).cos());
            let off = (f64::from(got) - want).abs();
            assert!(off <= want.abs() * 1e-7, "cos({x}) is {want}, not {got}");
        }
    }
    check_powers::<FUSED>();
    assert_eq!(Float::ln::<FUSED>(0.0f32), f32::NEG_INFINITY);
    assert_eq!(Float::ln::<FUSED>(f32::INFINITY), f32::INFINITY);
    assert!(Float::ln::<FUSED>(-1.0f32).is_nan() && Float::ln::<FUSED>(f32::NAN).is_nan());
    assert_eq!(f32::INFINITY.normal::<FUSED>(), (1.0, 0.0));
    assert_eq!(f32::NEG_INFINITY.normal::<FUSED>(), (0.0, 0.0));
    let (cdf, density) = f32::NAN.normal::<FUSED>();
    assert!(cdf.is_nan() && density.is_nan());
    assert_eq!(Float::exp::<FUSED>(f32::NEG_INFINITY), 0.0);
    assert_eq!(Float::exp::<FUSED>(f32::INFINITY), f32::INFINITY);
    assert_eq!(Float::ln_1p::<FUSED>(f32::INFINITY), f32::INFINITY);
    assert_eq!(Float::ln_1p::<FUSED>(-1.0f32), f32::NEG_INFINITY);
    assert!(Float::ln_1p::<FUSED>(-2.0f32).is_nan() && Float::ln_1p::<FUSED>(f32::NAN).is_nan());
    assert_eq!(Float::exp_m1::<FUSED>(f32::NEG_INFINITY), -1.0);
    assert_eq!(Float::exp_m1::<FUSED>(f32::INFINITY), f32::INFINITY);
    assert_eq!(Float::exp_m1::<FUSED>(1e-10f32), 1e-10);
    assert!(Float::exp::<FUSED>(f32::NAN).is_nan() && Float::tanh::<FUSED>(f32::NAN).is_nan());
    assert_eq!(Float::tanh::<FUSED>(f32::INFINITY), 1.0);
}

/// Compares powers with the standard library's, also of special values.
fn check_powers<const FUSED: bool>() {
    let special = [
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        1e-40,
        16_777_217.0,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let special = special.iter().flat_map(|x| [*x, -*x]);
    let random = (0..4000).map(|i| ((i * 7919 % 4001) as f32 * 0.01 - 20.0).exp());
    let numbers: Vec<f32> = special.chain(random).collect();
    let step = if cfg!(miri) { 1009 } else { 1 };
    for x in numbers.iter().step_by(step) {
        for y in numbers[..40]
            .iter()
            .copied()
            .chain([-7.0, 0.1, -2.5, 30.0, 1.7])
        {
            // Miri adds an error of a few units in the last place to the standard library's functions.
            let want = f64::from(*x).powf(y.into()) as f32;
            let got = Float::pow::<FUSED>(*x, y);
            let off = (got - want).abs();
            let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(
                same || off <= want.abs() * 1.3e-7,
                "{x} to {y} is {want}, not {got}"
            );
        }
    }
}
