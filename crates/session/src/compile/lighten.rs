//! Leaves out of a cell's source what the cell does not need.
//!
//! evcxr puts a store for variables into every cell, loads each variable that is alive, and stores it again:
//! work for rustc that grows with a notebook. Here the store becomes an import of the store that `taper`
//! has compiled, and a variable that the cell does not name stays where it is. What is left out is
//! overwritten with spaces, so that lines and columns in diagnostics are right.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

const STORE: &str = "mod evcxr_internal_runtime {\n";
const IMPORT: &[u8] = b"pub use taper::notebook::variables::*;";
const FUNCTION: &str = "pub extern \"C\" fn run_user_code_";
const CHECK: &str = "vars_ok &= evcxr_variable_store.check_variable::<";
const TAKE: &str = " = evcxr_variable_store.take_variable::<";
const PUT: &str = "evcxr_variable_store.put_variable::<";

/// Returns the source in which what the cell does not need is overwritten, or `None` if there is nothing
/// to overwrite.
pub(crate) fn lighten(source: &str) -> Option<String> {
    let start = source.find(FUNCTION)?;
    let (above, function) = source.split_at(start);
    let mut light = source.as_bytes().to_vec();
    let unused = lines_of_unused_variables(function);
    let mut is_lighter = !unused.is_empty();
    for line in unused {
        light[start + line.start..start + line.end].fill(b' ');
    }
    if let Some(store) = known_store(above) {
        is_lighter |= import(&mut light[store]);
    }
    String::from_utf8(light).ok().filter(|_| is_lighter)
}

/// Returns the range of evcxr's store, if its code is known and the store of `taper` can replace it.
fn known_store(above: &str) -> Option<Range<usize>> {
    let start = above.rfind(STORE)? + STORE.len();
    let end = start + above[start..].find("\n}\n#[unsafe(no_mangle)]")?;
    let is_known = above[start..end].contains("pub fn create_variable_store()");
    (is_known && above.contains("use taper::prelude::*;")).then_some(start..end)
}

/// Overwrites the store with the import; returns whether there is a line long enough for it.
fn import(store: &mut [u8]) -> bool {
    let mut lines = store.split(|byte| *byte == b'\n');
    let Some(number) = lines.position(|line| line.len() >= IMPORT.len()) else {
        return false;
    };
    let above = store.split(|byte| *byte == b'\n').take(number);
    let start: usize = above.map(|line| line.len() + 1).sum();
    let text = store.iter_mut().filter(|byte| **byte != b'\n');
    text.for_each(|byte| *byte = b' ');
    store[start..start + IMPORT.len()].copy_from_slice(IMPORT);
    true
}

/// Returns the ranges of the lines that load, check and store variables that no other line names.
fn lines_of_unused_variables(function: &str) -> Vec<Range<usize>> {
    let mut used: HashSet<&str> = HashSet::new();
    let mut lines: HashMap<&str, Vec<(Step, Range<usize>)>> = HashMap::new();
    let mut start = 0;
    for line in function.split_inclusive('\n') {
        let text = line.trim_end_matches('\n');
        match step(text) {
            Some((step, name)) => {
                let place = start..start + text.len();
                lines.entry(name).or_default().push((step, place));
            }
            None => used.extend(words(text)),
        }
        start += line.len();
    }
    let is_unused = |(name, found): &(&str, Vec<(Step, Range<usize>)>)| {
        let count = |wanted| found.iter().filter(|(step, _)| *step == wanted).count();
        let is_only_kept = [Step::Check, Step::Take, Step::Put].map(count) == [1, 1, 1];
        is_only_kept && !used.contains(name)
    };
    let unused = lines.into_iter().filter(is_unused);
    unused
        .flat_map(|(_, found)| found.into_iter().map(|(_, place)| place))
        .collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Step {
    Check,
    Take,
    Put,
}

/// Returns what a line of evcxr's code does, and with which variable.
fn step(line: &str) -> Option<(Step, &str)> {
    let step = if line.starts_with(CHECK) {
        Step::Check
    } else if line.starts_with(PUT) {
        Step::Put
    } else if line.starts_with("let ") && line.contains(TAKE) {
        Step::Take
    } else {
        return None;
    };
    let (_, rest) = line.rsplit_once("(stringify!(")?;
    let (name, end) = rest.split_once(')')?;
    let is_whole = match step {
        Step::Put => end.strip_prefix(", ")?.strip_suffix(");")? == name,
        Step::Check | Step::Take => end == ");",
    };
    is_whole.then_some((step, name))
}

/// Returns everything that could be a name, also in strings: `"{loss}"` names a variable.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(user_code: &str) -> String {
        format!(
            "use taper::prelude::*;\nmod evcxr_internal_runtime {{\npub struct VariableStore {{ variables: std::collections::HashMap }}\n\
             pub fn create_variable_store() {{}}\n}}\n#[unsafe(no_mangle)]\n\
             pub extern \"C\" fn run_user_code_3(\n{{let mut vars_ok = true;\n\
             vars_ok &= evcxr_variable_store.check_variable::<Tensor>(stringify!(loss));\n\
             vars_ok &= evcxr_variable_store.check_variable::<u8>(stringify!(x));\n\
             if !vars_ok {{return evcxr_variable_store;}}}}\n\
             let loss = evcxr_variable_store.take_variable::<Tensor>(stringify!(loss));\n\
             let mut x = evcxr_variable_store.take_variable::<u8>(stringify!(x));\n\
             {user_code}\n\
             evcxr_variable_store.put_variable::<Tensor>(stringify!(loss), loss);\n\
             evcxr_variable_store.put_variable::<u8>(stringify!(x), x);\n\
             evcxr_variable_store\n}}\n"
        )
    }

    #[test]
    fn a_variable_that_the_cell_does_not_name_stays_in_the_store() {
        let before = source("println!(\"{loss}\");");
        let after = lighten(&before).expect("there is something to leave out");
        assert_eq!(after.matches("stringify!(x)").count(), 0);
        assert_eq!(after.matches("stringify!(loss)").count(), 3);
        assert!(!after.contains("pub struct VariableStore"));
    }

    #[test]
    fn every_line_stays_where_it_is() {
        let before = source("let y = 1;");
        let after = lighten(&before).expect("there is something to leave out");
        assert_eq!(before.lines().count(), after.lines().count());
        let line = |text: &str| text.lines().position(|line| line == "let y = 1;");
        assert!(line(&before).is_some() && line(&before) == line(&after));
    }

    #[test]
    fn a_variable_that_is_defined_again_is_stored() {
        let again = "let x = 2;\nevcxr_variable_store.put_variable::<i32>(stringify!(x), x);";
        let after = lighten(&source(again)).expect("there is something to leave out");
        assert_eq!(after.matches("stringify!(x)").count(), 4);
    }

    #[test]
    fn a_cell_without_variables_is_left_alone() {
        assert_eq!(lighten("pub extern \"C\" fn run_user_code_0(\n{}\n"), None);
        assert_eq!(lighten("fn f() {}"), None);
    }
}
