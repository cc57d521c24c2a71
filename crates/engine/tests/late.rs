//! Cells that are interrupted, and threads that go on after their cell.

use crate::common::Cells;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use taper_engine::{Event, Failure, Outcome};
use taper_evaluator::Event as Shown;

/// Runs a cell, and interrupts it when it has begun. Its source creates the file `mark`.
fn interrupted(cells: &mut Cells, source: &str, then: fn(&taper_engine::Interrupter)) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("the-cell-runs");
    let interrupter = cells.engine.interrupter();
    let source = source.replace("mark", &format!("{mark:?}"));
    let stop = std::thread::spawn(move || {
        wait_for(&mark);
        interrupter.interrupt();
        then(&interrupter);
    });
    let (_, outcome) = cells.evaluate(&source);
    stop.join().expect("it ends");
    outcome
}

fn wait_for(mark: &Path) {
    while !mark.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_cell_that_cannot_be_stopped_is_left() {
    let mut cells = Cells::start();
    cells.run(
        "use std::rc::Rc;\nuse std::sync::{Arc, Mutex, mpsc};\n#[derive(Debug)]\nstruct Point(i32);\n\
         let n = 1;\nlet used = vec![2];\nlet rc = Rc::new(3);\nlet points = vec![Point(4)];\n\
         let (sender, receiver) = mpsc::channel::<i32>();\nlet text: &str = \"six\";\n\
         let both: Box<dyn Fn() -> i32 + Send> = Box::new(|| 7);\nlet one: Box<dyn Fn() -> i32> = Box::new(|| 8);",
    );
    let outcome = interrupted(
        &mut cells,
        "let mut sum = used.len();\nstd::fs::write(mark, \"\")?;\nloop { sum = sum.wrapping_add(1); }",
        |_| {},
    );
    assert!(
        matches!(outcome.failure, Some(Failure::Left)),
        "{outcome:?}"
    );
    assert_eq!(outcome.lost, ["one", "rc", "used"]);
    cells.check(
        "(n, text, both(), &points)",
        "= (1, \"six\", 7, [Point(4)])",
    );
    assert!(cells.run("rc").starts_with("error at"));
    // The new thread runs cells as the old one did.
    cells.check("let used = n + 1;\n#%%\nused", "= 2");
    cells.check("panic!(\"here\")", "panic at 8:1: here");
    // A cell that waits on another thread is left too, and nothing happens when it goes on.
    let outcome = interrupted(
        &mut cells,
        "std::fs::write(mark, \"\")?;\nlet got = receiver.recv()?;\nlet n = got;",
        |_| {},
    );
    assert!(
        matches!(outcome.failure, Some(Failure::Left)),
        "{outcome:?}"
    );
    assert_eq!(outcome.lost, ["receiver"]);
    cells.check(
        "sender.send(5)?;\nstd::thread::sleep(std::time::Duration::from_millis(200));",
        "",
    );
    cells.check("n", "= 1");
    assert!(cells.run("got").starts_with("error at"));
}

#[test]
fn a_future_that_is_never_ready_is_dropped() {
    let mut cells = Cells::start();
    cells.run("let v = vec![1];\nstruct Noisy;\nimpl Drop for Noisy { fn drop(&mut self) { println!(\"dropped\"); } }");
    let began = Instant::now();
    let outcome = interrupted(
        &mut cells,
        "let _noisy = Noisy;\nlet n = v.len();\nstd::fs::write(mark, \"\")?;\nstd::future::pending::<()>().await;",
        |_| {},
    );
    assert!(
        matches!(
            outcome.failure,
            Some(Failure::Interrupted { is_killed: false })
        ),
        "{outcome:?}"
    );
    assert!(began.elapsed() < Duration::from_secs(60));
    cells.check("v", "= [1]");
    // The next one is not stopped.
    cells.check("async { 2 }.await", "= 2");
}

#[test]
fn a_cell_can_be_killed() {
    let mut cells = Cells::start();
    cells.run("let n = 1;");
    let outcome = interrupted(
        &mut cells,
        "std::fs::write(mark, \"\")?;\nloop {}",
        taper_engine::Interrupter::kill,
    );
    assert!(matches!(
        outcome.failure,
        Some(Failure::Interrupted { is_killed: true })
    ));
    cells.check("1 + 1", "= 2");
}

/// Returns what threads print after their cells: the number of the cell, and the text or the panic.
fn late(cells: &mut Cells) -> Receiver<(u32, String)> {
    let (sender, late) = channel();
    cells.engine.set_late(move |cell, event| {
        let said = match event {
            Event::Shown(Shown::Text { text, .. }) => text,
            Event::ThreadPanic { fault, .. } => format!("{} {:?}", fault.message, fault.place),
            event => format!("{event:?}"),
        };
        let _ = sender.send((cell, said));
    });
    late
}

#[test]
fn output_after_the_end_of_a_cell_arrives_at_once() {
    let mut cells = Cells::start();
    let late = late(&mut cells);
    cells.run("let unrelated = 1;");
    cells.run(
        "std::thread::spawn(|| {\n\
             for n in [1, 2] { std::thread::sleep(std::time::Duration::from_millis(200)); println!(\"late {n}\"); }\n\
             panic!(\"at last\");\n});",
    );
    let next = || late.recv_timeout(Duration::from_secs(60)).expect("in time");
    assert_eq!(next(), (2, "late 1\n".to_owned()));
    assert_eq!(next(), (2, "late 2\n".to_owned()));
    let (cell, panic) = next();
    assert_eq!(cell, 2);
    assert!(
        panic.contains("at last") && panic.contains("line: 3"),
        "{panic}"
    );
}
