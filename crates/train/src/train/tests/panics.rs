//! Trainings in which the model, a metric or a callback panics because a shape does not fit.

use super::*;
use crate::distributed::{Communicator, testing as threads};
use crate::tensor::{is_grad_enabled, ones, zeros};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The message of every panic on purpose: an addition of shapes that do not fit.
const MESSAGE: &str = "+: ";

/// What panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    Forward,
    Loss,
    Metric,
}

/// Panics in one of its passes, and works after that.
#[derive(taper_macros::Parameters)]
struct Breaks {
    net: Sequential,
    #[parameters(skip)]
    at: Where,
    /// The number of passes until the panic.
    #[parameters(skip)]
    left: Arc<AtomicUsize>,
}

impl Breaks {
    fn new(at: Where, pass: usize) -> Self {
        let net = seq![Linear::new(2, 8), Dropout::new(0.5), Linear::new(8, 4)];
        let left = Arc::new(AtomicUsize::new(pass));
        Self { net, at, left }
    }

    fn pass(&self, at: Where, x: &Tensor) {
        if at == self.at && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            let _ = x + zeros((2, 3, 5)); // the line of the user
        }
    }
}

/// The line of the user above.
const LINE: u32 = line!() - 6;

impl Layer for Breaks {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.pass(Where::Forward, x);
        self.net.forward(x)
    }
}

impl Module for Breaks {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        self.pass(Where::Loss, y_hat);
        cross_entropy(y_hat, y)
    }

    fn validation_step(&self, batch: &Batch) {
        let y_hat = self.forward(&batch.x);
        self.pass(Where::Metric, &y_hat);
        self.plot("accuracy", &accuracy(&y_hat, &batch.y), false);
    }
}

/// Panics in one event, once.
struct BreakingCallback {
    event: &'static str,
    done: bool,
    fits: usize,
}

impl BreakingCallback {
    fn at(event: &'static str) -> Self {
        Self {
            event,
            done: false,
            fits: 0,
        }
    }

    fn event(&mut self, event: &str) {
        if event == self.event && !std::mem::replace(&mut self.done, true) {
            let _ = zeros(7) + zeros(5);
        }
    }
}

impl Callback for BreakingCallback {
    fn on_step(&mut self, _: &mut Step<'_>) -> Result<Flow> {
        self.event("step");
        Ok(Flow::Continue)
    }

    fn on_interval(&mut self, _: &Interval) -> Result<()> {
        self.event("interval");
        Ok(())
    }

    fn on_epoch_end(&mut self, _: &EpochEnd<'_>) -> Result<Flow> {
        self.event("epoch");
        Ok(Flow::Continue)
    }

    fn on_fit_end(&mut self, end: &FitEnd<'_>) -> Result<()> {
        let fails = self.fits == 0 && !matches!(self.event, "end" | "never");
        self.fits += 1;
        assert!(end.completed != fails || self.event == "never");
        self.event("end");
        Ok(())
    }
}

const EVENTS: [&str; 4] = ["step", "interval", "epoch", "end"];

/// Returns the message of a panic that is not within `attempt`.
fn panic_of(work: impl FnOnce() -> Result<History>) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("a panic");
    *panic.downcast::<String>().expect("a text")
}

/// Checks what a training that failed leaves behind, and that the next one works.
fn check_after(trainer: &mut Trainer, model: &mut impl Module) {
    assert!(is_grad_enabled());
    let x = ones((64, 2));
    let [first, second] = [model.forward(&x), model.forward(&x)].map(|y| y.to_vec2::<f32>());
    assert_eq!(first, second, "no dropout");
    let history = trainer.fit(model, &Quarters::new(64)).unwrap();
    assert_eq!(history.epochs.len(), 2);
    assert!(history.epochs.iter().all(|epoch| !epoch.metrics.is_empty()));
    assert_eq!(history.intervals.len(), 8);
}

fn trainer(devices: usize) -> Trainer {
    Trainer::new(2).log_every(1).devices(&vec![CPU; devices])
}

#[test]
fn a_panic_on_one_device_goes_through_and_leaves_all_in_order() {
    for (at, pass) in [(Where::Forward, 3), (Where::Loss, 1), (Where::Metric, 2)] {
        let (mut model, mut trainer) = (Breaks::new(at, pass), trainer(1));
        let message = panic_of(|| trainer.fit(&mut model, &Quarters::new(64)));
        assert!(message.starts_with(MESSAGE), "{at:?}: {message}");
        assert!(message.contains("[2, 3, 5]"), "{at:?}: {message}");
        assert_eq!(message.lines().count(), 2, "{at:?}: {message}");
        let intervals = match at {
            Where::Forward => 2,
            Where::Loss => 0,
            Where::Metric => 4,
        };
        assert_eq!(trainer.history().intervals.len(), intervals, "{at:?}");
        check_after(&mut trainer, &mut model);
    }
}

#[test]
fn a_panic_keeps_the_steps_since_the_last_interval() {
    let (mut model, mut trainer) = (Breaks::new(Where::Forward, 4), trainer(1).log_every(100));
    panic_of(|| trainer.fit(&mut model, &Quarters::new(64)));
    let [interval] = &trainer.history().intervals[..] else {
        panic!("{:?}", trainer.history().intervals);
    };
    assert_eq!((interval.step, interval.epoch), (3, 0.75));
    assert!(interval.metric("train_loss").is_some());
}

#[test]
fn a_panic_in_a_callback_goes_through() {
    for event in EVENTS {
        let mut model = mlp(0.5);
        let mut trainer = trainer(1).callback(BreakingCallback::at(event));
        let message = panic_of(|| trainer.fit(&mut model, &Quarters::new(64)));
        assert!(message.starts_with(MESSAGE), "{event}: {message}");
        assert!(
            message.contains("[7]") && message.contains("[5]"),
            "{event}: {message}"
        );
        check_after(&mut trainer, &mut model);
    }
}

#[test]
fn a_panic_within_attempt_is_its_error() {
    let (mut model, mut trainer) = (Breaks::new(Where::Forward, 3), trainer(1));
    let done = attempt(|| trainer.fit(&mut model, &Quarters::new(64)));
    assert!(done.unwrap_err().to_string().starts_with(MESSAGE));
    check_after(&mut trainer, &mut model);
}

#[test]
fn a_panic_on_one_of_several_devices_is_an_error() {
    // A step runs two passes at the same time.
    for (at, pass) in [(Where::Forward, 5), (Where::Loss, 2), (Where::Forward, 6)] {
        let (mut model, mut trainer) = (Breaks::new(at, pass), trainer(2));
        let error = trainer.fit(&mut model, &Quarters::new(64)).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(MESSAGE), "{at:?}: {message}");
        assert!(message.contains("[2, 3, 5]"), "{at:?}: {message}");
        check_after(&mut trainer, &mut model);
    }
    let parallel = DataParallel::new(Breaks::new(Where::Forward, 1), &[CPU, CPU]).unwrap();
    let batch = Quarters::new(8).batch();
    let error = parallel.backward(&batch).err().unwrap();
    assert!(error.to_string().starts_with(MESSAGE), "{error}");
    assert!(parallel.backward(&batch).is_ok());
}

/// A model with an assertion of its own.
#[derive(taper_macros::Parameters)]
struct Asserts {
    net: Linear,
}

impl Layer for Asserts {
    fn forward(&self, x: &Tensor) -> Tensor {
        assert!(x.dims()[0] == 64, "the whole batch");
        self.net.forward(x)
    }
}

impl Module for Asserts {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        cross_entropy(y_hat, y)
    }
}

#[test]
fn another_panic_on_one_of_several_devices_goes_through() {
    let net = Linear::new(2, 4);
    let mut trainer = trainer(2);
    let fit = || trainer.fit(&mut Asserts { net }, &Quarters::new(64));
    let panic = catch_unwind(AssertUnwindSafe(fit)).expect_err("a panic");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the whole batch"));
}

#[test]
fn a_panic_of_all_ranks_is_the_error_of_each() {
    let errors = threads::run(2, |ranks| {
        let (mut model, mut trainer) = (Breaks::new(Where::Forward, 4), trainer(1));
        trainer.ranks = Some(ranks);
        let error = trainer.fit(&mut model, &Quarters::new(64)).unwrap_err();
        (error.to_string(), trainer.history().intervals.len())
    });
    for (message, intervals) in errors {
        assert!(message.starts_with(MESSAGE), "{message}");
        // One pass is that of the first examples, before the first step.
        assert_eq!(intervals, 2);
    }
}

#[test]
fn a_panic_of_one_rank_ends_the_others() {
    // Rank 1 breaks in the model, then in a callback, then in none.
    for (pass, event) in [(4, "never"), (0, "interval"), (0, "never")] {
        let messages = threads::run(3, |ranks| {
            let breaks = ranks.world().rank == 1;
            let (pass, event) = if breaks { (pass, event) } else { (0, "never") };
            let mut trainer = trainer(1).callback(BreakingCallback::at(event));
            trainer.ranks = Some(ranks);
            let mut model = Breaks::new(Where::Loss, pass);
            let done = trainer.fit(&mut model, &Quarters::new(64));
            done.map_or_else(|error| error.to_string(), |_| String::new())
        });
        for (rank, message) in messages.iter().enumerate() {
            match (rank, pass, event) {
                (_, 0, "never") => assert_eq!(message, ""),
                (1, ..) => assert!(message.starts_with(MESSAGE), "{message}"),
                _ => assert_eq!(message, threads::ENDED),
            }
        }
    }
}

/// What the table in the documentation of the crate says of each place, also with weights of 16 bits.
#[test]
fn a_panic_is_the_same_with_each_type_on_each_device_and_rank() {
    for (dtype, devices) in [DType::F32, DType::F16, DType::BF16]
        .into_iter()
        .flat_map(|dtype| [(dtype, 1), (dtype, 2)])
    {
        let mut data = Quarters::new(64);
        data.x = data.x.to_dtype(dtype);
        let fit = |ranks: Option<Arc<dyn Communicator>>| {
            let breaks = ranks.as_ref().is_none_or(|ranks| ranks.world().rank == 1);
            let mut model = Breaks::new(Where::Forward, if breaks { 6 } else { 0 });
            model.to_dtype(dtype);
            let mut trainer = trainer(devices);
            trainer.ranks = ranks;
            trainer.fit(&mut model, &data)
        };
        let what = format!("{dtype:?} on {devices}");
        let alone = match devices {
            1 => panic_of(|| fit(None)),
            _ => fit(None).unwrap_err().to_string(),
        };
        let ranks = threads::run(2, |ranks| fit(Some(ranks)).unwrap_err().to_string());
        assert_eq!(ranks[0], threads::ENDED, "{what}");
        for message in [&alone, &ranks[1]] {
            assert!(message.starts_with(MESSAGE), "{what}: {message}");
            assert!(message.contains("[2, 3, 5]"), "{what}: {message}");
        }
    }
}

/// The panic hook prints the place: the line of the user, not one of this crate's loop.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn the_message_of_a_panic_names_the_line_of_the_model() {
    const INNER: &str = "TAPER_TEST_PANICS";
    if std::env::var_os(INNER).is_some() {
        let _ = trainer(1).fit(&mut Breaks::new(Where::Forward, 3), &Quarters::new(64));
        return;
    }
    let test = "train::tests::panics::the_message_of_a_panic_names_the_line_of_the_model";
    let mut process = std::process::Command::new(std::env::current_exe().unwrap());
    let process = process
        .args(["--exact", test, "--nocapture"])
        .env(INNER, "1");
    let output = process.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    let place = format!("crates/train/src/train/tests/panics.rs:{LINE}:");
    assert!(text.contains(&place) && text.contains(MESSAGE), "{text}");
}

#[test]
fn a_panic_in_an_evaluation_restores_the_mode() {
    let model = Breaks::new(Where::Metric, 2);
    let validate = || Trainer::new(1).validate(&model, &Quarters::new(64));
    assert!(attempt(validate).is_err());
    assert!(is_grad_enabled());
    let x = ones((64, 2));
    let [first, second] = [model.forward(&x), model.forward(&x)].map(|y| y.to_vec2::<f32>());
    assert_ne!(first, second, "dropout");
    assert!(validate().unwrap()["val_accuracy"] <= 1.0);
}
