//! What an editor learns about a session.

use crate::common::Cells;

#[test]
fn what_a_cell_can_use_is_told_as_source() {
    let mut cells = Cells::start();
    cells.run("use std::fmt;\nmacro_rules! one { () => { 1 } }\nfn two() -> i32 { 2 }\nstruct P;");
    cells.run("use std::cell::Cell;\nlet mut n = Cell::new(one!());\nlet p = P;\nimpl P { fn a(&self) {} fn b(&self) {} }");
    // The cell that is being written replaces a function and a method.
    let found = cells
        .engine
        .scope()
        .around("   fn two() {}\nimpl P { fn b(&self) { 1; } }");
    let macros = found.items.find("macro_rules! one").expect("a macro");
    assert!(macros < found.items.find("struct P;").expect("a type"));
    assert!(found.items.contains("use std::fmt;") && found.items.contains("fn a(&self) {}"));
    assert!(!found.items.contains("fn two") && !found.items.contains("fn b"));
    let variables = found.variables.iter();
    let variables: Vec<_> = variables
        .map(|it| (&*it.name, &*it.kind, it.is_mutable))
        .collect();
    assert_eq!(variables, [("n", "Cell<i32>", true), ("p", "P", false)]);
    // What is not valid replaces nothing.
    let found = cells.engine.scope().around("fn two( {");
    assert!(found.items.contains("fn two() -> i32 { 2 }"));
}
