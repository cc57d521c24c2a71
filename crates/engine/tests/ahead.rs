//! A cell that was compiled ahead is loaded from the cache, and nothing of it is seen.

use crate::common::Cells;
use taper_engine::Ahead;

/// Begins to compile a cell, once the types of the last cell's variables are known.
fn begin(cells: &mut Cells, cell: &str) -> Ahead {
    loop {
        if let Some(ahead) = cells.engine.compile_ahead(cell) {
            return ahead;
        }
        std::thread::yield_now();
    }
}

/// Cells that depend on the items and the types of those before, each with what it shows.
const CELLS: [(&str, &str); 8] = [
    ("struct P { x: i32 }\nlet p = P { x: 1 };", ""),
    ("let map = std::collections::BTreeMap::from([(1, p)]);", ""),
    ("map[&1].x", "= 1"),
    ("let mut text = String::from(\"a b\");", ""),
    ("let words: Vec<&str> = text.split(' ').collect();", ""),
    ("words.len()", "= 2"),
    ("for word in &words { println!(\"{word}\"); }", "a\nb"),
    ("drop(words);\nmap.len()", "= 1"),
];

#[test]
fn a_cell_that_was_compiled_ahead_is_not_compiled_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cells = Cells::with_cache(folder.path());
    for (cell, expected) in CELLS {
        assert!(begin(&mut cells, cell).wait(), "{cell}");
        let before = cells.engine.compilations();
        cells.check(cell, expected);
        // The types of new variables are looked up after a cell.
        assert!(cells.engine.compilations() - before <= 1, "{cell}");
    }
    let before = cells.engine.compilations();
    assert!(begin(&mut cells, "map.len() + 1").wait());
    cells.check("map.len() + 1", "= 2");
    assert_eq!(cells.engine.compilations(), before);
}

#[test]
fn nothing_runs_ahead_and_errors_are_those_of_the_evaluation() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cells = Cells::with_cache(folder.path());
    cells.check("let mut n = 0;", "");
    assert!(begin(&mut cells, "n += 1; n").wait());
    assert!(!begin(&mut cells, "n + m").wait());
    let error = "error at 2:1:5: cannot find value `m` in this scope";
    cells.check("n + m", error);
    cells.check("n += 1; n", "= 1");
    assert_eq!(cells.engine.next_number(), 4);
}

#[test]
fn an_evaluation_an_interrupt_and_other_packages_stop_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cells = Cells::with_cache(folder.path());
    // rustc does not come to an end with this cell.
    let endless = "trait T { const N: usize; }\nconst fn f(n: u64) -> u64 { let mut i = 0; while i < n { i += 1; } i }\n\
                   #[allow(long_running_const_eval)]\nconst N: u64 = f(u64::MAX);\nN";
    let ahead = begin(&mut cells, endless);
    cells.check("1 + 1", "= 2");
    assert!(!ahead.wait());
    let ahead = begin(&mut cells, endless);
    cells.engine.interrupter().interrupt();
    assert!(!ahead.wait());
    let ahead = begin(&mut cells, endless);
    cells
        .engine
        .set_packages(Vec::new(), Vec::new())
        .expect("it is written");
    assert!(!ahead.wait());
    drop(begin(&mut cells, endless));
    cells.check("2 + 2", "= 4");
}
