use super::*;
use crate::data::DataLoader;
use crate::data::{Batch, Dataset, Sampler, Shapes, TensorDataset};
use crate::distributed::{Communicator, testing as threads};
use crate::nn::{Linear, ParametersExt};
use crate::tensor::{ones, zeros};
use crate::tensorboard::SummaryWriter;
use crate::train::tests::{Quarters, mlp, temporary};
use crate::train::{Callback, Classifier, EarlyStopping, Step};
use candle_core::DType;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_model_and_history() {
    let name = "train::fit::tests::an_interrupt_keeps_model_and_history";
    crate::notebook::testing::records(name, || {
        let mut model = mlp(0.0);
        let mut trainer = Trainer::new(100)
            .log_every(1)
            .callback(|interval: &Interval| {
                if interval.step == 3 {
                    // SAFETY: plain system call; the signal has a handler.
                    unsafe { libc::raise(libc::SIGINT) };
                }
            });
        let message = trainer.fit(&mut model, &Quarters::new(100)).unwrap_err();
        assert!(message.to_string().starts_with("interrupted"), "{message}");
        assert_eq!(trainer.history().intervals.len(), 3);
        assert_eq!(model.num_parameters(), 48 + 68);
    });
}

#[cfg(unix)]
#[test]
fn a_completed_training_has_a_full_bar() {
    let name = "train::fit::tests::a_completed_training_has_a_full_bar";
    let records = crate::notebook::testing::records(name, || {
        let history = Trainer::new(3).fit(&mut mlp(0.0), &Quarters::new(50));
        assert_eq!(history.unwrap().epochs.len(), 3);
    });
    let mut texts = records
        .iter()
        .filter_map(|record| record["data"]["text/plain"].as_str());
    let bar = texts.rfind(|text| text.starts_with("training "));
    let bar = bar.expect("there is a bar");
    assert!(
        bar.contains("] 12/12 ") && !bar.contains("stopped"),
        "{bar}"
    );
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_the_steps_since_the_last_interval_and_tells_the_callbacks() {
    let name = "train::fit::tests::an_interrupt_keeps_the_steps_since_the_last_interval_and_tells_the_callbacks";
    crate::notebook::testing::records(name, || {
        /// Interrupts before the third batch.
        struct Interrupting;

        impl Dataset for Interrupting {
            fn len(&self) -> usize {
                100
            }

            fn get(&self, indices: &[usize]) -> Result<Batch> {
                if indices[0] == 32 {
                    // SAFETY: plain system call; the signal has a handler.
                    unsafe { libc::raise(libc::SIGINT) };
                }
                let x = zeros((indices.len(), 2));
                let y = zeros(indices.len()).to_dtype(DType::U32);
                Ok(Batch { x, y })
            }
        }

        impl DataModule for Interrupting {
            fn train_dataloader(&self) -> Result<DataLoader> {
                Ok(DataLoader::new(Interrupting).batch_size(16).prefetch(0))
            }
        }

        let folder = temporary("interrupted_runs");
        let writer = SummaryWriter::new(&folder).unwrap();
        let file = writer.path().to_owned();
        let mut trainer = Trainer::new(100).callback(writer);
        let message = trainer.fit(&mut mlp(0.0), &Interrupting).unwrap_err();
        assert!(message.to_string().starts_with("interrupted"), "{message}");
        let [interval] = &trainer.history().intervals[..] else {
            panic!("{:?}", trainer.history().intervals);
        };
        assert_eq!((interval.step, interval.epoch), (2, 2.0 / 7.0));
        assert!(interval.metrics.contains_key("train_loss"));
        let written = std::fs::read(&file).unwrap();
        assert!(written.windows(10).any(|bytes| bytes == b"train_loss"));
        std::fs::remove_dir_all(folder).unwrap();
    });
}

#[cfg(unix)]
#[test]
fn a_training_that_stops_early_shows_the_completed_steps() {
    let name = "train::fit::tests::a_training_that_stops_early_shows_the_completed_steps";
    let records = crate::notebook::testing::records(name, || {
        let stop = EarlyStopping::new("train_loss", 1).min_delta(100.0);
        let history = Trainer::new(9)
            .callback(stop)
            .fit(&mut mlp(0.0), &Quarters::new(50));
        assert_eq!(history.unwrap().epochs.len(), 2);
    });
    let mut texts = records
        .iter()
        .filter_map(|record| record["data"]["text/plain"].as_str());
    let bar = texts.rfind(|text| text.starts_with("training "));
    assert!(bar.is_some_and(|bar| bar.contains("] 8/36 ")), "{bar:?}");
}

/// A data set that is slow to return a batch.
struct Slow;

const WAIT: Duration = Duration::from_millis(20);

impl Dataset for Slow {
    fn len(&self) -> usize {
        8
    }

    fn get(&self, indices: &[usize]) -> Result<Batch> {
        std::thread::sleep(WAIT);
        let x = ones((indices.len(), 2));
        let y = zeros(indices.len()).to_dtype(DType::U32);
        Ok(Batch { x, y })
    }
}

impl DataModule for Slow {
    fn train_dataloader(&self) -> Result<DataLoader> {
        Ok(DataLoader::new(Slow).batch_size(2).prefetch(0))
    }
}

#[test]
fn the_speed_includes_waiting_for_the_data() -> Result<()> {
    let mut model = Classifier::new(Linear::new(2, 2), 0.1);
    let history = Trainer::new(1).log_every(1).fit(&mut model, &Slow)?;
    let fastest = 2.0 / WAIT.as_secs_f64();
    let speeds = history.intervals.iter().map(|i| i.samples_per_second);
    let speeds: Vec<f64> = speeds
        .chain([history.epochs[0].samples_per_second])
        .collect();
    assert_eq!(speeds.len(), 5);
    assert!(speeds.iter().all(|&speed| speed <= fastest), "{speeds:?}");
    // No time is counted twice.
    let seconds: f64 = speeds[..4].iter().map(|speed| 2.0 / speed).sum();
    assert!(seconds <= history.epochs[0].seconds, "{speeds:?}");
    Ok(())
}

#[test]
fn a_validation_set_may_be_absent_but_not_empty() -> Result<()> {
    let data = Shapes::new().num_train(8).num_val(0);
    assert!(data.val_dataloader()?.is_none());

    struct Empty(Quarters);

    impl DataModule for Empty {
        fn train_dataloader(&self) -> Result<DataLoader> {
            self.0.train_dataloader()
        }

        fn val_dataloader(&self) -> Result<Option<DataLoader>> {
            let none = TensorDataset::new(ones((0, 2)), ones(0))?;
            Ok(Some(DataLoader::new(none)))
        }
    }

    let mut trainer = Trainer::new(1);
    let message = trainer.fit(&mut mlp(0.0), &Empty(Quarters::new(8)));
    let message = message.unwrap_err().to_string();
    assert!(
        message.starts_with("Trainer: the validation set is empty\n"),
        "{message}"
    );
    assert!(trainer.history().intervals.is_empty());
    Ok(())
}

#[test]
fn a_panic_leaves_the_model_in_evaluation_mode() {
    struct Panics;
    impl Callback for Panics {
        fn on_step(&mut self, _: &mut Step<'_>) -> Result<Flow> {
            panic!("on purpose")
        }
    }
    let mut model = mlp(0.5);
    let mut trainer = Trainer::new(1).callback(Panics);
    let fit = || trainer.fit(&mut model, &Quarters::new(32));
    assert!(catch_unwind(AssertUnwindSafe(fit)).is_err());
    let x = ones((8, 2));
    let [first, second] = [model.forward(&x), model.forward(&x)].map(|y| y.to_vec2::<f32>());
    assert_eq!(first, second, "no dropout");
}

/// Counts its loops, as a sampler with a state does.
struct Counting(Arc<AtomicUsize>);

impl Sampler for Counting {
    fn num_samples(&self) -> usize {
        40
    }

    fn sample(&self) -> Result<Vec<usize>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok((0..40).rev().collect())
    }
}

#[test]
fn a_sampler_is_called_once_for_each_epoch() {
    struct Sampled(Quarters, Arc<AtomicUsize>);
    impl DataModule for Sampled {
        fn train_dataloader(&self) -> Result<DataLoader> {
            let loader = self.0.train_dataloader()?;
            Ok(loader.sampler(Counting(self.1.clone())))
        }
    }
    let calls = |ranks: Option<Arc<dyn Communicator>>| {
        let calls = Arc::default();
        let mut trainer = Trainer::new(3);
        trainer.ranks = ranks;
        let data = Sampled(Quarters::new(40), Arc::clone(&calls));
        trainer.fit(&mut mlp(0.0), &data).unwrap();
        calls.load(Ordering::Relaxed)
    };
    assert_eq!(calls(None), 3);
    assert_eq!(threads::run(2, |ranks| calls(Some(ranks))), [3, 3]);
}
