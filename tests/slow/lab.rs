//! `taper lab`, with a browser that opens a chapter and runs all cells, as a student does.

use crate::common::browser::{free_port, has_chromium};
use crate::common::{notebook_of, python::python, root, run_within, signal_group, taper};
use rustix::process::Signal;
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The limit includes the whole set-up, which the first test does.
const TO_START: Duration = Duration::from_secs(1500);
const TO_RUN: Duration = Duration::from_secs(600);
const TO_END: Duration = Duration::from_secs(30);

/// Cells that define `x`, draw for some seconds, use `x`, show a slider, do nothing yet, and show a field for drawing.
const CELLS: [&str; 6] = [
    "let x = zeros((2, 3)); // (2, 3)",
    "let board = ProgressBoard::new().xlabel(\"step\");\n\
     for step in 0..300 {\n    \
         check_interrupt()?;\n    \
         board.draw(step, (step as f64 / 20.0).sin(), \"sine\", 1);\n    \
         std::thread::sleep(std::time::Duration::from_millis(25));\n\
     }",
    "x",
    "interact(slider(\"frequency\", 1.0..=9.0), |frequency| {\n    \
         let xs = linspace(0.0, 6.3, 100);\n    \
         Ok(plot(&xs, &[&(&xs * frequency).sin()]))\n\
     });",
    "",
    "interact(drawing(4), |image| Ok(image.sum_all().item()));",
];

#[test]
fn a_student_watches_interrupts_inspects_and_restarts() {
    if !has_chromium() {
        return;
    }
    let notebook = root().join("tests/output/student.ipynb");
    std::fs::create_dir_all(notebook.parent().expect("a folder")).expect("a folder");
    std::fs::write(&notebook, notebook_of(&CELLS).to_string()).expect("the notebook is written");
    let mut lab = Lab::start("tests/output/student.ipynb", "JupyterLab Light");
    let url = lab.url();
    assert!(
        url.contains("/lab/tree/tests/output/student.ipynb?"),
        "{url}"
    );
    let mut student = Command::new(python());
    student
        .arg("tests/python/lab_student.py")
        .current_dir(root());
    student.args(["--url", &url, "--notebook", "tests/output/student.ipynb"]);
    student.args(["--screenshots", "tests/output/student"]);
    let said = run_within(TO_RUN, student);
    assert!(
        said.status.success(),
        "{}\nJupyterLab said:\n{}",
        said.all(),
        lab.said.join("\n")
    );
    assert_eq!(said.stdout.lines().count(), 13, "{}", said.all());
    lab.ends_when_asked();
}

/// A case of stale cells: its name, its cells, its runs, and the cells that are stale then.
type Case = (&'static str, &'static str, &'static str, &'static str);

/// The engine's cases, of which the browser shows some.
const CASES: [&[Case]; 5] = [
    include!("../../crates/engine/tests/stale/changes.in"),
    include!("../../crates/engine/tests/stale/inside.in"),
    include!("../../crates/engine/tests/stale/items.in"),
    include!("../../crates/engine/tests/stale/names.in"),
    include!("../../crates/engine/tests/stale/order.in"),
];

const SHOWN: [&str; 20] = [
    "a method with `&mut self`",
    "a method with `&self`",
    "an assignment to a field",
    "a move",
    "a loop that borrows",
    "a `RefCell`",
    "a struct with plain fields",
    "what comes from a cell that may be stale",
    "an edited function",
    "an edited comment",
    "a function of a function",
    "a changed type",
    "a variable",
    "shadowed in a block",
    "a variable in a text to format",
    "the cell's own variable",
    "a chain that was run again in part",
    "a cell that has seen a change below",
    "a cell that was edited",
    "a cell that was run before the ones above it",
];

/// Cells for the commands of the extension, two profiled cells, a cell that prints for some seconds, a chain of layers
/// that does not fit, and a wide table.
const MORE: [&str; 8] = [
    "let mut needed = vec![1];",
    "println!(\"{}\", 1 + 1);",
    "let found = needed.len();\nfound",
    "%%profile\nlet mut kept = Vec::new();\nfor n in 0..20 {\n    kept.push(vec![n; 10_000]);\n}",
    "%%profile\nlet net = seq![Linear::new(8, 16), ReLU, Linear::new(16, 1)];\n\
     let loss = net.forward(&randn((32, 8))).sum_all();\n\
     loss.backward();",
    "for n in 0..80 {\n    \
         println!(\"line {n}\");\n    \
         std::thread::sleep(std::time::Duration::from_millis(100));\n\
     }",
    "seq![Linear::new(8, 16), ReLU, Linear::new(8, 1)].forward(&ones((32, 8)))",
    "seq![Linear::new(8, 16), ReLU, Linear::new(16, 1)].measured_summary((32, 8))",
];

#[test]
fn stale_cells_and_profiles_are_shown_in_the_browser() {
    if !has_chromium() {
        return;
    }
    let (cells, cases) = notebook_of_cases();
    let output = root().join("tests/output");
    std::fs::create_dir_all(&output).expect("a folder");
    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
    for (name, value) in [
        ("extension.ipynb", notebook_of(&cells)),
        ("extension.json", json!(cases)),
    ] {
        std::fs::write(output.join(name), value.to_string()).expect("it is written");
    }
    let mut lab = Lab::start("tests/output/extension.ipynb", "JupyterLab Light");
    let url = lab.url();
    let mut check = Command::new(python());
    check
        .arg("tests/python/lab_extension.py")
        .current_dir(root());
    check.args(["--url", &url, "--notebook", "tests/output/extension.ipynb"]);
    check.args(["--cases", "tests/output/extension.json"]);
    check.args(["--screenshots", "tests/output/extension"]);
    let said = run_within(TO_RUN, check);
    assert!(
        said.status.success(),
        "{}\nJupyterLab said:\n{}",
        said.all(),
        lab.said.join("\n")
    );
    assert_eq!(
        said.stdout.lines().count(),
        SHOWN.len() + 10,
        "{}",
        said.all()
    );
    lab.ends_when_asked();
}

/// Returns the cells of a notebook with all cases, and the cases with the indices of their cells. Each case begins with a
/// cell that forgets what was before.
fn notebook_of_cases() -> (Vec<String>, Vec<Value>) {
    let (mut cells, mut cases) = (Vec::new(), Vec::new());
    for shown in SHOWN {
        let mut all = CASES.iter().copied().flatten();
        let (name, sources, runs, expected) = all
            .find(|(name, ..)| *name == shown)
            .unwrap_or_else(|| panic!("no case {shown}"));
        let clear = cells.len();
        cells.push(":clear".to_owned());
        let sources = sources.split('‖');
        let sources: Vec<(&str, &str)> = sources
            .map(|cell| cell.trim().split_once(": ").expect("a letter"))
            .collect();
        let mut indices = Map::new();
        for (letter, source) in &sources {
            if letter.chars().all(char::is_lowercase) {
                indices.insert((*letter).to_owned(), cells.len().into());
                cells.push((*source).to_owned());
            }
        }
        let sources: Map<String, Value> = sources
            .iter()
            .map(|(letter, source)| ((*letter).to_owned(), (*source).into()))
            .collect();
        cases.push(json!({
            "name": name, "clear": clear, "cells": indices, "sources": sources, "runs": runs, "expected": expected,
        }));
    }
    cells.extend(MORE.map(str::to_owned));
    (cells, cases)
}

#[test]
fn a_chapter_runs_in_the_browser() {
    if !has_chromium() {
        return;
    }
    let chapter = root().join("notebooks/33-gpus.ipynb");
    let before = std::fs::read(&chapter).expect("the chapter");
    let mut lab = Lab::start("notebooks/33-gpus.ipynb", "JupyterLab Dark");
    let url = lab.url();

    let mut run = Command::new(python());
    run.arg("tests/python/lab_run_all.py").current_dir(root());
    run.args([
        "--url",
        &url,
        "--notebook",
        "notebooks/33-gpus.ipynb",
        "--screenshot",
        "tests/output/gpus.png",
    ]);
    // A chapter that was edited since the last commit is not signed.
    let mut is_edited = Command::new("git");
    is_edited
        .args(["diff", "--quiet", "HEAD", "--"])
        .arg(&chapter)
        .current_dir(root());
    if is_edited.status().is_ok_and(|status| status.success()) {
        run.arg("--signed");
    }
    let said = run_within(TO_RUN, run);
    assert!(
        said.status.success(),
        "{}\nJupyterLab said:\n{}",
        said.all(),
        lab.said.join("\n")
    );
    assert!(said.stdout.starts_with("ok "), "{}", said.all());
    assert_eq!(
        std::fs::read(&chapter).expect("the chapter"),
        before,
        "opening and running does not change the file"
    );

    lab.ends_when_asked();
}

#[test]
fn jupyterlab_speaks_the_language_of_the_course() {
    if !has_chromium() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (language, menu, title) in [("fr", "Fichier", "Bienvenue"), ("zh", "文件", "欢迎")] {
        let course = folder.path().join(language);
        let mut write = taper(&["course", "--lang", language]);
        write.arg(&course);
        let said = run_within(TO_END, write);
        assert!(said.status.success(), "{}", said.all());
        let notebook = course.join("01-welcome.ipynb");
        let mut lab = Lab::start_with(&["--lang", language], &notebook, "JupyterLab Light");
        let mut read = Command::new(python());
        read.arg("tests/python/lab_language.py").current_dir(root());
        read.args(["--url", &lab.url(), "--notebook", "01-welcome.ipynb"]);
        read.args(["--menu", menu, "--title", title]);
        read.args(["--screenshots", &format!("tests/output/lab-{language}")]);
        let said = run_within(TO_RUN, read);
        assert!(
            said.status.success(),
            "{}\nJupyterLab said:\n{}",
            said.all(),
            lab.said.join("\n")
        );
        lab.ends_when_asked();
    }
}

/// `taper lab` on a port of its own; terminated when dropped.
struct Lab {
    process: Child,
    port: u16,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Lab {
    fn start(notebook: &str, theme: &str) -> Lab {
        Lab::start_with(&[], &root().join(notebook), theme)
    }

    fn start_with(options: &[&str], notebook: &Path, theme: &str) -> Lab {
        // JupyterLab would open before the library is compiled.
        let set_up = run_within(TO_START, taper(&["setup"]));
        assert!(set_up.status.success(), "{}", set_up.all());
        let port = free_port();
        let settings = root().join("tests/output").join(theme);
        let themes = settings.join("@jupyterlab/apputils-extension/themes.jupyterlab-settings");
        std::fs::create_dir_all(themes.parent().expect("a folder")).expect("a folder");
        std::fs::write(themes, json!({ "theme": theme }).to_string()).expect("it is written");
        let mut command = taper(&["lab", "--no-browser", "--port", &port.to_string()]);
        command.args(options).arg(notebook);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone().expect("a pipe"))
            .stderr(writer)
            .process_group(0)
            .env("JUPYTERLAB_SETTINGS_DIR", settings);
        let process = command.spawn().expect("the command starts");
        drop(command);
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(reader).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        Lab {
            process,
            port,
            lines,
            said: Vec::new(),
        }
    }

    /// Returns the address with its token, as JupyterLab prints it.
    fn url(&mut self) -> String {
        let patience = Instant::now() + TO_START;
        let begin = format!("http://127.0.0.1:{}/lab", self.port);
        loop {
            let left = patience.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("JupyterLab printed no address:\n{}", self.said.join("\n"));
            };
            let url = line
                .split_whitespace()
                .find(|word| word.starts_with(&begin) && word.contains("token="));
            let url = url.map(str::to_owned);
            self.said.push(line);
            if let Some(url) = url {
                return url;
            }
        }
    }

    /// Asserts that all processes, including the kernel, end on SIGTERM: then the output is closed.
    fn ends_when_asked(mut self) {
        let patience = Instant::now() + TO_END;
        signal_group(&self.process, Signal::TERM);
        loop {
            let left = patience.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.said.push(line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
                Err(_) => panic!("JupyterLab did not end:\n{}", self.said.join("\n")),
            }
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        signal_group(&self.process, Signal::TERM);
        let _ = self.process.wait();
    }
}
