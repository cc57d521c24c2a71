//! Sends the stale cells, and how far a cell is, to the front ends that show them, over the comms of `stale.rs`.

use super::evaluation::{Evaluation, caught};
use super::request::Request;
use super::shared::Shared;
use jupyter_protocol::{CommId, CommMsg};
use serde_json::{Map, Value, json};
use taper_evaluator::evaluator::CellName;

/// Answers a front end that opens a comm, or sends a message with the order of its cells.
pub(super) fn answer(
    evaluation: &mut Evaluation,
    request: &Request,
    id: &CommId,
    data: &Map<String, Value>,
) {
    evaluation.shared.stale.open(id);
    if let Some(cell) = data.get("needed").and_then(Value::as_str) {
        let needed = needed(evaluation, data, cell);
        let data = Map::from_iter([("needed".to_owned(), json!(needed))]);
        let comm_id = id.clone();
        request.publish(CommMsg { comm_id, data });
        return;
    }
    let cells = data.get("cells").and_then(Value::as_array);
    if let (Some(cells), Ok(evaluator)) = (cells, &mut evaluation.evaluator) {
        let cells: Vec<String> = cells
            .iter()
            .filter_map(|id| Some(id.as_str()?.to_owned()))
            .collect();
        let _ = caught(|| evaluator.set_order(&cells));
    }
    send(evaluation, request, vec![id.clone()]);
}

/// Returns the cells that must run before a cell, and that cell.
fn needed(evaluation: &mut Evaluation, data: &Map<String, Value>, cell: &str) -> Vec<String> {
    let sources = data.get("sources").cloned().unwrap_or_default();
    let sources: Vec<(String, String)> = serde_json::from_value(sources).unwrap_or_default();
    let found = match &mut evaluation.evaluator {
        Ok(evaluator) => caught(|| evaluator.needed(&sources, cell)).ok(),
        Err(_) => None,
    };
    found.unwrap_or_else(|| vec![cell.to_owned()])
}

/// Keeps the outputs of a cell for a page that is opened again, if pages can show them.
pub(super) fn keep(shared: &Shared, request: &Request, number: usize) {
    if let Some(cell) = id_of(request)
        && !shared.stale.ids().is_empty()
    {
        request.keep(cell, number);
    }
}

/// Sends to all front ends that show it how far a cell is: `compiling` or `running`.
pub(super) fn progress(shared: &Shared, request: &Request, how_far: &str) {
    let Some(cell) = id_of(request) else { return };
    for comm_id in shared.stale.ids() {
        let data = Map::from_iter([(how_far.to_owned(), json!(cell))]);
        request.publish(CommMsg { comm_id, data });
    }
}

/// Sends the state to all front ends that show it.
pub(super) fn publish(evaluation: &mut Evaluation, request: &Request) {
    let open = evaluation.shared.stale.ids();
    if !open.is_empty() {
        send(evaluation, request, open);
    }
}

/// Returns the name of the cell that a request runs.
pub(super) fn cell(request: &Request, number: usize) -> CellName {
    let id = id_of(request).map(str::to_owned);
    CellName { id, number }
}

fn id_of(request: &Request) -> Option<&str> {
    request.metadata().get("cellId").and_then(Value::as_str)
}

fn send(evaluation: &mut Evaluation, request: &Request, comms: Vec<CommId>) {
    let stale = match &mut evaluation.evaluator {
        Ok(evaluator) => caught(|| evaluator.stale()).unwrap_or_default(),
        Err(_) => None,
    };
    for comm_id in comms {
        let data = Map::from_iter([("stale".to_owned(), json!(stale))]);
        request.publish(CommMsg { comm_id, data });
    }
}
