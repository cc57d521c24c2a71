//! Tests that the other crates have for their own layers, losses and settings too, with the same functions.

use crate::data::{Batch, DataLoader, DataModule, Dataset, TensorDataset};
use crate::nn::testing::{Case, Create, begin_with, refuse, run};
use crate::nn::{Conv2d, CrossEntropyLoss, Layer, LazyLinear, Linear, ReLU, Sequential};
use crate::ops::{cross_entropy, log_softmax};
use crate::optim::{Adam, LrSchedule};
use crate::tensor::{manual_seed, ones, randn, tensor, with_seed};
use crate::train::{Checkpoint, Classifier, History, Trainer, accuracy};
use crate::*;
use candle_core::DType;
use taper_nn::seq;
use taper_tensor::testing::{
    Operation, Use, backward_passes, message_of, messages, sweep, with_sizes, with_values,
};

const LAYERS: &[(&str, u64, Create)] = &[
    ("Bilinear", 0x28a5_6ce5_a481_fbae, || {
        Box::new(Bilinear::new(2, 3, 4))
    }),
    ("Bilinear, bias", 0xc51e_0ef3_8f5f_f710, || {
        Box::new(Bilinear::new(2, 3, 4).bias(false).bias(true))
    }),
    ("Conv3d", 0xb663_f827_5b0e_c2ee, || {
        Box::new(Conv3d::new(4, 2, (3, 1, 2)))
    }),
    ("Conv3d, settings", 0x6fa3_57ec_1048_dbcf, || {
        let layer = Conv3d::new(4, 2, 2).bias(false).groups(2);
        Box::new(layer.stride(2).bias(true).groups(2))
    }),
    ("EmbeddingBag", 0xb66d_408b_b2aa_be81, || {
        Box::new(EmbeddingBag::new(5, 3))
    }),
    ("RNNCell", 0x5847_76db_0473_d1da, || {
        Box::new(RNNCell::new(3, 4).bias(false))
    }),
    ("GRUCell", 0x7b22_773e_3796_665a, || {
        Box::new(GRUCell::new(3, 4).bias(false).bias(true).bias(true))
    }),
    ("LSTMCell", 0x883f_2f7a_f6ed_0290, || {
        Box::new(LSTMCell::new(3, 4))
    }),
    ("WeightNorm", 0x7c91_9ef8_ab28_335d, || {
        Box::new(WeightNorm::new(Linear::new(3, 2)))
    }),
    ("SpectralNorm", 0xf4b8_b656_a0c3_4a4f, || {
        run(SpectralNorm::new(Conv2d::new(3, 2, 3)), &[1, 3, 4, 4])
    }),
    ("PReLU", 0xb7b6_0eec_845e_6d96, || Box::new(PReLU::new(3))),
];

#[test]
fn layers_begin_with_the_same_random_values() {
    begin_with(LAYERS);
}

#[test]
fn layers_refuse_wrong_shapes_with_their_names_and_what_they_take() {
    let shapes: [&[usize]; 6] = [
        &[],
        &[4],
        &[8, 8],
        &[1, 1, 1, 8, 8],
        &[1, 1, 0, 8],
        &[1, 1, 8, 0],
    ];
    let shapes = shapes.map(<[usize]>::to_vec);
    refuse(vec![(Box::new(AdaptiveMaxPool2d::new(2)), shapes.to_vec())]);
}

const OPERATIONS: &[(&str, Operation)] =
    &[("einsum", |x, y, _| einsum("...ij,...jk->...ik", &[x, y]))];

const SIZED: &[(&str, Operation)] = &[("PReLU", |x, _, size| PReLU::new(size).forward(x))];

#[test]
fn invalid_inputs_are_refused_in_two_lines() {
    assert!(sweep(OPERATIONS, 3) + sweep(SIZED, 4) >= 300);
    backward_passes(OPERATIONS);
    assert!(messages(OPERATIONS) > 0);
}

#[test]
fn what_a_loss_ignores_reaches_nothing() {
    manual_seed(1);
    let classes = tensor(&[1, 2, 0]);
    let margin = MultiMarginLoss::new().weight(&tensor(&[1.0, 2.0, 0.0]));
    for dtype in [DType::F32, DType::F64, DType::F16] {
        Case {
            what: "MultiMarginLoss",
            output: &|x| margin.forward(x, &classes),
            parameters: vec![],
            input: randn((3, 3)).to_dtype(dtype),
            hidden: tensor(&[[0], [1], [0]]),
        }
        .check();
    }
}

#[test]
fn padded_steps_do_not_reach_ctc_loss() {
    manual_seed(1);
    let hidden = tensor(&[[0, 0], [0, 0], [0, 0], [0, 1], [0, 1]]).unsqueeze(2); // (steps, batch, 1)
    let loss = CTCLoss::new();
    let output = |x: &Tensor| loss.forward(x, &tensor(&[[1, 2], [2, 1]]), &[5, 3], &[2, 2]);
    let input = log_softmax(&randn((5, 2, 4)), -1);
    Case {
        what: "ctc",
        output: &output,
        parameters: vec![],
        input,
        hidden,
    }
    .check();
}

/// Points in the plane, whose class is their quadrant.
pub(crate) struct Quarters(TensorDataset);

impl Quarters {
    pub(crate) fn new(examples: usize) -> Self {
        let x = with_seed(3, || randn((examples, 2)));
        let sides = x.gt(0.0).to_dtype(DType::U32);
        let y = sides.i((.., 0)) + sides.i((.., 1)) * 2;
        Self(TensorDataset::new(x, y.to_dtype(DType::U32)).unwrap())
    }
}

impl DataModule for Quarters {
    fn train_dataloader(&self) -> Result<DataLoader> {
        Ok(DataLoader::new(self.0.clone()).batch_size(16).shuffle(true))
    }

    fn val_dataloader(&self) -> Result<Option<DataLoader>> {
        Ok(Some(DataLoader::new(self.0.clone()).batch_size(16)))
    }
}

pub(crate) fn mlp() -> Classifier<Sequential> {
    let net = seq![LazyLinear::new(16), ReLU, LazyLinear::new(4)];
    Classifier::new(net, 0.02).optimizer(Adam::new)
}

/// Trains a small model.
fn train(mut trainer: Trainer) -> Result<()> {
    trainer.fit(&mut mlp(), &Quarters::new(4)).map(drop)
}

const WITH_SIZES: &[(&str, Use<usize>)] = &[
    ("StratifiedSampler", |n| {
        let data = TensorDataset::new(ones((4, 2)), tensor(&[0_u32, 1, 1, 0]))?;
        let loader = DataLoader::new(data).sampler(StratifiedSampler::new(vec![n; 4]));
        loader.into_iter().try_for_each(|batch| batch.map(drop))
    }),
    ("OneCycle", |n| {
        train(Trainer::new(2).schedule_steps(OneCycle::new(n).three_phase(true)))
    }),
    ("ReduceOnPlateau", |n| {
        let schedule = ReduceOnPlateau::new("train_loss").patience(n).cooldown(n);
        train(Trainer::new(2).schedule(schedule))
    }),
];

const WITH_VALUES: &[(&str, Use<f64>)] = &[
    ("OneCycle", |v| {
        let schedule = OneCycle::new(8).pct_start(v).div_factor(v).max_lr(v);
        train(Trainer::new(2).schedule_steps(schedule.final_div_factor(v)))
    }),
    ("ReduceOnPlateau", |v| {
        let schedule = ReduceOnPlateau::new("train_loss").factor(v).threshold(v);
        train(Trainer::new(2).schedule(schedule.min_lr(v)))
    }),
];

#[test]
fn invalid_settings_are_refused_in_two_lines() {
    assert!(with_sizes(WITH_SIZES) + with_values(WITH_VALUES) >= 10);
}

#[test]
fn impossible_schedules_are_refused() {
    for (name, message) in [
        ("OneCycle", message_of(|| OneCycle::new(0))),
        ("OneCycle", message_of(|| OneCycle::new(10).pct_start(1.1))),
        (
            "ReduceOnPlateau",
            message_of(|| ReduceOnPlateau::new("val_loss").factor(1.0)),
        ),
    ] {
        let first = format!("{name}: expected ");
        assert!(message.starts_with(&first), "{message}");
    }
}

fn lrs(history: &History) -> Vec<f64> {
    history.epochs.iter().map(|epoch| epoch.lr).collect()
}

#[test]
fn a_schedule_by_a_metric_continues_after_a_checkpoint() -> Result<()> {
    let (data, path) = (
        Quarters::new(50),
        std::env::temp_dir().join(format!("taper_extra_{}", std::process::id())),
    );
    let schedule = || {
        ReduceOnPlateau::new("val_loss")
            .patience(0)
            .absolute_threshold(10.0)
    };
    let train = |trainer: Trainer| {
        manual_seed(6);
        trainer.schedule(schedule()).fit(&mut mlp(), &data)
    };
    let whole = train(Trainer::new(6))?;
    train(Trainer::new(3).callback(Checkpoint::new(&path)))?;
    let resumed = train(Trainer::new(6).resume_from(&path))?;
    assert_eq!(lrs(&resumed), lrs(&whole));
    assert!(lrs(&whole)[5] < lrs(&whole)[0], "{:?}", lrs(&whole));
    std::fs::remove_file(path)?;
    Ok(())
}

#[test]
fn a_schedule_by_an_unknown_metric_is_refused() {
    let schedule = ReduceOnPlateau::new("val_los");
    let mut trainer = Trainer::new(2).schedule(schedule);
    let message = trainer.fit(&mut mlp(), &Quarters::new(20)).unwrap_err();
    let message = message.to_string();
    assert!(message.contains("no metric named \"val_los\""), "{message}");
    assert!(message.contains("val_loss"), "{message}");
}

#[test]
fn a_cycle_counts_steps() -> Result<()> {
    let mut trainer = Trainer::new(2)
        .log_every(1)
        .schedule_steps(OneCycle::new(8));
    let history = trainer.fit(&mut mlp(), &Quarters::new(50))?;
    let lrs: Vec<f64> = history
        .intervals
        .iter()
        .map(|interval| interval.lr)
        .collect();
    let want: Vec<f64> = (0..8).map(|step| OneCycle::new(8).lr(0.02, step)).collect();
    assert_eq!(lrs, want);
    assert!(lrs[0] > 0.0 && lrs[2] > 3.0 * lrs[7], "{lrs:?}");
    Ok(())
}

#[test]
fn losses_and_accuracy_take_the_targets_of_mixup() -> Result<()> {
    let x = with_seed(5, || randn((4, 3, 6, 8)));
    let data = TensorDataset::new(x, tensor(&[2, 0, 1, 1]))?;
    let Batch { y, .. } = with_seed(3, || MixUp::new(data, 3).all())?;
    let logits = with_seed(4, || randn((4, 3)));
    let expected = -(logits.softmax(1).log() * &y).sum(1).mean_all();
    for loss in [
        cross_entropy(&logits, &y),
        CrossEntropyLoss::new().forward(&logits, &y),
    ] {
        assert!((loss - &expected).abs().item() < 1e-6);
    }
    assert_eq!(
        accuracy(&logits, &y).item(),
        accuracy(&logits, &y.argmax(1)).item()
    );
    Ok(())
}
