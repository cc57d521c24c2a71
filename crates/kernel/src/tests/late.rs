//! Outputs of cells that have ended.

use super::front_end::{FakeFrontEnd, connect};
use super::limited;
use jupyter_protocol::ExecuteRequest;
use serde_json::json;

/// Runs a cell as a front end that shows the outputs of all cells.
async fn execute(front: &mut FakeFrontEnd, code: &str) -> String {
    let mut cell = ExecuteRequest::new(code.to_owned());
    cell.allow_stdin = true;
    front.send(cell).await
}

#[test]
fn they_arrive_at_once_below_their_own_cell() {
    limited(async {
        let (mut front, gate) = connect().await;
        let first = execute(&mut front, "show id").await;
        front.outputs(&first).await;
        front.reply(&first).await;
        let second = execute(&mut front, "out a\nlate 1 b\nout c\ngate").await;
        // Also while another cell runs.
        assert_eq!(front.wait_for(&first, 1).await, ["stdout b"]);
        gate.send(()).unwrap();
        let expected = ["busy", "input 2", "stdout a", "stdout c", "idle"];
        assert_eq!(front.outputs(&second).await, expected);
        front.reply(&second).await;
        // And while none does.
        let third = execute(&mut front, "soon 1 d\nsoon-update 2 id").await;
        assert_eq!(front.outputs(&third).await, ["busy", "input 3", "idle"]);
        front.reply(&third).await;
        let late = front.wait_for(&first, 2).await;
        assert_eq!(late, ["stdout b", "stdout d"]);
        front.take_published(&first);
        let update = r#"update Some("id") {"text/plain":"b"}"#;
        assert_eq!(front.wait_for(&second, 1).await, [update]);
        front.take_published(&second);
        front.finish().await;
    });
}

/// nbclient ignores answers to earlier requests.
#[test]
fn a_front_end_that_runs_one_cell_after_the_other_receives_them_with_the_next_cell() {
    limited(async {
        let (mut front, gate) = connect().await;
        let first = front.execute("soon 1 a\nout b").await;
        let expected = ["busy", "input 1", "stdout b", "idle"];
        assert_eq!(front.outputs(&first).await, expected);
        front.reply(&first).await;
        std::thread::sleep(std::time::Duration::from_millis(200));
        let second = front.execute("out c\nlate 1 d\ngate").await;
        gate.send(()).unwrap();
        let expected = ["busy", "input 2", "stdout acd", "idle"];
        assert_eq!(front.outputs(&second).await, expected);
        front.reply(&second).await;
        // JupyterLab names its cells.
        let mut message: jupyter_protocol::JupyterMessage =
            ExecuteRequest::new("late 1 e\nout f".to_owned()).into();
        message.metadata = json!({ "cellId": "third" });
        let third = front.send(message).await;
        let expected = ["busy", "input 3", "stdout f", "idle"];
        assert_eq!(front.outputs(&third).await, expected);
        front.reply(&third).await;
        assert_eq!(front.take_published(&first), ["stdout e"]);
        front.finish().await;
    });
}
