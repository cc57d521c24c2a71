use super::{Live, LiveContent};
use crate::notebook::Show;
use crate::notebook::hooks::{taper_begin_cell, taper_flush};
use crate::notebook::testing::{records, under_evcxr};
use crate::notebook::{MimeBundle, clear_output, display_live};
use crate::plot::ProgressBoard;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Returns the kind and the text of each event.
fn summaries(records: &[Value]) -> Vec<(&str, &str)> {
    records
        .iter()
        .map(|record| {
            (
                record["event"].as_str().unwrap_or_default(),
                record["data"]["text/plain"].as_str().unwrap_or_default(),
            )
        })
        .collect()
}

fn text(text: &str) -> MimeBundle {
    MimeBundle::text(text)
}

/// Runs `cell` while another thread flushes, as the kernel's does.
fn while_flushing(cell: impl FnOnce()) {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                taper_flush();
                std::thread::yield_now();
            }
        });
        cell();
        ended.store(true, Ordering::Relaxed);
    });
    taper_flush();
}

#[test]
fn a_display_is_shown_once_and_then_updated() {
    let records = records(
        "notebook::live::tests::a_display_is_shown_once_and_then_updated",
        || {
            let a = display_live(&text("a0"));
            let b = display_live(&text("b0"));
            a.update(&text("a1"));
            b.update(&text("b0"));
            a.update(&text("a2"));
            taper_flush();
        },
    );
    assert_eq!(
        summaries(&records),
        [
            ("display", "a0"),
            ("display", "b0"),
            ("update_display", "a2")
        ]
    );
    assert_eq!(records[0]["display_id"], records[2]["display_id"]);
    assert_ne!(records[0]["display_id"], records[1]["display_id"]);
    let id = records[0]["display_id"].as_str().unwrap();
    assert!(id.starts_with("taper-"), "{id}");
}

#[test]
fn ten_thousand_draws_are_few_displays_and_the_last_is_exact() {
    let records = records(
        "notebook::live::tests::ten_thousand_draws_are_few_displays_and_the_last_is_exact",
        || {
            let board = ProgressBoard::new();
            let start = Instant::now();
            while_flushing(|| (0..10_000).for_each(|i| board.draw(i, i, "line", 1)));
            let most = start.elapsed().as_millis() / 100 + 3;
            println!("\x1elog {{\"most\":{most}}}");
            drop(board);
        },
    );
    let (most, records): (Vec<_>, Vec<_>) = records.iter().partition(|r| r["event"].is_null());
    let most = most[0]["most"].as_u64().unwrap() as usize;
    assert!(records.len() <= most, "{} of {most}", records.len());
    let last = &records[records.len() - 1]["data"];
    assert_eq!(
        last["text/plain"],
        "y over x\nline: 9999 at 9999 (10000 points)"
    );
    assert!(last["image/svg+xml"].as_str().unwrap().starts_with("<svg"));
}

#[test]
fn a_later_cell_shows_the_board_again_and_updates_a_handle_in_place() {
    let records = records(
        "notebook::live::tests::a_later_cell_shows_the_board_again_and_updates_a_handle_in_place",
        || {
            let board = ProgressBoard::new().ylabel("loss");
            let handle = display_live(&text("h0"));
            board.draw(0, 1, "a", 1);
            taper_flush();
            taper_begin_cell();
            board.draw(1, 2, "a", 1);
            handle.update(&text("h1"));
            taper_flush();
        },
    );
    assert_eq!(
        summaries(&records),
        [
            ("display", "h0"),
            ("display", "loss over x\na: 1 at 0 (1 point)"),
            ("display", "loss over x\na: 2 at 1 (2 points)"),
            ("update_display", "h1"),
        ]
    );
    assert_ne!(records[1]["display_id"], records[2]["display_id"]);
    assert_eq!(records[0]["display_id"], records[3]["display_id"]);
}

#[test]
fn a_thread_keeps_drawing_below_its_cell() {
    let records = records(
        "notebook::live::tests::a_thread_keeps_drawing_below_its_cell",
        || {
            let board = ProgressBoard::new();
            board.draw(0, 1, "a", 1);
            taper_begin_cell();
            std::thread::scope(|scope| {
                scope.spawn(|| board.draw(1, 2, "a", 1));
            });
            taper_flush();
        },
    );
    assert_eq!(summaries(&records)[1].0, "update_display");
    assert_eq!(records[0]["display_id"], records[1]["display_id"]);
}

#[test]
fn a_cleared_display_appears_again() {
    let records = records(
        "notebook::live::tests::a_cleared_display_appears_again",
        || {
            let board = ProgressBoard::new();
            board.draw(0, 1, "a", 1);
            clear_output(true);
            board.draw(1, 2, "a", 1);
        },
    );
    let ops: Vec<&str> = summaries(&records).iter().map(|(op, _)| *op).collect();
    assert_eq!(ops, ["display", "clear", "display"]);
    assert_eq!(records[1]["wait"], json!(true));
}

#[test]
fn a_board_that_is_the_cells_value_is_shown_once() {
    let records = records(
        "notebook::live::tests::a_board_that_is_the_cells_value_is_shown_once",
        || {
            let board = ProgressBoard::new();
            board.evcxr_display();
            taper_flush();
            board.draw(0, 1, "a", 1);
            board.draw(0, 2, "a", 1);
            board.evcxr_display();
            taper_flush();
        },
    );
    let ops: Vec<&str> = summaries(&records).iter().map(|(op, _)| *op).collect();
    assert_eq!(ops, ["result", "display", "update_display"]);
}

/// The flushing thread waits for standard output while the cell, which holds it, drops its board.
#[test]
fn a_cell_may_hold_standard_output() {
    let records = records(
        "notebook::live::tests::a_cell_may_hold_standard_output",
        || {
            while_flushing(|| {
                let mut out = std::io::stdout().lock();
                for i in 0..100 {
                    let board = ProgressBoard::new();
                    board.draw(0, i, "a", 1);
                    writeln!(out, "{i}").unwrap();
                    board.draw(1, i, "a", 1);
                }
            });
        },
    );
    assert_eq!(records.len(), 200);
}

#[derive(Clone, Default)]
struct Broken;

impl LiveContent for Broken {
    fn bundle(&self) -> MimeBundle {
        panic!("cannot draw");
    }
}

#[test]
fn a_panic_while_drawing_ends_nothing() {
    let records = records(
        "notebook::live::tests::a_panic_while_drawing_ends_nothing",
        || {
            let broken = Live::<Broken>::default();
            std::thread::scope(|scope| {
                scope.spawn(|| broken.change(|_| true));
            });
            taper_flush();
        },
    );
    assert_eq!(
        summaries(&records),
        [
            ("thread_panic", ""),
            ("display", "this display could not be drawn")
        ]
    );
}

#[test]
fn stock_evcxr_shows_the_last_state_once() {
    let printed = under_evcxr(
        "notebook::live::tests::stock_evcxr_shows_the_last_state_once",
        || {
            let handle = display_live(&text("first"));
            handle.update(&text("last"));
            println!("before");
        },
    );
    assert_eq!(
        printed,
        "before\nEVCXR_BEGIN_CONTENT text/plain\nlast\nEVCXR_END_CONTENT\n"
    );
}
