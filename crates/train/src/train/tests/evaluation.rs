//! Validation, test and prediction; events of a step; the best parameters.

use super::*;
use crate::error::Error;
use crate::tensor::{Tensor, is_grad_enabled, no_grad, ones};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the steps whose outputs are recorded for gradients, and the others.
#[derive(taper_macros::Parameters)]
struct Watched {
    net: Sequential,
    #[parameters(skip)]
    steps: std::sync::Arc<[AtomicUsize; 2]>,
}

impl Layer for Watched {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.net.forward(x)
    }
}

impl Module for Watched {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        self.steps[usize::from(y_hat.track_op())].fetch_add(1, Ordering::Relaxed);
        cross_entropy(y_hat, y)
    }
}

#[test]
fn validation_and_prediction_record_nothing() -> Result<()> {
    let net = || {
        seq![
            LazyLinear::new(8),
            LazyBatchNorm1d::new(),
            ReLU,
            LazyLinear::new(4)
        ]
    };
    let mut model = Watched {
        net: net(),
        steps: Default::default(),
    };
    let data = Quarters::new(64); // 4 batches
    Trainer::new(2).fit(&mut model, &data)?;
    let steps = |model: &Watched| [0, 1].map(|i| model.steps[i].load(Ordering::Relaxed));
    assert_eq!(steps(&model), [8, 8]);

    let loss = model.loss(&model.forward(&data.x), &data.y);
    model.train();
    let metrics = Trainer::new(1).validate(&model, &data)?;
    assert_eq!(steps(&model), [12, 9]);
    assert!((metrics["val_loss"] - loss.item()).abs() < 1e-5);
    // The mode is as before: batch normalisation refuses a batch of one in training mode only.
    assert!(attempt(|| model.net.forward(&ones((1, 2)))).is_err());
    Ok(())
}

#[test]
fn no_grad_computes_the_same_with_every_layer() -> Result<()> {
    let mut net = seq![
        Conv2d::new(1, 4, 3),
        BatchNorm2d::new(4),
        ReLU,
        MaxPool2d::new(2),
        Flatten,
        LayerNorm::new(36),
        Linear::new(36, 8),
        GELU,
        Dropout::new(0.5),
        Linear::new(8, 3),
    ];
    net.eval();
    let x = randn((2, 1, 8, 8));
    let recorded = net.forward(&x);
    let plain = no_grad(|| net.forward(&x));
    assert!(recorded.track_op() && !plain.track_op());
    assert_eq!(recorded.to_vec2::<f32>(), plain.to_vec2::<f32>());
    // A variable of the user's own: kernels do not record it.
    let var = candle_core::Var::ones((2, 3), DType::F32, &CPU)?;
    assert!(!no_grad(|| ReLU.forward(&(&var).into())).track_op());
    assert!(is_grad_enabled());
    Ok(())
}

#[test]
fn data_without_the_loader_is_explained() {
    let model = mlp(0.0);
    let loader = Quarters::new(8).train_dataloader().unwrap();
    let message = Trainer::new(1).validate(&model, &loader).unwrap_err();
    assert_eq!(
        message.to_string(),
        "Trainer::validate: the data has no loader for this: its val_dataloader returns None\n\
         Implement val_dataloader, or pass a loader to test(&model, &loader)"
    );
    let message = Trainer::new(1).test(&model, &Quarters::new(8)).unwrap_err();
    assert!(message.to_string().contains("test_dataloader returns None"));
    let message = Trainer::new(1).predict(&model, &loader.batch_size(0));
    assert!(
        message
            .unwrap_err()
            .to_string()
            .contains("batch size of at least 1")
    );
}

/// Checks the content of each step, and stops in one of them.
struct StopIn {
    step: usize,
    losses: std::sync::Arc<std::sync::Mutex<Vec<f64>>>,
}

impl Callback for StopIn {
    fn on_step(&mut self, step: &mut Step<'_>) -> Result<Flow> {
        assert_eq!(step.batch::<Batch>().unwrap().len(), 16);
        assert!(step.batch::<Tensor>().is_none());
        for parameter in step.model.parameters() {
            assert!(step.gradients.get(&parameter.tensor()).is_some());
        }
        self.losses.lock().unwrap().push(step.loss.item());
        Ok(match step.step == self.step {
            true => Flow::Stop,
            false => Flow::Continue,
        })
    }
}

#[test]
fn a_callback_sees_each_step_and_stops_in_one() -> Result<()> {
    for devices in [vec![CPU], vec![CPU, CPU]] {
        let losses = std::sync::Arc::default();
        let callback = StopIn {
            step: 6,
            losses: std::sync::Arc::clone(&losses),
        };
        let mut trainer = Trainer::new(10).devices(&devices).callback(callback);
        let history = trainer.fit(&mut mlp(0.0), &Quarters::new(64))?;
        // The second epoch of 4 steps ends after its second step, with its validation.
        assert_eq!(history.epochs.len(), 2);
        assert!(history.epochs[1].metric("val_loss").is_some());
        assert_eq!(
            history.intervals.last().map(|interval| interval.step),
            Some(6)
        );
        assert_eq!(losses.lock().unwrap().len(), 6);
    }
    Ok(())
}

#[test]
fn an_error_in_a_step_ends_training_before_the_optimiser() -> Result<()> {
    struct Failing;
    impl Callback for Failing {
        fn on_step(&mut self, _: &mut Step<'_>) -> Result<Flow> {
            Err(Error::msg("the disk is full"))
        }
    }
    let mut model = Classifier::new(Linear::new(2, 4), 0.1);
    let before = values(&model);
    let error = Trainer::new(1)
        .callback(Failing)
        .fit(&mut model, &Quarters::new(8));
    assert!(error.unwrap_err().to_string().contains("the disk is full"));
    assert_eq!(values(&model), before);
    Ok(())
}

#[test]
fn the_best_parameters_come_back_also_without_an_early_stop() -> Result<()> {
    for (epochs, patience) in [(8, 100), (30, 3)] {
        let mut model = with_seed(2, || mlp(0.0));
        let stop = EarlyStopping::new("val_accuracy", patience).restore_best(true);
        /// Sets the parameters to 0 from the fifth epoch on.
        struct Destroy;
        impl Callback for Destroy {
            fn on_step(&mut self, step: &mut Step<'_>) -> Result<Flow> {
                if step.epoch > 4 {
                    for parameter in step.model.parameters() {
                        parameter.set(&parameter.tensor().zeros_like());
                    }
                }
                Ok(Flow::Continue)
            }
        }
        let mut trainer = Trainer::new(epochs).callback(stop).callback(Destroy);
        let history = with_seed(3, || trainer.fit(&mut model, &Quarters::new(64)))?;
        let accuracies = history.values("val_accuracy");
        let best = accuracies.iter().copied().fold(0.0, f64::max);
        assert!(accuracies.last() < Some(&best), "{accuracies:?}");
        let now = trainer.validate(&model, &Quarters::new(64))?["val_accuracy"];
        assert_eq!(now, best, "{accuracies:?}");
    }
    Ok(())
}
