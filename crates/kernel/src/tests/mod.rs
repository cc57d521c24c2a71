//! The kernel over real sockets, between a fake front end and a fake evaluator.

mod cells;
mod evaluator;
mod front_end;
mod idle;
mod late;
mod requests;
mod shutdown;
mod skipping;
mod stale;
mod widgets;

use std::future::Future;
use std::time::Duration;

/// Runs a test with a time limit.
fn limited(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(20), test)
            .await
            .expect("the test ends within 20 seconds");
    });
}
