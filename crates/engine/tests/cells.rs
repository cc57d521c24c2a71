//! Correct Rust that is split into cells works.

use crate::common::{Cells, check_each};

#[test]
fn values_and_output_arrive_in_order() {
    check_each(&[
        ("1 + 1", "= 2"),
        ("let a = 20;\na + 1", "= 21"),
        ("println!(\"{a}\"); print!(\"b\"); a", "20\nb= 20"),
        ("()", ""),
        ("", ""),
        ("// nothing", ""),
        ("if a > 1 { \"é\" } else { \"\" }", "= \"é\""),
        ("for i in 0..3 { print!(\"{i}\"); }", "012"),
        (
            "std::iter::repeat('x').take(3).collect::<String>()",
            "= \"xxx\"",
        ),
        (
            "println!(\"\\u{1e}EVCXR_EXECUTION_COMPLETE\")",
            "\u{1e}EVCXR_EXECUTION_COMPLETE",
        ),
    ]);
}

#[test]
fn what_the_words_of_rustc_carry_holds() {
    let mut cells = Cells::start();
    for hold in &taper_engine::HOLDS {
        cells.check(&hold.cells.join("\n#%%\n"), &format!("= {}", hold.shown));
    }
}

#[test]
fn variables_are_kept_changed_moved_and_shadowed() {
    check_each(&[
        (
            "use std::collections::HashMap;\nlet mut map: HashMap<String, Vec<i32>> = HashMap::new();",
            "",
        ),
        ("map.entry(\"a\".into()).or_default().push(1);", ""),
        ("map[\"a\"][0]", "= 1"),
        (
            "let tree = std::collections::BTreeMap::from([(1, map.clone())]);",
            "",
        ),
        ("tree.len() + map.len()", "= 2"),
        ("let other = map;", ""),
        (
            "map",
            "error at 7:1:1: cannot find value `map` in this scope",
        ),
        ("let other = other.len() + 1;\nother", "= 2"),
        ("let other = other * 2; other", "= 4"),
        (
            "other = 5;",
            "error at 10:1:1: cannot assign to `other`, as it is not declared as mutable",
        ),
        ("let text = String::from(\"a\");", ""),
        ("let text = vec![text, \"b\".to_owned()];", ""),
        ("text", "= [\"a\", \"b\"]"),
        ("let (x, mut y) = (1u8, vec![2]); y.push(3);", ""),
        ("y.push(i32::from(x)); y", "= [2, 3, 1]"),
    ]);
}

#[test]
fn a_function_or_constant_hides_an_earlier_variable() {
    check_each(&[
        ("let area = 3.0;\nlet side = String::from(\"a\");", ""),
        (
            "fn area(width: i32) -> i32 { width * width }\narea(2)",
            "= 4",
        ),
        ("[1, 2].map(area)", "= [1, 4]"),
        ("fn side() -> i32 { 7 }", ""),
        ("area(side())", "= 49"),
        ("let side = \"b\";", ""),
        ("side", "= \"b\""),
        // A cell that does not compile changes nothing.
        (
            "fn side() -> i32 { \"text\" }",
            "error at 8:1:20: mismatched types",
        ),
        ("side", "= \"b\""),
        // Within a cell a variable hides the function, as in Rust.
        ("let side = 5;\nfn side() {}\nside", "= 5"),
        ("side + 1", "= 6"),
        ("const side: i32 = 8;", ""),
        ("side", "= 8"),
    ]);
}

#[test]
fn types_of_all_kinds_are_found_again() {
    check_each(&[
        ("mod geo { pub struct Q(pub i32); }\nlet q = geo::Q(3);", ""),
        (
            "let shared = std::rc::Rc::new(std::cell::RefCell::new(vec![q.0]));",
            "",
        ),
        ("shared.borrow_mut().push(4); shared.borrow().len()", "= 2"),
        (
            "let f: Box<dyn Fn(&str) -> usize> = Box::new(|s| s.len());",
            "",
        ),
        ("f(\"four\")", "= 4"),
        ("let handle = std::thread::spawn(|| 5);", ""),
        ("handle.join().unwrap()", "= 5"),
        (
            "let mut iterator = vec![1, 2].into_iter(); iterator.next();",
            "",
        ),
        ("iterator.next()", "= Some(2)"),
        (
            "trait Shape { fn area(&self) -> f64; }\nstruct Square(f64);",
            "",
        ),
        (
            "impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }",
            "",
        ),
        (
            "let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(2.0))];",
            "",
        ),
        ("shapes.iter().map(|s| s.area()).sum::<f64>()", "= 4.0"),
        (
            "let array = [[0.5f32; 2]; 3]; let pair = (array, \"s\", 'c');",
            "",
        ),
        ("pair.0[2][1]", "= 0.5"),
    ]);
}

/// A cell with a type that an earlier cell has made known, and a new type.
#[test]
fn a_new_type_beside_a_known_one_hides_neither() {
    check_each(&[
        (
            "let a = std::collections::HashMap::from([(1, 2)]);\na.len()",
            "= 1",
        ),
        (
            "let b = std::collections::HashMap::from([(1, 2), (3, 4)]);\nlet c = std::collections::BTreeMap::from([(1, 2)]);",
            "",
        ),
        ("a.len() + b.len() + c.len()", "= 4"),
    ]);
}

#[test]
fn macros_work_in_any_order() {
    let mut cells = Cells::start();
    let mut sum = String::new();
    for (index, (name, sign)) in [("a", "*"), ("b", "+"), ("c", "-"), ("d", "*")]
        .into_iter()
        .enumerate()
    {
        let cell = format!(
            "macro_rules! m_{name} {{ ($x:expr) => {{ $x {sign} 2 }}; }}\nfn {name}(n: i32) -> i32 {{ m_{name}!(n) }}"
        );
        assert_eq!(cells.run(&cell), "");
        sum += &format!("{}{name}(3)", if index > 0 { " + " } else { "" });
    }
    cells.check(&sum, "= 18");
    cells.check("fn a(n: i32) -> i32 { m_d!(n) + m_b!(n) }\na(1)", "= 5");
    cells.check("macro_rules! getter { ($n:ident, $v:expr) => { fn $n() -> i32 { $v } }; }\ngetter!(seven, 7);", "");
    cells.check("getter!(nine, 9);\nseven() + nine()", "= 16");
    cells.check("seven() - nine()", "= -2");
}

#[test]
fn statics_keep_their_value() {
    check_each(&[
        (
            "use std::sync::atomic::{AtomicUsize, Ordering};\nstatic HITS: AtomicUsize = AtomicUsize::new(0);\nfn hit() -> usize { HITS.fetch_add(1, Ordering::SeqCst) + 1 }\nhit()",
            "= 1",
        ),
        ("hit()", "= 2"),
        ("fn other() {}\nhit()", "= 3"),
        (
            "use std::sync::OnceLock;\nstatic CACHE: OnceLock<String> = OnceLock::new();\nCACHE.get_or_init(|| \"first\".into()).clone()",
            "= \"first\"",
        ),
        (
            "CACHE.get_or_init(|| \"second\".into()).clone()",
            "= \"first\"",
        ),
        (
            "thread_local! { static SEEN: std::cell::RefCell<Vec<i32>> = const { std::cell::RefCell::new(vec![]) }; }\nSEEN.with(|v| v.borrow_mut().push(1));",
            "",
        ),
        (
            "SEEN.with_borrow_mut(|v| v.push(2)); SEEN.with_borrow(|v| v.len())",
            "= 2",
        ),
        (
            "fn count() -> usize { static N: AtomicUsize = AtomicUsize::new(10); N.fetch_add(1, Ordering::SeqCst) }\ncount()",
            "= 10",
        ),
        ("struct Unrelated;\ncount()", "= 11"),
        ("static mut TOTAL: i32 = 1;\nunsafe { TOTAL += 1; }", ""),
        ("unsafe { TOTAL += 1; TOTAL }", "= 3"),
        (
            "static HITS: AtomicUsize = AtomicUsize::new(40);\nhit()",
            "= 41",
        ),
    ]);
}

#[test]
fn an_edited_item_replaces_the_old_one() {
    check_each(&[
        (
            "struct Op(i32);\nimpl Op { fn run(&self) -> i32 { self.0 } }",
            "",
        ),
        (
            "impl Op { fn twice(&self) -> i32 { self.run() * 3 } }\nOp(2).twice()",
            "= 6",
        ),
        (
            "impl Op { fn twice(&self) -> i32 { self.run() * 2 } }\nOp(2).twice()",
            "= 4",
        ),
        (
            "impl std::fmt::Display for Op { fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result { write!(f, \"op\") } }\nprintln!(\"{}\", Op(1));",
            "op",
        ),
        (
            "use std::fmt;\nimpl fmt::Display for Op { fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result { write!(f, \"op {}\", self.0) } }\nprintln!(\"{}\", Op(1));",
            "op 1",
        ),
        (
            "use std::fmt;\nfn shout() -> i32 { Op(3).twice() }\nshout()",
            "= 6",
        ),
        ("fn shout() -> i32 { 7 }\nshout()", "= 7"),
    ]);
}

#[test]
fn running_a_type_again_keeps_variables_and_changing_it_loses_only_those_of_the_type() {
    let mut cells = Cells::start();
    cells.run("struct P { x: i32 }\nstruct Q(Vec<P>);\nlet p = P { x: 1 };\nlet q = Q(vec![]);\nlet n = 3;");
    let (_, outcome) = cells.evaluate("/// A point.\n#[derive(Debug)]\nstruct P { x: i32 }");
    assert_eq!(outcome.lost, [""; 0]);
    cells.check("(p.x, q.0.len(), n)", "= (1, 0, 3)");
    let (_, outcome) = cells.evaluate("struct P { x: i64, y: i64 }");
    assert_eq!(outcome.lost, ["p", "q"]);
    cells.check("n", "= 3");
}

#[test]
fn errors_are_at_their_place_in_the_cell() {
    check_each(&[
        (
            "let a = 1;\n  let é = a; let b: u8 = \"x\";",
            "error at 1:2:26: mismatched types",
        ),
        (
            "let a = std::",
            "error at 2:1:14: expected identifier, found `}`",
        ),
        ("struct S(i32);\nfn make() -> S { S(3) }\nmake().0", "= 3"),
        (
            "struct S;\nlet unit = S;",
            "error at 3:2:18: expected function, found `S`",
        ),
        ("make().0", "= 3"),
        (
            "struct NoDebug;\nNoDebug",
            "error at 6:2:1: `NoDebug` doesn't implement `Debug`",
        ),
        (
            "let v = vec![1];\n\npanic!(\"no {}\", v.len())",
            "panic at 7:3: no 1",
        ),
        (
            "fn fails(n: i32) -> i32 {\n    assert!(n > 0);\n    n\n}",
            "",
        ),
        ("fails(-1)", "panic at 8:2: assertion failed: n > 0"),
        (
            "\nlet t = \"a\".parse::<i32>()?;",
            "failed at 10:2: ParseIntError { kind: InvalidDigit }",
        ),
        ("dbg!(1 + 1);", "[cell:1:2] 1 + 1 = 2"),
        (
            "\nlet two = dbg!(1 + 1, 3).0; two",
            "[cell:2:11] 1 + 1 = 2\n[cell:2:11] 3 = 3\n= 2",
        ),
    ]);
}

#[test]
fn a_failed_cell_loses_no_variable() {
    check_each(&[
        ("let mut v = vec![1];", ""),
        ("v.push(2); panic!(\"no\")", "panic at 2:1: no"),
        (
            "v.push(3); \"x\".parse::<i32>()?; v.push(4);",
            "failed at 3:1: ParseIntError { kind: InvalidDigit }",
        ),
        (
            "let v = v.len() + if v.len() > 2 { panic!(\"here\") } else { 0 };",
            "panic at 4:1: here",
        ),
        ("v", "= [1, 2, 3]"),
    ]);
}

#[test]
fn futures_are_awaited() {
    check_each(&[
        ("async fn g() -> std::io::Result<i32> { Ok(4) }", ""),
        ("let x = g().await?;", ""),
        ("x", "= 4"),
        ("g().await.unwrap() + x", "= 8"),
    ]);
}

#[test]
fn references_live_on() {
    let mut cells = Cells::start();
    let (_, outcome) = cells.evaluate(
        "let text = String::from(\"a b c\");\nlet words: Vec<&str> = text.split(' ').collect();",
    );
    assert_eq!(outcome.frozen, ["text"]);
    cells.check("words.len() + text.len()", "= 8");
    cells.check(
        "let mut list = vec![1, 2, 3];\n#%%\nlet first = &list[0];\n#%%\n*first + list[1]",
        "= 3",
    );
    cells.check(
        "list.push(4);",
        "error at 6:1:1: cannot borrow `*list` as mutable, as it is behind a `&` reference",
    );
    let borrowers = |cells: &Cells, name: &str| {
        let mut variables = cells.engine.variables();
        let found = variables.find(|it| it.name == name).expect("it is kept");
        Vec::from_iter(found.borrowers.clone())
    };
    assert_eq!(borrowers(&cells, "text"), ["words"]);
    assert_eq!(borrowers(&cells, "list"), ["first"]);
    cells.check(
        "let mut z = vec![1];\nlet q = &mut z;\n#%%\nz.push(2);\nz",
        "= [1, 2]",
    );
    let gone = cells.engine.gone("q").expect("it is not kept");
    assert_eq!(
        (gone.from.as_deref(), &*gone.statement),
        (Some("z"), "let q = &mut z;")
    );
    assert!(
        cells
            .engine
            .variables()
            .any(|it| it.name == "text" && it.is_frozen)
    );
}

#[test]
fn a_borrowing_variable_that_the_cell_uses_up_freezes_nothing() {
    check_each(&[
        ("let mut a = vec![1.0, 2.0];\nlet b = vec![1.0, 2.5];", ""),
        (
            "let pairs = a.iter().zip(&b);\npairs.map(|(a, b)| b - a).sum::<f64>()",
            "= 0.5",
        ),
        ("a.push(3.0);\na.len()", "= 3"),
    ]);
}

#[test]
fn what_has_no_nameable_type_is_kept_behind_its_trait() {
    check_each(&[
        ("let add = |a: i32, b: i32| a + b;\nadd(1, 2)", "= 3"),
        ("add(3, 4)", "= 7"),
        ("let base = 10;\nlet text = String::from(\"é\");", ""),
        ("let f = |x| x + base;\nf(1)", "= 11"),
        ("f(2)", "= 12"),
        (
            "let mut n = 0;\nlet mut step = move || { n += 1; n };\nstep()",
            "= 1",
        ),
        ("step()", "= 2"),
        ("let length = |t: &str| t.len();", ""),
        ("length(\"abc\") + length(&text)", "= 5"),
        (
            "fn times(n: i32) -> impl Fn(i32) -> i32 { move |x| n * x }\nlet (double, one) = (times(2), 1);",
            "",
        ),
        ("double(one)", "= 2"),
        ("let even = (0..5).filter(|n| n % 2 == 0);", ""),
        ("even.collect::<Vec<_>>()", "= [0, 2, 4]"),
        ("let later = async { 5 };", ""),
        ("later.await", "= 5"),
        ("fn half(x: f64) -> f64 { x / 2.0 }\nlet g = half;", ""),
        ("g(3.0)", "= 1.5"),
    ]);
}

#[test]
fn what_cannot_be_kept_lives_until_its_cell_ends() {
    let mut cells = Cells::start();
    for (cell, expected) in [
        (
            "let mut n = 0;\nlet mut count = || { n += 1; n };\ncount() + count()",
            "= 3",
        ),
        ("n", "= 2"),
        (
            "let name = String::from(\"a\");\nlet greet = |x: &str| format!(\"{x} {name}\");\ngreet(\"hi\")",
            "= \"hi a\"",
        ),
        ("name", "= \"a\""),
        (
            "let list = vec![1, 2];\nlet big = list.iter().filter(|x| **x > 1);\nbig.clone().count()",
            "= 1",
        ),
        ("list.len()", "= 2"),
        ("let both = (|x: i32| x + 1, 2);\n(both.0)(1)", "= 2"),
        (
            "let curried = |a: i32| move |b: i32| a + b;\ncurried(1)(2)",
            "= 3",
        ),
    ] {
        assert_eq!(cells.run(cell).trim_end(), expected, "{cell}");
    }
    let from = |name| cells.engine.gone(name).and_then(|it| it.from.clone());
    assert_eq!(from("count").as_deref(), Some("n"));
    assert_eq!(from("greet").as_deref(), Some("name"));
    assert_eq!(from("big").as_deref(), Some("list"));
    assert!(cells.engine.gone("both").is_some(), "both");
    assert!(cells.engine.gone("name").is_none(), "name");
}

#[test]
fn attributes_of_a_cell_apply_to_it_and_change_nothing_else() {
    check_each(&[
        ("#![allow(warnings)]\nlet a = 1;", ""),
        ("#![forbid(warnings)]\nlet b = a + 1;\nb", "= 2"),
        ("#![deny(warnings)]\nfn f() -> i32 { 3 }", ""),
        (
            "#![forbid(unsafe_code)]\nuse std::cell::Cell;\nstatic N: i32 = 4;\nlet s = Cell::new(N + f() + b);\ns.get()",
            "= 9",
        ),
        ("s.set(N + s.get());\ns.get()", "= 13"),
        (
            "#![forbid(unsafe_code)]\nunsafe { s.as_ptr().read() }",
            "error at 6:2:1: usage of an `unsafe` block",
        ),
        (
            "#![allow(overflowing_literals)]\nconst X: u8 = 300;\nX",
            "= 44",
        ),
        ("X", "= 44"),
        (
            "#![deny(unused_must_use)]\n\"5\".parse::<i32>();",
            "error at 9:2:1: unused `Result` that must be used",
        ),
        (
            "\"5\".parse::<i32>();\n1",
            "warning: unused `Result` that must be used\n= 1",
        ),
        ("#![no_std]\n1", "Refused(Attribute(\"#![no_std]\"))"),
        ("//! Words.\n#![recursion_limit = \"256\"]\na + b", "= 3"),
        ("a + b", "= 3"),
    ]);
}

#[test]
fn items_of_macros_are_kept_and_replaced() {
    let mut cells = Cells::start();
    for (cell, expected) in [
        (
            "macro_rules! unit { (@i $n:ident $v:expr) => { impl $n { fn m(&self) -> f64 { self.0 * $v } } };\n\
             ($n:ident = $v:expr) => { #[derive(Debug)] struct $n(f64); unit!(@i $n $v); } }",
            "",
        ),
        ("unit!(Mile = 1609.0);", ""),
        ("let m = Mile(2.0);\nm.m()", "= 3218.0"),
        ("unit!(Mile = 1600.0)", ""),
        ("Mile(2.0).m()", "= 3200.0"),
        ("m", "error at 6:1:1: cannot find value `m` in this scope"),
        ("let m = Mile(1.0);", ""),
        // What was made with the old rules stays.
        (
            "macro_rules! unit { ($n:ident, $v:expr) => { struct $n(f64, u8); } }",
            "",
        ),
        ("unit!(Yard, 0.9);\nm.m() + Yard(1.0, 2).0", "= 1601.0"),
        ("struct Mile { x: i32 }\nMile { x: 7 }.x", "= 7"),
        ("m", "error at 11:1:1: cannot find value `m` in this scope"),
        // The rules of these do not show what they make.
        (
            "macro_rules! same { ($($t:tt)*) => { $($t)* } }\nsame!(fn one() -> i32 { 1 });\nsame!(let two = 2;);\nsame!(one() + two)",
            "= 3",
        ),
        ("one()", "= 1"),
        (
            "macro_rules! hi { () => { println!(\"hi\") } }\nhi!()",
            "hi",
        ),
        (
            "macro_rules! both { ($a:ident) => { let $a = 1; print!(\"b\"); } }\nboth!(c)",
            "b",
        ),
        (
            "same! { struct Q(Unknown); }",
            "error at 16:1:18: cannot find type `Unknown` in this scope",
        ),
        (
            "same! { struct Q(u8, ; }",
            "error at 17:1:24: mismatched closing delimiter: `}`",
        ),
    ] {
        assert_eq!(cells.run(cell).trim_end(), expected, "{cell}");
    }
    let lost = cells.evaluate("unit!(Yard, 0.8);").1;
    assert!(lost.failure.is_none() && lost.lost.is_empty());
    cells.check(
        "macro_rules! counter { ($n:ident) => { static $n: u8 = 1; } }\n#%%\ncounter!(N);",
        "warning: `counter!` makes a static, of which each cell has a copy with the first value. Write the static itself, \
         without the macro",
    );
}

#[test]
fn thread_locals_are_replaced() {
    check_each(&[
        (
            "thread_local! { static T: std::cell::Cell<u8> = std::cell::Cell::new(1); }\nT.set(2);",
            "",
        ),
        ("T.get()", "= 2"),
        (
            "thread_local! { static T: std::cell::Cell<i64> = std::cell::Cell::new(-3); }",
            "",
        ),
        ("T.get()", "= -3"),
        ("fn T() -> u8 { 4 }\nT()", "= 4"),
    ]);
}

#[test]
fn a_type_without_values_is_kept() {
    check_each(&[
        (
            "let r = std::panic::catch_unwind(|| panic!(\"x\"));\nr.is_err()",
            "= truecaught: x",
        ),
        ("r.is_err()", "= true"),
        (
            "let f: fn() -> ! = || std::process::exit(1);\nlet none: Option<(u8, std::convert::Infallible)> = None;",
            "",
        ),
        ("let _ = f;\nnone.is_none()", "= true"),
    ]);
}

#[test]
fn a_question_mark_behind_an_option_returns_the_value_or_stops_the_cell() {
    check_each(&[
        (
            "let (some, none, ok) = (Some(3), None::<i32>, Ok::<i32, String>(4));",
            "",
        ),
        ("some? + ok.clone()?", "= 7"),
        (
            "print!(\"{}\", some?);\nlet n = none?;",
            "3failed at 3:2: there is no value: the `Option` is `None`",
        ),
        (
            "async fn find(x: i32) -> Option<i32> { Some(x) }\nlet é = 1; find(é).await? + some?",
            "= 4",
        ),
        (
            "fn f() -> Result<i32, String> { Ok(Some(1)?) }",
            "error at 5:1:43: the `?` operator can only be used on `Result`s, not `Option`s, in a function that returns `Result`",
        ),
    ]);
}

#[test]
fn what_borrows_within_its_cell_never_refuses_it() {
    check_each(&[
        (
            "let n = 5;\nlet later = async { n + 1 };\nlater.await",
            "= 6",
        ),
        (
            "let mut v = vec![1];\nlet r = &mut v;\nlet mut push = |x| r.push(x);\npush(2);",
            "",
        ),
        ("v", "= [1, 2]"),
        (
            "macro_rules! now { ($e:expr) => { $e.await } }\nnow!(async { 3 })",
            "= 3",
        ),
        (
            "macro_rules! tried { ($e:expr) => { $e? } }\n4 + tried!(Ok::<i32, String>(1))",
            "= 5",
        ),
        ("let f: &(dyn Fn(i32) -> i32 + Send) = &|x| x;", ""),
        ("f(2)", "= 2"),
        ("let job = move || 5;", ""),
        ("std::thread::spawn(job).join().unwrap()", "= 5"),
        (
            "struct Row<'a>(&'a str);\nlet rows = vec![Row(\"a\"), Row(\"b\")];\nlet first = &rows[0];",
            "",
        ),
        (
            "let mut groups = rows.chunk_by(|a, b| a.0 == b.0);\ngroups.next().map(|it| it.len())",
            "= Some(1)",
        ),
        ("groups.count() + first.0.len()", "= 2"),
    ]);
}
