//! Hints about traits, results and borrows.

use super::*;

#[test]
fn elements_are_explained_with_these_types() {
    let bound = |message, cell| error("E0277", message, "", cell);
    bound(
        "a value of type `Vec<i32>` cannot be built from an iterator over elements of type `&i32`",
        "v.iter().«collect»()",
    )
    .says("`.cloned().collect()`");
    bound("a value of type `HashMap<i32, i32>` cannot be built from an iterator over elements of type `i32`", "v.«collect»()").says("from pairs");
    bound(
        "a value of type `Vec<f64>` cannot be built from an iterator over elements of type `i32`",
        "v.«collect»()",
    )
    .says("`.map(|x| x as f64)`");
    bound(
        "a value of type `i32` cannot be built from an iterator over elements of type `i32`",
        "v.«collect»()",
    )
    .says("an `i32` is not a collection");
    bound("`i32` is not an iterator", "for x in «n» {}").says("`for i in 0..n`");
    bound("`String` is not an iterator", "for x in «s» {}").says("`for c in s.chars()`");
    bound("`Own` is not an iterator", "for x in «p» {}").says("a type of yours");
    bound("`Duration` is not an iterator", "for x in «d» {}").says_nothing();
    bound("the trait bound `f64: Ord` is not satisfied", "g.«sort»()")
        .says("`g.sort_by(f64::total_cmp);`");
    bound(
        "the trait bound `f64: Ord` is not satisfied",
        "g.iter().«max»()",
    )
    .says(".max_by(");
    bound(
        "the trait bound `f64: Ord` is not satisfied",
        "struct W(«f64»);",
    )
    .says("no total order");
    let array = |message, cell| error("E0599", message, "", cell);
    array("the method `sum` exists for array `[{integer}; 2]`, but its trait bounds were not satisfied", "[1, 2].«sum»()")
        .note(&["the following trait bounds were not satisfied:\n`[{integer}; 2]: Iterator`"])
        .says("`[1, 2].iter().sum::<i32>()`");
    array(
        "the method `clone` exists for array `[Own; 1]`, but its trait bounds were not satisfied",
        "[o].«clone»()",
    )
    .note(&["the following trait bounds were not satisfied:\n`Own: Clone`"])
    .says_nothing();
}

#[test]
fn traits_are_derived_for_the_users_own_types_only() {
    let bound = |message, cell| error("E0277", message, "", cell);
    bound("`Own` doesn't implement `Debug`", "«o»").says("how to print an `Own`");
    bound("`{closure@1}` doesn't implement `Debug`", "«f»").says("a function cannot be printed");
    bound(
        "`T` doesn't implement `Debug`",
        "fn show<T>(x: T) { println!(\"{:?}\", «x») }",
    )
    .note(&["+: Debug"])
    .says_nothing();
    bound(
        "`Own` doesn't implement `std::fmt::Display`",
        "println!(\"{}\", «o»)",
    )
    .says("`println!(\"{o:?}\")`.");
    bound(
        "`Model` doesn't implement `std::fmt::Display`",
        "println!(\"{}\", «m»)",
    )
    .says("`#[derive(Debug)]` above the definition of `Model`");
    bound(
        "`Vec<i32>` doesn't implement `std::fmt::Display`",
        "show(«v»)",
    )
    .says_nothing();
    let binary = |message, cell| error("E0369", message, "", cell);
    binary(
        "binary operation `==` cannot be applied to type `Own`",
        "a «==» b",
    )
    .says("`#[derive(PartialEq)]`");
    binary(
        "binary operation `<` cannot be applied to type `Own`",
        "a «<» b",
    )
    .says("PartialOrd");
    binary(
        "binary operation `==` cannot be applied to type `std::io::Error`",
        "a «==» b",
    )
    .says_nothing();
    binary(
        "binary operation `!=` cannot be applied to type `Tensor`",
        "a «!=» b",
    )
    .says("`a.ne(b)`");
    bound(
        "`Rc<i32>` cannot be sent between threads safely",
        "«spawn»(f)",
    )
    .says("Use an `Arc`");
    bound("the trait bound `Rc<i32>: Copy` is not satisfied", "«f»(x)").says_nothing();
    bound(
        "`RefCell<i32>` cannot be shared between threads safely",
        "«spawn»(f)",
    )
    .says("in a `Mutex`");
    bound(
        "expected a `FnOnce()` closure, found `{integer}`",
        "spawn(«3»)",
    )
    .says("this is an integer");
    bound(
        "the trait bound `taper::candle_core::Shape: From<({integer}, i32)>` is not satisfied",
        "zeros(«(2, n)»)",
    )
    .says("`usize`, not `i32`");
    bound(
        "the trait bound `&str: NdArray` is not satisfied",
        "tensor(«\"a\"»)",
    )
    .says("not text");
}

#[test]
fn results_are_opened_where_they_can_be() {
    let result = "cannot add `{integer}` to `Result<i32, String>`";
    error("E0369", result, "", "r «+» 1").says("write `?` after the call that returns it.");
    error("E0369", result, "", "fn f(r: R) -> i32 { r «+» 1 }")
        .says("let the function return a `Result`");
    error("E0369", result, "", "v.map(|r| r «+» 1)").says("`.unwrap()` to stop");
    let moved = "move occurs because `x.r` has type `Result<i32, String>`, which does not implement the `Copy` trait";
    error(
        "E0507",
        "cannot move out of `x.r` which is behind a shared reference",
        moved,
        "«x.r»",
    )
    .says("moved out of here");
    error(
        "E0308",
        "mismatched types",
        "expected `Option<i32>`, found `Result<i32, String>`",
        "«r»",
    )
    .says_nothing();
    let operator = |message, label, cell| error("E0277", message, label, cell);
    let only = "the `?` operator can only be used in a closure that returns `Result`";
    operator(only, "", "v.map(|s| { s.parse()«?» })").says("the closure has to return");
    let neither = "the `?` operator can only be applied to values that implement `Try`";
    operator(
        neither,
        "the `?` operator cannot be applied to type `impl Future<Output = i32>`",
        "«f()?»",
    )
    .says("`.await?`");
    operator(
        neither,
        "the `?` operator cannot be applied to type `i32`",
        "«n?»",
    )
    .says("remove the `?`");
}

#[test]
fn what_cannot_change_is_said_with_its_reason() {
    let change = |code, message, cell| error(code, message, "", cell);
    change(
        "E0594",
        "cannot assign to immutable static item `ST`",
        "«ST = 2»",
    )
    .says("`static ST:");
    change("E0594", "cannot assign to data in an `Rc`", "«r.x = 2»").says("Rc<RefCell");
    change(
        "E0596",
        "cannot borrow data in an `Arc` as mutable",
        "«r».push(2)",
    )
    .says("Arc<Mutex");
    change(
        "E0594",
        "cannot assign to `c`, as it is a captured variable in a `Fn` closure",
        "call(|| «c += 1»)",
    )
    .says("FnMut");
    change(
        "E0133",
        "call to unsafe function `f` is unsafe and requires unsafe block",
        "«f()»",
    )
    .says("this function is `unsafe`");
    change(
        "E0133",
        "use of mutable static is unsafe and requires unsafe block",
        "«G» += 1",
    )
    .says("threads share it");
    change(
        "E0507",
        "cannot move out of index of `Vec<JoinHandle<i32>>`",
        "«h[0]».join()",
    )
    .says(".remove(i)");
    change(
        "E0499",
        "cannot borrow `w` as mutable more than once at a time",
        "swap(&mut w[0], &mut «w»[1]);",
    )
    .says("`w.swap(0, 1)`");
    change(
        "E0502",
        "cannot borrow `w` as immutable because it is also borrowed as mutable",
        "«w».len()",
    )
    .says("`w` cannot be used while");
    error(
        "E0382",
        "use of moved value: `t`",
        "move occurs because `t` has type `Tensor`",
        "let u = t;\n«t»",
    )
    .says_nothing();
    change(
        "E0728",
        "`await` is only allowed inside `async` functions and blocks",
        "fn f() { g().«await» }",
    )
    .says("`async fn`");
    change(
        "E0728",
        "`await` is only allowed inside `async` functions and blocks",
        "let f = || g().«await»;",
    )
    .says("in a closure");
    change(
        "E0267",
        "`break` inside of a closure",
        "v.for_each(|i| «break»)",
    )
    .says("do not leave a closure");
    change("E0267", "`break` inside of a closure", "«break»;").says("only allowed inside");
    change(
        "E0069",
        "`return;` in a function whose return type is not `()`",
        "fn f() -> i32 { «return»; }",
    )
    .says_nothing();
    change("E0658", "the `!` type is experimental", "fn f(x: «!») {}").says("Infallible");
}
