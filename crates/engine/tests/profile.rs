//! What the lines of a cell took.

use crate::common::Cells;
use taper_engine::{Event, Profile};
use taper_evaluator::Event as Shown;

/// Runs a cell with its lines measured. Returns what it printed, and the profile.
fn profile(cells: &mut Cells, source: &str) -> (String, Profile) {
    let (mut shown, mut found) = (String::new(), None);
    let outcome = cells.engine.profile(source, &mut |event| match event {
        Event::Shown(Shown::Text { text, .. }) => shown += &text,
        Event::Value { text, .. } => shown += &format!("= {text}"),
        Event::Profile(profile) => found = Some(profile),
        _ => {}
    });
    assert!(outcome.failure.is_none(), "{source}: {:?}", outcome.failure);
    (shown, found.expect("a profile"))
}

/// Returns the lines that were reached, each with the number of its calls.
fn calls(profile: &Profile) -> Vec<(usize, u64)> {
    profile.lines.iter().map(|it| (it.line, it.calls)).collect()
}

#[test]
fn the_lines_together_are_the_time_of_the_cell() {
    let mut cells = Cells::start();
    let source = "let began = std::time::Instant::now();
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(20));
}
fn work() -> u64 {
    let mut sum = 0u64;
    for n in 0..100_000 {
        sum = sum.wrapping_add(n * n);
    }
    sum
}
for _ in 0..3 {
    pause();
    if work() == 1 { continue }
}
print!(\"{}\", began.elapsed().as_nanos());";
    let (shown, profile) = profile(&mut cells, source);
    let total: u64 = shown.parse().expect("nanoseconds");
    let sum: u64 = profile.lines.iter().map(|line| line.nanoseconds).sum();
    assert!(sum.abs_diff(total) <= total / 10, "{sum} of {total}");
    assert!(
        sum.abs_diff(profile.nanoseconds) <= profile.nanoseconds / 10,
        "{profile:?}"
    );
    let expected = [
        (1, 1),
        (3, 3),
        (6, 3),
        (7, 3),
        (8, 300_000),
        (10, 3),
        (12, 1),
        (13, 3),
        (14, 3),
        (16, 1),
    ];
    assert_eq!(calls(&profile), expected);
    let of = |line| {
        profile
            .lines
            .iter()
            .find(|it| it.line == line)
            .map_or(0, |it| it.nanoseconds)
    };
    assert!(
        of(3) >= 60_000_000,
        "the pauses count for their line: {profile:?}"
    );
}

#[test]
fn what_is_not_in_a_block_counts_for_the_line_around_it() {
    let mut cells = Cells::start();
    cells.run("fn nap() -> u64 { std::thread::sleep(std::time::Duration::from_millis(10)); 1 }");
    let source = "let mut sum = 0;
for n in (0..3).map(|_| nap()) {
    sum += n;
}
let after = {
    let a = nap();
    a
} + nap() + nap();";
    let (_, profile) = profile(&mut cells, source);
    let of = |line| {
        let found = profile.lines.iter().find(|it| it.line == line);
        found.map_or(0, |it| it.nanoseconds / 10_000_000)
    };
    assert!(of(2) >= 3, "the iterator counts for the loop: {profile:?}");
    assert!(of(6) >= 1 && of(5) >= 2, "{profile:?}");
}

#[test]
fn a_profiled_cell_does_what_it_does_otherwise() {
    let mut cells = Cells::start();
    cells.run("let words = String::from(\"a b\"); let mut v = vec![1];");
    let source = "#[derive(Debug, Clone, Copy)]
struct Point { x: i32 }
impl Point {
    const ZERO: Point = Point { x: { 0 } };
    const fn new(x: i32) -> Point { Point { x } }
    fn moved(self) -> Point { let Point { x } = self; Point::new(x + 1) }
}
static NAMES: [&str; 2] = [\"a\", { \"b\" }];
let split: Vec<&str> = words.split(' ').collect();
v.push(2);
let Some(first) = split.first() else { panic!() };
let point = Point::ZERO.moved();
(point.x, first.len(), NAMES[1], v.len())";
    let (shown, profile) = profile(&mut cells, source);
    assert_eq!(shown, "= (1, 1, \"b\", 2)");
    assert_eq!(
        calls(&profile),
        [(6, 2), (9, 1), (10, 1), (11, 1), (12, 1), (13, 1)]
    );
    // The items are there for later cells, without the measurements.
    assert_eq!(cells.run("Point::new(4).moved().x + v[1]"), "= 7");
}

#[test]
fn mistakes_are_where_they_are_in_the_cell() {
    let mut cells = Cells::start();
    let source = "fn f() -> i32 {\n    let a = 1; let b: i32 = \"no\";\n    b\n}\nf();";
    let failed = cells.engine.profile(source, &mut |_| {}).failure;
    let Some(taper_engine::Failure::Compile(errors)) = failed else {
        panic!("{failed:?}");
    };
    let span = errors[0].primary().expect("a place");
    assert_eq!((span.line_start, span.column_start), (2, 29));
    let source = "let x = [1];\nif true {\n    panic!(\"no\");\n}";
    let mut found = None;
    let failed = cells.engine.profile(source, &mut |event| {
        if let Event::Profile(profile) = event {
            found = Some(profile);
        }
    });
    let Some(taper_engine::Failure::Panic(fault)) = failed.failure else {
        panic!("{failed:?}");
    };
    assert_eq!(fault.place.map(|place| place.line), Some(3));
    assert_eq!(calls(&found.expect("a profile")), [(1, 1), (2, 1), (3, 1)]);
}

#[test]
fn other_threads_are_not_measured_and_futures_are() {
    let mut cells = Cells::start();
    let source = "async fn one() -> i32 {
    std::future::ready(()).await;
    1
}
let thread = std::thread::spawn(|| {
    2
});
one().await + thread.join().unwrap()";
    let (shown, profile) = profile(&mut cells, source);
    assert_eq!(shown, "= 3");
    assert_eq!(calls(&profile), [(2, 1), (3, 1), (5, 1), (8, 1)]);
}
