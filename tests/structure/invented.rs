//! Tests of the checks, on small invented crates that must pass or fail.

use crate::graph::{self, Arrows};
use crate::resolve;
use crate::sources::Sources;
use std::path::Path;

fn arrows(files: &[(&str, &str)]) -> Arrows {
    let read = |path: &Path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned())
    };
    resolve::arrows(&Sources::read("lib.rs", &read))
}

/// Writes the arrows as `from -> to: names`.
fn listed(files: &[(&str, &str)]) -> Vec<String> {
    arrows(files)
        .into_iter()
        .map(|((from, to), names)| {
            let names: Vec<String> = names.into_iter().collect();
            format!("{from} -> {to}: {}", names.join(", "))
        })
        .collect()
}

#[test]
fn an_import_points_through_a_facade_to_the_file_that_defines_the_item() {
    let files = [
        ("lib.rs", "mod nn; mod train;"),
        (
            "nn/mod.rs",
            "mod linear; pub use linear::Linear as Dense; pub use self::linear::*;",
        ),
        ("nn/linear.rs", "pub struct Linear; pub fn init() {}"),
        (
            "train.rs",
            "use crate::nn::{self, Dense}; fn f() -> Dense { nn::init() }",
        ),
    ];
    assert_eq!(listed(&files), ["train.rs -> nn/linear.rs: Linear, init"]);
}

#[test]
fn siblings_that_use_each_other_through_their_facade_are_a_cycle() {
    let files = [
        ("lib.rs", "mod nn;"),
        ("nn.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
        ("nn/a.rs", "use super::B; pub struct A(B);"),
        (
            "nn/b.rs",
            "pub struct B; impl B { fn a(self) -> crate::nn::A { A(self) } }",
        ),
    ];
    let found = graph::describe_cycles("invented", "files", &arrows(&files));
    assert_eq!(
        found,
        "invented: 2 files use each other:\n  nn/a.rs -> nn/b.rs: B\n  nn/b.rs -> nn/a.rs: A\n"
    );
    let rooms = graph::rooms(&arrows(&files));
    assert!(
        graph::cycles(&rooms).is_empty(),
        "a single room has no cycle"
    );
}

#[test]
fn a_facade_that_uses_what_it_exports_is_in_the_cycle() {
    let files = [
        ("lib.rs", "mod nn;"),
        (
            "nn.rs",
            "mod a; pub use a::A; pub struct Shared; fn f() -> A { A }",
        ),
        ("nn/a.rs", "use super::Shared; pub struct A(Shared);"),
    ];
    assert_eq!(graph::cycles(&arrows(&files)).len(), 1);
}

#[test]
fn groups_and_inner_modules_are_followed() {
    let files = [
        ("lib.rs", "mod a { pub mod deep; } mod b;"),
        (
            "a/deep.rs",
            "mod inner { use super::super::super::b::{one::{One, two as second}, Three}; \
             fn f(_: One, _: Three) { second() } }",
        ),
        (
            "b.rs",
            "pub mod one { pub struct One; pub fn two() {} } pub use self::one::One as Three;",
        ),
    ];
    assert_eq!(listed(&files), ["a/deep.rs -> b.rs: One, two"]);
}

#[test]
fn globs_point_to_the_items_that_are_used() {
    let files = [
        ("lib.rs", "mod prelude; mod a; mod b; mod c;"),
        ("prelude.rs", "pub use crate::a::*; pub use crate::b::B;"),
        (
            "a.rs",
            "use std::fmt::Result; pub enum A { X } fn f() -> Result { Ok(()) }",
        ),
        ("b.rs", "pub struct B;"),
        ("c.rs", "use crate::prelude::*; fn f() -> Result { A::X }"),
    ];
    assert_eq!(listed(&files), ["c.rs -> a.rs: A"]);
}

#[test]
fn uses_in_tests_are_left_out() {
    let files = [
        (
            "lib.rs",
            "mod a; mod b; #[cfg(all(test, unix))] mod helper;",
        ),
        (
            "a.rs",
            "pub struct A; #[cfg(test)] use crate::b::B; #[cfg(test)] mod tests { use crate::b::B; } \
             impl A { #[cfg(test)] fn f() { crate::b::B; } } #[test] fn t() { crate::b::B; }",
        ),
        (
            "b.rs",
            "use crate::a::A; pub struct B(A); #[cfg(not(test))] fn f() { A; }",
        ),
    ];
    assert_eq!(listed(&files), ["b.rs -> a.rs: A"]);
}

#[test]
fn traits_are_imported_for_their_methods() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub trait Layer {} pub struct A;"),
        (
            "b.rs",
            "use crate::a::Layer as _; fn f(x: X) { x.forward() }",
        ),
    ];
    assert_eq!(listed(&files), ["b.rs -> a.rs: Layer"]);
}

#[test]
fn a_module_and_a_function_may_share_a_name() {
    let files = [
        (
            "lib.rs",
            "mod progress; mod a; mod b; pub use progress::{Progress, progress};",
        ),
        (
            "progress/mod.rs",
            "pub struct Progress; pub fn progress() {}",
        ),
        (
            "a.rs",
            "use crate::progress; fn f(progress: u8) { progress::Progress; }",
        ),
        ("b.rs", "fn f() { crate::progress() }"),
    ];
    assert_eq!(
        listed(&files),
        [
            "a.rs -> progress/mod.rs: Progress",
            "b.rs -> progress/mod.rs: progress"
        ]
    );
}

#[test]
fn macros_are_read() {
    let files = [
        (
            "lib.rs",
            "extern crate self as own; mod a; mod b; mod c; mod d;",
        ),
        (
            "a.rs",
            "macro_rules! layer { ($n:ident) => { pub struct $n; } } pub(crate) use layer; \
             #[macro_export] macro_rules! seq { () => { $crate::c::C } }",
        ),
        ("b.rs", "use crate::a::layer; layer!(Generated);"),
        (
            "c.rs",
            "pub struct C; fn f() { println!(\"{}\", crate::b::Generated.C); }",
        ),
        ("d.rs", "fn f() { own::seq!(); vec![layer!(X)]; }"),
    ];
    assert_eq!(
        listed(&files),
        [
            "a.rs -> c.rs: C",
            "b.rs -> a.rs: layer",
            "c.rs -> b.rs: Generated",
            "d.rs -> a.rs: layer, seq"
        ]
    );
}

#[test]
fn cyclic_re_exports_terminate() {
    let files = [
        ("lib.rs", "pub mod a; pub mod b; mod c;"),
        ("a.rs", "pub use crate::b::*; pub struct A;"),
        (
            "b.rs",
            "pub use crate::a::*; pub use super::b::B as C; pub struct B;",
        ),
        ("c.rs", "use crate::a::*; fn f(_: C, _: A, _: Missing) {}"),
    ];
    assert_eq!(listed(&files), ["c.rs -> a.rs: A", "c.rs -> b.rs: B"]);
}

#[test]
fn a_room_contains_its_folder_and_its_facade() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub mod x; mod y;"),
        ("a/x.rs", "pub struct X;"),
        ("a/y.rs", "use crate::b::B; fn f(_: B) {}"),
        ("b.rs", "use crate::a::x::X; pub struct B(X);"),
    ];
    let files = arrows(&files);
    assert!(graph::cycles(&files).is_empty());
    let rooms = graph::rooms(&files);
    assert_eq!(
        graph::describe_cycles("invented", "rooms", &rooms),
        "invented: 2 rooms use each other:\n  a -> b: B (a/y.rs -> b.rs)\n  b -> a: X (b.rs -> a/x.rs)\n"
    );
    assert_eq!(
        graph::upward(&[&["a", "b"]], &rooms),
        "  a -> b: B (a/y.rs -> b.rs)\n"
    );
    assert_eq!(graph::upward(&[&["a", "c"], &["c", "b"]], &rooms), "");
}

#[test]
fn upward_dependencies_of_crates_are_reported() {
    let mut packages: Vec<(&str, Vec<&str>)> = crate::CRATES
        .iter()
        .map(|(name, below)| (*name, below.to_vec()))
        .collect();
    assert!(crate::wrong_crates(&packages).is_empty());

    packages[0].1.extend(["taper-host", "serde"]);
    assert!(crate::wrong_crates(&packages).is_empty());

    packages[1].1.push("taper-session");
    packages[7].1.push("taper");
    packages.retain(|(name, _)| *name != "taper-macros");
    packages.push(("taper-extra", vec![]));
    assert_eq!(
        crate::wrong_crates(&packages),
        [
            "  taper-macros: no such package in the workspace",
            "  taper-book -> taper-session: taper-session is not below taper-book",
            "  taper-host -> taper: taper is not below taper-host",
            "  taper-extra: not in the list: add it with its dependencies"
        ]
    );
}
