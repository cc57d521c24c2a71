//! The checks of a card. The tests below make the card wrong, to show that each check can fail.

use crate::computations::{convolutions, layers, losses, mixed_precision, optimizers, trainings};
use crate::machine::{Computation, Machine, Outcome, Values, first_line, gradients_of};
use crate::nets::lenet;
use std::fmt;
use taper::device::allow_tf32;
use taper::prelude::*;

/// The tolerance, relative to the largest value of a tensor: a card adds in another order.
const NEAR: f64 = 1e-4;

/// The tolerance after some steps of training, in which differences grow.
const AFTER_STEPS: f64 = 1e-3;

/// The tolerance of products of inputs with 11 digits (TF32), of which some cancel.
const IN_TF32: f64 = 5e-3;

/// The tolerance after some steps with inputs of 8 digits (bf16).
const IN_BF16: f64 = 9e-3;

/// How many times to repeat a check whose result may depend on which card is faster.
const REPEATED: u64 = 100;

type Check = (&'static str, fn(&Machine) -> Result<Outcome>);

const CHECKS: [Check; 11] = [
    ("layers", |machine| Ok(machine.compare(&layers(), NEAR))),
    ("convolutions in TF32", |machine| {
        allow_tf32(true);
        let outcome = machine.compare(&convolutions(), IN_TF32);
        allow_tf32(false);
        Ok(outcome)
    }),
    ("training in mixed precision", |machine| {
        Ok(machine.compare(&[mixed_precision()], IN_BF16))
    }),
    ("losses", |machine| Ok(machine.compare(&losses(), NEAR))),
    ("optimizers", |machine| {
        Ok(machine.compare(&optimizers(), NEAR))
    }),
    ("random values", |machine| {
        Ok(machine.compare(&[random_values()], 0.0))
    }),
    ("training of the chapters' networks", |machine| {
        Ok(machine.compare(&trainings(), AFTER_STEPS))
    }),
    ("two replicas on a card", |machine| {
        Ok(machine.compare(&[replicas(vec![machine.card().clone(); 2])], NEAR))
    }),
    ("two cards", two_cards),
    ("messages", messages),
    ("order of the cards", order_of_cards),
];

/// The results of the checks. As text, it has a line for each check and a last line with the counts.
pub(crate) struct Report(Vec<(&'static str, Outcome)>);

impl Report {
    pub(crate) fn of(machine: &Machine) -> Self {
        allow_tf32(false);
        let outcome = |check: fn(&Machine) -> Result<Outcome>| {
            let outcome = attempt(|| check(machine)).flatten();
            outcome.unwrap_or_else(|error| Outcome::Failed(first_line(&error)))
        };
        let outcomes = CHECKS.map(|(name, check)| (name, outcome(check)));
        allow_tf32(true);
        Self(outcomes.into())
    }

    /// Returns how many checks have failed.
    pub(crate) fn failed(&self) -> usize {
        let failed = |(_, outcome): &&(_, Outcome)| matches!(outcome, Outcome::Failed(_));
        self.0.iter().filter(failed).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, outcome) in &self.0 {
            let (verdict, text) = match outcome {
                Outcome::Passed(text) => ("passed", text),
                Outcome::Failed(text) => ("FAILED", text),
                Outcome::Absent(text) => ("not checked", text),
            };
            writeln!(f, "- {name}: {verdict}: {text}")?;
        }
        let absent = self
            .0
            .iter()
            .filter(|(_, outcome)| matches!(outcome, Outcome::Absent(_)));
        let (failed, absent) = (self.failed(), absent.count());
        let passed = self.0.len() - failed - absent;
        write!(
            f,
            "- {passed} passed, {failed} failed, {absent} not checked"
        )
    }
}

/// Draws random values, which must be the same on a card and on the CPU.
fn random_values() -> Computation {
    let run = |device: &Device| -> Result<Values> {
        Ok(vec![
            ("normal".to_owned(), randn((300, 7)).to_device(device)),
            ("uniform".to_owned(), rand(99).to_device(device)),
        ])
    };
    Computation {
        name: "random values",
        seed: 7,
        run: Box::new(run),
    }
}

/// Returns the loss and gradients of a LeNet, on the CPU or of its replicas on these devices.
fn replicas(devices: Vec<Device>) -> Computation {
    let run = move |device: &Device| {
        let batch = Batch {
            x: rand((16, 1, 28, 28)),
            y: randint(0, 10, 16),
        };
        let model = Classifier::new(lenet(), 0.1);
        model.forward(&batch.x); // initialises lazy layers
        let (loss, gradients) = if device.is_cpu() && !devices[0].is_cpu() {
            let loss = model.training_step(&batch);
            let gradients = gradients_of(&model, &loss.backward())?;
            (loss, gradients)
        } else {
            let parallel = DataParallel::new(model, &devices)?;
            let Gradients { loss, gradients } = parallel.backward(&batch)?;
            (loss, gradients_of(parallel.model(), &gradients)?)
        };
        Ok([vec![("loss".to_owned(), loss)], gradients].concat())
    };
    Computation {
        name: "replicas",
        seed: 5,
        run: Box::new(run),
    }
}

/// Checks copies from card to card and gradients of replicas many times, because a wrong order of the work may
/// show only if one card is faster.
fn two_cards(machine: &Machine) -> Result<Outcome> {
    let [first, second, ..] = &machine.cards[..] else {
        return Ok(Outcome::Absent("there is one card".to_owned()));
    };
    let cards = [first.clone(), second.clone()];
    let round = |round| [copies(cards.clone(), round), replicas(cards.to_vec())];
    let repeated: Vec<Computation> = (0..REPEATED).flat_map(round).collect();
    Ok(machine.compare(&repeated, NEAR))
}

/// Copies values that a card has not computed yet to the other card and back; the sources are dropped, and
/// other tensors use their memory.
fn copies(cards: [Device; 2], round: u64) -> Computation {
    let run = move |device: &Device| {
        let start = rand((512, 512));
        if device.is_cpu() && !cards[0].is_cpu() {
            let expected = start.matmul(&start).matmul(&start);
            let both = [("copy", expected.clone()), ("copy back", expected)];
            return Ok(both.map(|(name, value)| (name.to_owned(), value)).into());
        }
        let there = start.copy_to(&cards[0]);
        let copy = there.matmul(&there).matmul(&there).copy_to(&cards[1]);
        drop(there);
        let _others = with_device(&cards[0], || [zeros((512, 512)), zeros((512, 512))]);
        let back = copy.copy_to(&cards[0]);
        Ok(vec![
            ("copy".to_owned(), copy),
            ("copy back".to_owned(), back),
        ])
    };
    Computation {
        name: "copies",
        seed: round,
        run: Box::new(run),
    }
}

/// Checks that errors say what is wrong, and that the card can be used after them.
fn messages(machine: &Machine) -> Result<Outcome> {
    let card = machine.card();
    if card.is_cpu() {
        return Ok(Outcome::Absent("there is no card".to_owned()));
    }
    let too_large = attempt(|| with_device(card, || zeros((1 << 20, 1 << 20)))).err();
    // A second handle of the first card.
    let other = ones((1, 2)).to_device(&Device::new_cuda(0)?);
    let mut layer = Linear::new(2, 1);
    layer.to_device(card);
    let two_handles = attempt(|| layer.forward(&other)).err();
    let found = [too_large, two_handles].map(|error| error.map(|error| error.to_string()));
    let sum = ones(10).to_device(card).sum_all().item();
    Ok(refusals(found, sum))
}

fn refusals(found: [Option<String>; 2], sum: f64) -> Outcome {
    let expected = [
        "the GPU is out of memory: requested 4096.0 GiB, ",
        "and its input are on cuda:0, but belong to two devices",
    ];
    for (found, expected) in found.iter().zip(expected) {
        match found {
            None => return Outcome::Failed(format!("there was no error {expected:?}")),
            Some(found) if !found.contains(expected) => {
                return Outcome::Failed(format!("expected {expected:?}, found {found:?}"));
            }
            Some(_) => {}
        }
    }
    match sum {
        10.0 => Outcome::Passed("out of memory, two handles of a card".to_owned()),
        sum => Outcome::Failed(format!("after errors, ten ones have the sum {sum}")),
    }
}

/// Checks that `gpu_info` lists the cards in the order of `gpu`.
fn order_of_cards(machine: &Machine) -> Result<Outcome> {
    if machine.card().is_cpu() {
        return Ok(Outcome::Absent("there is no card".to_owned()));
    }
    let indices: Vec<usize> = gpu_info()?.iter().map(|gpu| gpu.index).collect();
    Ok(order(&indices, machine.cards.len()))
}

fn order(indices: &[usize], cards: usize) -> Outcome {
    match indices.iter().copied().eq(0..cards) {
        true => Outcome::Passed(format!("gpu_info() lists {cards}")),
        false => Outcome::Failed(format!(
            "gpu_info() lists {indices:?}, and there are {cards}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fault;

    /// Returns a machine with this number of cards, each of which is the CPU.
    fn machine(cards: usize, fault: Option<Fault>) -> Machine {
        Machine {
            cards: vec![cpu(); cards],
            fault,
        }
    }

    #[test]
    fn a_right_card_passes_and_says_what_was_not_there() {
        let report = Report::of(&machine(1, None));
        assert_eq!(report.failed(), 0, "{report}");
        let text = report.to_string();
        assert_eq!(text.lines().count(), 12, "{text}");
        assert!(
            text.contains("- two cards: not checked: there is one card\n"),
            "{text}"
        );
        assert!(
            text.ends_with("- 8 passed, 0 failed, 3 not checked"),
            "{text}"
        );
    }

    /// Each computation fails its check alone if the card is wrong there.
    #[test]
    fn a_wrong_card_fails_at_each_computation() {
        let single = |computations: Vec<Computation>, near| {
            assert!(!computations.is_empty());
            for computation in computations {
                let right = machine(1, None).compare(std::slice::from_ref(&computation), near);
                assert!(matches!(right, Outcome::Passed(_)), "{right:?}");
                for fault in [Fault::NaN, Fault::Off, Fault::Missing] {
                    let fault = fault(computation.name.to_owned());
                    let wrong = machine(1, Some(fault.clone()));
                    let outcome = wrong.compare(std::slice::from_ref(&computation), near);
                    let Outcome::Failed(text) = outcome else {
                        panic!("{fault:?}: {outcome:?}");
                    };
                    assert!(text.starts_with(computation.name), "{text}");
                }
            }
        };
        single(layers(), NEAR);
        single(losses(), NEAR);
        single(optimizers(), NEAR);
        single(trainings(), AFTER_STEPS);
        single(convolutions(), IN_TF32);
        single(vec![mixed_precision()], IN_BF16);
        single(vec![random_values()], 0.0);
        let pair = || [cpu(), cpu()];
        single(vec![replicas(pair().into()), copies(pair(), 1)], NEAR);
    }

    #[test]
    fn one_wrong_operation_fails_the_report() {
        let report = Report::of(&machine(1, Some(Fault::Off("GELU".to_owned()))));
        assert_eq!(report.failed(), 1);
        assert!(
            report
                .to_string()
                .starts_with("- layers: FAILED: GELU: gradient of the input is wrong by "),
            "{report}"
        );
        assert!(
            report
                .to_string()
                .contains(" where 1e-4 is allowed, shape [2, 4, 9, 8], seed 1\n"),
            "{report}"
        );
    }

    #[test]
    fn wrong_messages_and_orders_fail() {
        let memory = "the GPU is out of memory: requested 4096.0 GiB, 1 of 2 are free".to_owned();
        let handles = "Linear(…) and its input are on cuda:0, but belong to two devices".to_owned();
        let right = [Some(memory.clone()), Some(handles.clone())];
        assert!(matches!(refusals(right.clone(), 10.0), Outcome::Passed(_)));
        let other = Some("CUDA_ERROR".to_owned());
        for (found, sum) in [
            ([None, Some(handles.clone())], 10.0),
            ([Some(memory.clone()), None], 10.0),
            ([other.clone(), Some(handles)], 10.0),
            ([Some(memory), other], 10.0),
            (right, f64::NAN),
        ] {
            assert!(matches!(refusals(found, sum), Outcome::Failed(_)));
        }
        assert!(matches!(order(&[0, 1], 2), Outcome::Passed(_)));
        for indices in [vec![1, 0], vec![0], vec![0, 2]] {
            assert!(matches!(order(&indices, 2), Outcome::Failed(_)));
        }
    }
}
