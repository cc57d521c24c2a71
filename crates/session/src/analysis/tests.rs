use super::*;
use taper_engine::{Surroundings, Variable};

/// Analyses cells without any package, after the items and variables of earlier cells.
struct Cells {
    server: Server,
    items: &'static str,
    variables: &'static [(&'static str, &'static str)],
}

impl Cells {
    fn after(items: &'static str, variables: &'static [(&'static str, &'static str)]) -> Cells {
        Cells {
            server: start(&|| Some(Packages::default())).expect("rust-analyzer is installed"),
            items,
            variables,
        }
    }

    fn source(&self, cell: &str) -> Source {
        let variable = |(name, kind): &(&str, &str)| Variable {
            name: (*name).to_owned(),
            kind: (*kind).to_owned(),
            is_mutable: false,
            cell: 1,
            is_frozen: false,
            borrowers: Default::default(),
        };
        Source::new(cell, |_| Surroundings {
            items: self.items.to_owned(),
            variables: self.variables.iter().map(variable).collect(),
        })
    }

    /// Completes at the `|` of a cell. Returns what is replaced, and the proposals.
    fn complete(&mut self, cell: &str) -> (String, Vec<String>) {
        let (cell, cursor) = without_cursor(cell);
        let source = self.source(&cell);
        let found = completion::at(&mut self.server, &source, cursor).expect("it answers");
        let items = found.items.into_iter();
        let texts =
            items.map(|item| format!("{} | {} | {}", item.text, item.label, item.documentation));
        (cell[found.start..found.end].to_owned(), texts.collect())
    }

    fn hover(&mut self, cell: &str) -> Option<String> {
        let (cell, cursor) = without_cursor(cell);
        let source = self.source(&cell);
        hover::at(&mut self.server, &source, cursor).expect("it answers")
    }
}

fn without_cursor(cell: &str) -> (String, usize) {
    let cursor = cell.find('|').expect("a cursor");
    (cell.replacen('|', "", 1), cursor)
}

const KETTLE: &str = "/// Boils.\nstruct Kettle { litres: f64, own: fn() }\nimpl Kettle {\n/// Adds *water*.\nfn fill(&self, litres: f64) -> Kettle { loop {} }\nfn empty(self) {}\n}";

#[test]
fn a_position_of_a_cell_is_found_in_both_copies() {
    let cells = Cells::after("struct A;", &[("a", "A")]);
    let cell = "let é = 1;\nstruct B { é: A }\né + 2";
    let source = cells.source(cell);
    for cursor in [0, 13, 31] {
        let at = source.offset(cursor);
        assert_eq!(source.in_cell(at + 3, cursor), cursor + 3);
        assert!(source.text[at..].starts_with(&cell[cursor..cursor + 4]));
    }
    assert_eq!(source.text.matches("struct B { é: A }").count(), 1);
    assert_eq!(source.text.matches("é + 2").count(), 1);
    assert!(source.text.contains("let a: A;"));
}

#[test]
fn items_of_a_cell_that_is_being_written_are_found() {
    let items = |cell: &str| -> Vec<String> {
        let mut only = String::new();
        let _ = Source::new(cell, |items| {
            only = items.to_owned();
            Surroundings::default()
        });
        only.split_whitespace().map(ToOwned::to_owned).collect()
    };
    assert_eq!(items("fn f() {}\nlet a = b."), ["fn", "f()", "{}"]);
    assert_eq!(items("a.b\nstruct A;"), ["struct", "A;"]);
    assert_eq!(items("struct A { x: "), ["struct", "A", "{", "x:"]);
    assert!(items("let a = ;}").is_empty());
    assert!(items("println!(").is_empty());
}

#[test]
fn variables_items_and_fields_are_completed() {
    let mut cells = Cells::after(KETTLE, &[("kettle", "Kettle"), ("kette", "()")]);
    let litres = "litres | litres | ".to_owned();
    assert_eq!(
        cells.complete("kettle.li|"),
        ("li".to_owned(), vec![litres])
    );
    let (replaced, found) = cells.complete("/* 🕯 */ let x = kett|; x");
    assert_eq!(replaced, "kett");
    assert_eq!(found, ["kette | kette | ", "kettle | kettle | "]);
    let fill = "fill( | fill(&self, litres: f64) -> Kettle | Adds *water*.";
    assert_eq!(cells.complete("漢; kettle.fi|").1, [fill]);
    assert_eq!(cells.complete("kettle.em|").1, ["empty() | empty(self) | "]);
    assert_eq!(cells.complete("kettle.ow|").1, ["own | own | "]);
    assert_eq!(cells.complete("no_such_na|").1, [""; 0]);
    assert!(cells.complete("taper_ce|").1.is_empty());
}

#[test]
fn a_cell_that_is_not_valid_is_completed() {
    let mut cells = Cells::after(KETTLE, &[("kettle", "Kettle")]);
    for cell in [
        "fn f() { kettle.\nlet a = Kettle { litres: 1.0, }; a.lit|",
        "let b = kettle.lit|\nprintln!(\"{}\", b",
        "while kettle.litres > 1.0 { kettle.lit|",
        "struct P { x: f64 }\nimpl P { fn f(&self) -> Kettle { loop {} } }\nlet p: P; p.f().lit|",
        "fn g(k: Kettle) -> f64 { k.lit| }",
    ] {
        let found = cells.complete(cell).1;
        assert!(
            found.iter().any(|it| it.starts_with("litres")),
            "{cell}: {found:?}"
        );
    }
}

#[test]
fn what_a_name_means_is_said() {
    let mut cells = Cells::after(KETTLE, &[("kettle", "Kettle")]);
    let fill = "```rust\nfn fill(&self, litres: f64) -> Kettle\n```\n\nAdds *water*.";
    let mut hover = |cell: &str| cells.hover(cell).unwrap_or_default();
    assert_eq!(hover("let é = kettle.fi|ll(1.0);"), fill);
    let fields = "struct Kettle {\n    litres: f64,\n    own: fn(),\n}\n```\n\nBoils.";
    for (cell, expected) in [
        ("kettle|", "let kettle: Kettle\n"),
        ("let k: Kettle| = kettle;", fields),
        ("let new = kettle.litres; new|", "let new: f64\n"),
        ("\"te|a\"", "&'static str\n"),
    ] {
        let said = hover(cell);
        assert!(
            said.starts_with(&format!("```rust\n{expected}")),
            "{cell}: {said}"
        );
    }
    assert_eq!(hover("no_such_name|"), "");
}

#[test]
fn the_library_of_rust_is_known() {
    let packages = || {
        let mut packages = Packages::default();
        packages.add_library(&taper_host::components::library_source().expect("its source"));
        Some(packages)
    };
    let mut cells = Cells::after(
        "use std::collections::BTreeMap;\nuse std::path::Path;",
        &[("words", "Vec<String>")],
    );
    cells.server = start(&packages).expect("rust-analyzer is installed");
    let (_, found) = cells.complete("words.is_em|");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("is_empty() | is_empty(&self) -> bool | Returns "));
    for (cell, expected) in [
        (
            "for word in words { word.to_upper|",
            "to_uppercase() | to_uppercase(&self) -> String",
        ),
        (
            "let x = 3_u8.rotate_l|",
            "rotate_left( | rotate_left(self, n: u32) -> Self",
        ),
        ("\"a\".chars().re|", "rev() | rev(self) -> Rev"),
    ] {
        let (_, found) = cells.complete(cell);
        assert!(
            found.iter().any(|it| it.starts_with(expected)),
            "{cell}: {found:?}"
        );
    }
    let said = cells.hover("BTreeMap::<u8, u8>::new().ins|ert(1, 2);");
    let said = said.expect("it is known");
    assert!(
        said.starts_with("```rust\nBTreeMap\n```\n\n```rust\n"),
        "{said}"
    );
    assert!(said.contains("pub fn insert(&mut self, key: K, value: V)"));
    assert!(said.contains("Inserts a key-value pair into the map."));
    let path = cells.hover("let x: &Pa|th = y;").expect("it is known");
    assert!(path.contains("pub struct Path { /* … */ }"), "{path}");
    let keyword = cells.hover("le|t x = 1;").expect("it is known");
    assert!(keyword.contains("\n\nBind a value to a variable.\n\nThe primary use"));
    assert!(!keyword.contains("Loop indefinitely"));
}

#[test]
fn a_killed_process_is_started_again_and_without_packages_there_is_none() {
    let cells = Cells::after(KETTLE, &[("kettle", "Kettle")]);
    let analysis = Analysis::with(|| Some(Packages::default()), FORGETS_AFTER);
    let kill = |server: &mut Server| -> Option<()> {
        server.kill();
        server.ask("textDocument/hover", "", 0).map(drop)
    };
    assert_eq!(analysis.ask(PATIENCE, kill), None);
    let complete = || analysis.complete(cells.source("kettle.lit"), 10);
    let found = std::iter::repeat_with(complete).find_map(|found| found);
    let found = found.expect("it is started again");
    assert_eq!((found.start, found.end, found.items.len()), (7, 10, 1));
    let nothing = Analysis::with(|| None, FORGETS_AFTER);
    assert_eq!(nothing.complete(cells.source("kettle."), 7), None);
}

#[test]
fn the_process_ends_when_its_input_is_closed() {
    let mut server = start(&|| Some(Packages::default())).expect("rust-analyzer is installed");
    assert!(server.ends_without_input());
}

#[test]
fn the_tensor_of_the_first_completions_is_made_by_a_function_of_the_library() {
    let functions = include_str!("../../../../crates/tensor/src/tensor/create.rs");
    let (function, _) = FIRST[2].split_once('(').expect("a call");
    assert!(functions.contains(&format!("pub fn {function}(")));
}

#[test]
fn completions_do_not_wait_for_the_sources() {
    let cells = Cells::after(KETTLE, &[("kettle", "Kettle")]);
    let (load, wait) = unbounded::<()>();
    let packages = move || {
        let _ = wait.recv();
        Some(Packages::default())
    };
    let analysis = Analysis::with(packages, FORGETS_AFTER);
    let complete = || analysis.complete(cells.source("kettle.lit"), 10);
    assert_eq!(complete(), None);
    drop(load);
    let found = std::iter::repeat_with(complete).find_map(|found| found);
    assert_eq!(found.expect("it is loaded").items.len(), 1);
}

#[test]
fn an_idle_kernel_forgets_and_the_next_cell_loads_again() {
    let (sender, loads) = unbounded();
    let packages = move || {
        let _ = sender.send(());
        Some(Packages::default())
    };
    let analysis = Analysis::with(packages, QUIET);
    loads.recv().expect("they are loaded once it is quiet");
    let all_prepared = QUIET * (4 + FIRST.len() as u32);
    assert!(
        loads.recv_timeout(2 * all_prepared).is_err(),
        "no cell comes"
    );
    while loads.recv_timeout(2 * all_prepared).is_err() {
        analysis.note_cell();
    }
    let cells = Cells::after(KETTLE, &[("kettle", "Kettle")]);
    let complete = || analysis.complete(cells.source("kettle.lit"), 10);
    let found = std::iter::repeat_with(complete).find_map(|found| found);
    assert_eq!(found.expect("it is started").items.len(), 1);
}
