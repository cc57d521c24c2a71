//! Improves an engine's completions: sorts them, adds the signatures of functions, and removes what would not
//! compile.

use taper_evaluator::evaluator::{Completion, Completions};

/// Methods that the chapters call most, the most frequent first.
#[rustfmt::skip]
const FREQUENT: &[&str] = &[
    "forward", "shape", "dims", "matmul", "reshape", "fit", "backward", "sum_all", "mean_all", "sqr", "len", "iter",
    "map", "get", "push", "tensor", "clone", "collect", "to_device", "device", "dtype", "item", "to_vec1", "to_vec2",
    "t", "i", "abs", "exp", "sqrt", "sin", "pow", "softmax", "narrow", "unsqueeze", "squeeze", "transpose", "to_scalar",
    "max_all", "argmax", "flatten_all", "to_dtype", "parameters", "parameter", "num_parameters", "train", "eval",
    "summary", "load_parameters", "save_parameters", "batch_size", "shuffle", "train_dataloader", "val_dataloader",
    "step", "optimizer", "callback", "devices", "last", "xlabel", "ylabel", "title", "titles", "legend", "width", "show",
    "unwrap", "is_empty", "first", "contains", "sum", "zip", "enumerate", "filter", "join", "to_string", "into_iter",
];

/// Methods that nearly every type has by a blanket implementation.
#[rustfmt::skip]
const BLANKET: &[&str] = &[
    "into", "try_into", "borrow", "borrow_mut", "as_ref", "as_mut", "clone_from", "clone_into", "to_owned", "type_id",
    "fmt", "eq", "ne", "cmp", "partial_cmp", "lt", "le", "gt", "ge", "max", "min", "clamp", "hash", "by_ref", "pin", "vzip",
    "evcxr_display", "show_text", "show_bundle", "into_iter_sorted", "equivalent", "init", "deref", "deref_mut",
];

/// Methods of `ParametersExt`, which rust-analyzer lists for every type.
#[rustfmt::skip]
const OF_MODELS: &[&str] = &[
    "named_parameters", "parameters", "parameter", "num_parameters", "train", "eval", "replicate", "state_dict",
    "save_parameters", "load_parameters", "load_parameters_with", "load_state_dict", "summary", "measured_summary", "init_weights", "init_named", "freeze", "unfreeze",
];

/// Returns the completions of `complete` at the cursor. Leaves out methods of models if the value is not a model: then
/// it has no `visit_mut`, a method of the trait that models implement.
pub(crate) fn ask(
    code: &str,
    cursor: usize,
    mut complete: impl FnMut(&str, usize) -> Completions,
) -> Completions {
    const VISIT: &str = "visit_mu";
    let mut found = complete(code, cursor);
    let is_of_models =
        |item: &Completion| item.kind != "instance" && OF_MODELS.contains(&name(item));
    let (before, after) = (&code[..found.start], &code[cursor..]);
    if before.trim_end().ends_with('.') && found.items.iter().any(is_of_models) {
        let visit = complete(
            &format!("{before}{VISIT}{after}"),
            found.start + VISIT.len(),
        );
        if !visit.items.iter().any(|item| name(item) == "visit_mut") {
            found.items.retain(|item| !is_of_models(item));
        }
    }
    found
}

/// Sorts completions by use.
pub(crate) fn sort(found: &mut Completions, code: &str) {
    // Such as `iter().le(other)`: methods of another type.
    found.items.retain(|item| !item.text.contains(")."));
    if code
        .get(..found.start)
        .is_some_and(|before| before.ends_with('.'))
    {
        found
            .items
            .sort_by_key(|item| (rank(item), item.text.clone()));
    }
    found.items.dedup_by(|a, b| a.text == b.text);
}

/// Leaves it to the user to type the arguments of functions.
pub(crate) fn leave_arguments_open(found: &mut Completions) {
    for item in &mut found.items {
        item.text = inserted(item);
    }
}

/// Returns the first sentence of a paragraph.
pub(crate) fn first_sentence(paragraph: &str) -> String {
    let paragraph = paragraph.replace('\n', " ");
    let sentence = paragraph.split_inclusive(". ").next().unwrap_or_default();
    sentence.trim().to_owned()
}

/// Returns the sort key of a completion: first fields, then methods that are used often, then others,
/// then those of nearly every type.
fn rank(item: &Completion) -> (u8, usize) {
    let name = name(item);
    let place = FREQUENT.iter().position(|frequent| *frequent == name);
    match place {
        _ if BLANKET.contains(&name) => (3, 0),
        _ if item.kind == "instance" => (0, 0),
        Some(place) => (1, place),
        None => (2, 0),
    }
}

/// Returns the text to insert: arguments are typed by the user.
fn inserted(item: &Completion) -> String {
    let text = item.text.as_str();
    let open = text.find(['(', '[', '{']);
    match open {
        _ if item.kind == "keyword" => name_of_keyword(text).to_owned(),
        // A field of a tuple or an array type, without arguments.
        None | Some(0) => text.to_owned(),
        Some(open) if text[..open].ends_with('!') => text[..=open].to_owned(),
        Some(open) if text[open..].starts_with('(') && !text.ends_with("()") => {
            text[..=open].to_owned()
        }
        Some(_) => text.to_owned(),
    }
}

/// Returns the keyword of a snippet: `if` of `if $1 { … }`.
fn name_of_keyword(text: &str) -> &str {
    text.split([' ', '\n', '(', '{', '$'])
        .next()
        .unwrap_or(text)
}

fn name(item: &Completion) -> &str {
    item.text.split('(').next().unwrap_or_default()
}

/// Adds the type of the result to a function's documentation. JupyterLab shows the kind of a completion in a narrow column,
/// breaks it at each `-`, and chooses the colour of an icon by it: there is only room for a word.
pub(crate) fn with_result(signature: &str, documentation: &str) -> String {
    match signature.rsplit_once(" -> ") {
        Some((_, result)) => format!("-> {result}\n{documentation}")
            .trim_end()
            .to_owned(),
        None => documentation.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(found: &mut Completions, code: &str) {
        sort(found, code);
        leave_arguments_open(found);
    }

    #[test]
    fn method_chains_are_left_out() {
        let mut found = offered(&["matmul(rhs)", "iter().map(f)"]);
        complete(&mut found, "x.");
        assert_eq!(texts(&found), ["matmul("]);
    }

    fn offered(texts: &[&str]) -> Completions {
        let item = |text: &&str| Completion {
            text: (*text).to_owned(),
            kind: "function".to_owned(),
            label: (*text).to_owned(),
            documentation: String::new(),
        };
        Completions {
            start: 2,
            end: 2,
            items: texts.iter().map(item).collect(),
        }
    }

    fn texts(found: &Completions) -> Vec<&str> {
        found.items.iter().map(|item| item.text.as_str()).collect()
    }

    #[test]
    fn completions_are_sorted_by_use_and_wait_for_their_arguments() {
        let mut found = offered(&["into()", "apply(f)", "try_into()", "matmul(rhs)", "dims()"]);
        complete(&mut found, "x.");
        assert_eq!(
            texts(&found),
            ["dims()", "matmul(", "apply(", "into()", "try_into()"]
        );
        let mut found = offered(&["println!()", "vec![]", "with_capacity(capacity)"]);
        complete(&mut found, "p ");
        assert_eq!(texts(&found), ["println!(", "vec![", "with_capacity("]);
    }

    #[test]
    fn methods_of_models_are_offered_for_models() {
        let methods = offered(&["num_parameters()", "svg()"]);
        let of = |visit: &[&str]| {
            ask("m.", 2, |code, _| match code.contains("visit_mu") {
                true => offered(visit),
                false => methods.clone(),
            })
        };
        assert_eq!(texts(&of(&[])), ["svg()"]);
        assert_eq!(texts(&of(&["visit_mut(visitor)"])).len(), 2);
        let file = include_str!("../../../../crates/nn/src/nn/parameters_ext.rs");
        let declared = file.split("pub trait ParametersExt").nth(1);
        let declared = declared.and_then(|text| text.split("\n}\n").next());
        let declared = declared.expect("the trait").lines().map(str::trim_start);
        let declared = declared.filter_map(|line| line.strip_prefix("fn "));
        let declared = declared.filter_map(|line| line.split(['(', '<']).next());
        let declared: Vec<&str> = declared.collect();
        assert!(declared.len() >= 16, "{declared:?}");
        assert!(declared.iter().all(|name| OF_MODELS.contains(name)));
    }
}
