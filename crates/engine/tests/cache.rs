//! What was compiled before is not compiled again.

use crate::common::Cells;
use std::path::Path;
use std::time::{Duration, Instant};
use taper_evaluator::Event as Shown;

/// Cells with all that an engine learns from the compiler: types, whole paths, moves, references, statics, warnings.
const CELLS: [(&str, &str); 14] = [
    (
        "use std::sync::atomic::{AtomicUsize, Ordering};\nstatic HITS: AtomicUsize = AtomicUsize::new(0);",
        "",
    ),
    (
        "fn hit() -> usize { HITS.fetch_add(1, Ordering::SeqCst) + 1 }\nhit()",
        "= 1",
    ),
    ("hit()", "= 2"),
    ("hit()", "= 3"),
    (
        "let map = std::collections::BTreeMap::from([(1, \"a\".to_owned())]);",
        "",
    ),
    ("let other = map;", ""),
    ("other.len()", "= 1"),
    (
        "let text = String::from(\"a b\");\nlet words: Vec<&str> = text.split(' ').collect();",
        "",
    ),
    ("words.len() + text.len()", "= 5"),
    (
        "\"x\".parse::<i32>();",
        "warning: unused `Result` that must be used",
    ),
    ("struct P { x: i32 }\nlet p = P { x: 1 };", ""),
    ("p.x", "= 1"),
    (
        "let f: Box<dyn Fn(i32) -> i32> = Box::new(|n| {\n    assert!(n > 0);\n    n\n});",
        "",
    ),
    ("f(-1)", "panic at 13:2: assertion failed: n > 0"),
];

fn run_all(cells: &mut Cells) -> u64 {
    for (cell, expected) in CELLS {
        assert_eq!(cells.run(cell).trim_end(), expected, "{cell}");
    }
    cells.engine.compilations()
}

/// Waits until a folder has this many complete entries: they are written while the next cell is evaluated.
fn wait_for(folder: &Path, count: usize) {
    let began = Instant::now();
    let is_complete = |entry: &std::io::Result<std::fs::DirEntry>| {
        let is_new =
            |entry: &std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "new");
        entry.as_ref().is_ok_and(|entry| !is_new(entry))
    };
    while std::fs::read_dir(folder).map_or(0, |all| all.filter(is_complete).count()) < count {
        assert!(began.elapsed() < Duration::from_secs(60), "{count} entries");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn restart_and_run_all_compiles_nothing_and_shows_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut first = Cells::with_cache(folder.path());
    assert!(run_all(&mut first) > 10);
    wait_for(folder.path(), CELLS.len());
    drop(first);
    let mut second = Cells::with_cache(folder.path());
    assert_eq!(run_all(&mut second), 0);
    // In another order, with cells that were evaluated twice, in the same process.
    second.check("let p = P { x: 1 };\np.x", "= 1");
    second.check(CELLS[4].0, "");
    second.check(CELLS[5].0, "");
    second.check(
        "map",
        "error at 18:1:1: cannot find value `map` in this scope",
    );
    second.engine.restart_process().expect("it starts");
    // The first cell of a process contains the statics of all earlier ones.
    second.check("1 + 1", "= 2");
    let before = second.engine.compilations();
    second.check(CELLS[4].0, "");
    second.check(CELLS[5].0, "");
    assert_eq!(second.engine.compilations(), before);
}

#[test]
fn a_cell_that_is_run_again_has_new_statics_and_a_damaged_entry_is_compiled_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let counter = "macro_rules! counter { () => {{ static N: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1); \
                   N.fetch_add(1, std::sync::atomic::Ordering::SeqCst) }}; }";
    let mut cells = Cells::with_cache(folder.path());
    cells.check(counter, "");
    for _ in 0..3 {
        cells.check("counter!()", "= 1");
        wait_for(folder.path(), 2);
    }
    assert_eq!(cells.engine.compilations(), 2);
    for entry in std::fs::read_dir(folder.path()).expect("it is there") {
        let path = entry.expect("it is there").path();
        let content = std::fs::read(&path).expect("it is ours");
        std::fs::write(&path, &content[..content.len() - 1]).expect("it is ours");
    }
    cells.check("counter!()", "= 1");
    assert_eq!(cells.engine.compilations(), 3);
}

#[test]
fn what_depends_on_other_files_or_on_the_environment_is_not_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("text");
    let cache = folder.path().join("cache");
    let mut cells = Cells::with_cache(&cache);
    for expected in ["= \"a\"", "= \"b\""] {
        std::fs::write(&text, &expected[3..4]).expect("it is ours");
        cells.check(&format!("include_str!({text:?})"), expected);
        cells.check("option_env!(\"TAPER_NO_SUCH_VARIABLE\")", "= None");
        cells.check("1 + 1", "= 2");
        wait_for(&cache, 1);
    }
    assert_eq!(cells.engine.compilations(), 5);
}

#[test]
fn a_cell_of_the_host_is_compiled_and_loaded_once() {
    let mut cells = Cells::start();
    cells.check("let mut sum = 0.0;", "");
    let move_to = |cells: &mut Cells, cell: &str, value: &str| {
        let mut shown = String::new();
        let outcome = cells
            .engine
            .repeat(cell, &[value.to_owned()], &mut |event| {
                if let taper_engine::Event::Shown(Shown::Text { text, .. }) = event {
                    shown += &text;
                }
            });
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        shown
    };
    let cell = "println!(\"{}\", ::cell_support::argument(0));";
    let add = "sum += ::cell_support::argument(0).parse::<f64>().unwrap();";
    assert_eq!(move_to(&mut cells, cell, "a"), "a\n");
    move_to(&mut cells, add, "1");
    let memory = |cells: &mut Cells| -> u64 {
        let shown = cells.run("println!(\"{}\", std::fs::read_to_string(\"/proc/self/statm\").unwrap().split(' ').nth(1).unwrap());");
        shown.trim().parse().expect("a number of pages")
    };
    let _ = memory(&mut cells);
    let (before, compilations) = (memory(&mut cells), cells.engine.compilations());
    for value in 0..500 {
        let value = value.to_string();
        assert_eq!(move_to(&mut cells, cell, &value), value.clone() + "\n");
        move_to(&mut cells, add, &value);
    }
    assert_eq!(cells.engine.compilations(), compilations);
    let pages = memory(&mut cells).saturating_sub(before);
    assert!(pages < 256, "{pages} pages more");
    cells.check("sum", "= 124751.0");
}
