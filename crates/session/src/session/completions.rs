//! Improves evcxr's completions: adds the signatures of functions, and removes private fields.

use taper_evaluator::evaluator::{Completion, Completions};

/// How many completions get a signature: each needs a request to rust-analyzer.
const SIGNATURE_LIMIT: usize = 8;

/// The name of the cells' crate, which evcxr sets.
const CELLS: &str = "ctx";

/// Removes private fields of other crates' types, which evcxr lists too. Where there are few completions,
/// replaces the kind `function` by the signature. `documentation` returns the plain text of the
/// documentation for the code at a byte offset.
pub(crate) fn fill_in(
    found: &mut Completions,
    code: &str,
    mut documentation: impl FnMut(&str, usize) -> Option<String>,
) {
    let (Some(before), Some(after)) = (code.get(..found.start), code.get(found.end..)) else {
        return;
    };
    // Such as `iter().le(other)`: methods of another type.
    found.items.retain(|item| !item.text.contains(")."));
    if before.ends_with('.') {
        found.items.retain(|item| {
            let completed = format!("{before}{}{after}", item.text);
            let at = before.len() + item.text.len();
            item.kind != "instance"
                || !documentation(&completed, at).is_some_and(|text| is_private(&text))
        });
    }
    if found.items.len() > SIGNATURE_LIMIT {
        return;
    }
    for item in found
        .items
        .iter_mut()
        .filter(|item| item.kind == "function")
    {
        let name = name(item).to_owned();
        let completed = format!("{before}{name}{after}");
        let text = documentation(&completed, before.len() + name.len());
        if let Some(signature) = text.and_then(|text| signature(&text, &name)) {
            item.label = format!("{name}{}", signature.trim_start_matches("fn"));
            item.kind = kind(&signature);
        }
    }
}

fn name(item: &Completion) -> &str {
    item.text.split('(').next().unwrap_or_default()
}

/// Returns whether this is the documentation of a private field of another crate: the path of its type,
/// an empty line, and the declaration.
fn is_private(documentation: &str) -> bool {
    let Some((path, declaration)) = documentation.trim_start().split_once("\n\n") else {
        return false;
    };
    let of_cells = path.split("::").next() == Some(CELLS);
    path.contains("::") && !of_cells && !declaration.trim_start().starts_with("pub ")
}

/// Returns the result type for JupyterLab, which has room for a few words after the label with the
/// arguments. It would break the line at a space, and show only the first part.
fn kind(signature: &str) -> String {
    match signature.rsplit_once(" -> ") {
        Some((_, result)) => format!("fn -> {result}").replace(' ', "\u{a0}"),
        None => "fn".to_owned(),
    }
}

/// Returns `fn(&self, rhs: &Self) -> Result<Self>` from the documentation of `matmul`.
fn signature(documentation: &str, name: &str) -> Option<String> {
    let begin = format!("fn {name}");
    let from = documentation.find(&begin)? + begin.len();
    let paragraph = documentation[from..].split("\n\n").next()?;
    let lines = paragraph
        .lines()
        .map(str::trim)
        .take_while(|line| *line != "where");
    let joined = lines.collect::<Vec<_>>().join(" ");
    let joined = joined.replace("( ", "(").replace(", )", ")");
    Some(format!("fn{joined}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATMUL: &str = "candle_core::tensor::Tensor\n\npub fn matmul(&self, rhs: &Self) -> Result<Self>\n\n\nReturns …";
    const LONG: &str =
        "a::b\n\npub fn wide<T>(\n    a: T,\n    b: u8,\n) -> T\nwhere\n    T: Copy,\n\n\nDoes …";

    #[test]
    fn a_signature_is_one_line_without_the_name() {
        let matmul = "fn(&self, rhs: &Self) -> Result<Self>";
        assert_eq!(signature(MATMUL, "matmul").as_deref(), Some(matmul));
        assert_eq!(
            signature(LONG, "wide").as_deref(),
            Some("fn<T>(a: T, b: u8) -> T")
        );
        assert_eq!(signature("No function here", "matmul"), None);
    }

    #[test]
    fn private_fields_are_recognized() {
        let of =
            |path: &str, declaration: &str| is_private(&format!("{path}\n\n{declaration}\n\nText"));
        assert!(of("taper::train::trainer::Trainer", "gpus: usize"));
        assert!(of("taper::train::trainer::Trainer", "pub(super) clip: f64"));
        assert!(!of(
            "taper::train::history::History",
            "pub epochs: Vec<Epoch>"
        ));
        assert!(!of("ctx::Kettle", "litres: f64"));
        assert!(!is_private("litres: f64"));
    }

    #[test]
    fn functions_get_signatures_and_method_chains_are_left_out() {
        let item = |text: &str, kind: &str| Completion {
            text: text.to_owned(),
            kind: kind.to_owned(),
            label: text.to_owned(),
        };
        let mut found = Completions {
            start: 2,
            end: 4,
            items: vec![
                item("matmul(rhs)", "function"),
                item("iter().map(f)", "function"),
                item("ma", "instance"),
            ],
        };
        let mut asked = Vec::new();
        fill_in(&mut found, "x.ma + 1", |code, at| {
            asked.push((code.to_owned(), at));
            Some(MATMUL.to_owned())
        });
        let field = ("x.ma + 1".to_owned(), 4);
        assert_eq!(asked, [field, ("x.matmul + 1".to_owned(), 8)]);
        let kinds = found
            .items
            .iter()
            .map(|item| item.kind.replace('\u{a0}', " "));
        let kinds: Vec<String> = kinds.collect();
        assert_eq!(kinds, ["fn -> Result<Self>", "instance"]);
        assert_eq!(
            found.items[0].label,
            "matmul(&self, rhs: &Self) -> Result<Self>"
        );
    }
}
