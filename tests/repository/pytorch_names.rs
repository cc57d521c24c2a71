//! The page with all names of PyTorch, torchvision's transforms and torchmetrics: those that Taper has, those with another
//! name, and those that are out, with the reason. `names/pytorch.txt` has the names, `names/taper.txt` what Taper has.

use super::{from_pytorch::words, library, read, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = "book/src/pytorch-names.md";

/// What Taper has of a module's names.
#[derive(Default)]
struct Module<'a> {
    same: Vec<&'a str>,
    /// Names, and what takes their place.
    other: Vec<(Vec<&'a str>, &'a str)>,
    /// Why names are missing, and the names.
    out: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> Module<'a> {
    fn names(&self) -> impl Iterator<Item = &'a str> {
        let other = self.other.iter().flat_map(|(names, _)| names);
        let out = self.out.iter().flat_map(|(_, names)| names);
        self.same.iter().chain(other).chain(out).copied()
    }

    fn add(&mut self, line: &'a str) {
        if let Some(names) = line.strip_prefix("same: ") {
            self.same.extend(names.split(' '));
        } else if let Some((why, names)) =
            { line.strip_prefix("out, ") }.and_then(|rest| rest.split_once(": "))
        {
            self.out.push((why, names.split(' ').collect()));
        } else {
            let (names, place) = line.split_once(" = ").expect(line);
            self.other.push((names.split(", ").collect(), place));
        }
    }
}

fn modules(text: &str) -> BTreeMap<&str, Module<'_>> {
    let mut modules: BTreeMap<&str, Module<'_>> = BTreeMap::new();
    let mut current = "";
    let lines = text.lines().filter(|line| !line.is_empty());
    for line in lines.filter(|line| !line.starts_with('#')) {
        match { line.strip_prefix('[') }.and_then(|rest| rest.strip_suffix(']')) {
            Some(name) => current = name,
            None => modules.entry(current).or_default().add(line),
        }
    }
    modules
}

#[test]
fn the_names_of_pytorch_are_all_in_the_page() {
    let text = read("tests/repository/names/taper.txt");
    let modules = modules(&text);
    let mut words = BTreeSet::new();
    for folder in library() {
        add_words(&folder, &mut words);
    }
    let mut page = "# All names of PyTorch\n\n\
        The public functions of `torch`, and the classes of `torch.nn`, `torch.optim`, torchvision's transforms and torchmetrics:\n\
        which Taper has, what takes the place of others, and which are out. [The other tables](from-pytorch.md) have more of\n\
        each. `tests/repository` writes this page.\n\n\
        | module | names | the same | something else | out |\n|:--|--:|--:|--:|--:|\n"
        .to_owned();
    let mut lists = String::new();
    let all = read("tests/repository/names/pytorch.txt");
    for line in all.lines() {
        let (name, expected) = line.split_once(": ").expect("a module and its names");
        let module = &modules[name];
        let mut found: Vec<&str> = module.names().collect();
        found.sort_unstable();
        let mut expected: Vec<&str> = expected.split(' ').collect();
        expected.sort_unstable();
        let missing: Vec<_> = expected.iter().filter(|it| !found.contains(it)).collect();
        let more: Vec<_> = found.iter().filter(|it| !expected.contains(it)).collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "{name}: without {missing:?}, with {more:?}"
        );
        assert_eq!(found.len(), expected.len(), "{name}: a name stands twice");
        check_names(name, module, &words);
        write_row(&mut page, name, module);
        write_list(&mut lists, name, module);
    }
    page += &lists;
    if std::env::var_os("TAPER_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(root().join(PAGE), &page).unwrap();
    }
    assert!(
        read(PAGE) == page,
        "{PAGE} is not current: run with TAPER_UPDATE_SNAPSHOTS=1"
    );
}

/// Adds all words of the sources in a folder.
fn add_words(folder: &Path, all: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("sources").flatten() {
        match std::fs::read_to_string(entry.path()) {
            Ok(text) => all.extend(words(&text)),
            Err(_) if entry.path().is_dir() => add_words(&entry.path(), all),
            Err(_) => {}
        }
    }
}

/// Checks that Taper's source has the names.
fn check_names(name: &str, module: &Module<'_>, words: &BTreeSet<String>) {
    let spans = module
        .other
        .iter()
        .flat_map(|(_, place)| place.split('`').skip(1).step_by(2));
    let parts = spans.flat_map(|span| span.split("::"));
    let is_name = |part: &&str| part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let unknown: Vec<&str> = { module.same.iter().copied() }
        .chain(parts.filter(is_name))
        .filter(|part| !words.contains(*part))
        .collect();
    assert!(
        unknown.is_empty(),
        "{name}: Taper does not have {unknown:?}"
    );
}

fn write_row(page: &mut String, name: &str, module: &Module<'_>) {
    let other: usize = module.other.iter().map(|(names, _)| names.len()).sum();
    let out: usize = module.out.iter().map(|(_, names)| names.len()).sum();
    let same = module.same.len();
    writeln!(
        page,
        "| `{name}` | {} | {same} | {other} | {out} |",
        same + other + out
    )
    .unwrap();
}

fn write_list(page: &mut String, name: &str, module: &Module<'_>) {
    let code = |names: &[&str]| {
        let spans: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        spans.join(", ")
    };
    writeln!(page, "\n## {name}\n").unwrap();
    if !module.same.is_empty() {
        writeln!(page, "The same: {}.\n", code(&module.same)).unwrap();
    }
    writeln!(page, "| PyTorch | Taper |\n|:--|:--|").unwrap();
    for (names, place) in &module.other {
        writeln!(page, "| {} | {place} |", code(names)).unwrap();
    }
    for (why, names) in &module.out {
        writeln!(page, "| {} | – ({why}) |", code(names)).unwrap();
    }
}
