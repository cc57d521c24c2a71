//! Random cells and random sequences of cells with interrupts. Whatever a cell contains, the engine answers, and a variable
//! lives until a cell moves it away or defines it again.
//!
//! ```text
//! FUZZ_SEED=1 FUZZ_CELLS=20000 FUZZ_SEQUENCES=2000 cargo test -p taper-engine --test engine fuzz -- --ignored --nocapture
//! ```

use crate::common::Cells;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use taper_engine::{Failure, Outcome};

/// How many cells an engine evaluates before another one is started.
const OF_AN_ENGINE: usize = 500;

/// How long a cell may take, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

const NAMES: [&str; 10] = [
    "a",
    "b",
    "c",
    "v",
    "text",
    "é",
    "数",
    "r#type",
    "_x",
    "long_name_0",
];
const TEXTS: [&str; 8] = [
    "",
    "a b",
    "é",
    "数\\u{1F980}",
    "🦀",
    "\\n",
    "}{",
    "// no comment",
];

/// A cell by the grammar. It compiles where its variables have the types that it expects.
fn valid(random: &mut Random) -> String {
    let lines = match random.below(40) {
        0 => 150,
        _ => 1 + random.below(4),
    };
    let lines: Vec<String> = (0..lines).map(|_| statement(random)).collect();
    let tail = match random.below(3) {
        0 => format!("\n{}", expression(random, 2)),
        _ => String::new(),
    };
    lines.join("\n") + &tail
}

fn statement(random: &mut Random) -> String {
    let name = random.one(&NAMES);
    let other = random.one(&NAMES);
    let number = random.below(9);
    match random.below(22) {
        0..=3 => format!("let {name} = {};", expression(random, 3)),
        4 => format!(
            "let mut {name} = vec![{}, {number}];",
            expression(random, 1)
        ),
        5 => format!("let {name} = String::from({:?});", random.one(&TEXTS)),
        6 => format!("let ({name}, _) = ({}, {other:?});", expression(random, 1)),
        7 => format!("let {name} = {other};"),
        8 => format!("let {name} = &{other};"),
        9 => format!("println!(\"{{:?}}\", {name});"),
        10 => format!("drop({name});"),
        11 => format!(
            "fn f{number}(n: i64) -> i64 {{ {} + n }}",
            expression(random, 1)
        ),
        12 => format!("#[derive(Debug, Clone)]\nstruct S{number}(i64);"),
        13 => format!("macro_rules! m{number} {{ ($x:expr) => {{ $x * {number} }}; }}"),
        14 => format!("impl S{number} {{ fn get(&self) -> i64 {{ self.0 + {number} }} }}"),
        15 => format!(
            "use std::collections::{};",
            random.one(&["HashMap", "*", "{self, BTreeMap}"])
        ),
        16 => format!("static N{number}: std::sync::Mutex<i64> = std::sync::Mutex::new({number});"),
        17 => format!(
            "if {} > {number} {{ panic!({:?}) }}",
            expression(random, 1),
            random.one(&TEXTS)
        ),
        18 => format!("let {name}: i64 = {:?}.parse()?;", random.one(&["1", "x"])),
        19 => format!("{name}.push({number});"),
        20 => format!("for i in 0..{number} {{ print!(\"{{i}}\") }}"),
        _ => format!("// {}", random.one(&TEXTS)),
    }
}

fn expression(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return random.below(100).to_string();
    }
    let mut part = || expression(random, depth - 1);
    let (left, right) = (part(), part());
    let number = random.below(9);
    match random.below(12) {
        0 => format!("({left} + {right})"),
        1 => format!("if {left} > {right} {{ 1 }} else {{ 2 }}"),
        2 => format!("{{ let y = {left}; y * {right} }}"),
        3 => format!("[{left}, {right}].iter().sum::<i64>()"),
        4 => format!("m{number}!({left})"),
        5 => format!("f{number}({left})"),
        6 => format!("S{number}({left}).0"),
        7 => format!("{:?}.len() as i64", random.one(&TEXTS)),
        8 => format!("match {left} {{ 0 => {right}, n => n }}"),
        9 => random.one(&NAMES).to_owned(),
        10 => format!("(|x: i64| x - {right})({left})"),
        _ => left,
    }
}

/// Deletes, doubles, swaps or inserts tokens.
fn broken(source: &str, random: &mut Random) -> String {
    let mut tokens = tokens(source);
    for _ in 0..1 + random.below(3) {
        let (at, other) = (random.below(tokens.len()), random.below(tokens.len()));
        match random.below(4) {
            _ if tokens.is_empty() => {}
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[other]),
            2 => tokens.swap(at, other),
            _ => tokens.insert(
                at,
                random.one(&[
                    "(", "}", "\"", "'", "#", "let", "#![", "é", "\u{feff}", "/*", "r#\"", "}; {",
                ]),
            ),
        }
    }
    tokens.concat()
}

/// Splits a source into words, spaces and single characters.
fn tokens(source: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c == '_' || c.is_alphanumeric();
        let end = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        tokens.push(&rest[..end]);
        rest = &rest[end..];
    }
    tokens
}

fn names(cells: &Cells) -> BTreeSet<String> {
    cells.engine.variables().map(|it| it.name.clone()).collect()
}

/// Evaluates a cell, and returns what is wrong with the answer.
fn fault(
    cells: &mut Cells,
    source: &str,
    may_be_killed: bool,
    failed: &mut usize,
) -> Option<String> {
    let before = names(cells);
    let began = Instant::now();
    let (shown, outcome) = cells.evaluate(source);
    if began.elapsed() > LIMIT {
        return Some(format!("it took {:?}", began.elapsed()));
    }
    *failed += usize::from(outcome.failure.is_some());
    let is_killed = matches!(
        outcome.failure,
        Some(Failure::Interrupted { is_killed: true })
    );
    match &outcome.failure {
        Some(Failure::Engine(_) | Failure::Ended(_)) => return Some(shown),
        Some(Failure::Compile(errors)) if errors.is_empty() => return Some("no error".to_owned()),
        _ if is_killed && may_be_killed => return None,
        _ if is_killed => return Some("it was killed".to_owned()),
        _ => {}
    }
    let after = names(cells);
    let gone = before
        .difference(&after)
        .filter(|name| !may_be_gone(name, &outcome, source));
    let gone: Vec<&String> = gone.collect();
    (!gone.is_empty()).then(|| format!("lost {gone:?}: {shown} {outcome:?}"))
}

/// Returns whether a cell may take a variable away: not if it does not compile.
fn may_be_gone(name: &str, outcome: &Outcome, source: &str) -> bool {
    let is_said = outcome
        .moved
        .iter()
        .chain(&outcome.lost)
        .any(|it| it == name);
    let has_run = !matches!(
        outcome.failure,
        Some(Failure::Compile(_) | Failure::Refused(_))
    );
    has_run && (is_said || source.contains(name))
}

/// All variables can still be used.
fn unusable(cells: &mut Cells) -> Option<String> {
    let all: String = names(cells)
        .iter()
        .map(|name| format!("let _ = &{name};\n"))
        .collect();
    let (shown, outcome) = cells.evaluate(&all);
    outcome
        .failure
        .map(|failure| format!("{shown} {failure:?}"))
}

fn run_cells(seed: u64, count: usize) -> Vec<String> {
    let (mut random, mut faults) = (Random::new(seed), Vec::new());
    let (mut failed, mut cells) = (0, Cells::start());
    for number in 0..count {
        if number > 0 && number % OF_AN_ENGINE == 0 {
            println!(
                "{number} cells, {failed} of them failed, {} faults",
                faults.len()
            );
            cells = Cells::start();
        }
        let mut source = valid(&mut random);
        if random.below(2) == 0 {
            source = broken(&source, &mut random);
        }
        if let Some(why) = fault(&mut cells, &source, false, &mut failed) {
            println!("FAULT in {number}: {why}\n{source}\n---");
            faults.push(format!("{why}\n{source}"));
            cells = Cells::start();
        }
        if number % 25 == 24
            && let Some(why) = unusable(&mut cells)
        {
            println!("UNUSABLE after {number}: {why}\n---");
            faults.push(why);
            cells = Cells::start();
        }
    }
    faults
}

/// Cells that an interrupt stops, at any moment.
fn endless(random: &mut Random) -> String {
    let text = "let mut n = 0u64;\nloop { n += 1; STEP }";
    let step = random.one(&[
        "std::thread::sleep(std::time::Duration::from_millis(1));",
        "println!(\"{n}\");",
        "if n > 50_000_000_000 { break }",
    ]);
    text.replace("STEP", step)
}

fn run_sequences(seed: u64, count: usize) -> Vec<String> {
    let (mut random, mut faults) = (Random::new(seed ^ 0xabc), Vec::new());
    let (mut failed, mut cells) = (0, Cells::start());
    for number in 0..count {
        if number % 100 == 99 {
            println!(
                "{number} sequences, {failed} cells failed, {} faults",
                faults.len()
            );
            cells = Cells::start();
        }
        for _ in 0..1 + random.below(4) {
            let is_endless = random.below(3) == 0;
            let source = match is_endless {
                true => endless(&mut random),
                false => valid(&mut random),
            };
            let delays: Vec<usize> = (0..1 + random.below(3))
                .map(|_| random.below(250))
                .collect();
            let interrupter = cells.engine.interrupter();
            let (ended, end) = std::sync::mpsc::channel::<()>();
            let stop = std::thread::spawn(move || {
                let mut left = delays
                    .into_iter()
                    .map(|it| Duration::from_millis(it as u64));
                while let Some(delay) = left.next().or(is_endless.then_some(LIMIT / 300)) {
                    if end.recv_timeout(delay) != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                        return;
                    }
                    interrupter.interrupt();
                }
            });
            let why = fault(&mut cells, &source, true, &mut failed);
            drop(ended);
            stop.join().expect("it ends");
            if let Some(why) = why.or_else(|| unusable(&mut cells)) {
                println!("FAULT in sequence {number}: {why}\n{source}\n---");
                faults.push(format!("{why}\n{source}"));
                cells = Cells::start();
            }
        }
    }
    faults
}

fn setting(name: &str, otherwise: usize) -> usize {
    let value = std::env::var(name).ok().and_then(|it| it.parse().ok());
    value.unwrap_or(otherwise)
}

#[test]
fn random_cells_are_answered() {
    assert_eq!(run_cells(1, 120), [""; 0]);
}

#[test]
fn random_interrupts_are_answered() {
    assert_eq!(run_sequences(1, 12), [""; 0]);
}

#[test]
#[ignore = "takes an hour"]
fn many_random_cells_are_answered() {
    let seed = setting("FUZZ_SEED", 2) as u64;
    assert_eq!(run_cells(seed, setting("FUZZ_CELLS", 20_000)), [""; 0]);
}

#[test]
#[ignore = "takes an hour"]
fn many_random_interrupts_are_answered() {
    let seed = setting("FUZZ_SEED", 2) as u64;
    assert_eq!(
        run_sequences(seed, setting("FUZZ_SEQUENCES", 2_000)),
        [""; 0]
    );
}
