//! What threads of cells print and show after their cell has ended.
//!
//! The engine says from which cell it comes. It goes to who has the cells at once; what the cell that has just run still
//! prints waits until that cell's own outputs are complete. Without a receiver it is output of the next cell.

use super::messages;
use super::output::Output;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use taper_engine::Event;
use taper_evaluator::evaluator::{CellName, Late};
use taper_evaluator::event::{self, thread_panic};
use taper_host::mutex::lock;

/// How many events wait at most.
const MOST: usize = 10_000;

/// Decodes and passes on what threads of earlier cells print.
#[derive(Clone, Default)]
pub(super) struct LateOutput(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The cells of the notebook, by the number of their evaluation.
    names: BTreeMap<u32, CellName>,
    outputs: HashMap<u32, Output>,
    /// The evaluation that runs, or whose outputs are not complete.
    running: Option<u32>,
    waiting: Vec<(u32, event::Event)>,
    receiver: Option<Arc<dyn Late>>,
}

impl LateOutput {
    /// Sets who receives the outputs.
    pub(super) fn set_receiver(&self, receiver: Arc<dyn Late>) {
        lock(&self.0).receiver = Some(receiver);
    }

    /// Notes that an evaluation begins, and which cell of the notebook it runs. Returns what has
    /// no receiver.
    pub(super) fn begin(&self, number: u32, cell: Option<&CellName>) -> Vec<event::Event> {
        let mut state = lock(&self.0);
        state.running = Some(number);
        if let Some(cell) = cell {
            state.names.insert(number, cell.clone());
        }
        state.release();
        let waiting = std::mem::take(&mut state.waiting);
        waiting.into_iter().map(|(_, event)| event).collect()
    }

    /// Notes that the outputs of the last evaluation are complete.
    pub(super) fn end(&self) {
        let mut state = lock(&self.0);
        state.running = None;
        state.release();
    }

    /// Receives what a thread of a cell does.
    pub(super) fn event(&self, cell: u32, event: Event) {
        let mut state = lock(&self.0);
        let output = state.outputs.entry(cell).or_default();
        let was_full = output.is_full();
        match event {
            Event::Shown(event) => output.event(event),
            Event::ThreadPanic { thread, fault } => {
                let line = messages::line(&fault, cell);
                output.event(thread_panic(thread.as_deref(), line, &fault.message));
            }
            _ => {}
        }
        if output.is_full() && !was_full {
            output.report_full();
        }
        for event in output.take() {
            state.pass_on(cell, event);
        }
    }
}

impl State {
    fn pass_on(&mut self, cell: u32, event: event::Event) {
        let Some(receiver) = self
            .receiver
            .as_ref()
            .filter(|_| self.running != Some(cell))
        else {
            if self.waiting.len() < MOST {
                self.waiting.push((cell, event));
            }
            return;
        };
        // Code of the session's own belongs to the cell before it.
        let name = self.names.range(..=cell).next_back();
        let name = name.map_or(CellName::default(), |(_, name)| name.clone());
        receiver.event(&name, event);
    }

    /// Passes on what has waited.
    fn release(&mut self) {
        if self.receiver.is_some() {
            for (cell, event) in std::mem::take(&mut self.waiting) {
                self.pass_on(cell, event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taper_evaluator::{Event as Shown, Stream};

    #[derive(Default)]
    struct Seen(Mutex<Vec<(usize, String)>>);

    impl Late for Seen {
        fn event(&self, cell: &CellName, event: Shown) {
            let text = match event {
                Shown::Text { text, .. } => text,
                event => format!("{event:?}"),
            };
            lock(&self.0).push((cell.number, text));
        }
    }

    fn print(late: &LateOutput, cell: u32, text: &str) {
        let (stream, text) = (Stream::Stdout, text.to_owned());
        late.event(cell, Event::Shown(Shown::Text { stream, text }));
    }

    fn cell(number: usize) -> CellName {
        CellName { id: None, number }
    }

    #[test]
    fn what_the_last_cell_prints_waits_for_its_own_outputs() {
        let (late, seen) = (LateOutput::default(), Arc::new(Seen::default()));
        late.set_receiver(seen.clone());
        assert!(late.begin(3, Some(&cell(1))).is_empty());
        late.end();
        print(&late, 3, "a");
        assert!(late.begin(4, Some(&cell(2))).is_empty());
        print(&late, 4, "waits");
        print(&late, 3, "b");
        late.end();
        // The session's own code, for instance that of a control, belongs to the cell before it.
        assert!(late.begin(5, None).is_empty());
        late.end();
        print(&late, 5, "c");
        let expected = [(1, "a"), (1, "b"), (2, "waits"), (2, "c")];
        let expected = expected.map(|(cell, text)| (cell, text.to_owned()));
        assert_eq!(*lock(&seen.0), expected);
    }

    #[test]
    fn without_a_receiver_it_is_output_of_the_next_cell() {
        let late = LateOutput::default();
        late.begin(1, Some(&cell(1)));
        late.end();
        print(&late, 1, "a");
        late.event(1, Event::Shown(Shown::Clear { wait: false }));
        let events = late.begin(2, None);
        assert_eq!(events.len(), 2);
        assert_eq!(events[1], Shown::Clear { wait: false });
    }

    #[test]
    fn a_thread_that_prints_endlessly_is_cut_with_a_note() {
        let (late, seen) = (LateOutput::default(), Arc::new(Seen::default()));
        late.set_receiver(seen.clone());
        late.begin(1, Some(&cell(1)));
        late.end();
        let line = "x".repeat(1 << 20);
        for _ in 0..12 {
            print(&late, 1, &line);
        }
        let seen = lock(&seen.0);
        let bytes: usize = seen.iter().map(|(_, text)| text.len()).sum();
        assert!(bytes < 9 << 20, "{bytes}");
        let notes = seen.iter().filter(|(_, text)| text.contains("not shown"));
        assert_eq!(notes.count(), 1);
    }
}
