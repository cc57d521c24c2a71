//! The checks of a card. Each can fail: the tests below make the card wrong.

use crate::computations::{layers, losses, optimizers};
use crate::machine::{Computation, Machine, Outcome, Values, difference, first_line, gradients_of};
use crate::nets::lenet;
use std::fmt;
use taper::prelude::*;

/// The tolerance, relative to the largest value of a tensor: a card adds in another order.
const NEAR: f64 = 1e-4;

/// How often to repeat what may depend on which card is faster.
const REPEATED: usize = 100;

type Check = (&'static str, fn(&Machine) -> Result<Outcome>);

const CHECKS: [Check; 9] = [
    ("layers", |machine| Ok(machine.compare(&layers(), NEAR))),
    ("losses", |machine| Ok(machine.compare(&losses(), NEAR))),
    ("optimizers", |machine| {
        Ok(machine.compare(&optimizers(), NEAR))
    }),
    ("random values", |machine| {
        Ok(machine.compare(&[random_values()], 0.0))
    }),
    ("two replicas on a card", |machine| {
        Ok(machine.compare(&[replicas(vec![machine.card().clone(); 2])], NEAR))
    }),
    ("two cards, copies", |machine| on_two(machine, copies)),
    ("two cards, replicas", |machine| {
        on_two(machine, |cards| {
            repeated(machine, || replicas(cards.clone()))
        })
    }),
    ("out of memory", out_of_memory),
    ("order of the cards", order_of_cards),
];

/// What the checks have found: a line for each, and a last line.
pub(crate) struct Report(Vec<(&'static str, Outcome)>);

impl Report {
    pub(crate) fn of(machine: &Machine) -> Self {
        let outcome = |check: fn(&Machine) -> Result<Outcome>| {
            check(machine).unwrap_or_else(|error| Outcome::Failed(first_line(&error)))
        };
        Self(CHECKS.map(|(name, check)| (name, outcome(check))).into())
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

/// Values that are drawn for a card are the CPU's.
fn random_values() -> Computation {
    let run = |device: &Device| -> Result<Values> {
        with_seed(7, || {
            Ok(vec![
                ("normal".to_owned(), randn((300, 7), device)?),
                ("uniform".to_owned(), rand(99, device)?),
            ])
        })
    };
    Computation {
        name: "random values",
        run: Box::new(run),
    }
}

/// Returns the loss and gradients of a LeNet, on the CPU or of its replicas on these devices.
fn replicas(devices: Vec<Device>) -> Computation {
    let run = move |device: &Device| {
        let batch = || -> Result<Batch> {
            Ok(Batch {
                x: rand((16, 1, 28, 28), &cpu())?,
                y: randint(0, 10, 16, &cpu())?,
            })
        };
        with_seed(5, || {
            let batch = batch()?;
            let model = Classifier::new(lenet(), 0.1);
            model.forward(&batch.x)?; // initialises lazy layers
            if device.is_cpu() && !devices[0].is_cpu() {
                let loss = model.training_step(&batch)?;
                let gradients = loss.backward()?;
                return Ok([
                    vec![("loss".to_owned(), loss)],
                    gradients_of(&model, &gradients)?,
                ]
                .concat());
            }
            let parallel = DataParallel::new(model, &devices)?;
            let Gradients { loss, gradients } = parallel.backward(&batch)?;
            Ok([
                vec![("loss".to_owned(), loss)],
                gradients_of(parallel.model(), &gradients)?,
            ]
            .concat())
        })
    };
    Computation {
        name: "replicas",
        run: Box::new(run),
    }
}

fn on_two(
    machine: &Machine,
    check: impl FnOnce(Vec<Device>) -> Result<Outcome>,
) -> Result<Outcome> {
    match &machine.cards[..] {
        [first, second, ..] => check(vec![first.clone(), second.clone()]),
        _ => Ok(Outcome::Absent("there is one card".to_owned())),
    }
}

fn repeated(machine: &Machine, computation: impl Fn() -> Computation) -> Result<Outcome> {
    let repeated: Vec<Computation> = (0..REPEATED).map(|_| computation()).collect();
    Ok(machine.compare(&repeated, NEAR))
}

/// Values that a card has not computed yet are copied to the other and back; the sources are dropped, and
/// others use their memory.
fn copies(cards: Vec<Device>) -> Result<Outcome> {
    for round in 0..REPEATED {
        let start = with_seed(round as u64, || rand((512, 512), &cpu()))?;
        let expected = start.matmul(&start)?.matmul(&start)?;
        let there = start.copy_to(&cards[0])?;
        let copy = there.matmul(&there)?.matmul(&there)?.copy_to(&cards[1])?;
        drop(there);
        let _others = [zeros((512, 512), &cards[0])?, zeros((512, 512), &cards[0])?];
        let back = copy.copy_to(&cards[0])?;
        for tensor in [copy, back] {
            let got = tensor
                .to_device(&cpu())?
                .flatten_all()?
                .to_dtype(DType::F64)?
                .to_vec1()?;
            let expected = expected.flatten_all()?.to_dtype(DType::F64)?.to_vec1()?;
            let off = difference(&expected, &got);
            if off > NEAR {
                return Ok(Outcome::Failed(format!("copy {round} is off by {off:.1e}")));
            }
        }
    }
    Ok(Outcome::Passed(format!("{REPEATED} copies and back")))
}

/// A tensor of 4 TiB is refused with the sizes, and the card can still be used.
fn out_of_memory(machine: &Machine) -> Result<Outcome> {
    if machine.card().is_cpu() {
        return Ok(Outcome::Absent("there is no card".to_owned()));
    }
    let refused = zeros((1 << 20, 1 << 20), machine.card()).err();
    let sum = ones(10, machine.card())?.sum_all()?.to_scalar::<f32>()?;
    Ok(refusal(refused.map(|error| error.to_string()), sum))
}

fn refusal(message: Option<String>, sum: f32) -> Outcome {
    let expected = "the GPU is out of memory: requested 4096.0 GiB, ";
    match message {
        None => Outcome::Failed("a tensor of 4 TiB was created".to_owned()),
        Some(message) if !message.starts_with(expected) => {
            Outcome::Failed(format!("the message was {message:?}"))
        }
        Some(_) if sum != 10.0 => Outcome::Failed(format!("after it, ten ones have the sum {sum}")),
        Some(message) => Outcome::Passed(message.lines().next().unwrap_or_default().to_owned()),
    }
}

/// `gpu_info` lists the cards in the order of `gpu`.
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

    fn machine(fault: Option<Fault>) -> Machine {
        Machine {
            cards: vec![cpu()],
            fault,
        }
    }

    #[test]
    fn a_right_card_passes_and_says_what_was_not_there() {
        let report = Report::of(&machine(None));
        assert_eq!(report.failed(), 0, "{report}");
        let text = report.to_string();
        assert_eq!(text.lines().count(), 10, "{text}");
        assert!(
            text.contains("- two cards, copies: not checked: there is one card\n"),
            "{text}"
        );
        assert!(
            text.ends_with("- 5 passed, 0 failed, 4 not checked"),
            "{text}"
        );
    }

    /// Each computation fails its check alone if the card is wrong there.
    #[test]
    fn a_wrong_card_fails_at_each_computation() {
        let single = |computations: Vec<Computation>| {
            for computation in computations {
                for fault in [Fault::NaN, Fault::Off, Fault::Missing] {
                    let name = computation.name;
                    let outcome = machine(Some(fault(name)))
                        .compare(std::slice::from_ref(&computation), NEAR);
                    let Outcome::Failed(text) = outcome else {
                        panic!("{name} {:?}: {outcome:?}", fault(name));
                    };
                    assert!(text.starts_with(name), "{text}");
                }
            }
        };
        for computations in [
            layers(),
            losses(),
            optimizers(),
            vec![random_values(), replicas(vec![cpu(); 2])],
        ] {
            assert!(!computations.is_empty());
            single(computations);
        }
    }

    #[test]
    fn one_wrong_operation_fails_the_report() {
        let report = Report::of(&machine(Some(Fault::Off("GELU"))));
        assert_eq!(report.failed(), 1);
        assert!(
            report
                .to_string()
                .starts_with("- layers: FAILED: GELU (gradient of the input: "),
            "{report}"
        );
    }

    #[test]
    fn copies_are_compared() {
        let outcome = copies(vec![cpu(); 2]).unwrap();
        assert!(matches!(outcome, Outcome::Passed(_)), "{outcome:?}");
        for wrong in [vec![1.0, f64::NAN], vec![1.0], vec![1.0, 2.1], vec![]] {
            assert!(difference(&[1.0, 2.0], &wrong) > NEAR, "{wrong:?}");
        }
    }

    #[test]
    fn wrong_messages_and_orders_fail() {
        let right = "the GPU is out of memory: requested 4096.0 GiB, 1 of 2 are free".to_owned();
        assert!(matches!(
            refusal(Some(right.clone()), 10.0),
            Outcome::Passed(_)
        ));
        for (message, sum) in [
            (None, 10.0),
            (Some("CUDA_ERROR".to_owned()), 10.0),
            (Some(right), f32::NAN),
        ] {
            assert!(matches!(refusal(message, sum), Outcome::Failed(_)));
        }
        assert!(matches!(order(&[0, 1], 2), Outcome::Passed(_)));
        for indices in [vec![1, 0], vec![0], vec![0, 2]] {
            assert!(matches!(order(&indices, 2), Outcome::Failed(_)));
        }
    }
}
