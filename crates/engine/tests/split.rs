//! Correct Rust that is split into cells at any place: each of these works as one program, and must work as cells.

use crate::common::Cells;

/// Cells, separated by `#%%`, and what the last one shows. All run in one session, one after the other.
const CASES: [(&str, &str); 64] = [
    // Functions, types and implementations in any order.
    (
        "fn a01() -> i32 { b01() }\nfn b01() -> i32 { 1 }\n#%%\na01()",
        "= 1",
    ),
    (
        "struct S02;\n#%%\nimpl S02 { fn two(&self) -> i32 { 2 } }\n#%%\nS02.two()",
        "= 2",
    ),
    (
        "trait T03 { fn name(&self) -> String { \"default\".into() } }\n#%%\nstruct S03;\n#%%\nimpl T03 for S03 {}\n#%%\nS03.name()",
        "= \"default\"",
    ),
    (
        "trait T04 { const N: i32; }\nimpl T04 for i32 { const N: i32 = 4; }\n#%%\n<i32 as T04>::N",
        "= 4",
    ),
    (
        "impl std::str::FromStr for S05 { type Err = (); fn from_str(s: &str) -> Result<S05, ()> { Ok(S05(s.len())) } }\nstruct S05(usize);\n#%%\n\"abc\".parse::<S05>().unwrap().0",
        "= 3",
    ),
    (
        "#[derive(Debug, Clone, PartialEq, Default)]\nstruct S06 { x: i32, y: Vec<u8> }\n#%%\nlet s06 = S06 { x: 6, ..Default::default() };\n#%%\ns06.clone() == s06",
        "= true",
    ),
    (
        "enum E07 { A, B(i32), C { x: i32 } }\n#%%\nuse E07::*;\n#%%\nlet e07 = [A, B(7), C { x: 1 }];\n#%%\nmatch &e07[1] { A => 0, B(n) => *n, C { x } => *x }",
        "= 7",
    ),
    (
        "struct S08<T, const N: usize>([T; N]);\nimpl<T: Copy, const N: usize> S08<T, N> { fn last(&self) -> T { self.0[N - 1] } }\n#%%\nlet s08 = S08([1, 8]);\n#%%\ns08.last()",
        "= 8",
    ),
    (
        "mod m09 { pub mod inner { pub fn nine() -> i32 { super::helper() } } fn helper() -> i32 { 9 } }\n#%%\nuse m09::inner;\n#%%\ninner::nine()",
        "= 9",
    ),
    (
        "mod m10 { use super::*; pub fn ten() -> i32 { outer10() } }\nfn outer10() -> i32 { 10 }\n#%%\nm10::ten()",
        "= 10",
    ),
    (
        "impl<T> Twice11 for Vec<T> { fn twice(&self) -> usize { self.len() * 2 } }\ntrait Twice11 { fn twice(&self) -> usize; }\n#%%\nvec![1].twice()",
        "= 2",
    ),
    (
        "type Row12 = Vec<(String, i32)>;\n#%%\nlet row12: Row12 = vec![(\"a\".into(), 12)];\n#%%\nrow12[0].1",
        "= 12",
    ),
    (
        "type Outcome13<T> = Result<T, String>;\nfn f13() -> Outcome13<i32> { Ok(13) }\n#%%\nf13().unwrap()",
        "= 13",
    ),
    (
        "const N14: usize = 3;\nstatic TABLE14: [i32; N14] = [1, 4, 14];\n#%%\nTABLE14[N14 - 1]",
        "= 14",
    ),
    (
        "const fn square15(n: usize) -> usize { n * n }\n#%%\nlet a15 = [0u8; square15(4)];\n#%%\na15.len()",
        "= 16",
    ),
    (
        "union U16 { int: u32, float: f32 }\n#%%\nlet u16_ = U16 { float: 1.0 };\n#%%\nunsafe { u16_.int }",
        "= 1065353216",
    ),
    // Macros.
    (
        "macro_rules! max17 { ($x:expr) => { $x }; ($x:expr, $($rest:expr),+) => {{ let a = $x; let b = max17!($($rest),+); if a > b { a } else { b } }}; }\n#%%\nmax17!(3, 17, 5)",
        "= 17",
    ),
    (
        "macro_rules! make18 { ($name:ident { $($field:ident: $kind:ty),* }) => { #[derive(Debug)] struct $name { $($field: $kind),* } }; }\n#%%\nmake18!(P18 { x: i32 });\n#%%\nP18 { x: 18 }",
        "= P18 { x: 18 }",
    ),
    (
        "fn uses19() -> i32 { later19!() }\nmacro_rules! later19 { () => { 19 }; }\n#%%\nuses19()",
        "= 19",
    ),
    (
        "macro_rules! twice20 { ($body:block) => { $body $body }; }\n#%%\nlet mut n20 = 0;\n#%%\ntwice20!({ n20 += 10; });\n#%%\nn20",
        "= 20",
    ),
    (
        "macro_rules! var21 { ($name:ident) => { let $name = 1; let _ = $name; }; }\n#%%\nvar21!(hidden);\nassert!(matches!(Some(1), Some(n) if n > 0));",
        "",
    ),
    // Variables and patterns.
    (
        "let x22;\nif true { x22 = 22 } else { x22 = 0 }\n#%%\nx22",
        "= 22",
    ),
    (
        "let (a23, [b23, .., c23]) = (1, [2, 3, 4]);\n#%%\na23 + b23 + c23",
        "= 7",
    ),
    (
        "let Some(x24) = Some(24) else { panic!() };\n#%%\nx24",
        "= 24",
    ),
    (
        "struct P25 { x: i32, y: i32 }\nlet P25 { x: x25, .. } = P25 { x: 25, y: 0 };\n#%%\nx25",
        "= 25",
    ),
    (
        "let x26 = 1;\n#%%\nlet x26 = x26 + 1;\n#%%\nlet x26 = format!(\"{x26}6\");\n#%%\nx26",
        "= \"26\"",
    ),
    (
        "let mut v27 = vec![3, 1, 2];\n#%%\nv27.sort(); v27.dedup();\n#%%\nlet total27: i32 = v27.iter().sum();\n#%%\n(v27.len(), total27)",
        "= (3, 6)",
    ),
    (
        "let mut a28 = 1; let mut b28 = 2;\n#%%\nstd::mem::swap(&mut a28, &mut b28);\n#%%\n(a28, b28)",
        "= (2, 1)",
    ),
    (
        "let mut a29 = [1, 2];\n#%%\na29[0] += 28;\n#%%\na29",
        "= [29, 2]",
    ),
    (
        "let (mut a30, mut b30) = (1, 2);\n#%%\n(a30, b30) = (b30, a30 + 29);\n#%%\na30 + b30",
        "= 32",
    ),
    (
        "let s31 = String::from(\"a\");\n#%%\nlet t31 = s31 + \"b\";\n#%%\nt31",
        "= \"ab\"",
    ),
    (
        "let o32 = Some(String::from(\"x\"));\n#%%\nif let Some(ref text) = o32 { assert_eq!(text, \"x\"); }\n#%%\no32",
        "= Some(\"x\")",
    ),
    (
        "let mut stack33 = vec![1, 2, 3];\n#%%\nlet mut seen33 = vec![]; while let Some(top) = stack33.pop() { seen33.push(top) }\n#%%\nseen33",
        "= [3, 2, 1]",
    ),
    ("let r#type = 34;\n#%%\nr#type", "= 34"),
    ("let größe = 35; let 数 = 1;\n#%%\ngröße + 数", "= 36"),
    // Blocks, loops and labels.
    (
        "let x36 = 'outer: loop { for i in 0.. { if i == 36 { break 'outer i } } };\n#%%\nx36",
        "= 36",
    ),
    (
        "let x37 = 'a: { if true { break 'a 37 } 0 };\n#%%\nx37",
        "= 37",
    ),
    ("let x38 = { let inner = 19; inner * 2 };\n#%%\nx38", "= 38"),
    (
        "let x39 = if let (Some(a), Some(b)) = (Some(30), Some(9)) { a + b } else { 0 };\n#%%\nx39",
        "= 39",
    ),
    (
        "let x40 = match 40u8 { 0..=9 => \"small\", n if n % 2 == 0 => \"even\", _ => \"odd\" };\n#%%\nx40",
        "= \"even\"",
    ),
    // Closures, functions and iterators as values.
    ("let f41: fn(i32) -> i32 = |x| x + 1;\n#%%\nf41(40)", "= 41"),
    (
        "fn compose42<A, B, C>(f: impl Fn(A) -> B, g: impl Fn(B) -> C) -> impl Fn(A) -> C { move |x| g(f(x)) }\n#%%\ncompose42(|x: i32| x + 1, |x| x * 2)(20)",
        "= 42",
    ),
    (
        "let mut count43 = 0;\n#%%\n{ let mut add = |n: i32| count43 += n; add(40); add(3); }\n#%%\ncount43",
        "= 43",
    ),
    (
        "let mut fs44: Vec<Box<dyn FnMut() -> i32>> = vec![];\n#%%\nlet mut n = 43; fs44.push(Box::new(move || { n += 1; n }));\n#%%\nfs44[0]()",
        "= 44",
    ),
    (
        "let it45: Box<dyn Iterator<Item = u32>> = Box::new((1..).step_by(44));\n#%%\nlet mut it45 = it45.skip(1);\n#%%\nit45.next()",
        "= Some(45)",
    ),
    (
        "let (tx46, rx46) = std::sync::mpsc::channel::<i32>();\n#%%\nlet h46 = std::thread::spawn(move || tx46.send(46).unwrap());\n#%%\nh46.join().unwrap(); rx46.recv().unwrap()",
        "= 46",
    ),
    (
        "use std::sync::{Arc, Mutex};\nlet m47 = Arc::new(Mutex::new(0));\n#%%\nlet hs47: Vec<_> = (0..4).map(|_| { let m = m47.clone(); std::thread::spawn(move || *m.lock().unwrap() += 1) }).collect();\n#%%\nfor h in hs47 { h.join().unwrap() }\n#%%\nlet n47 = *m47.lock().unwrap(); n47",
        "= 4",
    ),
    (
        "let mut v48 = vec![1, 2];\n#%%\nstd::thread::scope(|s| { s.spawn(|| v48.push(48)); });\n#%%\nv48",
        "= [1, 2, 48]",
    ),
    // State that lives in items.
    (
        "use std::sync::atomic::{AtomicU32, Ordering::SeqCst};\nstatic N49: AtomicU32 = AtomicU32::new(48);\n#%%\nfn next49() -> u32 { N49.fetch_add(1, SeqCst) + 1 }\n#%%\nnext49()",
        "= 49",
    ),
    (
        "use std::cell::RefCell;\nthread_local! { static LOG50: RefCell<Vec<i32>> = RefCell::new(vec![]); }\n#%%\nfn log50(n: i32) { LOG50.with_borrow_mut(|log| log.push(n)) }\n#%%\nlog50(50); log50(1);\n#%%\nLOG50.with_borrow(|log| log.clone())",
        "= [50, 1]",
    ),
    (
        "static L51: std::sync::LazyLock<Vec<i32>> = std::sync::LazyLock::new(|| vec![51]);\n#%%\nL51[0]",
        "= 51",
    ),
    // Imports.
    (
        "use std::collections::{BTreeMap as Map52, *};\n#%%\nlet m52: Map52<i32, HashSet<i32>> = Map52::from([(52, HashSet::new())]);\n#%%\nm52.len()",
        "= 1",
    ),
    (
        "use std::fmt::Write as _;\n#%%\nlet mut s53 = String::new();\n#%%\nwrite!(s53, \"{}\", 53)?;\n#%%\ns53",
        "= \"53\"",
    ),
    (
        "use std::io::{self, Read};\n#%%\nlet mut s54 = String::new();\nio::Cursor::new(\"54\").read_to_string(&mut s54)?;\n#%%\ns54",
        "= \"54\"",
    ),
    (
        "struct Vec55(i32);\n#%%\nuse std::vec::Vec as Vec55;\n#%%\nlet v55: Vec55<i32> = vec![55];\n#%%\nv55[0]",
        "= 55",
    ),
    // Errors and futures.
    (
        "fn parse56(s: &str) -> std::result::Result<i32, std::num::ParseIntError> { s.parse() }\n#%%\nlet x56 = parse56(\"56\")?;\n#%%\nx56",
        "= 56",
    ),
    (
        "async fn f57() -> i32 { 57 }\n#%%\nlet x57 = async { f57().await }.await;\n#%%\nx57",
        "= 57",
    ),
    (
        "let r58 = std::panic::catch_unwind(|| { if true { panic!(\"58\") } 1 });\n#%%\nr58.is_err()",
        "= true",
    ),
    (
        "#[derive(Debug)] struct D59(&'static str);\nimpl Drop for D59 { fn drop(&mut self) { print!(\"dropped {} \", self.0) } }\n#%%\nlet d59 = D59(\"one\");\n#%%\nlet d59 = D59(\"two\");\n#%%\ndrop(d59);",
        "dropped two",
    ),
    // Operators, generics and dynamic dispatch.
    (
        "#[derive(Debug, Clone, Copy)] struct V60(i32);\nimpl std::ops::Add for V60 { type Output = V60; fn add(self, other: V60) -> V60 { V60(self.0 + other.0) } }\n#%%\nlet v60 = V60(20) + V60(40);\n#%%\nv60",
        "= V60(60)",
    ),
    (
        "use std::any::Any;\nlet a61: Box<dyn Any> = Box::new(61i32);\n#%%\na61.downcast_ref::<i32>().copied()",
        "= Some(61)",
    ),
    (
        "struct N62 { next: Option<Box<N62>>, v: i32 }\n#%%\nlet n62 = N62 { v: 60, next: Some(Box::new(N62 { v: 2, next: None })) };\n#%%\nlet mut sum62 = 0; let mut at = Some(&n62); while let Some(n) = at { sum62 += n.v; at = n.next.as_deref(); }\n#%%\nsum62",
        "= 62",
    ),
    (
        "trait Len63 { fn len63(&self) -> usize; }\n#%%\nimpl<T> Len63 for T where T: AsRef<[u8]> { fn len63(&self) -> usize { self.as_ref().len() } }\n#%%\n\"abc\".len63()",
        "= 3",
    ),
    (
        "fn pick64<T: PartialOrd + Copy>(all: &[T]) -> T { let mut best = all[0]; for it in all { if *it > best { best = *it } } best }\n#%%\npick64(&[1.5, 64.0])",
        "= 64.0",
    ),
];

#[test]
fn what_is_split_into_cells_works() {
    let mut cells = Cells::start();
    let mut wrong = Vec::new();
    for (source, expected) in &CASES {
        let shown: Vec<String> = source.split("#%%\n").map(|cell| cells.run(cell)).collect();
        let last = shown.last().expect("a cell").trim_end();
        if last != *expected {
            wrong.push(format!("{source}\n  expected {expected}, found {shown:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_value_behind_any_is_lost_when_a_type_changes_that_it_may_be() {
    let mut cells = Cells::start();
    let define = "use std::any::Any;\nstruct Part { number: i64 }\nstruct Whole { part: Part }\n\
                  struct Shelf { things: Vec<Box<dyn Any>> }";
    cells.run(define);
    cells.run("let any: Box<dyn Any> = Box::new(Whole { part: Part { number: 7 } });");
    cells.run("let shelf = Shelf { things: vec![Box::new(Part { number: 7 })] };");
    cells.run("let failed: Result<(), Box<dyn std::error::Error>> = Ok(());");
    cells.run("let square: Box<dyn Fn(f64) -> f64> = Box::new(|x| x * x);");
    // Its own text is the same.
    let (_, outcome) = cells.evaluate("struct Part { number: String, more: [u64; 8] }");
    assert_eq!(outcome.lost, ["any", "failed", "shelf"]);
    assert_eq!(cells.run("square(3.0)"), "= 9.0");
    cells.run("let any: Box<dyn Any> = Box::new(1);");
    cells.run("struct Other;");
    assert_eq!(cells.run("any.is::<i32>()"), "= true");
}
