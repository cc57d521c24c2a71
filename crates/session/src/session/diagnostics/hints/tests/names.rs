//! Hints about names.

use super::*;

#[test]
fn python_is_explained_where_the_error_is() {
    let syntax = |message, cell| error("", message, "", cell);
    syntax("expected `{`, found `:`", "if n > 3«:»").says("without `:`");
    syntax(
        "expected `|`, found `:`",
        "if let Some(k)«:» Option<i32> = o { }",
    )
    .says_nothing();
    syntax(
        "expected one of `@` or `|`, found `:`",
        "for i«:» i32 in v { }",
    )
    .says_nothing();
    syntax("expected `in`, found `:`", "for i in v«:»").says("`0..10`");
    syntax("found `@`", "a «@» b").says("matrix multiplication");
    syntax("found `y`", "match x { n @ 1..=5 => n «y», _ => 0 }").says_nothing();
    syntax("found `x`", "let w: Vec<> = Vec::new() «x»;").says_nothing();
    syntax("found `<>`", "a «<»> b").says("`!=`");
    syntax("found `is`", "this «is» a comment").says("a comment begins");
    syntax("found `is`", "x «is» not None").says("`x.is_some()`");
    syntax("found `y`", "print «y»").says("`println!");
    let unknown = |cell| error("E0425", "cannot find value `q` in this scope", "", cell);
    unknown("let z = not(true) + «q»;").says("is the name spelled");
    unknown("«pass»").says("an empty block");
}

#[test]
fn names_of_python_are_those_that_no_cell_defines() {
    let value = |message, cell| error("E0425", message, "not found in this scope", cell);
    value("cannot find value `time` in this scope", "«time» + 1").says("Instant");
    value("cannot find value `test` in this scope", "«test» + 1")
        .note(&["+tests"])
        .says_nothing();
    value("cannot find value `time` in this scope", "«time» + 1")
        .note(&["+tests"])
        .says_nothing();
    let path = |name, cell| {
        error(
            "E0433",
            name,
            "use of unresolved module or unlinked crate",
            cell,
        )
    };
    path(
        "cannot find module or crate `time` in this scope",
        "«time»::now()",
    )
    .says(":dep time");
    path(
        "cannot find module or crate `np` in this scope",
        "«np»::zeros(3)",
    )
    .says("need no prefix");
    let call = |message, cell| error("E0423", message, "", cell);
    call("expected function, found struct `Own`", "«Own»(3)").says_nothing();
    call("expected function, found builtin type `str`", "«str»(3)").says("x.to_string()");
    value("cannot find function `sqrt` in this scope", "«sqrt»(2.0)").says("a tensor and a float");
    value("cannot find function `relu` in this scope", "«relu»(2.0)").says("a tensor has it");
}

#[test]
fn arguments_are_explained_for_functions_of_taper_only() {
    let method = "this method takes 1 argument but 0 arguments were supplied";
    let function = "this function takes 2 arguments but 1 argument was supplied";
    error("E0061", method, "", "x.«sum»()")
        .of_taper()
        .says("x.sum_all()");
    error("E0061", method, "", "own.«sum»()").says_nothing();
    error("E0061", function, "", "«max»(1)")
        .of_taper()
        .says("the larger of two");
    error("E0061", function, "", "«max»(1)").says_nothing();
    let missing = |message, cell| error("E0599", message, "", cell);
    missing(
        "no method named `view` found for struct `Tensor` in the current scope",
        "x.«view»()",
    )
    .says("reshape");
    missing(
        "no method named `size` found for struct `Vec<Tensor>` in the current scope",
        "x.«size»()",
    )
    .says_nothing();
    missing(
        "no method named `view` found for struct `MyTensor` in the current scope",
        "x.«view»()",
    )
    .says_nothing();
    missing(
        "no method named `view` found for enum `Option<Tensor>` in the current scope",
        "x.«view»()",
    )
    .says_nothing();
}

#[test]
fn a_variable_is_unseen_where_it_is_unseen() {
    let value = |cell| {
        error(
            "E0425",
            "cannot find value `n` in this scope",
            "not found",
            cell,
        )
    };
    value("fn f() -> i32 { «n» }").says("a function does not see");
    value("macro_rules! m { () => { «n» } }").says("a macro does not see");
    value("«m!()»").says("a macro does not see");
    value("const C: i32 = «n»;").says("the value of a constant");
    value("«n» + 1").says_nothing();
    error(
        "E0425",
        "cannot find value `k` in this scope",
        "",
        "let k = 3;\nfn cap() -> i32 { «k» }",
    )
    .says("Pass `k` as an argument");
    error("E0618", "expected function, found `i32`", "", "«n»(2)").says("multiplied with `*`");
    error(
        "E0618",
        "expected function, found struct `Own`",
        "",
        "«Own»()",
    )
    .says_nothing();
    error(
        "E0618",
        "expected function, found `String`",
        "",
        "let linspace = s;\n«linspace»(1)",
    )
    .says("`taper::prelude::linspace(…)`");
}

#[test]
fn a_variable_whose_type_the_cell_redefines_is_lost() {
    let mut names = Names::default();
    let present = ["q".to_owned()].into_iter().collect();
    names.cell_ended(
        "struct Q;\nlet q = Q;",
        Outcome::Ran,
        present,
        &Changes::default(),
    );
    let redefined = ["q".to_owned()];
    let context = Context::new("enum Q { A }\nq", &names, &redefined);
    let mut diagnostic = Diagnostic {
        code: Some("E0425".to_owned()),
        message: "cannot find value `q` in this scope".to_owned(),
        labels: vec![Label::at(13, "q", "", context.cell)],
        ..Diagnostic::default()
    };
    add(&mut diagnostic, &context);
    let hint = diagnostic.hint.unwrap_or_default();
    assert!(
        hint.contains("this cell redefines the type of `q`"),
        "{hint}"
    );
}

#[test]
fn items_of_one_name_are_told_apart() {
    let twice = |cell| error("E0428", "the name `K` is defined multiple times", "", cell);
    twice("const «K»: i32 = 1;").says("an earlier cell defines `K`");
    twice("macro_rules! mk { ($n:ident) => { struct «K»; struct K; } }").says("an earlier cell");
    let debug = "conflicting implementations of trait `Debug` for type `Own`";
    error("E0119", debug, "", "«impl Debug for Own» {}")
        .says("`#[derive(Debug)]` above the definition of `Own`");
    let debug = "conflicting implementations of trait `Debug` for type `Model`";
    error("E0119", debug, "", "«impl Debug for Model» {}").says("another derive");
    let other = "conflicting implementations of trait `Shape` for type `Own`";
    error("E0119", other, "", "«impl Shape for Own» {}").says_nothing();
}

#[test]
fn packages_are_suggested_by_their_name() {
    let unlinked = "use of unresolved module or unlinked crate";
    let import = |message, cell| error("E0432", message, unlinked, cell);
    import("unresolved import `num_traits`", "use «num_traits»::Zero;")
        .says("`:dep num-traits = \"*\"`");
    import("unresolved import `serde_json`", "use «serde_json»::json;")
        .says("`:dep serde_json = \"*\"`");
    import("unresolved import `alloc`", "use «alloc»::vec;").says("`extern crate alloc;`");
    // A loaded package, and a module of Rust's library.
    import("unresolved import `tapr`", "use «tapr»::prelude;")
        .note(&["+taper"])
        .says_nothing();
    import("unresolved import `time`", "use «time»::Date;")
        .note(&["+std::time"])
        .says("or, for the package");
    let item = |cell| {
        error(
            "E0432",
            "unresolved import `std::foo`",
            "could not find `foo` in `std`",
            cell,
        )
    };
    item("use std::«foo»::Bar;").says("Press Tab");
    item("use tokio::«rt»::Bar;")
        .note(&["the item is gated behind the `rt` feature"])
        .says("features = [\"rt\"]");
}
