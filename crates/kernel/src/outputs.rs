//! Events of a cell as messages.

use super::media::media;
use super::request::Parent;
use jupyter_protocol::{
    ClearOutput, DisplayData, ErrorOutput, ExecuteResult, ExecutionCount, Transient,
    UpdateDisplayData,
};
use taper_evaluator::event::Event;

/// Publishes an event as an answer to the request that runs the cell.
pub(super) fn publish(request: &Parent, event: Event, execution_count: ExecutionCount) {
    match event {
        Event::Text { stream, text } => request.text(stream, text),
        Event::Display {
            data,
            metadata,
            display_id,
        } => request.publish(DisplayData {
            data: media(data),
            metadata,
            transient: display_id.map(transient),
        }),
        Event::UpdateDisplay {
            data,
            metadata,
            display_id,
        } => request.publish(UpdateDisplayData {
            data: media(data),
            metadata,
            transient: transient(display_id),
        }),
        Event::Clear { wait } => request.publish(ClearOutput { wait }),
        // Part of the reply.
        Event::NextInput { .. } => {}
        Event::Result { data, metadata } => request.publish(ExecuteResult {
            execution_count,
            data: media(data),
            metadata,
            transient: Some(Transient::default()),
        }),
        Event::Error(error) => request.publish(ErrorOutput {
            ename: error.name,
            evalue: error.message,
            traceback: error.traceback,
        }),
        // Its state is kept too, so the front publishes it.
        Event::Widget { .. } => {}
    }
}

fn transient(display_id: String) -> Transient {
    Transient {
        display_id: Some(display_id),
    }
}
