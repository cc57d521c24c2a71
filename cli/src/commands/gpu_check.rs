//! `taper gpu-check`: runs the checks that need an NVIDIA card, and writes one report of them.

use crate::program_name::program_name;
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Instant;
use taper_host::checkout;
use taper_host::gpu::smi::{self, Answer, Driver};
use taper_host::gpu::{self, settings::Settings};
use taper_host::process;
use taper_host::progress::{Console, Progress, duration};
use taper_host::toolchain;

/// The chapters that compute on a GPU where there is one.
const CHAPTERS: [&str; 4] = [
    "34-gpus",
    "35-leaf-network",
    "36-ai-on-a-gpu",
    "37-several-devices",
];

/// Check Taper on an NVIDIA GPU: tests, chapters, speed compared with PyTorch.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file for the report, in Markdown
    #[arg(long, value_name = "FILE", default_value = "gpu-report.md")]
    pub(crate) report: PathBuf,
    /// Leave out the comparison with PyTorch, which downloads 4 GB the first time
    #[arg(long)]
    pub(crate) no_pytorch: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let home = checkout::folder()?;
    if !home.join("benches/gpu/check.rs").exists() {
        bail!(
            "There are no checks in {}: run this command from a complete clone of Taper.",
            home.display()
        );
    }
    let mut progress = Console::new();
    let driver = match smi::ask() {
        Answer::Works(driver) => driver,
        Answer::NoDriver => bail!(
            "There is no NVIDIA driver (no nvidia-smi), so nothing can be checked. On a machine with an NVIDIA card, \
             install its driver, 580 or newer."
        ),
        Answer::NoCard => bail!("The NVIDIA driver finds no GPU, so nothing can be checked."),
        Answer::Broken(said) => bail!("The NVIDIA driver does not work: {said}"),
    };
    let settings = gpu::for_cuda(&home, &mut progress)?;
    let mut report = Report::new(&driver, &settings, report_file(&arguments.report)?)?;
    for step in steps(arguments)? {
        report.run(step, &settings, &mut progress)?;
    }
    let failed = report.failed;
    progress.line(&format!(
        "{}: {}",
        report.file.display(),
        match failed {
            0 => "all steps passed".to_owned(),
            _ => format!("{failed} of {} steps failed", report.steps),
        }
    ));
    Ok(match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn report_file(report: &Path) -> Result<PathBuf> {
    std::path::absolute(report).with_context(|| format!("the report {}", report.display()))
}

/// One command, whose output becomes a section of the report.
struct Step {
    title: String,
    command: Command,
    /// Whether the command prints Markdown.
    is_markdown: bool,
    /// The notebook, if the command is the program exported from it.
    notebook: Option<PathBuf>,
}

fn steps(arguments: &Arguments) -> Result<Vec<Step>> {
    let cargo = ["--locked", "--package", "taper", "--features", "cuda"];
    let home = checkout::folder()?;
    let step = |title: &str, program: &Path, parts: &[&str], is_markdown| {
        let mut command = Command::new(program);
        command.args(parts).current_dir(&home);
        Step {
            title: title.to_owned(),
            command,
            is_markdown,
            notebook: None,
        }
    };
    let with_cargo = |title, first: &[&str], rest: &[&str], is_markdown| {
        let parts = [first, &cargo[..], rest].concat();
        step(title, Path::new("cargo"), &parts, is_markdown)
    };
    let mut steps = vec![
        with_cargo(
            "The tests of `taper` with `cuda`",
            &["test", "--profile", "image"],
            &["--lib"],
            false,
        ),
        with_cargo(
            "Checks against the CPU, and measurements",
            &["run", "--quiet", "--profile", "image"],
            &["--example", "gpu_check"],
            true,
        ),
    ];
    steps.extend(chapters()?);
    if !arguments.no_pytorch {
        let parts = ["benches/training/run.py", "--device", "cuda", "--no-candle"];
        let title = "Training steps compared with eager PyTorch on the same card";
        steps.push(step(title, Path::new("python3"), &parts, true));
    }
    Ok(steps)
}

/// Exports the chapters that exist; returns a step for each program.
fn chapters() -> Result<Vec<Step>> {
    let home = checkout::folder()?;
    let notebook = |name: &&str| home.join("notebooks").join(name).with_extension("ipynb");
    let there: Vec<&str> = CHAPTERS
        .into_iter()
        .filter(|name| notebook(name).exists())
        .collect();
    let folder = folder()?;
    let mut export = Command::new(process::program()?);
    export.arg("export").arg("--to").arg(&folder);
    export.args(there.iter().map(notebook));
    let output = export.output().context("exporting the chapters")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let steps = there.into_iter().map(|name| {
        let notebook = notebook(&name);
        let program = program_name(&notebook)?;
        let mut command = Command::new("cargo");
        command
            .args(["run", "--quiet", "--release", "--features", "cuda"])
            .arg("--manifest-path")
            .arg(folder.join("Cargo.toml"))
            .args(["--bin", &program])
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .current_dir(home.join("notebooks"));
        Ok(Step {
            title: format!("The chapter `{program}`, exported"),
            command,
            is_markdown: false,
            notebook: Some(notebook),
        })
    });
    steps.collect()
}

/// Returns the folder of the exported chapters.
fn folder() -> Result<PathBuf> {
    Ok(taper_host::cache::folder()?.join("gpu-check"))
}

/// The results, written to the file after each step: the machine, a line for each step, the outputs.
struct Report {
    file: PathBuf,
    begin: String,
    summary: String,
    outputs: String,
    /// The first card's name.
    machine: String,
    steps: usize,
    failed: usize,
}

impl Report {
    fn new(driver: &Driver, settings: &Settings, file: PathBuf) -> Result<Self> {
        let begin = format!(
            "# Taper on a GPU\n\n\
             - cards: {}\n- driver: {}, CUDA {}.{}\n- Taper: {}, built {}\n- Rust: {}\n\n",
            driver.names(),
            driver.version,
            driver.cuda.0,
            driver.cuda.1,
            env!("CARGO_PKG_VERSION"),
            settings.because,
            toolchain::release()?,
        );
        Ok(Self {
            file,
            begin,
            summary: String::new(),
            outputs: String::new(),
            machine: driver.cards[0].name.clone(),
            steps: 0,
            failed: 0,
        })
    }

    /// Runs a step and adds its section.
    fn run(&mut self, step: Step, settings: &Settings, progress: &mut dyn Progress) -> Result<()> {
        progress.line(&format!("{} …", step.title));
        let start = Instant::now();
        let mut command = step.command;
        // Progress, on standard error, is for the terminal; standard output is for the report.
        let finished = command
            .envs(&settings.environment)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("starting {command:?}"))?;
        let mut passed = finished.status.success();
        let mut output = shown(&String::from_utf8_lossy(&finished.stdout));
        if let Some(notebook) = step.notebook.filter(|_| passed) {
            let compared = keep_outputs(&notebook, &finished.stdout, &self.machine)?;
            passed = compared.status.success();
            let compared = shown(&String::from_utf8_lossy(&compared.stdout));
            output = format!("{compared}\n\n{output}");
        }
        let took = duration(start.elapsed());
        let verdict = if passed { "passed" } else { "FAILED" };
        self.steps += 1;
        self.failed += usize::from(!passed);
        let output = match step.is_markdown {
            // The headings of the output become subheadings of the section.
            true => output
                .replace("\n## ", "\n### ")
                .trim_start_matches("## ")
                .to_owned(),
            false => format!("```\n{output}\n```"),
        };
        writeln!(self.summary, "- {verdict} in {took}: {}", step.title)?;
        writeln!(
            self.outputs,
            "## {}: {verdict} in {took}\n\n{output}\n",
            step.title
        )?;
        let text = format!("{}{}\n{}", self.begin, self.summary, self.outputs);
        std::fs::write(&self.file, text).with_context(|| format!("writing {}", self.file.display()))
    }
}

/// Saves a chapter's outputs on the card next to its notebook, for the tab in the book. Then compares them with
/// the CPU's outputs in the notebook, within the tolerances of its cells, and returns the result.
fn keep_outputs(notebook: &Path, log: &[u8], machine: &str) -> Result<Output> {
    let taper = |first: &str, log: &[u8], rest: &[&str]| {
        let file = folder()?.join("chapter.log");
        std::fs::write(&file, log).with_context(|| format!("writing {}", file.display()))?;
        let mut run = Command::new(process::program()?);
        run.arg(first).arg(notebook).arg("--outputs").arg(file);
        let output = run.args(rest).stderr(Stdio::inherit()).output();
        output.with_context(|| format!("taper {first} {}", notebook.display()))
    };
    let kept = taper("run", log, &["--machine", machine])?;
    if !kept.status.success() {
        return Ok(kept);
    }
    taper("test", as_on_cpu(log).as_bytes(), &[])
}

/// Returns the log with `cpu` in place of the names of the cards, `cuda:0` to `cuda:15`.
fn as_on_cpu(log: &[u8]) -> String {
    let log = String::from_utf8_lossy(log).into_owned();
    // From the last: `cuda:1` is the beginning of `cuda:10`.
    (0..16)
        .rev()
        .fold(log, |log, card| log.replace(&format!("cuda:{card}"), "cpu"))
}

/// Returns the text of an output with its lines cut, because the lines of a chapter's figures are very long.
fn shown(output: &str) -> String {
    const WIDTH: usize = 160;
    let line = |line: &str| match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    let lines = output.trim_end().lines().map(line);
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_between_characters() {
        let line = "ä".repeat(200);
        let cut = shown(&format!("short\n{line}\n\n"));
        assert_eq!(cut, format!("short\n{}…", "ä".repeat(160)));
    }

    #[test]
    fn a_log_of_a_card_is_compared_as_one_of_the_cpu() {
        let log = r#"{"text":"Tensor[[2], f32, cuda:0] cuda:1 cuda:10 cuda:15"}"#;
        let expected = r#"{"text":"Tensor[[2], f32, cpu] cpu cpu cpu"}"#;
        assert_eq!(as_on_cpu(log.as_bytes()), expected);
    }

    #[test]
    fn a_report_counts_failed_steps() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut report = Report {
            file: folder.path().join("report.md"),
            begin: "# A report\n\n".to_owned(),
            summary: String::new(),
            outputs: String::new(),
            machine: String::new(),
            steps: 0,
            failed: 0,
        };
        for (script, is_markdown) in [
            ("echo '## a'; echo '## b'", true),
            ("echo c; exit 3", false),
        ] {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let step = Step {
                title: "A step".to_owned(),
                command,
                is_markdown,
                notebook: None,
            };
            let settings = Settings::default();
            report
                .run(step, &settings, &mut Console::new())
                .expect("it runs");
        }
        assert_eq!((report.steps, report.failed), (2, 1));
        let text = std::fs::read_to_string(&report.file).expect("it is written");
        assert!(
            text.starts_with(
                "# A report\n\n- passed in 0 s: A step\n- FAILED in 0 s: A step\n\n## A step: "
            ),
            "{text}"
        );
        assert!(
            text.contains("A step: passed in 0 s\n\na\n### b\n"),
            "{text}"
        );
        assert!(
            text.contains("A step: FAILED in 0 s\n\n```\nc\n```\n"),
            "{text}"
        );
    }
}
