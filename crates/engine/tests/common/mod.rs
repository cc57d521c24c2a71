//! An engine for tests, and what its cells do, as lines of text.

// Each file of tests uses a part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use taper_engine::{Config, Engine, Event, Failure, Outcome, Package, Refusal};
use taper_evaluator::Event as Shown;

/// An engine in a folder of its own.
pub(crate) struct Cells {
    pub(crate) engine: Engine,
    // Removed after the engine has ended.
    _folder: tempfile::TempDir,
}

impl Cells {
    pub(crate) fn start() -> Cells {
        Self::with_packages(Vec::new())
    }

    pub(crate) fn with_packages(packages: Vec<Package>) -> Cells {
        Self::new(packages, None, None)
    }

    /// Starts an engine that keeps the shared libraries of packages in this folder.
    pub(crate) fn with_libraries(packages: Vec<Package>, folder: &Path) -> Cells {
        Self::new(packages, None, Some(folder.to_owned()))
    }

    /// Starts an engine that keeps compiled cells in this folder.
    pub(crate) fn with_cache(folder: &Path) -> Cells {
        Self::new(Vec::new(), Some(folder.to_owned()), None)
    }

    fn new(packages: Vec<Package>, cache: Option<PathBuf>, libraries: Option<PathBuf>) -> Cells {
        let folder = tempfile::tempdir().expect("a folder");
        let sysroot = sysroot();
        let config = Config {
            rustc: sysroot.join("bin/rustc"),
            sysroot: sysroot.clone(),
            target: rustc(&["--print", "host-tuple"]),
            flags: vec!["--edition=2024".into()],
            search: Vec::new(),
            environment: Vec::new(),
            packages,
            folder: folder.path().join("cells"),
            shared: folder.path().join("support"),
            cache,
            libraries,
            program: example(),
            cell_environment: Vec::new(),
            immutable_types: Vec::new(),
        };
        Cells {
            engine: Engine::start(config).expect("the engine starts"),
            _folder: folder,
        }
    }

    /// Evaluates a cell. Returns what it printed and showed, and how it ended, one after the other.
    pub(crate) fn run(&mut self, source: &str) -> String {
        self.evaluate(source).0
    }

    pub(crate) fn evaluate(&mut self, source: &str) -> (String, Outcome) {
        let mut shown = String::new();
        let outcome = self.engine.evaluate(source, &mut |event| match event {
            Event::Shown(Shown::Text { text, .. }) => shown += &text,
            Event::Value { text, .. } => shown += &format!("= {text}"),
            Event::CaughtPanic(fault) => shown += &format!("caught: {}\n", fault.message),
            Event::ThreadPanic { fault, .. } => shown += &format!("thread: {}\n", fault.message),
            Event::Warnings(found) => found
                .iter()
                .for_each(|it| shown += &format!("warning: {}\n", it.message)),
            _ => {}
        });
        shown += &end(&outcome);
        (shown, outcome)
    }

    /// Runs cells that are separated by `#%%`, and compares what the last one shows.
    #[track_caller]
    pub(crate) fn check(&mut self, cells: &str, expected: &str) {
        let mut last = String::new();
        for cell in cells.split("#%%\n") {
            last = self.run(cell);
        }
        assert_eq!(last.trim_end(), expected, "{cells}");
    }
}

/// Runs cells in an engine of their own, and compares what each shows.
#[track_caller]
pub(crate) fn check_each(cells: &[(&str, &str)]) {
    let mut engine = Cells::start();
    for (cell, expected) in cells {
        assert_eq!(engine.run(cell).trim_end(), *expected, "{cell}");
    }
}

fn end(outcome: &Outcome) -> String {
    match &outcome.failure {
        None => String::new(),
        Some(Failure::Compile(errors)) => {
            let error = &errors[0];
            let place = error
                .primary()
                .and_then(|it| Some((it.cell?, it.line_start, it.column_start)));
            let (cell, line, column) = place.unwrap_or_default();
            format!("error at {cell}:{line}:{column}: {}", error.message)
        }
        Some(Failure::Panic(fault)) => {
            format!("panic at {}: {}", place(fault.place), fault.message)
        }
        Some(Failure::Failed(fault)) => {
            format!("failed at {}: {}", place(fault.place), fault.message)
        }
        Some(Failure::Refused(Refusal::NamelessType { variable, .. })) => {
            format!("the type of {variable} has no name")
        }
        Some(failure) => format!("{failure:?}"),
    }
}

fn place(place: Option<taper_engine::Place>) -> String {
    place.map_or("?".to_owned(), |it| format!("{}:{}", it.cell, it.line))
}

fn sysroot() -> PathBuf {
    static SYSROOT: OnceLock<PathBuf> = OnceLock::new();
    SYSROOT
        .get_or_init(|| rustc(&["--print", "sysroot"]).into())
        .clone()
}

pub(crate) fn rustc(arguments: &[&str]) -> String {
    let output = Command::new("rustc")
        .args(arguments)
        .output()
        .expect("rustc starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .expect("it is text")
        .trim()
        .to_owned()
}

/// Returns the example, which `cargo test` builds too. cargo documents where it puts examples, and not where tests are.
pub(crate) fn example() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("debug/examples/evaluate")
}
