//! Hints about types that differ.

use super::*;

#[test]
fn types_that_differ_are_converted() {
    let mismatch = |label, cell| error("E0308", "mismatched types", label, cell);
    mismatch("expected `usize`, found `i32`", "let u: usize = «i»;").says("`i as usize`");
    mismatch("expected `f64`, found `f32`", "f(«a + b»)").says("`(a + b) as f64`");
    mismatch("expected `usize`, found `String`", "let u: usize = «s»;")
        .says("`s.parse::<usize>()?`");
    mismatch("expected `i32`, found `&str`", "let u: i32 = «\"no\"»;").says_nothing();
    mismatch(
        "expected `usize`, found `Option<usize>`",
        "let u: usize = «o»;",
    )
    .says_nothing();
    mismatch("expected `usize`, found `&usize`", "let u: usize = «r»;").says_nothing();
    mismatch(
        "expected integer, found `&str`",
        "if c { 1 } else { «\"a\"» }",
    )
    .says_nothing();
    mismatch("expected `i32`, found `i64`", "a + «b»").says_nothing();
    mismatch("expected `bool`, found integer", "let b: bool = «1»;").says("`1 != 0`");
    mismatch("expected `bool`, found `i32`", "if «!n» { }").says("`n == 0`");
    mismatch("expected `bool`, found `&bool`", "v.filter(|x| «x»)").says_nothing();
    mismatch("expected `bool`, found `&str`", "if «s» { }").says("`s.is_empty()`");
    mismatch(
        "expected `Vec<i32>`, found `[{integer}; 2]`",
        "let v: Vec<i32> = «[1, 2]»;",
    )
    .says("`vec![1, 2]`");
    mismatch(
        "expected `Vec<f64>`, found `Vec<f32>`",
        "let v: Vec<f64> = «f»;",
    )
    .says("`f.iter().map(|x| *x as f64)");
    mismatch(
        "expected `Vec<i32>`, found `Option<Vec<i32>>`",
        "let v: Vec<i32> = «o»;",
    )
    .says_nothing();
    mismatch("expected `&Tensor`, found `Tensor`", "a.matmul(«b»)").says("borrowed with `&`");
    mismatch(
        "expected `&Tensor`, found floating-point number",
        "a.matmul(«3.0»)",
    )
    .says("`&tensor(3.0)`");
    mismatch("expected `&Own`, found `Own`", "f(«o»)").says_nothing();
    mismatch("types differ in mutability", "f(«&k»)").says("`&mut k`");
    mismatch("types differ in mutability", "f(«r»)").says("`r` is a shared reference");
}

#[test]
fn what_has_no_value_is_said() {
    let unit = |cell| {
        error(
            "E0308",
            "mismatched types",
            "expected `i32`, found `()`",
            cell,
        )
    };
    unit("let n: i32 = «v.sort()»;").says("`v.sort()` returns nothing");
    unit("fn f() -> «i32» { x; }")
        .note(&["+remove this semicolon"])
        .says("a `;` after its last line");
    unit("fn f() -> i32 { «for x in v {}» }")
        .note(&["`for` loops evaluate to unit type `()`"])
        .says("a loop has no value");
    unit("if «i = 3» { }")
        .note(&["+you might have meant to compare for equality"])
        .says_nothing();
    unit("let n: i32 = «{ f(); }»;").says("the block has no value");
    let receiver = |cell| {
        error(
            "E0599",
            "no method named `len` found for unit type `()` in the current scope",
            "",
            cell,
        )
    };
    receiver("w.sort().«len»()").says("`w.sort()` returns nothing");
    receiver("t.«len»()").says("`t` is `()`");
}

#[test]
fn operators_between_types_are_explained_with_these_types() {
    let cannot = |message, cell| error("E0277", message, "", cell);
    cannot("cannot multiply `{integer}` by `{float}`", "2 «*» 1.5").says("decimal point");
    cannot("cannot add `i64` to `i32`", "a «+» b").says("`a as i64`");
    cannot("cannot subtract `i32` from `usize`", "n «-» 5i32").says("`5i32 as usize`");
    cannot("cannot multiply `usize` by `{float}`", "n «*» f").says("`n as f64`");
    cannot("cannot add `Option<i32>` to `{integer}`", "1 «+» o").says("Take the value first");
    cannot("cannot add `Own` to `{integer}`", "1 «+» o").says_nothing();
    cannot("cannot add `&str` to `{integer}`", "1 «+» s").says("`format!");
    error("E0614", "type `i32` cannot be dereferenced", "", "«*i»").says("remove the `*`");
    error(
        "E0614",
        "type `{integer}` cannot be dereferenced",
        "",
        "2 *«*3»",
    )
    .says("has no `**`");
    let not = |message, cell| error("E0600", message, "", cell);
    not("cannot apply unary operator `!` to type `String`", "«!s»").says("`s.is_empty()`");
    not(
        "cannot apply unary operator `!` to type `Option<i32>`",
        "«!o»",
    )
    .says("`o.is_none()`");
}

#[test]
fn casts_and_indices_are_explained_with_these_types() {
    let cast = |code, message, cell| error(code, message, "", cell);
    cast(
        "E0605",
        "non-primitive cast: `String` as `i32`",
        "«s as i32»",
    )
    .says("`s.parse::<i32>()?`");
    cast("E0605", "non-primitive cast: `Own` as `i32`", "«p as i32»").says("a method of `Own`");
    cast(
        "E0605",
        "non-primitive cast: `Vec<i32>` as `Vec<f64>`",
        "«v as Vec<f64>»",
    )
    .says("`v.iter().map(|x| *x as f64)");
    cast(
        "E0606",
        "casting `bool` as `f64` is invalid",
        "«true as f64»",
    )
    .says_nothing();
    cast("E0606", "casting `&i32` as `f64` is invalid", "«x as f64»").says("`*x as f64`");
    cast("E0054", "cannot cast `char` as `bool`", "«'a' as bool»").says_nothing();
    cast(
        "E0620",
        "cast to unsized type: `String` as `str`",
        "«s as str»",
    )
    .says("`s.to_string()`");
    cast(
        "E0620",
        "cast to unsized type: `[i32; 2]` as `[i32]`",
        "«a as [i32]»",
    )
    .says("`&a[..]`");
    let index = |message, cell| error("E0277", message, "", cell);
    index("the type `[i32]` cannot be indexed by `i32`", "v[«i»]").says("`[i as usize]`");
    index("the type `[i32]` cannot be indexed by `&str`", "v[«s»]").says("HashMap");
    index("the type `[i32]` cannot be indexed by `&usize`", "v[«u»]").says_nothing();
    index(
        "the type `[i32]` cannot be indexed by `Range<i32>`",
        "v[«0..i»]",
    )
    .says("ends of the range");
}
