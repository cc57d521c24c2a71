//! Outputs of cells that have ended: a thread that such a cell has started goes on, and prints, shows or updates something.
//!
//! They are published at once, as answers to the request that ran their cell, so that front ends show them below it. Programs
//! that run one cell after the other, such as nbclient and papermill, ignore answers to earlier requests. With
//! them, such outputs are those of the cell that runs, and wait for the next one while none does.

use super::outgoing::OutboxSender;
use super::outputs::publish;
use super::request::{Parent, Request};
use super::shared::Shared;
use jupyter_protocol::{ExecuteRequest, ExecutionCount, JupyterMessage};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use taper_evaluator::evaluator::{CellName, Late};
use taper_evaluator::event::Event;
use taper_host::mutex::lock;

/// How many requests are remembered, and how many outputs wait, at most.
const REQUESTS: usize = 10_000;
const WAITING: usize = 10_000;

/// Publishes the outputs of cells that have ended.
pub(super) struct LateOutputs {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

struct State {
    /// `None` after the end of the kernel.
    outbox: Option<OutboxSender>,
    /// The requests, by the execution count of their cells. They are without the code.
    requests: BTreeMap<usize, Arc<JupyterMessage>>,
    /// The execution count of the last cell that began.
    last: usize,
    /// Whether a cell runs.
    is_running: bool,
    /// Whether the front end follows the cell that runs, and no other.
    follows_one: bool,
    waiting: Vec<Event>,
}

impl LateOutputs {
    /// Returns what publishes through this queue.
    pub(super) fn new(outbox: OutboxSender, shared: Arc<Shared>) -> Arc<LateOutputs> {
        Arc::new(LateOutputs {
            shared,
            state: Mutex::new(State {
                outbox: Some(outbox),
                requests: BTreeMap::new(),
                last: 0,
                is_running: false,
                follows_one: false,
                waiting: Vec::new(),
            }),
        })
    }

    /// Notes that a cell begins.
    pub(super) fn begin_cell(&self, request: &Request, cell: &ExecuteRequest, count: usize) {
        let mut message = JupyterMessage::clone(request.message());
        message.content = ExecuteRequest::new(String::new()).into();
        let mut state = lock(&self.state);
        state.requests.insert(count, Arc::new(message));
        if state.requests.len() > REQUESTS {
            state.requests.pop_first();
        }
        let has_id = request.metadata().get("cellId").is_some();
        state.follows_one = !cell.allow_stdin && !has_id;
        (state.last, state.is_running) = (count, true);
        for event in std::mem::take(&mut state.waiting) {
            self.publish(&state, count, event);
        }
    }

    /// Notes that the cell has ended.
    pub(super) fn end_cell(&self) {
        lock(&self.state).is_running = false;
    }

    /// Publishes nothing from now on.
    pub(super) fn close(&self) {
        lock(&self.state).outbox = None;
    }

    fn publish(&self, state: &State, count: usize, event: Event) {
        let request = state.requests.get(&count);
        let request = request.or_else(|| state.requests.get(&state.last));
        let (Some(request), Some(outbox)) = (request, &state.outbox) else {
            return;
        };
        let request = Parent::new(request.clone(), outbox.clone());
        match event {
            Event::Widget { id, state } => {
                let (open, metadata) = self.shared.widgets.open(id, state);
                request.publish_with(open, metadata);
            }
            event => publish(&request, event, ExecutionCount::new(count)),
        }
    }
}

impl Late for LateOutputs {
    fn event(&self, cell: &CellName, event: Event) {
        let mut state = lock(&self.state);
        match (state.follows_one, state.is_running) {
            (false, _) => self.publish(&state, cell.number, event),
            (true, true) => self.publish(&state, state.last, event),
            (true, false) if state.waiting.len() < WAITING => state.waiting.push(event),
            (true, false) => {}
        }
    }
}
