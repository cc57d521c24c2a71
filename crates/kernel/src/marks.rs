//! Sends the stale cells to the front ends that show them, over the comms of `stale.rs`.

use super::evaluation::{Evaluation, caught};
use super::request::Request;
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

/// Sends the state to all front ends that show it.
pub(super) fn publish(evaluation: &mut Evaluation, request: &Request) {
    let open = evaluation.shared.stale.ids();
    if !open.is_empty() {
        send(evaluation, request, open);
    }
}

/// Returns the name of the cell that a request runs.
pub(super) fn cell(request: &Request, number: usize) -> CellName {
    let id = request.metadata().get("cellId").and_then(Value::as_str);
    let id = id.map(str::to_owned);
    CellName { id, number }
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
