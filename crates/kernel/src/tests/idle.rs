//! What the evaluator does while there is no request.

use super::evaluator::idling;
use crate::evaluation::Evaluation;
use crate::evaluation_thread::{Job, next};
use crate::outgoing::OutboxSender;
use crate::shared::Shared;
use jupyter_protocol::{ExecuteRequest, JupyterMessage};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

fn job(ticket: u64) -> Job {
    let message: JupyterMessage = ExecuteRequest::new(String::new()).into();
    Job {
        ticket,
        message: Arc::new(message),
    }
}

#[test]
fn an_idle_evaluator_is_called_as_often_as_it_asks_until_a_request_comes() {
    let (jobs, queue) = channel();
    let (send, mut calls) = (jobs.clone(), 0);
    let evaluator = idling(move || {
        calls += 1;
        match calls {
            1 | 2 => return Some(Duration::ZERO),
            3 => send.send(job(7)).unwrap(),
            _ => panic!("it has asked for no more calls"),
        }
        None
    });
    let (outbox, _outgoing) = tokio::sync::mpsc::channel(1);
    let outbox = OutboxSender::Evaluation(outbox);
    let shared = Arc::new(Shared::default());
    let mut evaluation = Evaluation::start(move || Ok(evaluator), shared, outbox);
    let came = next(&queue, &mut evaluation).expect("a request");
    assert_eq!(came.ticket, 7);
    // Requests go first.
    jobs.send(job(8)).unwrap();
    let came = next(&queue, &mut evaluation).expect("a request");
    assert_eq!(came.ticket, 8);
}
