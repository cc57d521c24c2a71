//! The table of what Taper cannot express, in the book.

use crate::Outcome;
use crate::reasons::REASONS;
use crate::samples::path;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt::Write;

const PAGE: &str = "book/src/pytorch-samples.md";

/// How many samples of a function there are, how many run, and why others do not.
#[derive(Default)]
struct Row {
    samples: usize,
    equal: usize,
    refused: usize,
    reasons: BTreeMap<String, usize>,
}

/// Checks that the page is current, or writes it if `TAPER_UPDATE_SNAPSHOTS` is set.
pub(crate) fn check<'a>(torch: &str, outcomes: impl Iterator<Item = (&'a Json, &'a Outcome)>) {
    let page = page(torch, outcomes);
    if std::env::var_os("TAPER_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(path(PAGE), &page).unwrap();
    }
    let stored = std::fs::read_to_string(path(PAGE)).unwrap_or_default();
    assert!(
        stored == page,
        "{PAGE} is not current: run with TAPER_UPDATE_SNAPSHOTS=1 and read the difference"
    );
}

fn page<'a>(torch: &str, outcomes: impl Iterator<Item = (&'a Json, &'a Outcome)>) -> String {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut all, mut equal, mut refused, mut by_types) = (0, 0, 0, 0);
    for (sample, outcome) in outcomes {
        let row = rows.entry(sample["op"].as_str().unwrap()).or_default();
        row.samples += 1;
        all += 1;
        match outcome {
            Outcome::Equal => (row.equal, equal) = (row.equal + 1, equal + 1),
            Outcome::Refused => (row.refused, refused) = (row.refused + 1, refused + 1),
            Outcome::RefusedByTypes => (row.refused, by_types) = (row.refused + 1, by_types + 1),
            Outcome::NotExpressible(reason) => {
                *row.reasons.entry(reason.clone()).or_default() += 1;
                *reasons.entry(reason).or_default() += 1;
            }
            Outcome::Wrong(_) => (),
        }
    }
    let mut text = format!(
        "# PyTorch's test samples in Taper\n\n\
         PyTorch {torch} tests each function, layer and optimiser with sample inputs. Taper runs those of what it has, and\n\
         combinations of settings for optimisers and schedules, which PyTorch computed as well:\n\
         {equal} samples have equal values and gradients. Of the inputs that PyTorch refuses, Taper refuses {refused}, and\n\
         rustc {by_types} more, because a value has another type than the argument. {} samples need an argument or a value that\n\
         Taper does not have, for the reasons [below](#why). `tests/pytorch` contains the samples and writes this page.\n\n\
         | PyTorch | samples | equal | refused | not expressible |\n|:--|--:|--:|--:|:--|\n",
        all - equal - refused - by_types,
    );
    for (name, row) in rows {
        let mut reasons: Vec<(&String, &usize)> = row.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let reasons: Vec<String> = reasons
            .iter()
            .map(|(reason, count)| format!("{reason} ({count})"))
            .collect();
        let Row {
            samples,
            equal,
            refused,
            ..
        } = row;
        writeln!(
            text,
            "| `{name}` | {samples} | {equal} | {refused} | {} |",
            reasons.join(", ")
        )
        .unwrap();
    }
    text + &why(reasons)
}

/// Returns the table of the reasons; each has a sentence, and each sentence a sample.
fn why(counts: BTreeMap<&str, usize>) -> String {
    let is_known = |reason: &&str| REASONS.iter().any(|(known, _)| known == reason);
    let unknown: Vec<_> = counts.keys().filter(|reason| !is_known(reason)).collect();
    let unused = REASONS
        .iter()
        .filter(|(reason, _)| !counts.contains_key(reason));
    let unused: Vec<_> = unused.map(|(reason, _)| reason).collect();
    assert!(
        unknown.is_empty() && unused.is_empty(),
        "reasons.rs lacks {unknown:?}, and does not need {unused:?}"
    );
    let mut reasons: Vec<_> = REASONS
        .iter()
        .map(|(reason, why)| (counts[reason], reason, why))
        .collect();
    reasons.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    let mut text = "\n## Why\n\n| not expressible | samples | why |\n|:--|--:|:--|\n".to_owned();
    for (count, reason, why) in reasons {
        writeln!(text, "| {reason} | {count} | {why} |").unwrap();
    }
    text
}
