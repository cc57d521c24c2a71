//! Python's syntax, functions and modules, and what Rust and Taper have instead.

use super::hint::{Hint, instead};
use crate::session::diagnostics::context::Context;
use crate::session::diagnostics::diagnostic::Diagnostic;
use crate::session::position::byte_offset;
use crate::session::tokens::{depth_after, is_name, with_offsets};
use std::ops::RangeInclusive;

/// Parts of a line that are Python or a command of IPython, and what to write; the first match counts. In a
/// pattern `STR` is a string, `NAME` a name, `NUM` a number, `^` the begin of the line, and `…` matches any
/// tokens, of which none closes a bracket that is open before.
#[rustfmt::skip]
const SYNTAX: &[(&str, &str)] = &[
    ("^ %% bash", "a command that begins with `%` must be the first line of its cell."),
    ("^ %% sh", "a line that begins with `!` is a command of the shell: `!ls -l`."),
    ("^ % timeit", "a command that begins with `%` must be the first line of its cell."),
    ("^ % time", "a command that begins with `%` must be the first line of its cell."),
    ("^ %% timeit", "a command that begins with `%` must be the first line of its cell."),
    ("^ %% time", "a command that begins with `%` must be the first line of its cell."),
    ("^ % matplotlib", "nothing is needed: figures such as `plot(…)` are shown in the notebook."),
    ("^ % pip", "a package is added with `:dep name = \"*\"` at the top of a cell."),
    ("^ cargo add", "a package is added with `:dep name = \"*\"` at the top of a cell."),
    ("^ pip install", "a package is added with `:dep name = \"*\"` at the top of a cell."),
    ("^ % pwd", "a line that begins with `!` is a command of the shell: `!pwd`."),
    ("^ % ls", "a line that begins with `!` is a command of the shell: `!ls`."),
    ("^ % cd", "the folder is changed with `std::env::set_current_dir(\"data\")?;`."),
    ("^ %% NAME", "this command of IPython does not exist here; `:help` lists the commands of this kernel."),
    ("^ % NAME", "this command of IPython does not exist here; `:help` lists the commands of this kernel."),
    ("^ # NAME", "a comment begins with `//`."),
    ("print ( f '", "a string with values is printed with the macro: `println!(\"{x}\")`."),
    ("print ( f STR", "a string with values is printed with the macro: `println!(\"{x}\")`."),
    ("f STR", "a string with values is `format!(\"value {x}\")`; to print it, `println!(\"value {x}\")`."),
    ("f '", "a string with values is `format!(\"value {x}\")`; to print it, `println!(\"value {x}\")`."),
    ("print STR", "text is printed with the macro: `println!(\"{x}\")`."),
    ("print NAME", "a value is printed with the macro: `println!(\"{x}\")`, or `{x:?}` for lists."),
    ("lambda :", "a function without a name is a closure: `|| 1`."),
    ("lambda NAME", "a function without a name is a closure: `|x| x + 1`."),
    ("[ … for NAME in", "a list is built with an iterator: `(0..10).map(|i| i * i).collect::<Vec<_>>()`."),
    ("( … for NAME in", "values are computed with an iterator: `(0..10).map(|i| i * i).sum::<i32>()`."),
    ("{ NAME : … for NAME in", "a map is built with an iterator: `(0..3).map(|i| (i, i * i)).collect::<std::collections::HashMap<_, _>>()`."),
    ("{ STR :", "a map is `std::collections::HashMap::from([(\"a\", 1), (\"b\", 2)])`."),
    ("{ NUM :", "a map is `std::collections::HashMap::from([(1, \"a\"), (2, \"b\")])`."),
    ("{ NUM ,", "a set is `std::collections::HashSet::from([1, 2, 3])`."),
    ("{ STR ,", "a set is `std::collections::HashSet::from([\"a\", \"b\"])`."),
    ("is not None", "an `Option` is tested with `x.is_some()`."),
    ("is None", "an `Option` is tested with `x.is_none()`."),
    ("is not", "values are compared with `!=`."),
    ("not in", "membership is tested with `!v.contains(&x)`."),
    ("is NAME", "values are compared with `==`."),
    ("is NUM", "values are compared with `==`."),
    ("if NAME in", "membership is tested with a method: `if v.contains(&x) { … }`."),
    ("if NUM in", "membership is tested with a method: `if v.contains(&x) { … }`."),
    ("if not NAME", "not is written `!`: `if !done { … }`."),
    ("while not NAME", "not is written `!`: `while !done { … }`."),
    ("= not", "not is written `!`: `!true`."),
    ("^ not", "not is written `!`: `!true`."),
    ("elif", "the word is `else if`: `if a { … } else if b { … }`."),
    ("^ else :", "a block is written between `{` and `}`, without `:`."),
    ("^ def NAME", "a function begins with `fn`: `fn f(x: f64) -> f64 { x + 1.0 }`."),
    ("^ async def", "a function begins with `fn`: `async fn f(x: f64) -> f64 { x + 1.0 }`."),
    ("^ class NAME", "a `struct` holds the fields, and an `impl` the methods."),
    ("^ import NAME", "Rust's keyword is `use`: `use std::collections::HashMap;`. The items of taper are imported already."),
    ("^ from NAME", "Rust's keyword is `use`: `use std::collections::HashMap;`. The items of taper are imported already."),
    ("^ try :", "an error is returned, not caught: `?` passes it on, and `match f() { Ok(value) => …, Err(error) => … }` handles it."),
    ("^ except", "an error is returned, not caught: `match f() { Ok(value) => …, Err(error) => … }`."),
    ("^ raise NAME", "an error is returned: `return Err(\"why\".into());`; for a bug in the program, `panic!(\"why\")`."),
    ("^ with NAME", "a value is closed at the end of its block: `{ let file = std::fs::File::open(\"a.txt\")?; … }`."),
    ("^ assert NAME", "the macro is `assert!(x > 0)`, or `assert_eq!(a, b)`."),
    ("^ del NAME", "a variable is removed with `drop(x)`."),
    ("^ pass", "an empty block is `{}`."),
    ("^ global NAME", "a function takes what it needs as an argument."),
    ("^ nonlocal NAME", "a closure may change variables around it: `let mut add = |x| total += x;`."),
    ("yield", "a generator is an iterator: `std::iter::from_fn(…)`, or `(0..10).map(…)`."),
    ("^ type (", "the type of a variable is shown by `:type x`; `:vars` lists all."),
    ("^ @ NAME", "Rust has no decorators; `#[…]` above a function is an attribute."),
    ("^ if … :", "a block is written between `{` and `}`, without `:`."),
    ("^ for … in … :", "a block is written between `{` and `}`, without `:`; and `0..10` are the integers from 0 to 9."),
    ("^ while … :", "a block is written between `{` and `}`, without `:`."),
    ("^ match … :", "a block is written between `{` and `}`, without `:`: `match x { 1 => \"one\", _ => \"more\" }`."),
    ("= NAME if", "the condition comes first: `let x = if a { 1 } else { 2 };`."),
    ("= NUM if", "the condition comes first: `let x = if a { 1 } else { 2 };`."),
    ("= STR if", "the condition comes first: `let x = if a { \"yes\" } else { \"no\" };`."),
    ("[ : ,", "a tensor is indexed with ranges: `x.i((.., 0))` is `x[:, 0]`."),
    ("[ … , :", "a tensor is indexed with ranges: `x.i((0, ..))` is `x[0, :]`."),
    ("[ NUM :", "a part of a list is `&v[1..3]`; of a tensor, `x.i(1..3)`."),
    ("[ : NUM", "a part of a list is `&v[..3]`; of a tensor, `x.i(..3)`."),
    ("[ : -", "a part of a list is `&v[..v.len() - 1]`; of a tensor, `x.i(..-1)`."),
    ("[ ::", "every second element is `v.iter().step_by(2)`; the reverse, `v.iter().rev()`."),
    ("[ ... ,", "a tensor is indexed with ranges: `x.i((.., 0))`."),
    ("[ … , ... ]", "a tensor is indexed with ranges: `x.i((.., 0))`."),
    ("<>", "inequality is written `!=`."),
    ("@", "matrix multiplication is a method: `a.matmul(&b)`."),
];

/// Functions of Python, for which rustc suggests a function of a similar name.
#[rustfmt::skip]
const FUNCTIONS: &[(&str, &str)] = &[
    ("range", "`0..10` are the integers from 0 to 9."),
    ("len", "the length is a method: `v.len()`."),
    ("float", "write `x as f64`, or for a string `s.parse::<f64>()?`."),
    ("int", "write `x as i64`, or for a string `s.parse::<i64>()?`."),
    ("str", "write `x.to_string()`."),
    ("print", "printing is a macro: `println!(\"{x}\")`."),
    ("sum", "the sum is a method: `v.iter().sum::<f64>()`; of a tensor, `x.sum_all()`, along a dimension `x.sum(0)`."),
    ("max", "the larger of two is `a.max(b)`; of a list, `v.iter().max()`; of a tensor, `x.max_all()`, along a dimension `x.max(0)`."),
    ("min", "the smaller of two is `a.min(b)`; of a list, `v.iter().min()`; of a tensor, `x.min_all()`, along a dimension `x.min(0)`."),
    ("round", "it is a method: `x.round()`; to print two digits, `println!(\"{x:.2}\")`."),
    ("pow", "a power is `x.powi(2)` of a float, `n.pow(2)` of an integer."),
    ("sorted", "a list is sorted in place: `v.sort();`, with floats `v.sort_by(f64::total_cmp);`."),
    ("reversed", "the reverse is an iterator: `v.iter().rev()`."),
    ("enumerate", "it is a method: `for (i, x) in v.iter().enumerate() { … }`."),
    ("zip", "it is a method: `for (a, b) in v.iter().zip(&w) { … }`."),
    ("map", "it is a method: `v.iter().map(|x| x * 2)`."),
    ("filter", "it is a method: `v.iter().filter(|x| **x > 0)`."),
    ("any", "it is a method: `v.iter().any(|x| *x > 0)`."),
    ("all", "it is a method: `v.iter().all(|x| *x > 0)`."),
    ("list", "a list is `vec![1, 2, 3]`; an iterator becomes one with `.collect::<Vec<_>>()`."),
    ("tuple", "a tuple is `(1, \"a\")`."),
    ("dict", "a map is `std::collections::HashMap::from([(\"a\", 1)])`."),
    ("set", "a set is `std::collections::HashSet::from([1, 2])`."),
    ("bool", "compare: `x != 0`, `!s.is_empty()`."),
    ("isinstance", "the type of a variable is known before the program runs; `:vars` lists the types."),
    ("input", "a line is read with `std::io::stdin().read_line(&mut line)?;`."),
    ("open", "a file is read with `std::fs::read_to_string(\"a.txt\")?`."),
    ("dir", "press Tab after `x.` for the methods of a value."),
    ("help", "press Shift-Tab on a name for its documentation; `:help` lists the commands of the kernel."),
    ("ord", "the code of a character is `'a' as u32`."),
    ("chr", "the character with a code is `97u8 as char`."),
    ("repr", "it is `format!(\"{x:?}\")`."),
    ("exit", "restart or shut down the kernel in the notebook's menu."),
    ("quit", "restart or shut down the kernel in the notebook's menu."),
    ("sleep", "it is `std::thread::sleep(std::time::Duration::from_secs(1))`."),
    ("super", "Rust has no inheritance; a trait holds what several types share."),
    ("append", "it is a method: `v.push(x)`."),
    ("Exception", "an error may be a string: `return Err(\"why\".into());`."),
    ("Counter", "count in a map: `*counts.entry(word).or_insert(0) += 1;`."),
    ("zeros_like", "it is a method: `x.zeros_like()`."),
    ("ones_like", "it is a method: `x.ones_like()`."),
    ("randn_like", "it is a method: `x.randn_like()`."),
    ("cat", "tensors are joined with `cat(&[&a, &b], 0)`."),
    ("concat", "tensors are joined with `cat(&[&a, &b], 0)`."),
    ("stack", "tensors are stacked with `Tensor::stack(&[&a, &b], 0)`."),
    ("matmul", "tensors are borrowed: `matmul(&a, &b)`."),
    ("dot", "the dot product of two vectors is `(&a * &b).sum_all()`; the product of matrices, `a.matmul(&b)`."),
    ("mean", "the mean of a tensor is `x.mean_all()`, along a dimension `x.mean(0)`."),
    ("argmax", "pass the dimension: `x.argmax(0)`."),
    ("Tensor", "a tensor is made with `tensor(&[1.0, 2.0])`."),
];

/// Types of Python and of Candle.
#[rustfmt::skip]
const TYPES: &[(&str, &str)] = &[
    ("int", "an integer is an `i64`, an index a `usize`."),
    ("float", "a floating-point number is an `f64`; the elements of a tensor, `f32`."),
    ("string", "a string is a `String`, or `&str` where it is borrowed."),
    ("list", "a list is a `Vec<f64>`."),
    ("dict", "a map is a `std::collections::HashMap<String, f64>`."),
    ("set", "a set is a `std::collections::HashSet<String>`."),
    ("tuple", "a tuple is `(f64, String)`."),
    ("object", "a value of any type is a `Box<dyn std::any::Any>`; write the type that is meant."),
    ("Var", "a tensor to be trained is a `Parameter`: `let w = Parameter::new(&x);`; calculate with `w.tensor()`."),
    ("ndarray", "a tensor of any shape is a `Tensor`."),
    ("long", "an integer is an `i64`."),
    ("double", "a floating-point number is an `f64`."),
];

/// Functions of torch and numpy that are methods of a tensor, and of a float if the second is true.
#[rustfmt::skip]
const METHODS: [(&str, bool); 10] = [
    ("abs", true), ("cos", true), ("exp", true), ("log", false), ("relu", false), ("sin", true), ("sqrt", true),
    ("tanh", true), ("transpose", false), ("reshape", false),
];

/// Modules of Python of which no package of crates.io is meant.
const MODULES: [&str; 11] = [
    "math", "os", "sys", "torch", "np", "numpy", "nn", "F", "optim", "plt", "pd",
];

/// Names of Python that have a value or stand for a module.
#[rustfmt::skip]
const NAMES: &[(&str, &str)] = &[
    ("help", "press Shift-Tab on a name for its documentation; `:help` lists the commands of the kernel."),
    ("True", "it is written `true`."),
    ("False", "it is written `false`."),
    ("null", "a value that may be missing is an `Option`: `None` or `Some(x)`."),
    ("nil", "a value that may be missing is an `Option`: `None` or `Some(x)`."),
    ("nan", "it is `f64::NAN`."),
    ("inf", "it is `f64::INFINITY`."),
    ("pi", "it is `std::f64::consts::PI`."),
    ("math", "a number has methods: `2f64.sqrt()`, `x.sin()`; `std::f64::consts::PI` is π."),
    ("torch", "the functions of taper need no prefix: `zeros((2, 3))`, `tensor(&[1.0, 2.0])`."),
    ("np", "the functions of taper need no prefix: `zeros((2, 3))`, `linspace(0.0, 1.0, 5)`."),
    ("numpy", "the functions of taper need no prefix: `zeros((2, 3))`, `linspace(0.0, 1.0, 5)`."),
    ("nn", "the layers of taper need no prefix: `Linear::new(2, 3)`, `seq![…]`."),
    ("F", "functions of torch are methods or layers here: `x.relu()`, `cross_entropy(&logits, &labels)`."),
    ("optim", "the optimisers of taper need no prefix: `SGD::new(model.parameters(), 0.1)`."),
    ("plt", "figures are made with `plot(&x, &[&y])`, without a prefix."),
    ("pd", "there are no data frames here; `:dep polars = \"*\"` adds a package that has them."),
    ("random", "random tensors are `rand((2, 3))` and `randn((2, 3))`; `manual_seed(1)` makes them repeatable."),
    ("os", "files are in `std::fs`, paths in `std::path`, variables in `std::env`."),
    ("sys", "arguments and variables are in `std::env`."),
    ("time", "measure with `std::time::Instant::now()` and `.elapsed()`."),
    ("tqdm", "a progress bar is `for x in progress(v) { … }`."),
    ("display", "it is a function: `display(&figure)`."),
];

/// Explains Python's syntax in the line of an error, if the error is in it or right behind it.
pub(super) fn syntax(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    // A word that is unknown, or a quote, where the parser has made two statements of a line.
    const CODES: [&str; 5] = ["E0423", "E0425", "E0762", "E0765", "E0766"];
    if diagnostic
        .code
        .as_deref()
        .is_some_and(|code| !CODES.contains(&code))
    {
        return None;
    }
    let (number, column) = diagnostic.primary().map_or((1, 1), |label| label.start);
    let line = context.cell.lines().nth(number - 1)?;
    let tokens = joined(line);
    let column = byte_offset(line, (1, column));
    let place = tokens.iter().take_while(|(end, _)| *end <= column).count();
    let tokens: Vec<&str> = tokens.into_iter().map(|(_, text)| text).collect();
    if is_prose(&tokens) {
        return Some(instead("a comment begins with `//`."));
    }
    let is_let = tokens.get(1) == Some(&"let");
    let found = SYNTAX.iter().find(|(pattern, _)| {
        let is_type = is_let && pattern.ends_with(':');
        !is_type && is_in(pattern, &tokens).is_some_and(|range| range.contains(&place))
    });
    found.map(|(_, text)| instead(*text))
}

/// Words after which Python has a name, without an operator.
#[rustfmt::skip]
const KEYWORDS: [&str; 36] = [
    "and", "as", "assert", "async", "await", "class", "def", "del", "elif", "else", "except", "for", "from", "global", "if",
    "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    "print", "pip", "install", "cargo", "add", "None", "match",
];

/// Returns whether a line is a sentence: words of which two follow each other, as in no language for programs.
fn is_prose(tokens: &[&str]) -> bool {
    let is_word = |token: &&str| is_name(token) && !KEYWORDS.contains(token);
    let is_of_rust = |token: &str| ["fn", "let", "mut", "pub", "struct", "use"].contains(&token);
    let words = tokens.iter().filter(|token| is_name(token)).count();
    let others = tokens.iter().filter(|token| !is_name(token));
    words > 2
        && others
            .clone()
            .all(|token| [",", ".", "!", "?", ";", ":", "-"].contains(token))
        && others.count() < words
        && !tokens.iter().any(|token| is_of_rust(token))
        && tokens.windows(2).any(|pair| pair.iter().all(is_word))
}

/// Returns whether this is a module of Python of which no package of crates.io is meant.
pub(super) fn is_module(name: &str) -> bool {
    MODULES.contains(&name)
}

/// Explains a name that only Python has.
pub(super) fn name(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let name = context.primary(diagnostic);
    let says = |word: &str| diagnostic.message.contains(word);
    if says("module or crate") && !is_module(name) {
        return None;
    }
    if diagnostic.message.starts_with("cannot find function")
        && let Some((_, is_of_floats)) = METHODS.iter().find(|(word, _)| *word == name)
    {
        let what = if *is_of_floats {
            "a tensor and a float have"
        } else {
            "a tensor has"
        };
        return Some(instead(format!("{what} it as a method: `x.{name}(…)`.")));
    }
    let table = match () {
        () if says("function") => FUNCTIONS,
        () if says("cannot find type") => TYPES,
        () => NAMES,
    };
    let (_, text) = table.iter().find(|(word, _)| *word == name)?;
    Some(instead(*text))
}

/// Explains a function of Python where Taper has one of the same name, for tensors: `max(n, 5)`.
pub(super) fn function(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let labels = diagnostic.labels.iter();
    let label = |text: &str| labels.clone().any(|label| label.text.contains(text));
    let is_meant = match diagnostic.code.as_deref()? {
        "E0061" => diagnostic.message.starts_with("this function takes"),
        "E0308" => {
            label("arguments to this function are incorrect")
                && label("expected `&Tensor`")
                && !label("found `Tensor`")
        }
        _ => false,
    };
    if !is_meant || !diagnostic.calls_taper {
        return None;
    }
    let is_called = |word: &str| labels.clone().any(|label| context.marked(label) == word);
    let (_, text) = FUNCTIONS.iter().find(|(word, _)| is_called(word))?;
    Some(instead(*text))
}

/// Returns where the pattern occurs in the tokens: from its first token to the one behind its last.
fn is_in(pattern: &str, tokens: &[&str]) -> Option<RangeInclusive<usize>> {
    let pattern: Vec<&str> = pattern.split(' ').collect();
    match pattern.split_first() {
        Some((&"^", rest)) => begins(rest, tokens).map(|end| 0..=end),
        _ => (0..tokens.len())
            .find_map(|at| begins(&pattern, &tokens[at..]).map(|length| at..=at + length)),
    }
}

/// Returns how many tokens the pattern takes, if they begin with it.
fn begins(pattern: &[&str], tokens: &[&str]) -> Option<usize> {
    match (pattern, tokens) {
        ([], _) => Some(0),
        (["…", rest @ ..], _) => {
            let mut depth = 0;
            for (at, token) in tokens.iter().enumerate() {
                if depth == 0
                    && let Some(length) = begins(rest, &tokens[at..])
                {
                    return Some(at + length);
                }
                if depth == 0 && matches!(*token, ")" | "]" | "}") {
                    return None;
                }
                depth = depth_after(depth, token);
            }
            None
        }
        ([wanted, rest @ ..], [token, tokens @ ..]) if is(wanted, token) => {
            Some(1 + begins(rest, tokens)?)
        }
        _ => None,
    }
}

/// Returns the tokens of a line with their ends; signs that Rust's lexer takes apart and that belong together are joined.
fn joined(line: &str) -> Vec<(usize, &str)> {
    const SIGNS: [&str; 4] = ["::", "%%", "<>", "..."];
    let mut tokens = Vec::new();
    let mut end = 0;
    for (at, _, text) in with_offsets(line) {
        if at < end {
            continue;
        }
        let sign = SIGNS.iter().find(|sign| line[at..].starts_with(**sign));
        let text = sign.map_or(text, |sign| &line[at..at + sign.len()]);
        end = at + text.len();
        tokens.push((end, text));
    }
    tokens
}

fn is(wanted: &str, token: &str) -> bool {
    match wanted {
        "STR" => token.starts_with('"'),
        "NUM" => token.starts_with(|c: char| c.is_ascii_digit()),
        "NAME" => is_name(token),
        "'" => token.starts_with('\''),
        _ => wanted == token,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_found_among_the_tokens_of_a_line() {
        let found = |line: &str| {
            let tokens = joined(line).into_iter();
            let tokens: Vec<&str> = tokens.map(|(_, text)| text).collect();
            SYNTAX
                .iter()
                .find(|(pattern, _)| is_in(pattern, &tokens).is_some())
                .map(|(pattern, _)| *pattern)
        };
        assert_eq!(found("[i*i for i in range(10)]"), Some("[ … for NAME in"));
        assert_eq!(found("f\"value {x}\""), Some("f STR"));
        assert_eq!(found("%%bash"), Some("^ %% bash"));
        assert_eq!(found("x[:, 0]"), Some("[ : ,"));
        assert_eq!(found("x[1:3]"), Some("[ NUM :"));
        assert_eq!(found("for i in range(3):"), Some("^ for … in … :"));
        assert_eq!(found("let y = x + 1"), None);
        assert_eq!(found("for x in Vec::<P>::new() {"), None);
        assert_eq!(found("f(x); for y in v {"), None);
        assert_eq!(found("#[derive(Debug)]"), None);
    }
}
