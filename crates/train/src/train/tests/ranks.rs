//! Trainings that several ranks share; here ranks are threads.

use super::*;
use crate::distributed::{Communicator, testing as threads};
use crate::tensor::{is_grad_enabled, ones};
use std::sync::{Arc, Mutex};

/// Changes the settings of a trainer, apart from the ranks.
type Set = fn(Trainer) -> Trainer;

type Model = fn() -> Classifier<Sequential>;

/// Trains on `size` ranks; returns the losses and metrics of each rank, and the values of its model.
fn train(size: usize, data: &Quarters, model: Model, set: Set) -> Vec<(Vec<f64>, Vec<Vec<f32>>)> {
    let rank = |ranks: Option<Arc<dyn Communicator>>| {
        // All ranks but the first begin with other weights and another order.
        let rank = ranks.as_ref().map_or(0, |ranks| ranks.world().rank);
        manual_seed(if rank == 0 { 5 } else { 90 + rank as u64 });
        let mut model = model();
        let mut trainer = set(Trainer::new(3).log_every(1));
        trainer.ranks = ranks;
        let history = trainer.fit(&mut model, data).unwrap();
        let mut found = losses(&history);
        for epoch in &history.epochs {
            found.extend(epoch.metrics.values());
        }
        let test = trainer.validate(&model, data).unwrap();
        found.extend(test.values());
        (found, values(&model))
    };
    match size {
        1 => vec![rank(None)],
        _ => threads::run(size, |ranks| rank(Some(ranks))),
    }
}

fn assert_same_curve(size: usize, data: &Quarters, model: Model, set: Set) {
    let (want, _) = &train(1, data, model, set)[0];
    let ranks = train(size, data, model, set);
    for (losses, values) in &ranks {
        assert_eq!(losses.len(), want.len());
        for (loss, want) in losses.iter().zip(want) {
            let off = (loss - want).abs() / want.abs().max(1e-3);
            assert!(off < 1e-5, "{size} ranks: {loss} is not {want}");
        }
        assert_eq!(values, &ranks[0].1, "all ranks have the same bits");
    }
}

#[test]
fn ranks_have_the_losses_of_one_process() {
    for size in [2, 3, 4] {
        assert_same_curve(size, &Quarters::new(100), || mlp(0.0), |trainer| trainer);
    }
    assert_same_curve(4, &Quarters::new(50), || mlp(0.4), |trainer| trainer);
}

#[test]
fn examples_that_ranks_cannot_share_equally_count_once() {
    for examples in 1..=33 {
        let size = 2 + examples % 4;
        assert_same_curve(
            size,
            &Quarters::new(examples),
            || mlp(0.2),
            |trainer| trainer,
        );
    }
}

#[test]
fn batch_normalisation_of_all_ranks_is_that_of_one_process() {
    let model = || {
        let net = seq![
            LazyLinear::new(16),
            LazyBatchNorm1d::new(),
            ReLU,
            LazyLinear::new(4)
        ];
        Classifier::new(net, 0.02)
    };
    let sync = |trainer: Trainer| trainer.sync_batch_norm(true);
    assert_same_curve(2, &Quarters::new(50), model, sync);
    // The last batch has 3 examples: one rank has none, and takes part in all sums.
    assert_same_curve(4, &Quarters::new(35), model, sync);
}

#[test]
fn ranks_with_several_devices_have_the_losses_of_one_process() {
    let two = |trainer: Trainer| trainer.devices(&[CPU, CPU]);
    for examples in [100, 35, 3] {
        assert_same_curve(2, &Quarters::new(examples), || mlp(0.0), two);
    }
    let three = |trainer: Trainer| {
        let trainer = trainer.devices(&[CPU, CPU, CPU]);
        trainer.accumulate_grad_batches(2).gradient_clip_val(0.1)
    };
    assert_same_curve(2, &Quarters::new(50), || mlp(0.0), three);
}

/// Stores which elements its dropout keeps in the first step of training.
#[derive(taper_macros::Parameters)]
struct Kept {
    dropout: Dropout,
    output: Linear,
    #[parameters(skip)]
    kept: Arc<Mutex<Vec<Vec<f32>>>>,
}

impl Layer for Kept {
    fn forward(&self, x: &Tensor) -> Tensor {
        let ones = self.dropout.forward(&ones((x.dims()[0], 50))); // (batch, 50)
        if is_grad_enabled() {
            self.kept.lock().unwrap().push(ones.to_vec());
        }
        self.output.forward(x)
    }
}

impl Module for Kept {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        cross_entropy(y_hat, y)
    }
}

#[test]
fn each_device_of_each_rank_draws_a_dropout_of_its_own() {
    let kept = Arc::default();
    threads::run(2, |ranks| {
        manual_seed(5);
        let mut model = Kept {
            dropout: Dropout::new(0.5),
            output: Linear::new(2, 4),
            kept: Arc::clone(&kept),
        };
        let mut trainer = Trainer::new(1).devices(&[CPU, CPU]);
        trainer.ranks = Some(ranks);
        trainer.fit(&mut model, &Quarters::new(16)).unwrap();
    });
    let mut kept = std::mem::take(&mut *kept.lock().unwrap());
    assert_eq!(kept.len(), 4);
    kept.sort_by(|a, b| a.partial_cmp(b).unwrap());
    kept.dedup();
    assert_eq!(kept.len(), 4, "four different dropouts");
}

#[test]
fn synchronised_batch_normalisation_on_several_devices_is_refused() {
    let messages = threads::run(2, |ranks| {
        let devices = [CPU, CPU];
        let mut trainer = Trainer::new(1).devices(&devices).sync_batch_norm(true);
        trainer.ranks = Some(ranks);
        let error = trainer.fit(&mut mlp(0.0), &Quarters::new(16)).unwrap_err();
        error.to_string()
    });
    for message in messages {
        let start = "Trainer::sync_batch_norm: expected one device in each rank, found 2\n";
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn ranks_clip_accumulate_and_stop_as_one_process() {
    let data = Quarters::new(70);
    assert_same_curve(
        2,
        &data,
        || mlp(0.0),
        |trainer| trainer.gradient_clip_val(0.1),
    );
    assert_same_curve(
        3,
        &data,
        || mlp(0.0),
        |trainer| trainer.accumulate_grad_batches(3),
    );
    assert_same_curve(
        4,
        &Quarters::new(33),
        || mlp(0.0),
        |trainer| trainer.accumulate_grad_batches(2),
    );
    assert_same_curve(
        2,
        &data,
        || mlp(0.0),
        |trainer| trainer.callback(EarlyStopping::new("val_loss", 1).min_delta(0.1)),
    );
}

/// Trains two ranks with a checkpoint, until rank 1 is asked to end in a step; returns the losses and values.
fn train_with_checkpoint(
    path: &PathBuf,
    epochs: usize,
    resume: bool,
    end_at: usize,
) -> Vec<(Vec<f64>, Vec<Vec<f32>>)> {
    threads::run_until(end_at, 2, |ranks| {
        manual_seed(7 + ranks.world().rank as u64);
        let mut trainer = Trainer::new(epochs).callback(Checkpoint::new(path));
        if resume {
            trainer = trainer.resume_from(path);
        }
        trainer.ranks = Some(ranks);
        let mut model = mlp(0.2);
        let done = trainer.fit(&mut model, &Quarters::new(60));
        assert_eq!(done.is_err(), end_at < usize::MAX);
        let mut losses = losses(trainer.history());
        let epochs = trainer.history().epochs.iter();
        losses.extend(epochs.flat_map(|epoch| epoch.metrics.values()));
        (losses, values(&model))
    })
}

#[test]
fn ranks_continue_from_the_checkpoint_of_the_first() {
    let path = temporary("ranks");
    let whole = train_with_checkpoint(&path, 4, false, usize::MAX);
    train_with_checkpoint(&path, 2, false, usize::MAX);
    let resumed = train_with_checkpoint(&path, 4, true, usize::MAX);
    assert_eq!(resumed, whole);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn ranks_that_are_asked_to_end_continue_within_the_epoch() {
    let path = temporary("ranks_asked");
    let whole = train_with_checkpoint(&path, 4, false, usize::MAX);
    // The second of four steps of an epoch ends an interval, the third does not.
    for end_at in [1, 6, 7, 8] {
        train_with_checkpoint(&path, 4, false, end_at);
        let resumed = train_with_checkpoint(&path, 4, true, usize::MAX);
        for ((_, values), (_, whole)) in resumed.iter().zip(&whole) {
            assert_eq!(values, whole, "asked in step {end_at}");
        }
        // An interrupted interval is recorded in two parts, so only the metrics of the epochs are compared.
        let epochs = |losses: &Vec<f64>| losses[losses.len() - 16..].to_vec();
        for (resumed, whole) in epochs(&resumed[0].0).iter().zip(epochs(&whole[0].0)) {
            assert!((resumed - whole).abs() < 1e-6, "{resumed} is not {whole}");
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn ranks_that_differ_are_refused_before_the_first_step() {
    type Change = fn(&mut Trainer, &mut Quarters);
    let cases: [(&str, Change); 4] = [
        ("60 examples", |_, data| *data = Quarters::new(61)),
        ("gradient_clip_val 0", |trainer, _| trainer.clip = 1.0),
        ("a schedule by epoch", |trainer, _| {
            trainer.schedule = Box::new(Schedule::Constant.warmup(2));
        }),
        ("the loss of the first examples", |_, data| {
            data.x += 1.0;
        }),
    ];
    for (expected, change) in cases {
        let errors = threads::run(3, |ranks| {
            let mut data = Quarters::new(60);
            let mut trainer = Trainer::new(1);
            if ranks.world().rank == 1 {
                change(&mut trainer, &mut data);
            }
            trainer.ranks = Some(ranks);
            let error = trainer.fit(&mut mlp(0.0), &data).unwrap_err();
            assert!(trainer.history().intervals.is_empty());
            error.to_string()
        });
        for error in errors {
            assert!(error.starts_with("rank 1: expected"), "{error}");
            assert!(error.contains(expected), "{error}");
        }
    }
}
