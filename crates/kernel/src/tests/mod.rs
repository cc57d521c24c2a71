//! The kernel over real sockets, between a fake front end and a fake evaluator.

mod cells;
mod evaluator;
mod front_end;
mod requests;
mod shutdown;

use std::future::Future;
use std::time::Duration;

/// Runs a test; one that hangs fails.
fn limited(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(20), test)
            .await
            .expect("the test took too long");
    });
}
