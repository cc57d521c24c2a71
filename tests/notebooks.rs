//! The execution of the chapters: by `taper run`, by a real Jupyter client, and without a network. Notebooks that fail must
//! be reported.

mod common;

use common::{Said, jupyter::Jupyter, notebook_of, root, run_within, taper};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const CHAPTER: &str = "notebooks/33-gpus.ipynb";

/// The limit includes building the warm image, which the first run does.
const TO_RUN: Duration = Duration::from_secs(900);
/// The slow cell of the GPT takes about ten minutes on two idle cores.
const TO_RUN_SLOW: Duration = Duration::from_secs(3600);

fn run(command: Command) -> Said {
    run_within(TO_RUN, command)
}

fn chapter() -> Value {
    let text = std::fs::read_to_string(root().join(CHAPTER)).expect("the chapter");
    serde_json::from_str(&text).expect("it is JSON")
}

/// A notebook in the folder of the chapters, because it has the same relative path to `taper`. The file is
/// removed when this is dropped.
struct Beside(PathBuf);

impl Beside {
    fn chapters(name: &str, notebook: &Value) -> Beside {
        let path = root()
            .join("notebooks")
            .join(format!("test-{}-{name}.ipynb", std::process::id()));
        std::fs::write(&path, notebook.to_string()).expect("the folder can be written to");
        Beside(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a plain path")
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn with_client(jupyter: &Jupyter, notebook: &str) -> Said {
    let mut command = jupyter.script("run_with_nbclient.py");
    command.args([notebook, "--kernel", "taper", "--timeout", "1200"]);
    run(command)
}

/// And a run needs no network once the image is there.
#[test]
fn a_chapter_has_the_outputs_that_are_stored_in_it() {
    let passes = |command| {
        let said = run(command);
        assert!(said.status.success(), "{}", said.all());
        assert!(said.stdout.contains("1 passed, 0 failed"), "{}", said.all());
    };
    passes(taper(&["test", CHAPTER]));
    let mut probe = Command::new("unshare");
    probe.args(["--net", "true"]);
    if !probe.output().is_ok_and(|output| output.status.success()) {
        println!("skipped: this user may not make a network namespace");
        return;
    }
    // In a new namespace, not even the loopback interface is up.
    let mut command = Command::new("unshare");
    command
        .args(["--net", env!("CARGO_BIN_EXE_taper"), "test", CHAPTER])
        .current_dir(root())
        .env_remove("RUST_BACKTRACE");
    passes(command);
}

#[test]
fn a_changed_value_is_reported_with_the_old_one() {
    let mut notebook = chapter();
    let cells = notebook["cells"].as_array_mut().expect("cells");
    let changed = cells
        .iter_mut()
        .find(|cell| cell["id"] == "bytes")
        .expect("the cell that shows 24");
    changed["outputs"][0]["data"]["text/plain"] = json!(["25"]);
    let changed = Beside::chapters("changed", &notebook);
    let said = run(taper(&["test", changed.path()]));
    assert_eq!(said.status.code(), Some(1), "{}", said.all());
    let all = said.all();
    assert!(all.contains("24") && all.contains("25"), "{all}");
    assert!(all.contains("0 passed, 1 failed"), "{all}");
}

#[test]
fn a_failing_question_mark_ends_the_run_and_is_reported() {
    let failing = Beside::chapters(
        "failing",
        &notebook_of(&["let x = 1;", "let y = 2;\n\"two\".parse::<i32>()?;", "x"]),
    );
    let said = run(taper(&["run", failing.path()]));
    assert_eq!(said.status.code(), Some(1), "{}", said.all());
    let all = said.all();
    for part in [
        failing.path().rsplit('/').next().expect("a name"),
        "[2]",
        "line 2",
        "invalid digit found in string",
    ] {
        assert!(all.contains(part), "{part} is missing:\n{all}");
    }
}

#[test]
fn an_error_of_candle_is_short_with_backtraces_enabled() {
    let failing = Beside::chapters("short", &notebook_of(&["zeros((2, 3)).get(5);"]));
    let mut command = taper(&["run", failing.path()]);
    command.env("RUST_BACKTRACE", "1");
    let said = run(command);
    assert_eq!(said.status.code(), Some(1), "{}", said.all());
    assert!(
        said.all().contains("index 5 is out of range"),
        "{}",
        said.all()
    );
    assert!(!said.all().contains("rust_begin_unwind"), "{}", said.all());
    assert!(said.all().lines().count() < 15, "{}", said.all());
}

#[test]
fn a_panic_ends_the_run_and_is_reported() {
    let panicking = Beside::chapters(
        "panicking",
        &notebook_of(&["let x = 1;\npanic!(\"out of candles\");"]),
    );
    let said = run(taper(&["run", panicking.path()]));
    assert_eq!(said.status.code(), Some(1), "{}", said.all());
    let all = said.all();
    for part in ["[1]", "line 2", "out of candles"] {
        assert!(all.contains(part), "{part} is missing:\n{all}");
    }
}

#[test]
fn the_real_kernel_runs_the_chapter_for_a_real_client() {
    let said = with_client(&Jupyter::with_our_kernel(), CHAPTER);
    assert!(said.status.success(), "{}", said.all());
}

#[test]
fn a_real_client_stops_at_a_failing_question_mark() {
    let failing = Beside::chapters(
        "client",
        &notebook_of(&[
            "let x = 1;",
            "\"two\".parse::<i32>()?;",
            "println!(\"never\");",
        ]),
    );
    let said = with_client(&Jupyter::with_our_kernel(), failing.path());
    assert_eq!(said.status.code(), Some(1), "{}", said.all());
    assert!(said.stderr.contains("CellExecutionError"), "{}", said.all());
    assert!(
        said.stderr.contains("invalid digit found in string"),
        "{}",
        said.all()
    );
}

/// Cells with the tag `slow` take minutes, so a run of the chapter leaves them out. Here they run in their place
/// among the other cells.
#[test]
#[ignore = "slow: run by .ci/nightly"]
fn slow_cells_run() {
    let mut found = 0;
    for entry in root().join("notebooks").read_dir().expect("the folder") {
        let path = entry.expect("a file").path();
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        if !text.contains("\"slow\"") {
            continue;
        }
        let mut notebook: Value = serde_json::from_str(&text).expect("it is JSON");
        for cell in notebook["cells"].as_array_mut().expect("cells") {
            let tags = cell["metadata"]["tags"].as_array_mut();
            if let Some(tags) = tags.filter(|tags| tags.contains(&json!("slow"))) {
                tags.retain(|tag| tag != "skip-execution");
                found += 1;
            }
        }
        let copy = Beside::chapters("slow", &notebook);
        let said = run_within(TO_RUN_SLOW, taper(&["run", copy.path()]));
        assert!(said.status.success(), "{}", said.all());
    }
    assert!(found > 0, "no cell has the tag `slow`");
}
