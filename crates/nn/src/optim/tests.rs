use super::*;
use crate::error::attempt;
use crate::nn::{Layer, Linear, Parameter, ParametersExt};
use crate::tensor::{full, ones, tensor};
use candle_core::{DType, Device};

const CPU: Device = Device::Cpu;

type Make = fn(Vec<Parameter>) -> Box<dyn Optimizer>;

/// One of each kind, with all state that the kind can have.
const KINDS: [Make; 8] = [
    |p| Box::new(SGD::new(p, 0.1)),
    |p| Box::new(SGD::new(p, 0.1).momentum(0.9)),
    |p| Box::new(Adam::new(p, 0.1)),
    |p| Box::new(AdamW::new(p, 0.1)),
    |p| Box::new(AdamW::new(p, 0.1).amsgrad(true)),
    |p| Box::new(RMSprop::new(p, 0.1).momentum(0.9).centered(true)),
    |p| Box::new(Adadelta::new(p, 1.0)),
    |p| Box::new(Adagrad::new(p, 0.1).initial_accumulator_value(0.5)),
];

fn parameter(values: &[f64]) -> Parameter {
    Parameter::new(&tensor(values))
}

fn values(parameter: &Parameter) -> Vec<f32> {
    parameter.tensor().to_vec()
}

/// Returns the gradients of the sum of the parameters' squares.
fn gradients(of: &[&Parameter]) -> GradStore {
    let squares = of.iter().map(|p| p.tensor().sqr().sum_all());
    let squares: Vec<Tensor> = squares.collect();
    Tensor::stack(&squares, 0).sum_all().backward()
}

/// Returns the message of a step that is refused.
fn refusal(optimizer: &mut dyn Optimizer, gradients: &GradStore) -> String {
    let error = attempt(|| optimizer.step(gradients)).unwrap_err();
    error.to_string()
}

fn state(optimizer: &dyn Optimizer) -> Vec<(String, Vec<f64>)> {
    let entries = optimizer.state().unwrap().into_iter();
    let numbers = |t: Tensor| t.to_dtype(DType::F64).to_vec();
    entries
        .map(|(name, tensor)| (name, numbers(tensor)))
        .collect()
}

#[test]
fn the_parameters_of_another_model_are_refused() {
    let (net, other) = (Linear::new(2, 1), Linear::new(2, 1));
    let loss = net.forward(&ones((1, 2)));
    let gradients = loss.sum_all().backward();
    let message = refusal(&mut SGD::new(other.parameters(), 0.1), &gradients);
    assert!(message.contains("have no gradients") && message.lines().count() == 2);
}

#[test]
fn optimisers_print_their_settings() {
    assert_eq!(
        format!("{:?}", SGD::new(vec![], 0.1).momentum(0.9)),
        "SGD(lr=0.1, momentum=0.9, weight_decay=0, nesterov=false)"
    );
    let adamw = AdamW::new(vec![], 0.1).decay_matrices_only();
    assert_eq!(
        format!("{:?}", adamw.add_param_group(AdamW::new(vec![], 0.5))),
        "AdamW(lr=0.1, betas=(0.9, 0.999), eps=0.00000001, weight_decay=0.01 of matrices; \
         lr=0.5, betas=(0.9, 0.999), eps=0.00000001, weight_decay=0.01)"
    );
}

#[test]
fn a_step_that_fails_changes_nothing() {
    for make in KINDS {
        let (a, b) = (parameter(&[1.0, 2.0]), parameter(&[3.0]));
        let mut optimizer = make(vec![a.clone(), b.clone()]);
        optimizer.step(&gradients(&[&a, &b]));
        let before = (values(&a), values(&b), state(&*optimizer));

        let mut wrong = gradients(&[&a, &b]);
        wrong.insert(&b.tensor(), ones((2, 2)));
        let message = refusal(&mut *optimizer, &wrong);
        let first = message.lines().next().unwrap();
        assert!(
            first.ends_with(": a gradient is [2, 2] instead of [1]"),
            "{message}"
        );
        assert_eq!(message.lines().count(), 2);
        assert_eq!((values(&a), values(&b), state(&*optimizer)), before);

        let integers = Parameter::new(&tensor(&[4]));
        let mut mixed = make(vec![a.clone(), integers.clone()]);
        let mut both = gradients(&[&a]);
        both.insert(&integers.tensor(), tensor(&[1]));
        let message = refusal(&mut *mixed, &both);
        assert!(message.contains(": expected parameters of floating-point numbers, found i64\n"));
        assert_eq!((values(&a), state(&*mixed).len()), (before.0.clone(), 1));
        optimizer.step(&gradients(&[&a, &b]));
        assert_ne!(values(&a), before.0);
    }
}

#[test]
fn a_parameter_that_occurs_twice_makes_one_step() {
    for make in KINDS {
        let (once, twice) = (parameter(&[1.0]), parameter(&[1.0]));
        let mut one = make(vec![once.clone()]);
        let mut two = make(vec![twice.clone(), twice.clone()]);
        for _ in 0..3 {
            one.step(&gradients(&[&once]));
            two.step(&gradients(&[&twice]));
        }
        assert_eq!(values(&once), values(&twice));
        assert_eq!(state(&*one), state(&*two));
    }
}

#[test]
fn a_clone_keeps_its_own_state() {
    let p = parameter(&[1.0]);
    let mut adam = Adam::new(vec![p.clone()], 0.1);
    adam.step(&gradients(&[&p]));
    let copy = adam.clone();
    let before = state(&copy);
    adam.step(&gradients(&[&p]));
    assert_eq!(state(&copy), before);
    assert_ne!(state(&adam), before);
}

#[test]
fn a_group_takes_over_the_parameters_that_it_shares() {
    let (a, b) = (parameter(&[1.0]), parameter(&[1.0]));
    let slow = SGD::new(vec![b.clone()], 0.01);
    let mut optimizer = SGD::new(vec![a.clone(), b.clone()], 0.1).add_param_group(slow);
    optimizer.step(&gradients(&[&a, &b]));
    assert_eq!((values(&a), values(&b)), (vec![0.8], vec![0.98]));
    assert_eq!((optimizer.lr(), optimizer.lrs()), (0.1, vec![0.1, 0.01]));
    optimizer.set_lr(0.5);
    assert_eq!(optimizer.lrs(), [0.5, 0.5]);
}

#[test]
fn the_state_of_groups_is_restored_with_their_learning_rates() {
    let make = |a: &Parameter, b: &Parameter| {
        let other = AdamW::new(vec![b.clone()], 0.01).betas(0.5, 0.9);
        AdamW::new(vec![a.clone(), b.clone()], 0.1).add_param_group(other)
    };
    let (a, b) = (parameter(&[1.0]), parameter(&[1.0, 2.0]));
    let mut whole = make(&a, &b);
    whole.step(&gradients(&[&a, &b]));
    whole.set_lrs(&[0.05, 0.02]);
    let (c, d) = (parameter(&[0.0]), parameter(&[0.0, 0.0]));
    c.set(&a.tensor().copy_to(&CPU));
    d.set(&b.tensor().copy_to(&CPU));
    let mut resumed = make(&c, &d);
    let saved = whole.state().unwrap();
    resumed.load_state(&saved).unwrap();
    assert_eq!(state(&resumed), state(&whole));
    for _ in 0..3 {
        whole.step(&gradients(&[&a, &b]));
        resumed.step(&gradients(&[&c, &d]));
    }
    assert_eq!((values(&a), values(&b)), (values(&c), values(&d)));
    // One group fewer is another optimiser.
    let message = AdamW::new(vec![c, d], 0.1).load_state(&saved).unwrap_err();
    assert!(
        message
            .to_string()
            .contains("it has 8 entries instead of 7"),
        "{message}"
    );
}

#[test]
fn a_setting_out_of_its_range_is_refused() {
    let p = parameter(&[1.0]);
    let all = || vec![p.clone()];
    let nesterov = || SGD::new(all(), 0.1).nesterov(true);
    let wrong: [(Box<dyn Optimizer>, &str); 7] = [
        (
            Box::new(SGD::new(all(), f64::NAN)),
            "SGD: expected lr of at least 0, found NaN",
        ),
        (
            Box::new(SGD::new(all(), 0.1).momentum(-0.9)),
            "SGD: expected momentum of at least 0, found -0.9",
        ),
        (
            Box::new(Adam::new(all(), 0.1).betas(0.9, 1.0)),
            "Adam: expected the second beta of at least 0 and below 1, found 1",
        ),
        (
            Box::new(RMSprop::new(all(), 0.1).weight_decay(-1.0)),
            "RMSprop: expected weight_decay of at least 0, found -1",
        ),
        (
            Box::new(Adagrad::new(all(), 0.1).add_param_group(Adagrad::new(vec![], 0.1).eps(-1.0))),
            "Adagrad: expected eps of at least 0, found -1",
        ),
        (
            Box::new(nesterov()),
            "SGD: expected momentum above 0 and no dampening for nesterov(true), found momentum 0 and dampening 0",
        ),
        (
            Box::new(nesterov().momentum(0.9).dampening(0.1)),
            "SGD: expected momentum above 0 and no dampening for nesterov(true), found momentum 0.9 and dampening 0.1",
        ),
    ];
    for (mut optimizer, want) in wrong {
        let message = refusal(&mut *optimizer, &gradients(&[&p]));
        assert_eq!(message.lines().next(), Some(want));
        assert_eq!((message.lines().count(), values(&p)), (2, vec![1.0]));
    }
}

/// The squares of these gradients are infinite in single precision.
#[test]
fn the_norm_of_large_gradients_does_not_overflow() {
    for dtype in [DType::F64, DType::F32] {
        let place = Parameter::new(&ones(2).to_dtype(dtype));
        let slope = Tensor::from_vec(vec![3e25, 4e25], 2).to_dtype(dtype);
        let mut gradients = (place.tensor() * slope).sum_all().backward();
        clip_gradients(std::slice::from_ref(&place), &mut gradients, 1.0);
        let clipped = gradients.get(&place.tensor()).unwrap();
        let clipped = clipped.to_dtype(DType::F64).to_vec1::<f64>();
        assert!(
            (clipped[0] - 0.6).abs() < 1e-6 && (clipped[1] - 0.8).abs() < 1e-6,
            "{clipped:?}"
        );
    }
}

#[test]
fn a_parameter_that_is_listed_twice_is_clipped_once() {
    let (a, b) = (parameter(&[1.5]), parameter(&[2.0]));
    let mut clipped = gradients(&[&a, &b]); // 3 and 4
    let norm = clip_gradients(&[a.clone(), b.clone(), a.clone()], &mut clipped, 1.0);
    assert_eq!(norm.to_scalar::<f64>(), 5.0);
    for (parameter, want) in [(a, 0.6), (b, 0.8)] {
        let got = clipped.get(&parameter.tensor()).unwrap();
        assert!((got.to_vec1::<f32>()[0] - want).abs() < 1e-5);
    }
}

#[test]
fn sums_of_gradients_that_do_not_fit_are_unchanged() {
    let (a, b) = (parameter(&[1.0]), parameter(&[2.0, 3.0]));
    let both = [a.clone(), b.clone()];
    let mut sums = gradients(&[&a]);
    accumulate_gradients(&both, &mut sums, &gradients(&[&a, &b]));
    let mut wrong = gradients(&[&a, &b]);
    wrong.insert(&b.tensor(), tensor(&[1.0]));
    let error = attempt(|| accumulate_gradients(&both, &mut sums, &wrong)).unwrap_err();
    assert!(error.to_string().contains("expected a gradient of [2] f32"));
    let sum = |p: &Parameter| sums.of(&p.tensor()).to_vec1::<f32>();
    assert_eq!((sum(&a), sum(&b)), (vec![4.0], vec![4.0, 6.0]));
}

#[test]
fn plain_sgd_keeps_no_state() {
    let p = parameter(&[1.0]);
    let mut sgd = SGD::new(vec![p.clone()], 0.1);
    sgd.step(&gradients(&[&p]));
    assert_eq!(state(&sgd), [("SGD.lr".to_owned(), vec![0.1])]);
}

/// A mean of squares is 0 in `f16`, and too coarse in `bf16`.
#[test]
fn parameters_of_16_bits_have_a_state_of_32() {
    let slopes = tensor(&[0.5, -0.25, 1e-4, 3.0]);
    let train = |make: Make, dtype: DType| {
        let p = Parameter::new(&full(4, 1.0).to_dtype(dtype));
        let mut optimizer = make(vec![p.clone()]);
        // The same gradients for all types.
        let slopes = slopes.to_dtype(DType::F16).to_dtype(DType::BF16);
        for _ in 0..20 {
            let product = p.tensor() * slopes.to_dtype(dtype);
            optimizer.step(&product.sum_all().backward());
        }
        let state = optimizer.state().unwrap();
        assert_eq!(p.dtype(), dtype);
        (p.tensor().to_dtype(DType::F32).to_vec1::<f32>(), state)
    };
    for (kind, make) in KINDS.into_iter().enumerate() {
        let (want, want_state) = train(make, DType::F32);
        for (dtype, step) in [(DType::F16, 2f32.powi(-11)), (DType::BF16, 2f32.powi(-8))] {
            let (got, state) = train(make, dtype);
            for (got, want) in got.iter().zip(&want) {
                // Each of the 20 values is rounded.
                let allowed = 20.0 * step * want.abs().max(1.0);
                let off = (got - want).abs();
                assert!(
                    off <= allowed,
                    "kind {kind}, {dtype:?}: {got} is not {want}"
                );
            }
            for ((name, got), (_, want)) in state.iter().zip(&want_state) {
                assert_eq!(got.dtype(), want.dtype(), "{name}");
                let [got, want] = [got, want].map(|x| x.to_dtype(DType::F64).to_vec::<f64>());
                assert_eq!(got, want, "kind {kind}, {dtype:?}: {name}");
            }
        }
    }
}

#[test]
fn a_state_of_16_bits_is_loaded_as_one_of_32() {
    let p = Parameter::new(&ones(2).to_dtype(DType::F16));
    let mut adam = Adam::new(vec![p.clone()], 0.1);
    let gradients = || p.tensor().sqr().sum_all().backward();
    adam.step(&gradients());
    let halves = |x: &Tensor| match x.dtype() {
        DType::F32 => x.to_dtype(DType::F16),
        _ => x.clone(),
    };
    let saved = adam.state().unwrap();
    let saved = saved.iter().map(|(name, x)| (name.clone(), halves(x)));
    let mut resumed = Adam::new(vec![p.clone()], 0.1);
    resumed.load_state(&Vec::from_iter(saved)).unwrap();
    resumed.step(&gradients());
    let state = resumed.state().unwrap();
    let (_, mean) = state.iter().find(|(name, _)| name == "0.exp_avg").unwrap();
    assert_eq!(mean.dtype(), DType::F32);
}

#[test]
fn impossible_schedules_are_refused() {
    type Make = fn() -> Box<dyn LrSchedule>;
    let makes: [(&str, Make); 6] = [
        ("Schedule::step", || Box::new(Schedule::step(0, 0.5))),
        ("Schedule::warm_restarts", || {
            Box::new(Schedule::warm_restarts(0, 2))
        }),
        ("Schedule::warm_restarts", || {
            Box::new(Schedule::warm_restarts(2, 0))
        }),
        ("Schedule::linear", || {
            Box::new(Schedule::linear(0.0, 1.0, 5))
        }),
        ("Schedule::linear", || {
            Box::new(Schedule::linear(1.0, 1.5, 5))
        }),
        ("warmup_from", || {
            Box::new(Schedule::Constant.warmup_from(f64::NAN, 5))
        }),
    ];
    for (name, make) in makes {
        let message = attempt(make).err().unwrap().to_string();
        assert!(
            message.starts_with(&format!("{name}: expected ")),
            "{message}"
        );
        assert_eq!(message.lines().count(), 2, "{message}");
    }
}
