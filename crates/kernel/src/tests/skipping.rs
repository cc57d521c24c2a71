//! Cells with the tag `skip-execution`.

use super::front_end::connect;
use super::limited;
use jupyter_protocol::{ExecuteRequest, JupyterMessage, ReplyStatus};
use serde_json::json;
use std::time::Duration;

fn tagged(code: &str) -> JupyterMessage {
    let mut message = JupyterMessage::from(ExecuteRequest::new(code.to_owned()));
    message.metadata = json!({"tags": ["skip-execution"]});
    message
}

#[test]
fn a_cell_to_skip_does_not_hold_up_those_behind_it() {
    limited(async {
        let (mut front, gate) = connect().await;
        let first = front.execute("gate").await;
        let endless = front.send(tagged("stuck")).await;
        let last = front.execute("out a").await;
        // While the first cell runs, the kernel reads what is behind it.
        tokio::time::sleep(Duration::from_millis(500)).await;
        gate.send(()).unwrap();
        front.outcome(&first).await;
        let outputs = front.outputs(&endless).await;
        assert!(outputs[2].starts_with("stdout skipped: "), "{outputs:?}");
        assert_eq!(front.outcome(&endless).await.0, ReplyStatus::Ok);
        assert_eq!(front.outputs(&last).await[2], "stdout a");
        front.outcome(&last).await;
        front.outputs(&first).await;
        // Alone, it runs.
        let alone = front.send(tagged("out b")).await;
        assert_eq!(front.outputs(&alone).await[2], "stdout b");
        front.outcome(&alone).await;
        front.without_request();
        front.finish().await;
    });
}
