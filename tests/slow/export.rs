//! The exported chapters: the programs compile, and print the outputs that the notebooks store.

use crate::common::{Said, root, run_within, taper};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const TO_EXPORT: Duration = Duration::from_secs(60);
/// The limit includes compiling Candle for the programs.
const TO_COMPILE: Duration = Duration::from_secs(1800);
const TO_RUN: Duration = Duration::from_secs(600);

/// The chapters that each run of the tests exports: one with errors and panics, one with the outputs of a GPU,
/// and one with training. `.ci/nightly` exports all.
const EVERY_TIME: [&str; 3] = ["01-welcome", "33-gpus", "05-softmax-regression"];

#[test]
fn exported_chapters_compile_and_have_the_outputs_of_the_notebooks() {
    let chapters =
        EVERY_TIME.map(|name| root().join("notebooks").join(name).with_extension("ipynb"));
    export(&chapters);
}

#[test]
#[ignore = "slow: run by .ci/nightly"]
fn all_exported_notebooks_compile_and_have_the_same_outputs() {
    let chapters = chapters();
    assert!(chapters.len() > EVERY_TIME.len());
    export(&chapters);
}

fn export(chapters: &[PathBuf]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exported");
    let mut export = taper(&["export", "--to", &folder.to_string_lossy()]);
    export.args(chapters);
    run_within(TO_EXPORT, export).succeeds();
    run_within(
        TO_COMPILE,
        cargo(&folder, &["build", "--quiet", "--offline"]),
    )
    .succeeds();
    for chapter in chapters.iter().filter(|chapter| !has_shell_lines(chapter)) {
        let log = log_of(&folder, chapter);
        let path = chapter.to_string_lossy();
        let mut test = taper(&["test", &path, "--outputs"]);
        test.arg(&log);
        let said = run_within(TO_RUN, test).succeeds();
        assert!(said.stdout.contains("1 passed, 0 failed"), "{}", said.all());
        if chapter.ends_with("notebooks/33-gpus.ipynb") {
            saves_the_outputs_of_a_machine(chapter, &log);
        }
    }
}

/// Returns whether a chapter has shell lines or `%%` commands: an exported program lacks those cells and their
/// outputs.
fn has_shell_lines(chapter: &Path) -> bool {
    let text = std::fs::read_to_string(chapter).expect("a chapter");
    text.contains("\n    \"!") || text.contains("\n    \"%%")
}

/// Saves the outputs of a machine, as `taper gpu-check` saves those of a GPU.
fn saves_the_outputs_of_a_machine(chapter: &Path, log: &Path) {
    let copy = log.with_file_name("copy.ipynb");
    std::fs::copy(chapter, &copy).expect("a copy");
    let mut run = taper(&["run", &copy.to_string_lossy(), "--machine", "A card"]);
    run.arg("--outputs").arg(log);
    run_within(TO_RUN, run).succeeds();
    let kept = std::fs::read_to_string(copy.with_extension("gpu.json")).expect("outputs");
    assert!(kept.contains(r#""machine": "A card""#), "{kept}");
    assert!(kept.contains("Tensor[[2, 3], f32, cpu]"), "{kept}");
    let unchanged = std::fs::read(&copy).expect("the notebook");
    assert_eq!(unchanged, std::fs::read(chapter).expect("the notebook"));
}

/// Returns the notebooks that `taper test notebooks` tests: the chapters, then the solutions, whose files have
/// the same names.
fn chapters() -> Vec<PathBuf> {
    ["notebooks", "notebooks/solutions"]
        .into_iter()
        .filter_map(|folder| root().join(folder).read_dir().ok())
        .flatten()
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "ipynb"))
        // Temporary files of other tests.
        .filter(|path| {
            !path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("test-"))
        })
        .collect()
}

/// Runs a chapter's program in the folder of the notebook, with its output in a file.
fn log_of(folder: &Path, chapter: &Path) -> PathBuf {
    let name = chapter.file_stem().expect("a name").to_string_lossy();
    let (_, name) = name.split_once('-').expect("a number before it");
    let parent = chapter
        .parent()
        .and_then(Path::file_name)
        .expect("a folder");
    let name = match parent.to_str() {
        Some("notebooks") => name.to_owned(),
        _ => format!("{}-{name}", parent.to_string_lossy()),
    };
    let log = folder.join(&name).with_extension("log");
    let mut program = Command::new(folder.join("target/debug").join(&name));
    program.current_dir(chapter.parent().expect("a folder"));
    // The program must leave the backtrace out: it would change the output of a failing cell.
    program
        .env("RUST_BACKTRACE", "1")
        .env_remove("RUST_LIB_BACKTRACE");
    let said = run_within(TO_RUN, program).succeeds();
    std::fs::write(&log, &said.stdout).expect("the log is written");
    log
}

fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).current_dir(folder);
    command.env("CARGO_TARGET_DIR", folder.join("target"));
    command
}

trait Succeeds {
    fn succeeds(self) -> Self;
}

impl Succeeds for Said {
    #[track_caller]
    fn succeeds(self) -> Said {
        assert!(self.status.success(), "{}", self.all());
        self
    }
}
