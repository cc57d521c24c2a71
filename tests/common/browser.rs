//! Helpers of the tests that use a browser.

use std::io::Write;
use std::net::TcpListener;
use std::process::Command;

/// Returns whether there is a Chromium; if not, prints that the test is skipped.
pub(crate) fn has_chromium() -> bool {
    let named = std::env::var("CHROMIUM").ok();
    let names = named.as_deref().map_or(
        vec!["chromium", "chromium-browser", "google-chrome"],
        |name| vec![name],
    );
    let is_there = |name: &&str| {
        Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|o| o.status.success())
    };
    let found = names.iter().any(is_there);
    if !found {
        // Not `eprintln!`, whose output is captured if the test passes.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: there is no Chromium here (install it, or set CHROMIUM to its path)"
        );
    }
    found
}

/// Returns a port on which no process listens.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.expect("a free port").port()
}
