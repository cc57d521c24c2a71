use super::scan::{constants, scan, values};
use super::*;
use crate::chapter::Source;
use serde_json::{Value, json};

/// Returns the problems of a chapter with this text behind a cell `fit` with the constant 0.5 and this output.
fn problems_with(text: &str, output: &str, given: &str) -> Vec<String> {
    let cell = |id: &str, kind: &str, source: &str| json!({ "cell_type": kind, "id": id, "metadata": {}, "source": source });
    let mut fit = cell("fit", "code", "let dropout = 0.5;");
    fit["execution_count"] = Value::Null;
    fit["outputs"] = json!([{ "output_type": "stream", "name": "stdout", "text": output }]);
    let content = json!({
        "cells": [fit, cell("text", "markdown", text)],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    });
    let content = content.to_string();
    let source = Source {
        file: "/n/01-a.ipynb".into(),
        number: None,
        content: &content,
    };
    let book = Book::read(Path::new("/n"), &[source]).expect("a notebook");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("given.txt");
    std::fs::write(&file, given).expect("a file");
    let given = Given::read(&file).expect("a list");
    let problems = check(&book, &book.chapters[0], &given);
    problems
        .iter()
        .map(|problem| problem.lines().next().unwrap_or_default().to_owned())
        .collect()
}

fn problems(text: &str, output: &str) -> Vec<String> {
    problems_with(text, output, "")
}

#[test]
fn a_linked_number_is_what_its_cell_prints_after_rounding() {
    for (text, output) in [
        ("[87.3 %](#cell-id=fit)", "accuracy 0.87312"),
        ("[87 %](#cell-id=fit)", "87.31 %"),
        ("[between 27 and 33 %](#cell-id=fit)", "27.4 33.1"),
        ("[27–33 %](#cell-id=fit)", "0.274 0.331"),
        ("[27 to 33 %](#cell-id=fit)", "0.274 0.331"),
        ("[41 ms](#cell-id=fit)", "took 0.0412 s"),
        ("[1.4 million](#cell-id=fit)", "1 400 123 parameters"),
        ("[1 400](#cell-id=fit)", "1386"),
        ("[0.00002](#cell-id=fit)", "loss 1.9e-5"),
        ("[4 times](#cell-id=fit)", "a 2.0 s, b 8.1 s"),
        ("[3 points](#cell-id=fit)", "0.912 0.943"),
        ("[−0.5](#cell-id=fit)", "-0.52"),
        ("[the mean](#cell-id=fit)", ""),
    ] {
        assert_eq!(problems(text, output), [""; 0], "{text} of {output}");
    }
}

#[test]
fn a_linked_number_that_is_not_printed_is_stale() {
    for (text, output) in [
        ("[87.4 %](#cell-id=fit)", "accuracy 0.87312"),
        ("[86 %](#cell-id=fit)", "87.31 %"),
        ("[0.87](#cell-id=fit)", "88.1 %"),
        ("[41 s](#cell-id=fit)", "took 0.0412 s"),
        ("[1.5 million](#cell-id=fit)", "1 400 123 parameters"),
        ("[5 times](#cell-id=fit)", "a 2.0 s, b 8.1 s"),
        ("[0.3](#cell-id=fit)", ""),
    ] {
        let found = problems(text, output);
        assert_eq!(found.len(), 1, "{text} of {output}: {found:?}");
        assert!(found[0].contains("but the cell fit prints"), "{found:?}");
    }
}

#[test]
fn a_number_without_a_link_is_a_constant_or_given() {
    for text in [
        "a loss of 0.31",
        "about 94 % of them",
        "it takes 40 ms",
        "4 times as fast",
        "| 0.7 |",
    ] {
        let found = problems(text, "0.31 94 40 4 0.7");
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].contains("looks measured"), "{found:?}");
    }
    for text in [
        "dropout of 0.5, that is 50 %",
        "`0.31`, $0.31$, 64 units, 3 × 4, 2D, GPT-2.5 and v1.95",
        "see [figure 4.2](https://example.org)",
    ] {
        assert_eq!(problems(text, ""), [""; 0], "{text}");
    }
    let list =
        "# values\n01-a: 2.3  ln 10\n01-a: 7.1  a line too many\n02-b: 94 %  another chapter\n";
    let found = problems_with("a loss of 2.3, 94 %", "", list);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("says 94 %"), "{found:?}");
    assert!(found[1].contains("7.1 is listed as given"), "{found:?}");
}

#[test]
fn numbers_have_groups_decimals_and_units() {
    let texts = |prose: &str| scan(prose).into_iter().map(|n| n.text).collect::<Vec<_>>();
    assert_eq!(
        texts("1 437 images, 64 × 3 and 0.5 %"),
        ["1 437", "64", "3", "0.5 %"]
    );
    assert_eq!(
        texts("in the 1990s, 2024 360 of 1,234.5"),
        ["2024", "360", "1,234.5"]
    );
    assert_eq!(texts("3.2 × faster, 10ms, 2D, x1, e-8"), ["3.2 ×", "10ms"]);
    assert_eq!(
        constants("let x = 0.5_f32 + 1e-3 + 1_000 as f64; 0.1..0.9, x2"),
        ["0.5", "1e-3", "3", "1000", "0.1"]
    );
    let printed = |text: &str| values(&[json!({ "data": { "text/html": text } })]);
    assert_eq!(printed("<td width=3>0.25</td>"), [0.25]);
}
