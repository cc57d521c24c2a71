//! Which cells are stale, as the engine and the graph see it.
//!
//! A case is a notebook: its cells, each with a letter, separated by `‖`. A capital letter is the same cell, edited.
//! Then come the runs, numbered from 1, and what is stale after them.

use crate::common::Cells;
use std::collections::BTreeMap;
use taper_engine::{Cell, Failure, Graph};

/// What the case is about, the cells, the runs, and the stale cells with their reasons.
type Case = (&'static str, &'static str, &'static str, &'static str);

#[test]
fn changes_are_found_as_rustc_sees_them() {
    check(include!("stale/changes.in"));
}

#[test]
fn a_name_is_not_yet_a_use() {
    check(include!("stale/names.in"));
}

#[test]
fn values_that_change_inside_may_have_changed() {
    check(include!("stale/inside.in"));
}

#[test]
fn items_count_by_their_source() {
    check(include!("stale/items.in"));
}

#[test]
fn the_order_of_the_cells_decides() {
    check(include!("stale/order.in"));
}

/// To learn whether `x` is used, the statements are compiled twice.
#[test]
fn a_question_to_rustc_repeats_no_message() {
    let mut engine = Cells::start();
    engine.run("let x = 1; let v = vec![1]; let mut w = vec![1]; let s = String::new();");
    for wrong in [
        "v.push([1].map(|x| x)[0]);",
        "[1].map(|x| x); drop(s); s.len()",
        "[1].map(|x| x); let n: i32 = \"no\";",
        "{ let x = String::new(); drop(x); x.len() }",
        "{ let r = &mut w; [1].map(|x| x); w.push(2); r.push(1); }",
        "[1].map(|x| x).no()",
    ] {
        match engine.evaluate(wrong).1.failure {
            Some(Failure::Compile(errors)) => assert_eq!(errors.len(), 1, "{wrong}: {errors:?}"),
            other => panic!("{wrong}: {other:?}"),
        }
    }
    let warned = engine.run("let _ = [1].map(|x| x); \"1\".parse::<i32>();");
    assert_eq!(warned.matches("warning").count(), 1, "{warned}");
}

#[track_caller]
fn check(cases: &[Case]) {
    let mut engine = Cells::start();
    let mut wrong = String::new();
    for (name, cells, runs, expected) in cases {
        engine.engine.clear().expect("the process starts again");
        let found = stale_after(&mut engine, cells, runs);
        if found != *expected {
            wrong += &format!(
                "{name}: {cells}\n    {runs}\n    found:    {found}\n    expected: {expected}\n"
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Runs the cells, and returns the stale ones.
fn stale_after(engine: &mut Cells, cells: &str, runs: &str) -> String {
    let cells = cells.split('‖').map(|cell| {
        let (letter, source) = cell.trim().split_once(": ").expect("a letter");
        (letter, source)
    });
    let cells: Vec<(&str, &str)> = cells.collect();
    let sources: BTreeMap<&str, &str> = cells.iter().copied().collect();
    let is_first = |letter: &&str| letter.chars().all(char::is_lowercase);
    let letters = cells.iter().map(|(letter, _)| *letter).filter(is_first);
    let order: Vec<String> = letters.map(str::to_owned).collect();
    let mut graph = Graph::default();
    graph.set_order(&order);
    for (number, letter) in (1..).zip(runs.split_terminator("")).skip(1) {
        let line = sources[letter].to_owned();
        let (shown, outcome) = engine.evaluate(&line);
        let id = letter.to_lowercase();
        match outcome.effects {
            Some(effects) => graph.record(
                Cell {
                    id,
                    number: number - 1,
                    line,
                },
                effects,
            ),
            None => assert!(shown.contains("error"), "{line}: {shown}"),
        }
    }
    let stale = graph.stale().into_iter().map(|stale| {
        let reasons: Vec<String> = stale.reasons.iter().map(ToString::to_string).collect();
        format!("{}: {}", stale.cell.id, reasons.join("; "))
    });
    stale.collect::<Vec<String>>().join(" / ")
}
