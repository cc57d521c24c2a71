//! `taper gpu-check`: everything that only a machine with an NVIDIA card can show, in one report.

use crate::program_name::program_name;
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use taper_host::gpu::smi::{self, Answer, Driver};
use taper_host::gpu::{self, settings::Settings};
use taper_host::home;
use taper_host::process;
use taper_host::progress::{Console, Progress, duration};
use taper_host::toolchain;

/// The chapters that compute on a GPU where there is one.
const CHAPTERS: [&str; 4] = [
    "09-gpus",
    "10-leaf-network",
    "11-ai-on-a-gpu",
    "12-several-devices",
];

/// Check Taper on an NVIDIA GPU: tests, chapters, speed beside PyTorch.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Where the report goes, as Markdown
    #[arg(long, value_name = "FILE", default_value = "gpu-report.md")]
    pub report: PathBuf,
    /// Leave out the comparison with PyTorch, which downloads 4 GB the first time
    #[arg(long)]
    pub no_pytorch: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut progress = Console::new();
    let driver = match smi::ask() {
        Answer::Works(driver) => driver,
        Answer::NoDriver => bail!(
            "There is no NVIDIA driver (no nvidia-smi), so nothing can be checked. On a machine with an NVIDIA card, \
             install its driver, 580 or newer."
        ),
        Answer::NoCard => bail!("The NVIDIA driver sees no card, so nothing can be checked."),
        Answer::Broken(said) => bail!("The NVIDIA driver does not work. It says: {said}"),
    };
    let settings = gpu::for_cuda(&home::folder(), &mut progress)?;
    let mut report = Report::new(&driver, &settings, settings_file(&arguments.report)?)?;
    for step in steps(arguments)? {
        report.take(step, &settings, &mut progress)?;
    }
    let failed = report.failed;
    progress.line(&format!(
        "{}: {}",
        report.file.display(),
        match failed {
            0 => "everything has passed".to_owned(),
            _ => format!("{failed} of {} steps have failed", report.steps),
        }
    ));
    Ok(match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn settings_file(report: &Path) -> Result<PathBuf> {
    std::path::absolute(report).with_context(|| format!("the report {}", report.display()))
}

/// One command, whose output is a part of the report.
struct Step {
    title: String,
    command: Command,
    /// Whether what it prints is Markdown.
    is_markdown: bool,
    /// The notebook, if it prints the log of an exported one.
    notebook: Option<PathBuf>,
}

fn steps(arguments: &Arguments) -> Result<Vec<Step>> {
    let cargo = ["--locked", "--package", "taper", "--features", "cuda"];
    let step = |title: &str, program: &Path, parts: &[&str], is_markdown| {
        let mut command = Command::new(program);
        command.args(parts).current_dir(home::folder());
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
            &["test"],
            &["--lib"],
            false,
        ),
        with_cargo(
            "Measurements",
            &["run", "--quiet"],
            &["--example", "gpu_check"],
            true,
        ),
    ];
    steps.extend(chapters()?);
    if !arguments.no_pytorch {
        let parts = ["benches/training/run.py", "--device", "cuda", "--no-candle"];
        let title = "Steps of training beside eager PyTorch on the same card";
        steps.push(step(title, Path::new("python3"), &parts, true));
    }
    Ok(steps)
}

/// Exports the chapters that there are, and runs each as a program.
fn chapters() -> Result<Vec<Step>> {
    let home = home::folder();
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

/// Where the exported chapters lie.
fn folder() -> Result<PathBuf> {
    Ok(taper_host::cache::folder()?.join("gpu-check"))
}

/// What has been found out, written down after each step.
struct Report {
    file: PathBuf,
    text: String,
    /// The first card's name.
    machine: String,
    steps: usize,
    failed: usize,
}

impl Report {
    fn new(driver: &Driver, settings: &Settings, file: PathBuf) -> Result<Self> {
        let text = format!(
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
            text,
            machine: driver.cards[0].name.clone(),
            steps: 0,
            failed: 0,
        })
    }

    fn take(&mut self, step: Step, settings: &Settings, progress: &mut dyn Progress) -> Result<()> {
        progress.line(&format!("{} …", step.title));
        let start = Instant::now();
        let mut command = step.command;
        // Its progress is for the person, its output for the report.
        let output = command
            .envs(&settings.environment)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("starting {command:?}"))?;
        let mut passed = output.status.success();
        if let Some(notebook) = step.notebook.filter(|_| passed) {
            passed = keep_outputs(&notebook, &output.stdout, &self.machine)?;
        }
        let took = duration(start.elapsed());
        let verdict = if passed { "passed" } else { "FAILED" };
        self.steps += 1;
        self.failed += usize::from(!passed);
        let said = shown(&String::from_utf8_lossy(&output.stdout));
        let said = match step.is_markdown {
            // Its headings stand below ours.
            true => said
                .replace("\n## ", "\n### ")
                .trim_start_matches("## ")
                .to_owned(),
            false => format!("```\n{said}\n```"),
        };
        writeln!(
            self.text,
            "## {}: {verdict} in {took}\n\n{said}\n",
            step.title
        )?;
        std::fs::write(&self.file, &self.text)
            .with_context(|| format!("writing {}", self.file.display()))
    }
}

/// Puts what a chapter has shown on the card beside its notebook, for the book's tab.
fn keep_outputs(notebook: &Path, log: &[u8], machine: &str) -> Result<bool> {
    let file = folder()?.join("chapter.log");
    std::fs::write(&file, log).with_context(|| format!("writing {}", file.display()))?;
    let mut run = Command::new(process::program()?);
    run.arg("run").arg(notebook).arg("--outputs").arg(file);
    let status = run.args(["--machine", machine]).status();
    Ok(status
        .context("putting the outputs beside the notebook")?
        .success())
}

/// The text of an output: of a chapter's pictures and pages only the beginning of the line.
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
    fn long_lines_are_cut_between_letters() {
        let line = "ä".repeat(200);
        let cut = shown(&format!("short\n{line}\n\n"));
        assert_eq!(cut, format!("short\n{}…", "ä".repeat(160)));
    }

    /// Without a card, it must not look as if something had been checked.
    #[test]
    fn a_report_counts_what_has_failed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut report = Report {
            file: folder.path().join("report.md"),
            text: String::new(),
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
                .take(step, &settings, &mut Console::new())
                .expect("it runs");
        }
        assert_eq!((report.steps, report.failed), (2, 1));
        let text = std::fs::read_to_string(&report.file).expect("it is written");
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
