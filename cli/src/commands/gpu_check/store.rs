//! What a report becomes in the repository: the outputs of a card beside the chapters, and a table.

use super::report::{Done, Report, Verdict};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use taper_host::{checkout, process};

/// Stores the outputs of the chapters, compares them with the CPU's outputs, and prints the report.
pub(super) fn store(report: &Report) -> Result<ExitCode> {
    print!("{}", report.markdown());
    if let Some(table) = table(&report.steps) {
        println!("\n## Beside PyTorch\n\n{table}");
    }
    if report.machine == "CPU" {
        println!("\nThis was a trial on the CPU: nothing is stored.");
        return Ok(ExitCode::SUCCESS);
    }
    let notebooks = checkout::folder()?.join("notebooks");
    let mut failed = report.failed();
    for step in report
        .steps
        .iter()
        .filter(|step| step.verdict == Verdict::Passed)
    {
        let Some(chapter) = step.chapter() else {
            continue;
        };
        let notebook = notebooks.join(chapter).with_extension("ipynb");
        failed += usize::from(!keep_outputs(
            &notebook,
            &step.output.join("\n"),
            &report.machine,
        )?);
    }
    Ok(match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Saves a chapter's outputs on the card next to its notebook, for the tab in the book. Then compares them with
/// the CPU's outputs in the notebook, within the tolerances of its cells; returns whether they agree.
fn keep_outputs(notebook: &Path, log: &str, machine: &str) -> Result<bool> {
    let taper = |first: &str, log: &str, rest: &[&str]| {
        let file = tempfile::NamedTempFile::new().context("a file for the output")?;
        std::fs::write(file.path(), log)?;
        let mut run = Command::new(process::program()?);
        run.arg(first)
            .arg(notebook)
            .arg("--outputs")
            .arg(file.path());
        let status = run.args(rest).status();
        let status = status.with_context(|| format!("taper {first} {}", notebook.display()))?;
        Ok::<_, anyhow::Error>(status.success())
    };
    let is_kept = taper("run", log, &["--machine", machine])?;
    Ok(taper("test", &as_on_cpu(log), &[])? && is_kept)
}

/// Returns the log with `cpu` in place of the names of the cards, `cuda:0` to `cuda:15`.
fn as_on_cpu(log: &str) -> String {
    // From the last: `cuda:1` is the beginning of `cuda:10`.
    (0..16).rev().fold(log.to_owned(), |log, card| {
        log.replace(&format!("cuda:{card}"), "cpu")
    })
}

/// Returns the table of the networks beside PyTorch, with the geometric mean; `None` if none was measured.
fn table(steps: &[Done]) -> Option<String> {
    let step = steps.iter().find(|step| step.name == "networks")?;
    let rows: Vec<Vec<&str>> = step
        .output
        .iter()
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let of = |peer: &'static str| {
        rows.iter()
            .filter(move |row| row.len() == 7 && row[2] == peer)
    };
    let mut table =
        "| model | batch | Taper (ms) | PyTorch (ms) | × PyTorch |\n|---|--:|--:|--:|--:|\n"
            .to_owned();
    let mut logarithms = vec![];
    for taper in of("taper") {
        let torch = of("torch").find(|torch| torch[..2] == taper[..2]);
        let milliseconds = |row: &[&str]| row[3].replace(',', "").parse::<f64>().ok();
        let Some((torch, own)) =
            torch.and_then(|torch| Some((milliseconds(torch)?, milliseconds(taper)?)))
        else {
            continue;
        };
        logarithms.push((own / torch).ln());
        let (model, batch) = (taper[0], taper[1]);
        writeln!(
            table,
            "| {model} | {batch} | {own:.2} | {torch:.2} | **{:.2}** |",
            own / torch
        )
        .ok()?;
    }
    let count = logarithms.len();
    let mean = (logarithms.iter().sum::<f64>() / count as f64).exp();
    (count > 0).then(|| format!("{table}\nThe geometric mean of these {count} is {mean:.2}.\n"))
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::done;
    use super::*;

    #[test]
    fn a_log_of_a_card_is_compared_as_one_of_the_cpu() {
        let log = r#"{"text":"Tensor[[2], f32, cuda:0] cuda:1 cuda:10 cuda:15"}"#;
        assert_eq!(
            as_on_cpu(log),
            r#"{"text":"Tensor[[2], f32, cpu] cpu cpu cpu"}"#
        );
    }

    #[test]
    fn networks_become_a_table_also_if_the_last_was_not_finished() {
        let output = "| model | batch | peer | step (ms) | samples/s | × PyTorch | peak memory (MB) |\n\
            |---|--:|---|--:|--:|--:|--:|\n\
            | leaf | 256 | taper | 8.00 | 32,000 | 2.00 | 900 |\n\
            | leaf | 256 | torch | 4.00 | 64,000 | 1.00 | 900 |\n\
            | vit | 32 | taper | 1.00 | 9 | 0.50 | 9 |\n\
            | vit | 32 | torch | 2.00 | 9 | 1.00 | 9 |\n\
            | lstm | 32 | taper | 1.00 | 9 | 0.50 | 9 |\n";
        let table = table(&[done("networks", Verdict::Stopped, output)]).expect("a table");
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| leaf | 256 | 8.00 | 4.00 | **2.00** |",
                "| vit | 32 | 1.00 | 2.00 | **0.50** |",
                "",
                "The geometric mean of these 2 is 1.00."
            ]
        );
        assert!(super::table(&[done("checks", Verdict::Passed, output)]).is_none());
        assert!(super::table(&[done("networks", Verdict::Failed, "no torch")]).is_none());
    }
}
