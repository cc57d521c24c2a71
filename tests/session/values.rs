//! The values and figures that a cell shows.

use crate::common::events::{display, err, out, result, session, value};
use serde_json::json;

#[test]
fn the_last_expression_is_the_value() {
    let mut session = session();
    assert_eq!(session.run("1 + 1"), [value("2")]);
    assert_eq!(
        session.run("let values_a = 20;\nvalues_a + 1"),
        [value("21")]
    );
    assert_eq!(session.run("(values_a, \"é\")"), [value("(20, \"é\")")]);
    assert_eq!(
        session.run("vec![1, 2, 3].into_iter().map(|x| x * x).collect::<Vec<_>>()"),
        [value("[1, 4, 9]")]
    );
}

#[test]
fn a_tensor_shows_values_shape_type_and_device() {
    let shown = "[[1., 2.],\n [3., 4.]]\nTensor[[2, 2], f32, cpu]";
    assert_eq!(
        session().run("tensor(&[[1.0, 2.0], [3.0, 4.0]])"),
        [value(shown)]
    );
}

#[test]
fn a_cell_without_a_value_shows_nothing() {
    let mut session = session();
    for cell in [
        "()",
        "let values_b = 1;",
        "",
        "// a comment",
        "fn values_c() {}",
        "drop(values_b + 1);",
    ] {
        let ran = session.run(cell);
        assert!(ran.is_empty(), "{cell:?} {ran:#?}");
    }
}

#[test]
fn two_figures_of_one_cell_are_both_shown() {
    let cell = r#"use taper::notebook::{MimeBundle, display};
        for name in ["one", "two"] {
            display(&MimeBundle::text(name).with("image/svg+xml", format!("<svg>{name}</svg>")));
            println!("after {name}");
        }"#;
    let figure = |name: &str| {
        display(json!({ "text/plain": name, "image/svg+xml": format!("<svg>{name}</svg>") }))
    };
    assert_eq!(
        session().run(cell),
        [
            figure("one"),
            out("after one\n"),
            figure("two"),
            out("after two\n")
        ]
    );
}

/// Other crates, such as plotters, print figures in evcxr's format of a value. The last figure is the value of
/// the cell.
#[test]
fn two_figures_printed_as_evcxrs_values_are_both_shown() {
    let cell = r#"for i in 1..=2 { println!("EVCXR_BEGIN_CONTENT image/svg+xml\n<svg>{i}</svg>\nEVCXR_END_CONTENT"); }"#;
    let figure = |i: u8| json!({ "image/svg+xml": format!("<svg>{i}</svg>") });
    assert_eq!(session().run(cell), [display(figure(1)), result(figure(2))]);
}

#[test]
fn variables_are_listed_as_text_and_as_a_table() {
    let mut session = session();
    session.run("let values_d = 2.5_f32;");
    let shown = session.run(":vars");
    assert_eq!(shown.len(), 1);
    let text = shown[0]["data"]["text/plain"]
        .as_str()
        .expect("a list as text");
    let row = text.lines().find(|line| line.starts_with("values_d "));
    let words: Vec<&str> = row.expect("a row").split_whitespace().collect();
    assert_eq!(words, ["values_d", "f32", "4", "B", "2.5"], "{text}");
    assert!(
        shown[0]["data"]["text/html"]
            .as_str()
            .is_some_and(|html| html.contains("<td>values_d</td>"))
    );
}

#[test]
fn a_function_may_use_either_result() {
    let mut session = session();
    assert_eq!(
        session.run("fn values_e() -> Result<f64> { Ok(zeros(()).item()) }\nvalues_e()?"),
        [value("0.0")]
    );
    let two = "fn values_f() -> Result<u8, std::num::ParseIntError> { \"7\".parse() }\nvalues_f()?";
    assert_eq!(session.run(two), [value("7")]);
}

/// If the variable were kept, the bytes of its value would be read as the new type.
#[test]
fn variables_of_a_redefined_type_are_dropped() {
    let mut session = session();
    // Warnings about an earlier cell do not mean that a cell fails to compile.
    session.run("fn values_warned() { let unused = 1; }");
    session.run("struct ValuesP { x: i32 }\nlet values_g = ValuesP { x: 1 };\nlet values_h = vec![ValuesP { x: 2 }];");
    assert!(session.run("struct ValuesP { x: i32 }").is_empty());
    assert_eq!(session.run("values_g.x"), [value("1")]);
    // A cell that does not compile changes nothing.
    session.run("struct ValuesP { x: Nothing }");
    assert_eq!(session.run("values_g.x"), [value("1")]);
    let ran =
        session.run("struct ValuesP { x: String }\nlet values_g = ValuesP { x: \"new\".into() };");
    let gone =
        "lost, because the type was redefined: values_h. Run the cells that define them again.\n";
    assert_eq!(ran, [err(gone)]);
    assert_eq!(session.run("values_g.x.as_str()"), [value("\"new\"")]);
}

#[test]
fn threads_that_wait_leave_the_cores_to_other_kernels() {
    let limit = "std::env::var(\"CANDLE_BARRIER_POOL_SPIN_LIMIT\").ok()";
    assert_eq!(session().run(limit), [value("Some(\"1000\")")]);
}
