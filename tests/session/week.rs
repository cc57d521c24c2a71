//! A week of a session: hundreds of random cells, each compared with what it must show. No cell answers wrongly, and no
//! variable is lost without a sentence that names it.

use crate::common::events::{Events, Ran, own_session};
use crate::fuzz::Random;
use serde_json::json;
use std::collections::BTreeMap;

/// Packages, each with versions that replace one another, and a value that is the same in all of them.
#[rustfmt::skip]
const PACKAGES: [(&str, &[&str], &str); 12] = [
    ("itoa", &["0.4", "1"], "itoa::Buffer::new().format(42).len()"),
    ("fnv", &["1"], "fnv::FnvHashMap::<u8, u8>::default().len() + 2"),
    ("either", &["1"], "either::Either::<u8, u8>::Left(2).is_left() as usize + 1"),
    ("hex", &["0.3", "0.4"], "hex::encode([7u8]).len()"),
    ("memchr", &["2"], "memchr::memchr(b'c', b\"abc\").unwrap_or(0)"),
    ("semver", &["0.11", "1"], "semver::Version::parse(\"2.0.0\").map_or(0, |it| it.major as usize)"),
    ("cfg-if", &["0.1", "1"], "{ cfg_if::cfg_if! { if #[cfg(unix)] { fn two() -> usize { 2 } } else { fn two() -> usize { 3 } } } two() }"),
    ("smallvec", &["0.6", "1"], "smallvec::SmallVec::<[u8; 4]>::from(&[1u8, 2][..]).len()"),
    ("bitflags", &["1", "2"], "{ bitflags::bitflags! { struct F: u8 { const A = 2; } } F::A.bits() as usize }"),
    ("ryu", &["0.2", "1"], "ryu::Buffer::new().format(1.5).len() - 1"),
    ("lazy_static", &["1"], "{ lazy_static::lazy_static! { static ref N: usize = 2; } *N }"),
    ("unicode-width", &["0.1", "0.2"], "unicode_width::UnicodeWidthStr::width(\"ab\")"),
];

/// How many values a variable can have.
const LARGEST: u32 = 1000;

/// The session, and what it must know.
struct Week {
    session: Events,
    random: Random,
    /// The variables, with what their cells show.
    variables: BTreeMap<String, String>,
    /// Those whose type the notebook defines, by the number of the type.
    of_types: BTreeMap<String, usize>,
    /// What functions and macros return.
    items: BTreeMap<String, u32>,
    /// The packages that were added.
    packages: Vec<usize>,
    cells: u32,
}

impl Week {
    fn run(&mut self, code: &str) -> Ran {
        self.cells += 1;
        self.session.run(code)
    }

    /// Runs a cell that must succeed, and returns its value.
    #[track_caller]
    fn value(&mut self, code: &str) -> String {
        let ran = self.run(code);
        let value = ran.iter().rev().find(|it| it["event"] == "result");
        let value = value.and_then(|it| it["data"]["text/plain"].as_str());
        match value {
            Some(value) => value.to_owned(),
            None => panic!("cell {}: {code}\nwas answered with {ran:#?}", self.cells),
        }
    }

    /// Runs a cell that must succeed without a value. Returns what it printed.
    #[track_caller]
    fn text(&mut self, code: &str) -> String {
        let ran = self.run(code);
        let failed = ran.iter().any(|it| it["event"] == "error");
        assert!(
            !failed,
            "cell {}: {code}\nwas answered with {ran:#?}",
            self.cells
        );
        let texts = ran.iter().filter_map(|it| it["text"].as_str());
        texts.collect()
    }

    fn number(&mut self) -> u32 {
        self.random.below(LARGEST as usize) as u32
    }

    fn pick(&mut self, from: &[String]) -> Option<String> {
        let index = self.random.below(from.len().max(1));
        from.get(index).cloned()
    }

    /// Forgets variables, each of which `said` must name.
    #[track_caller]
    fn lose(&mut self, names: &[String], said: &str) {
        for name in names {
            assert!(
                mentions(said, name),
                "`{name}` is lost, and the cell says only: {said}"
            );
            self.variables.remove(name);
            self.of_types.remove(name);
        }
    }

    #[track_caller]
    fn check(&mut self) {
        let all: Vec<String> = self.variables.keys().cloned().collect();
        if let Some(name) = self.pick(&all) {
            let expected = self.variables[&name].clone();
            let shows = match name.starts_with('c') {
                true => format!("{name}(1)"),
                false => name.clone(),
            };
            let found = self.value(&shows);
            assert_eq!(found, expected, "cell {}: {name}", self.cells);
        }
    }

    fn step(&mut self) {
        let (n, index) = (self.number(), self.random.below(8));
        match self.random.below(14) {
            0 => {
                self.text(&format!("let mut v{index} = {n}u32;"));
                self.variables.insert(format!("v{index}"), n.to_string());
            }
            1 => {
                let name = format!("v{index}");
                if let Some(old) = self.variables.get(&name).cloned() {
                    let new = old.parse::<u32>().expect("a number") + n;
                    assert_eq!(
                        self.value(&format!("v{index} += {n};\nv{index}")),
                        new.to_string()
                    );
                    self.variables.insert(name, new.to_string());
                }
            }
            2 => {
                self.text(&format!("let c{index} = move |x: u32| x + {n};"));
                self.variables
                    .insert(format!("c{index}"), (n + 1).to_string());
            }
            3 => {
                let borrowed = format!(
                    "let list = vec![{n}u32];\nlet first = &list;\nlet twice = |x: u32| x + first[0];\ntwice(1)"
                );
                assert_eq!(self.value(&borrowed), (n + 1).to_string());
            }
            4 => {
                let field = ["u32", "u64", "i64"][self.random.below(3)];
                let said = self.text(&format!(
                    "#[derive(Debug)]\nstruct T{index} {{ x: {field}, y: [u8; {}] }}",
                    1 + n % 3
                ));
                let lost: Vec<String> = self
                    .of_types
                    .iter()
                    .filter(|(_, it)| **it == index)
                    .map(|(name, _)| name.clone())
                    .collect();
                // The same definition again changes nothing.
                let (lost, _): (Vec<_>, Vec<_>) =
                    lost.into_iter().partition(|name| mentions(&said, name));
                self.lose(&lost, &said);
                self.items.insert(format!("T{index}"), 1 + n % 3);
            }
            5 => {
                if let Some(count) = self.items.get(&format!("T{index}")).copied() {
                    self.text(&format!(
                        "let t{index} = T{index} {{ x: {n}, y: [0; {count}] }};"
                    ));
                    let shown = format!(
                        "T{index} {{ x: {n}, y: [{}] }}",
                        vec!["0"; count as usize].join(", ")
                    );
                    self.variables.insert(format!("t{index}"), shown);
                    self.of_types.insert(format!("t{index}"), index);
                }
            }
            6 => {
                self.text(&format!("fn f{index}() -> u32 {{ {n} }}"));
                assert_eq!(self.value(&format!("f{index}()")), n.to_string());
            }
            7 => {
                // The macro, and what a call of it makes.
                self.text(&format!("macro_rules! make{index} {{ ($name:ident) => {{ fn $name() -> u32 {{ {n} }} }} }}\nmake{index}!(made{index});"));
                self.items.insert(format!("made{index}"), n);
            }
            8 => {
                if let Some(made) = self.items.get(&format!("made{index}")).copied() {
                    assert_eq!(self.value(&format!("made{index}()")), made.to_string());
                }
            }
            9 => {
                let attribute = [
                    "allow(warnings)",
                    "deny(warnings)",
                    "allow(unused)",
                    "forbid(unsafe_code)",
                ][self.random.below(4)];
                self.text(&format!("#![{attribute}]\nlet v{index} = {n}u32;"));
                self.variables.insert(format!("v{index}"), n.to_string());
                self.text(&format!("let mut v{index} = v{index};"));
            }
            10 => {
                let request = json!({ "code": "println!(\"begun\");\nloop { std::thread::sleep(std::time::Duration::from_millis(10)); }", "interrupt_at": "begun" });
                self.cells += 1;
                let ran = self.session.run_with(request, |_| {});
                let last = ran
                    .last()
                    .map(|it| it["message"].to_string())
                    .unwrap_or_default();
                assert!(last.contains("are kept"), "{ran:#?}");
            }
            11 => {
                let ran = self.run("let broken: u32 = \"text\";");
                assert_eq!(
                    ran.last().map(|it| it["event"].clone()),
                    Some(json!("error"))
                );
            }
            _ => self.add_package(),
        }
    }

    fn add_package(&mut self) {
        let index = self.random.below(PACKAGES.len());
        let (name, versions, value) = PACKAGES[index];
        let version = versions[self.random.below(versions.len())];
        self.text(&format!(":dep {name} = \"{version}\""));
        if !self.packages.contains(&index) {
            self.packages.push(index);
        }
        assert_eq!(self.value(value), "2", "{name} {version}");
        let other = self.packages[self.random.below(self.packages.len())];
        assert_eq!(self.value(PACKAGES[other].2), "2", "{}", PACKAGES[other].0);
    }
}

/// Returns whether a sentence names a variable.
fn mentions(said: &str, name: &str) -> bool {
    said.split(|c: char| !c.is_alphanumeric())
        .any(|word| word == name)
}

#[test]
#[ignore = "an hour: run by .ci/nightly"]
fn a_week_of_a_session_answers_every_cell() {
    let seed = std::env::var("FUZZ_SEED")
        .ok()
        .and_then(|it| it.parse().ok());
    let cells = std::env::var("WEEK_CELLS")
        .ok()
        .and_then(|it| it.parse().ok());
    let seed = seed.unwrap_or(1);
    println!("FUZZ_SEED={seed}");
    let mut week = Week {
        session: own_session(),
        random: Random::new(seed),
        variables: BTreeMap::new(),
        of_types: BTreeMap::new(),
        items: BTreeMap::new(),
        packages: Vec::new(),
        cells: 0,
    };
    while week.cells < cells.unwrap_or(500) {
        week.step();
        week.check();
    }
}
