//! Comparing outputs with stored ones.

use super::outputs::compare;
use crate::document::notebook::media;
use crate::document::tolerance::Tolerance;
use nbformat::v4::{DisplayData, ErrorOutput, ExecuteResult, MultilineString, Output};
use serde_json::{Map, Value, json};

fn stream(name: &str, text: &str) -> Output {
    Output::Stream {
        name: name.into(),
        text: MultilineString(text.into()),
    }
}

fn display(data: Value) -> Output {
    let data = media(data.as_object().unwrap().clone());
    Output::DisplayData(DisplayData {
        data,
        metadata: Map::new(),
    })
}

fn result(text: &str, count: usize) -> Output {
    let data = media(Map::from_iter([("text/plain".to_string(), json!(text))]));
    Output::ExecuteResult(ExecuteResult {
        execution_count: count.into(),
        data,
        metadata: Map::new(),
    })
}

fn error(name: &str, message: &str, trace: &str) -> Output {
    let (ename, evalue) = (name.into(), message.into());
    Output::Error(ErrorOutput {
        ename,
        evalue,
        traceback: vec![trace.into()],
    })
}

fn found(stored: &[Output], now: &[Output]) -> Vec<String> {
    compare(stored, now, Tolerance::default())
        .into_iter()
        .map(|mismatch| format!("{} {}", mismatch.number, mismatch.what))
        .collect()
}

fn nothing() -> Vec<String> {
    Vec::new()
}

#[test]
fn streams_in_pieces_are_one() {
    let pieces = [
        stream("stdout", "a\n"),
        stream("stdout", ""),
        stream("stdout", "b\n"),
    ];
    assert_eq!(found(&pieces, &[stream("stdout", "a\nb\n")]), nothing());
    let between = [
        stream("stdout", "a\n"),
        stream("stderr", "!"),
        stream("stdout", "b\n"),
    ];
    assert_eq!(found(&between, &between), nothing());
    assert_eq!(
        found(&pieces, &between),
        [
            "1 stdout differs",
            "2 stderr is not in the file",
            "3 stdout is not in the file"
        ]
    );
    assert_eq!(
        found(&[stream("stdout", "\n")], &[]),
        nothing(),
        "nothing to be seen"
    );
}

#[test]
fn values_within_the_tolerance() {
    assert_eq!(
        found(&[result("1.0", 3)], &[result("1.000001", 4)]),
        nothing()
    );
    assert_eq!(
        found(&[result("1.0", 3)], &[result("1.1", 3)]),
        ["1 result, text/plain differs"]
    );
    let wide = Tolerance {
        rtol: 0.2,
        atol: 0.0,
        ..Tolerance::default()
    };
    assert_eq!(compare(&[result("1.0", 3)], &[result("1.1", 3)], wide), []);
}

#[test]
fn measured_times_are_ignored_on_request() {
    let bar = |done: u32, seconds: f64| {
        let text = format!("fit {done}/96 {seconds} s");
        display(json!({"text/plain": text, "text/html": format!("<td>{seconds}</td>")}))
    };
    let without = Tolerance {
        ignores_times: true,
        ..Tolerance::default()
    };
    assert_eq!(found(&[bar(96, 0.5)], &[bar(96, 0.7)]).len(), 2);
    assert_eq!(compare(&[bar(96, 0.5)], &[bar(96, 0.7)], without), []);
    let other = compare(&[bar(96, 0.5)], &[bar(95, 0.7)], without);
    assert_eq!(other[0].diff[3..], ["-fit 96/96 NaN", "+fit 95/96 NaN"]);
}

#[test]
fn a_mismatch_shows_both_values() {
    let all = compare(
        &[stream("stdout", "x\n"), result("a 1.5", 1)],
        &[stream("stdout", "x\n"), result("a 2.5", 1)],
        Tolerance::default(),
    );
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].number, 2);
    assert_eq!(all[0].diff[3..], ["-a 1.5", "+a 2.5"]);
}

#[test]
fn missing_and_extra_outputs() {
    let (a, b, c) = (result("a", 1), stream("stdout", "b"), stream("stderr", "c"));
    let list = [b.clone(), c.clone(), a.clone()];
    assert_eq!(
        found(&list, &[c.clone(), a.clone()]),
        ["1 stdout is missing"]
    );
    assert_eq!(
        found(&[b.clone(), a.clone()], &list),
        ["2 stderr is not in the file"]
    );
    assert_eq!(
        found(std::slice::from_ref(&a), &[b]),
        ["1 result has become stdout"]
    );
    assert_eq!(found(&[], &[a]), ["1 result is not in the file"]);
}

#[test]
fn images_by_presence_and_html_as_text() {
    let image = |svg: &str, html: &str| {
        display(json!({"image/svg+xml": svg, "image/png": svg, "text/html": html}))
    };
    let stored = image("<svg/>", "<b>1.0</b>\n");
    let same = found(
        std::slice::from_ref(&stored),
        &[image("<svg></svg>", "<b>1.000001</b>")],
    );
    assert_eq!(same, nothing());
    let other = found(
        std::slice::from_ref(&stored),
        &[image("<svg/>", "<i>1.0</i>")],
    );
    assert_eq!(other, ["1 display, text/html differs"]);
    let mime = found(&[stored], &[display(json!({"text/html": "<b>1.0</b>"}))]);
    assert_eq!(mime, ["1 display has other mime types"]);
}

#[test]
fn json_by_value() {
    let json = |value: Value| display(json!({"application/vnd.vega.v5+json": value}));
    let stored = json(json!({"b": [1.0, "x 2.0"], "a": {"n": 3}}));
    let near = json(json!({"a": {"n": 3}, "b": [1.000001, "x 2.000001"]}));
    assert_eq!(found(std::slice::from_ref(&stored), &[near]), nothing());
    for far in [
        json!({"b": [1.0], "a": {"n": 3}}),
        json!({"b": [1.0, "x 2.0"], "a": {"n": 4}}),
    ] {
        let mismatches = found(std::slice::from_ref(&stored), &[json(far)]);
        assert_eq!(
            mismatches,
            ["1 display, application/vnd.vega.v5+json differs"]
        );
    }
}

#[test]
fn widgets_by_what_they_say() {
    let slider = |id: &str, text: &str| {
        let model = json!({"model_id": id, "version_major": 2});
        display(json!({"application/vnd.jupyter.widget-view+json": model, "text/plain": text}))
    };
    let stored = [slider("taper-1-0", "a = 1")];
    assert_eq!(found(&stored, &[slider("taper-2-5", "a = 1")]), nothing());
    let mismatches = found(&stored, &[slider("taper-1-0", "a = 2")]);
    assert_eq!(mismatches, ["1 display, text/plain differs"]);
}

#[test]
fn errors_by_name_and_message() {
    let stored = error("Error", "no file", "at 1");
    assert_eq!(
        found(
            std::slice::from_ref(&stored),
            &[error("Error", "no file", "at 2")]
        ),
        nothing()
    );
    assert_eq!(
        found(
            std::slice::from_ref(&stored),
            &[error("Panic", "no file", "")]
        ),
        ["1 error differs"]
    );
    assert_eq!(
        found(&[stored], &[error("Error", "no dir", "")]),
        ["1 error differs"]
    );
}
