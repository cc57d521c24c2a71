//! The programs in the order of their worth, each with a limit.

use super::Arguments;
use super::programs::{GPT, Programs};
use super::report::{Done, Verdict};
use anyhow::{Context, Result};
use std::env;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use taper_host::process::wait_within;

/// A program that has less time is not started.
const LEAST: Duration = Duration::from_secs(3);

/// One program.
pub(super) struct Step {
    name: String,
    pub(super) title: String,
    command: Command,
    limit: Duration,
    /// What the program needs and this machine lacks.
    lacks: Option<&'static str>,
}

/// Returns the steps. Their limits are together longer than the whole may take, as few of them need theirs.
pub(super) fn steps(arguments: &Arguments, programs: &Programs) -> Result<Vec<Step>> {
    let (folder, device) = (&programs.folder, programs.device.as_str());
    let libraries = libraries(programs);
    let step = |name: &str, title: &str, seconds, program: &Path, parts: &[&str]| {
        let mut command = Command::new(program);
        command.args(parts).env("LD_LIBRARY_PATH", &libraries);
        command.current_dir(folder.join("notebooks"));
        Step {
            name: name.to_owned(),
            title: title.to_owned(),
            command,
            limit: Duration::from_secs(seconds),
            lacks: None,
        }
    };
    let program = |name: &str| folder.join("bin").join(name);
    let chapter = |notebook: &str, name: &str, seconds| {
        let title = format!("The chapter `{name}`, exported");
        let name_of_step = format!("chapter {notebook}");
        step(&name_of_step, &title, seconds, &program(name), &[])
    };
    let check = program("gpu_check");
    let title = "Layers, losses, optimisers, trainings and replicas, compared with the CPU";
    let mut steps = vec![step(
        "checks",
        title,
        120,
        &check,
        &[device, "--no-measurements"],
    )];
    if arguments.all {
        if !arguments.no_pytorch {
            let script = folder.join("benches/training/measure.py");
            let script = script.to_string_lossy();
            let parts = [
                &*script,
                "--device",
                device,
                "--no-candle",
                "--twenty",
                "--turns",
                "2",
                "--steps",
                "12",
            ];
            let title = "Steps of twenty networks, compared with eager PyTorch";
            let mut networks = step("networks", title, 240, &programs.python, &parts);
            networks.command.env("TAPER_TRAINING", program("training"));
            steps.push(networks);
        }
        let about_gpus = programs.chapters.iter().filter(|(it, _)| *it != GPT);
        steps.extend(about_gpus.map(|(notebook, name)| chapter(notebook, name, 120)));
        let title = "Batch sizes, products, transfers, logging, batches ahead, mixed precision";
        steps.push(step(
            "measurements",
            title,
            90,
            &check,
            &[device, "--only-measurements"],
        ));
    }
    let parts = ["taper_agrees_with_pytorch", "--exact", "--nocapture"];
    let mut samples = step(
        "samples",
        "PyTorch's own samples",
        120,
        &program("pytorch"),
        &parts,
    );
    let files = ["samples.gz", "tensors.gz", "further.gz"];
    let files = env::join_paths(files.map(|name| folder.join("samples").join(name)))?;
    samples.command.env("TAPER_SAMPLES", files);
    samples.command.env("TAPER_SAMPLES_DEVICE", device);
    samples.command.env("TAPER_SAMPLES_SECONDS", "30");
    steps.push(samples);
    if let Some(name) = programs.chapters.get(GPT).filter(|_| arguments.all) {
        steps.push(Step {
            lacks: (!has_sources_of_rust()).then_some("there is no Rust with its sources"),
            ..chapter(GPT, name, 180)
        });
    }
    Ok(steps)
}

/// Returns whether this machine has a compiler, and the source of its library.
fn has_sources_of_rust() -> bool {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    output.is_ok_and(|output| {
        let sysroot = String::from_utf8_lossy(&output.stdout);
        let sources = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/core/src");
        sources.exists()
    })
}

/// Returns where programs find their libraries: the folder's, those that PyTorch has installed, and the user's.
fn libraries(programs: &Programs) -> String {
    const FIND: &str = "import glob, sys; print(*(f for p in sys.path for f in glob.glob(p + '/nvidia/*/lib')), sep=':')";
    let found = Command::new(&programs.python).args(["-c", FIND]).output();
    let found = found.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let own = programs.folder.join("lib").to_string_lossy().into_owned();
    let all = [
        own,
        found.unwrap_or_default(),
        env::var("LD_LIBRARY_PATH").unwrap_or_default(),
    ];
    let all: Vec<String> = all.into_iter().filter(|path| !path.is_empty()).collect();
    all.join(":")
}

impl Step {
    /// Runs the program until it ends, or until its limit or the end of all programs.
    pub(super) fn run(mut self, end: Instant) -> Result<Done> {
        let start = Instant::now();
        let limit = self.limit.min(end.saturating_duration_since(start));
        let mut done = Done {
            name: self.name,
            title: self.title,
            verdict: Verdict::NotRun,
            seconds: 0.0,
            output: vec![],
        };
        done.output.extend(self.lacks.map(str::to_owned));
        if limit < LEAST || self.lacks.is_some() {
            return Ok(done);
        }
        let log = tempfile::NamedTempFile::new().context("a file for the output")?;
        // Progress, on standard error, is for the terminal.
        self.command
            .stdin(Stdio::null())
            .stdout(File::create(log.path())?);
        let mut child = match self.command.spawn() {
            Ok(child) => child,
            Err(error) => {
                done.verdict = Verdict::Failed;
                done.output = vec![format!("{:?}: {error}", self.command.get_program())];
                return Ok(done);
            }
        };
        done.verdict = match wait_within(&mut child, limit)? {
            Some(status) if status.success() => Verdict::Passed,
            Some(_) => Verdict::Failed,
            None => Verdict::Stopped,
        };
        done.seconds = start.elapsed().as_secs_f64();
        let output = std::fs::read(log.path())?;
        let output = String::from_utf8_lossy(&output);
        done.output = output.trim_end().lines().map(str::to_owned).collect();
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: u64, left: u64) -> Done {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let step = Step {
            name: "a".to_owned(),
            title: "A step".to_owned(),
            command,
            limit: Duration::from_secs(limit),
            lacks: None,
        };
        let end = Instant::now() + Duration::from_secs(left);
        step.run(end).expect("it runs")
    }

    #[test]
    fn a_step_passes_fails_is_stopped_or_not_run() {
        let done = run("echo one; echo two >&2; echo three", 60, 60);
        assert_eq!(
            (done.verdict, done.output),
            (Verdict::Passed, vec!["one".into(), "three".into()])
        );
        let done = run("echo one; exit 3", 60, 60);
        assert_eq!(
            (done.verdict, done.output),
            (Verdict::Failed, vec!["one".into()])
        );
        let done = run("echo one; exec sleep 60", 3, 60);
        assert_eq!(
            (done.verdict, done.output),
            (Verdict::Stopped, vec!["one".into()])
        );
        assert!(done.seconds < 30.0);
        assert_eq!(run("echo one", 60, 0).verdict, Verdict::NotRun);
    }

    #[test]
    fn a_program_that_is_missing_is_a_failed_step() {
        let step = Step {
            name: "a".to_owned(),
            title: "A step".to_owned(),
            command: Command::new("/no/such/program"),
            limit: Duration::from_secs(60),
            lacks: None,
        };
        let done = step
            .run(Instant::now() + Duration::from_secs(60))
            .expect("no error");
        assert_eq!(done.verdict, Verdict::Failed);
        assert!(done.output[0].starts_with("\"/no/such/program\": "));
    }

    #[test]
    fn a_step_whose_program_lacks_something_is_not_run() {
        let step = Step {
            name: "a".to_owned(),
            title: "A step".to_owned(),
            command: Command::new("/no/such/program"),
            limit: Duration::from_secs(60),
            lacks: Some("there is no Rust"),
        };
        let end = Instant::now() + Duration::from_secs(60);
        let done = step.run(end).expect("no error");
        assert_eq!(done.verdict, Verdict::NotRun);
        assert_eq!(done.output, ["there is no Rust"]);
    }

    #[test]
    fn each_program_of_a_complete_run_has_a_step() {
        let programs = Programs {
            device: "cpu".to_owned(),
            chapters: [("22-gpt", "gpt"), ("33-gpus", "gpus")]
                .map(|(notebook, name)| (notebook.to_owned(), name.to_owned()))
                .into(),
            python: "python3".into(),
            ..Programs::default()
        };
        let names = |arguments: &[&str]| -> Vec<String> {
            #[derive(clap::Parser)]
            struct Parser {
                #[command(flatten)]
                arguments: Arguments,
            }
            let all = ["gpu-check"].iter().chain(arguments);
            let parsed = <Parser as clap::Parser>::try_parse_from(all).expect("arguments");
            let steps = steps(&parsed.arguments, &programs).expect("steps");
            steps.into_iter().map(|step| step.name).collect()
        };
        assert_eq!(names(&[]), ["checks", "samples"]);
        let all = [
            "checks",
            "networks",
            "chapter 33-gpus",
            "measurements",
            "samples",
            "chapter 22-gpt",
        ];
        assert_eq!(names(&["--all"]), all);
        assert_eq!(names(&["--all", "--no-pytorch"]).len(), 5);
    }
}
