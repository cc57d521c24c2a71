//! The table of what Taper cannot express, in the book.

use crate::Outcome;
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
    for (sample, outcome) in outcomes {
        let row = rows.entry(sample["op"].as_str().unwrap()).or_default();
        row.samples += 1;
        match outcome {
            Outcome::Equal => row.equal += 1,
            Outcome::Refused => row.refused += 1,
            Outcome::NotExpressible(reason) => *row.reasons.entry(reason.clone()).or_default() += 1,
            Outcome::Wrong(_) => (),
        }
    }
    let (mut all, mut equal, mut refused) = (0, 0, 0);
    for row in rows.values() {
        all += row.samples;
        equal += row.equal;
        refused += row.refused;
    }
    let mut text = format!(
        "# PyTorch's test samples in Taper\n\n\
         PyTorch {} tests each function, layer and optimiser with sample inputs. Taper runs those of what it has, and\n\
         combinations of settings for optimisers and schedules, which PyTorch computed as well:\n\
         {equal} samples have equal values and gradients, {refused} inputs that PyTorch refuses are refused, and {} samples\n\
         need an argument that Taper does not have. `tests/pytorch` contains the samples and writes this page.\n\n\
         | PyTorch | samples | equal | refused | not expressible |\n|:--|--:|--:|--:|:--|\n",
        torch,
        all - equal - refused,
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
    text
}
