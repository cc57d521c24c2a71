//! The report: the machine, and what each program has printed.

use super::programs::Programs;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use taper_host::gpu::smi::{self, Answer};
use taper_host::progress::duration;

/// A line of a figure is longer, and is cut where people read the report.
const WIDTH: usize = 160;

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Report {
    /// The card's name; `CPU` for a trial.
    pub(super) machine: String,
    /// The driver, and the newest CUDA that it runs.
    driver: String,
    built: String,
    pub(super) steps: Vec<Done>,
}

/// What a program has printed.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Done {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) verdict: Verdict,
    pub(super) seconds: f64,
    /// The lines of standard output.
    pub(super) output: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Passed,
    Failed,
    /// It was ended at its limit; the lines until then are kept.
    Stopped,
    /// There was no time left, or the output says what is missing.
    NotRun,
}

impl Report {
    /// Returns a report without steps.
    pub(super) fn of_this_machine(programs: &Programs) -> Self {
        let (machine, driver) = match smi::ask() {
            Answer::Works(driver) if programs.device == "cuda" => (
                driver.cards[0].name.clone(),
                format!(
                    "{}, CUDA {}.{}; cards: {}",
                    driver.version,
                    driver.cuda.0,
                    driver.cuda.1,
                    driver.names()
                ),
            ),
            _ => ("CPU".to_owned(), "none".to_owned()),
        };
        Self {
            machine,
            driver,
            built: programs.built.clone(),
            steps: vec![],
        }
    }

    pub(super) fn read(file: &Path) -> Result<Self> {
        let read = || Ok::<_, anyhow::Error>(serde_json::from_slice(&std::fs::read(file)?)?);
        read().with_context(|| format!("{}: not a report of gpu-check", file.display()))
    }

    pub(super) fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))
    }

    /// Returns how many steps were not passed, apart from those for which there was no time.
    pub(super) fn failed(&self) -> usize {
        let failed = |step: &&Done| matches!(step.verdict, Verdict::Failed | Verdict::Stopped);
        self.steps.iter().filter(failed).count()
    }

    /// Returns a line for each step.
    pub(super) fn summary(&self) -> impl Iterator<Item = String> {
        self.steps.iter().map(|step| format!("- {}", step.line()))
    }

    /// Returns the report as Markdown.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!(
            "# Taper on {}\n\n- driver: {}\n- {}\n\n",
            self.machine, self.driver, self.built
        );
        self.summary().for_each(|line| text += &(line + "\n"));
        for step in &self.steps {
            let output: Vec<String> = step.output.iter().map(|line| cut(line)).collect();
            let output = output.join("\n");
            text += &format!("\n## {}\n\n", step.line());
            text += &match step.is_markdown() {
                // The headings of the output become subheadings of the section.
                true => {
                    output
                        .replace("\n## ", "\n### ")
                        .trim_start_matches("## ")
                        .to_owned()
                        + "\n"
                }
                false => format!("```\n{output}\n```\n"),
            };
        }
        text
    }
}

impl Done {
    fn line(&self) -> String {
        let took = duration(Duration::from_secs_f64(self.seconds));
        match self.verdict {
            Verdict::Passed => format!("passed in {took}: {}", self.title),
            Verdict::Failed => format!("FAILED after {took}: {}", self.title),
            Verdict::Stopped => format!("STOPPED after {took}: {}", self.title),
            Verdict::NotRun => {
                let reason = self.output.first();
                let reason = reason.map_or("there was no time left", String::as_str);
                format!("not run, {reason}: {}", self.title)
            }
        }
    }

    fn is_markdown(&self) -> bool {
        matches!(&*self.name, "checks" | "measurements" | "networks")
    }

    /// Returns the chapter whose program this was: `33-gpus`.
    pub(super) fn chapter(&self) -> Option<&str> {
        self.name.strip_prefix("chapter ")
    }
}

/// Returns a line without what is too long to read.
fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn done(name: &str, verdict: Verdict, output: &str) -> Done {
        Done {
            name: name.to_owned(),
            title: format!("The {name}"),
            verdict,
            seconds: 3.0,
            output: output.lines().map(str::to_owned).collect(),
        }
    }

    pub(in super::super) fn report(steps: Vec<Done>) -> Report {
        Report {
            machine: "A card".to_owned(),
            driver: "580".to_owned(),
            built: "Taper".to_owned(),
            steps,
        }
    }

    #[test]
    fn a_step_that_was_not_run_has_a_reason() {
        let line = |output| done("gpt", Verdict::NotRun, output).line();
        assert_eq!(line(""), "not run, there was no time left: The gpt");
        assert_eq!(
            line("there is no Rust"),
            "not run, there is no Rust: The gpt"
        );
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        assert_eq!(cut(&"ä".repeat(200)), format!("{}…", "ä".repeat(160)));
        assert_eq!(cut("short"), "short");
    }

    #[test]
    fn a_report_is_read_as_it_was_written_and_counts_failed_steps() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("report.json");
        let long = "x".repeat(1000);
        let written = report(vec![
            done("checks", Verdict::Passed, "## a\nb\n## c"),
            done("chapter 33-gpus", Verdict::Stopped, &long),
            done("samples", Verdict::Failed, "wrong by 3e-2"),
            done("networks", Verdict::NotRun, ""),
        ]);
        written.write(&file).expect("it is written");
        let read = Report::read(&file).expect("it is read");
        assert_eq!(read.failed(), 2);
        assert_eq!(read.steps[1].output, [long]);
        assert_eq!(read.steps[1].chapter(), Some("33-gpus"));
        let text = read.markdown();
        assert!(text.starts_with("# Taper on A card\n\n- driver: 580\n- Taper\n\n- passed in 3 s: The checks\n- STOPPED after 3 s: "), "{text}");
        assert!(
            text.contains("\n## passed in 3 s: The checks\n\na\nb\n### c\n"),
            "{text}"
        );
        assert!(
            text.contains("The samples\n\n```\nwrong by 3e-2\n```\n"),
            "{text}"
        );
        std::fs::write(&file, "{}").expect("it is ours");
        assert!(Report::read(&file).is_err());
    }
}
