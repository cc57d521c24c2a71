//! Running a test as a cell: in a process of its own, whose output is read.

pub(crate) use super::hooks::taper_begin_cell;

use serde_json::Value;
use std::process::Command;

const SECRET: &str = "test-secret";
/// What the test harness says before the test ends here.
const BEGIN: &str = "the cell begins\n";

/// What `cell` sends to the Taper kernel. `test` is the full name of the calling test.
pub(crate) fn records(test: &str, cell: impl FnOnce()) -> Vec<Value> {
    let output = output(test, ("TAPER_DISPLAY", SECRET), || {
        super::hooks::taper_attach();
        taper_begin_cell();
        cell();
    });
    let start = format!("\x1e{SECRET} ");
    let lines = output.split_inclusive('\n');
    let records = lines.filter_map(|line| Some(line.split_once(&start)?.1));
    records
        .map(|json| serde_json::from_str(json).expect("a record is JSON"))
        .collect()
}

/// What `cell` prints under stock `evcxr_jupyter`.
pub(crate) fn under_evcxr(test: &str, cell: impl FnOnce()) -> String {
    output(test, ("EVCXR_IS_RUNTIME", "1"), cell)
}

/// Runs the calling test again with one variable set; there, `cell` is run and the process ends.
fn output(test: &str, (name, value): (&str, &str), cell: impl FnOnce()) -> String {
    if std::env::var_os(name).is_some() {
        print!("{BEGIN}");
        cell();
        std::process::exit(0);
    }
    let this = std::env::current_exe().expect("a test knows its program");
    let output = Command::new(this)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env_remove("TAPER_DISPLAY")
        .env_remove("EVCXR_IS_RUNTIME")
        .env(name, value)
        .output()
        .expect("the test starts again");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = String::from_utf8(output.stdout).expect("the cell prints text");
    let begun = output.split_once(BEGIN).map(|(_, cell)| cell);
    begun.expect("the name of the test is right").to_owned()
}
