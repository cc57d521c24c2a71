//! A fake evaluator: each line of a cell is a command with an argument.

use serde_json::{Map, Value};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use taper_evaluator::Editor;
use taper_evaluator::evaluator::{
    CellName, Completeness, Completion, Completions, Evaluator, Front, Interrupt, Late, StaleCell,
    Variable,
};
use taper_evaluator::event::{CellError, Event, MimeBundle, Stream};

/// Creates a fake evaluator, and a sender that opens its `gate`s.
pub(super) fn fake() -> (Box<dyn Evaluator>, Sender<()>) {
    let (open, gate) = channel();
    (Fake::boxed(gate, Box::new(|| None)), open)
}

/// Creates a fake evaluator that does this when there is no request.
pub(super) fn idling(
    idle: impl FnMut() -> Option<Duration> + Send + 'static,
) -> Box<dyn Evaluator> {
    Fake::boxed(channel().1, Box::new(idle))
}

struct Fake {
    gate: Receiver<()>,
    interrupts: Arc<Interrupts>,
    /// The last cell, which is the stale one.
    cell: CellName,
    order: Vec<String>,
    late: Option<Arc<dyn Late>>,
    idle: Box<dyn FnMut() -> Option<Duration> + Send>,
}

/// Counts the interrupts since the cell began.
#[derive(Default)]
struct Interrupts {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Interrupts {
    fn wait_for(&self, wanted: usize) {
        let count = self.count.lock().unwrap();
        drop(self.changed.wait_while(count, |count| *count < wanted));
    }
}

impl Interrupt for Interrupts {
    fn interrupt(&self) {
        *self.count.lock().unwrap() += 1;
        self.changed.notify_all();
    }
}

impl Evaluator for Fake {
    fn execute(
        &mut self,
        code: &str,
        cell: Option<&CellName>,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        if let Some(cell) = cell {
            self.cell = cell.clone();
        }
        *self.interrupts.count.lock().unwrap() = 0;
        front.begun();
        for line in code.lines() {
            let (command, argument) = line.split_once(' ').unwrap_or((line, ""));
            if let Err(error) = self.command(command, argument, front) {
                front.event(Event::Error(error.clone()));
                return Err(error);
            }
        }
        Ok(())
    }

    fn set_late(&mut self, late: Arc<dyn Late>) {
        self.late = Some(late);
    }

    fn stale(&mut self) -> Option<Vec<StaleCell>> {
        Some(vec![StaleCell {
            id: self.cell.id.clone(),
            number: self.cell.number,
            line: String::new(),
            certain: true,
            reasons: self.order.clone(),
        }])
    }

    fn set_order(&mut self, cells: &[String]) {
        self.order = cells.to_vec();
    }

    fn needed(&mut self, cells: &[(String, String)], id: &str) -> Vec<String> {
        let first = cells.first().map(|(id, source)| format!("{id}: {source}"));
        first.into_iter().chain([id.to_owned()]).collect()
    }

    fn idle(&mut self) -> Option<Duration> {
        (self.idle)()
    }

    fn update_widget(
        &mut self,
        id: &str,
        value: &str,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        self.execute(&format!("out {id} is {value}"), None, front)
    }

    fn inspect_variables(&mut self, with_values: bool) -> Vec<Variable> {
        vec![Variable {
            name: "x".to_owned(),
            kind: "i32".to_owned(),
            value: if with_values { "7" } else { "" }.to_owned(),
            content: if with_values { "P { at: [7, 8] }" } else { "" }.to_owned(),
        }]
    }

    fn editor(&self) -> Arc<dyn Editor> {
        Arc::new(FakeEditor)
    }

    fn interrupter(&self) -> Arc<dyn Interrupt> {
        self.interrupts.clone()
    }
}

/// Says of code whether it is complete, by its last character.
pub(super) fn is_complete(code: &str) -> Completeness {
    match code.chars().last() {
        Some('{') => Completeness::Incomplete {
            indent: "    ".to_owned(),
        },
        Some('}') => Completeness::Complete,
        _ => Completeness::Invalid,
    }
}

impl Fake {
    fn boxed(
        gate: Receiver<()>,
        idle: Box<dyn FnMut() -> Option<Duration> + Send>,
    ) -> Box<dyn Evaluator> {
        Box::new(Fake {
            gate,
            interrupts: Arc::default(),
            cell: CellName::default(),
            order: Vec::new(),
            late: None,
            idle,
        })
    }

    fn command(
        &self,
        command: &str,
        argument: &str,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        match command {
            "out" => front.event(text(Stream::Stdout, argument)),
            "err" => front.event(text(Stream::Stderr, argument)),
            "show" => front.event(Event::Display {
                data: plain("a"),
                metadata: Map::new(),
                display_id: Some(argument.to_owned()),
            }),
            "update" => front.event(update(argument)),
            "slider" => front.event(Event::Widget {
                id: argument.to_owned(),
                state: Map::from_iter([("value".to_owned(), 0.5.into())]),
            }),
            "clear" => front.event(Event::Clear { wait: true }),
            "value" => front.event(Event::Result {
                data: plain(argument),
                metadata: Map::new(),
            }),
            "ask" => {
                let answer = front.input(argument, true);
                front.event(text(Stream::Stdout, &format!("{answer:?}")));
            }
            // Ends at the first interrupt.
            "wait" => {
                self.interrupts.wait_for(1);
                return Err(error("Interrupted"));
            }
            // Ends only when its process is killed, by the second interrupt.
            "deaf" => {
                self.interrupts.wait_for(2);
                return Err(error("Killed"));
            }
            // What a thread of an earlier cell does: the number of the cell, and the text or the id of a display.
            "late" => self.late(argument, |it| text(Stream::Stdout, it), Duration::ZERO),
            "soon" => self.late(argument, |it| text(Stream::Stdout, it), SOON),
            "soon-update" => self.late(argument, update, SOON),
            "stuck" => self.interrupts.wait_for(usize::MAX),
            "gate" => self.gate.recv().unwrap(),
            "fail" => return Err(error("Failure")),
            // A bug in the evaluator.
            "panic" => panic!("{argument}"),
            unknown => panic!("the fake does not know `{unknown}`"),
        }
        Ok(())
    }
}

/// When a thread does something after its cell.
const SOON: Duration = Duration::from_millis(100);

impl Fake {
    fn late(&self, argument: &str, event: fn(&str) -> Event, after: Duration) {
        let (number, argument) = argument.split_once(' ').expect("a number");
        let number = number.parse().expect("a number");
        let (late, event) = (self.late.clone().expect("it is set"), event(argument));
        let thread = std::thread::spawn(move || {
            std::thread::sleep(after);
            late.event(&CellName { id: None, number }, event);
        });
        if after.is_zero() {
            thread.join().expect("it ends");
        }
    }
}

fn update(id: &str) -> Event {
    Event::UpdateDisplay {
        data: plain("b"),
        metadata: Map::new(),
        display_id: id.to_owned(),
    }
}

fn text(stream: Stream, text: &str) -> Event {
    let text = text.to_owned();
    Event::Text { stream, text }
}

fn plain(text: &str) -> MimeBundle {
    Map::from_iter([("text/plain".to_owned(), Value::from(text))])
}

fn error(name: &str) -> CellError {
    CellError {
        name: name.to_owned(),
        message: "why".to_owned(),
        traceback: vec!["where".to_owned()],
        location: None,
    }
}

struct FakeEditor;

impl Editor for FakeEditor {
    fn complete(&self, code: &str, cursor: usize) -> Completions {
        let start = code[..cursor].rfind(' ').map_or(0, |space| space + 1);
        let item = Completion {
            text: "zeros(shape)".to_owned(),
            kind: "function".to_owned(),
            label: "zeros(…)".to_owned(),
            documentation: "Returns zeros.".to_owned(),
        };
        Completions {
            start,
            end: cursor,
            items: vec![item],
        }
    }

    fn inspect(&self, code: &str, cursor: usize) -> Option<MimeBundle> {
        (!code.is_empty()).then(|| plain(&code[cursor..]))
    }
}
