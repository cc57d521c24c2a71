use super::*;
use crate::cell::{Macros, parse};
use crate::file::file_of_cell;

/// Evaluates the items of cells one after the other. Returns the items, and what changed with the last cell.
fn after(cells: &[&str]) -> (Items, HashSet<String>) {
    let (mut items, mut changed) = (Items::default(), HashSet::new());
    for (number, source) in (1..).zip(cells) {
        let cell = parse(source, &Macros::NONE).expect("it is valid");
        (items, changed) = items.with(number, source, &cell);
        items.set_loaded();
    }
    (items, changed)
}

fn text(items: &Items) -> String {
    let files = items.files(99, &[], &[]).into_iter();
    files
        .map(|file| file.text.trim().to_owned() + "\n")
        .collect()
}

#[test]
fn macros_are_before_all_other_items() {
    let (items, _) = after(&["fn a() {}", "macro_rules! m { () => {}; }\nfn b() {}"]);
    assert_eq!(
        text(&items),
        "macro_rules! m { () => {}; }\nfn a() {}\nfn b() {}\n"
    );
}

#[test]
fn a_method_replaces_the_one_of_an_earlier_cell() {
    let (items, _) = after(&[
        "impl Op { fn one() {} fn two() {} }",
        "impl Op { fn two() { 2; } }",
        "impl Show for Op {}",
        "impl crate::Show for Op { }",
    ]);
    let left = "impl Op { fn one() {}             }\nimpl Op { fn two() { 2; } }\nimpl crate::Show for Op { }\n";
    assert_eq!(text(&items), left);
}

#[test]
fn a_static_belongs_to_the_cell_that_defines_it() {
    let (items, _) = after(&["static HITS: u8 = 1;\nfn hit() {}", "1"]);
    let cell = file_of_cell("static HITS: u8 = 1;\nfn hit() {}").replace('-', "_");
    let imported = format!(
        "unsafe extern \"C\" {{ #[link_name = \"taper_static_1_{cell}_0_0_HITS\"]  safe static HITS: u8; }}"
    );
    assert_eq!(text(&items), format!("{imported}\nfn hit() {{}}\n"));
    assert!(!items.defines_statics());
}

#[test]
fn types_that_contain_a_changed_type_change_too() {
    let first = "struct P { x: i32 }\nstruct Q(Vec<P>);\nstruct R;\nfn f() -> P { P { x: 1 } }";
    let (_, changed) = after(&[first, "#[derive(Debug)] struct P { x: i32 }"]);
    assert!(changed.is_empty(), "{changed:?}");
    let (_, changed) = after(&[first, "struct P { x: i64 }"]);
    let expected = ["P", "Q", types::ERASED].map(str::to_owned);
    assert_eq!(changed, HashSet::from(expected));
    let (_, changed) = after(&[first, "struct New { p: P }"]);
    assert_eq!(changed, HashSet::from(["New".to_owned()]));
}

#[test]
fn the_work_of_a_cell_is_that_of_the_items_it_reaches() {
    let (items, _) = after(&[
        "fn sum(n: u64) -> u64 { let mut s = 0; let mut i = 0; while i < n { s += i; i += 1; } s }",
        "fn twice(n: u64) -> u64 { 2 * sum(n) }\nstruct Net;\nimpl Net { fn go(&self) { g(|| 1) } }",
    ]);
    let work = |name: &str| items.work(Work::Little, HashSet::from([name.to_owned()]));
    assert_eq!(work("twice"), Work::TightLoops);
    assert_eq!(work("Net"), Work::OneLoop);
    assert_eq!(work("other"), Work::Little);
    let in_a_loop = items.work(Work::OneLoop, HashSet::from(["Net".to_owned()]));
    assert_eq!(in_a_loop, Work::Loops);
}

#[test]
fn an_import_replaces_one_of_the_same_name() {
    let (items, _) = after(&["use a::{B, C};", "use d::B;", "struct C;"]);
    let imports = items.imports(&Parsed::default());
    assert_eq!(imports, "use d::B;\n");
}
