//! Runs a test as a cell, in its own process, and reads the output of that process.

use super::hooks::taper_begin_cell;

use serde_json::Value;
use std::process::Command;

/// The variable that is set in the process of the cell.
const IN_CELL: &str = "TAPER_TEST_CELL";
/// The line that separates the output of the test harness from that of the cell.
const BEGIN: &str = "the cell begins\n";

/// Begins another cell in the process of the cell.
pub fn begin_cell() {
    taper_begin_cell();
}

/// Returns the events that `cell` writes into a log. `test` is the full name of the calling
/// test.
pub fn records(test: &str, cell: impl FnOnce()) -> Vec<Value> {
    let output = output(test, (IN_CELL, "1"), || {
        super::record::begin_log();
        super::hooks::taper_attach();
        taper_begin_cell();
        cell();
    });
    let lines = output.split_inclusive('\n');
    let records = lines.filter_map(|line| Some(line.split_once("\x1elog ")?.1));
    records
        .map(|json| serde_json::from_str(json).expect("an event is JSON"))
        .collect()
}

/// Returns the text that `cell` prints under stock `evcxr_jupyter`.
pub fn under_evcxr(test: &str, cell: impl FnOnce()) -> String {
    output(test, ("EVCXR_IS_RUNTIME", "1"), cell)
}

/// Runs the calling test again in a new process with an environment variable set, and returns its output.
/// In that process, runs `cell` and exits.
fn output(test: &str, (name, value): (&str, &str), cell: impl FnOnce()) -> String {
    if std::env::var_os(name).is_some() {
        print!("{BEGIN}");
        cell();
        std::process::exit(0);
    }
    let this = std::env::current_exe().expect("the path of the test's executable");
    let output = Command::new(this)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env_remove(IN_CELL)
        .env_remove("EVCXR_IS_RUNTIME")
        .env(name, value)
        .output()
        .expect("the test starts in another process");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = String::from_utf8(output.stdout).expect("the output of the cell is UTF-8");
    let begun = output.split_once(BEGIN).map(|(_, cell)| cell);
    begun
        .expect("`test` is the name of the calling test")
        .to_owned()
}
