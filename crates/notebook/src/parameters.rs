//! Parameters of a run, as papermill defines them: a cell with the tag `parameters` has defaults, and a cell that is
//! added after it sets other values.

use crate::document::notebook::{CodeCell, Notebook};
use crate::error::{Error, Result};
use crate::export::rust_cell::{located_statements, without_commands};
use serde_json::{Value, json};
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{Expr, Lit, Local, Pat, Stmt};

/// The tags of the cell with the defaults and of the cell that is added. The second tag is also the id of its cell.
const DEFAULTS: &str = "parameters";
const SET: &str = "injected-parameters";

/// Returns the notebook with a cell that sets these parameters, each a name and a value as text.
///
/// # Errors
///
/// Fails if the notebook has no such parameter, or if the value has another type than the default.
pub(crate) fn with_parameters(
    mut notebook: Notebook,
    parameters: &[(String, String)],
) -> Result<Notebook> {
    if parameters.is_empty() {
        return Ok(notebook);
    }
    let Some(position) = { notebook.cells.iter() }
        .find(|cell| has_tag(&notebook.document["cells"][cell.position], DEFAULTS))
        .map(|cell| cell.position)
    else {
        return Err(Error::Parameter {
            reason: format!("{} has no cell with the tag `{DEFAULTS}`", notebook.name),
            advice: "Put the `let` lines with the defaults into one cell, and add the tag in JupyterLab's property inspector".into(),
        });
    };
    let is_meant = |cell: &&CodeCell| cell.position == position;
    let source = { notebook.cells.iter() }
        .find(is_meant)
        .map_or("", |cell| &cell.source);
    let defaults = defaults(source);
    let lines: Result<Vec<String>> = { parameters.iter() }
        .map(|(name, value)| line(&defaults, name, value))
        .collect();
    let cell = json!({
        "cell_type": "code",
        "execution_count": null,
        "id": SET,
        "metadata": {"tags": [SET]},
        "outputs": [],
        "source": format!("// Parameters\n{}", lines?.join("\n")),
    });
    if let Some(cells) = notebook.document["cells"].as_array_mut() {
        cells.insert(position + 1, cell);
        let mut index = 0;
        cells.retain(|cell| {
            index += 1;
            index == position + 2 || !has_tag(cell, SET)
        });
    }
    let text = notebook.document.to_string();
    let changed = Notebook::read(&notebook.name, text.into_bytes())?;
    Ok(Notebook {
        original: notebook.original,
        upgraded: notebook.upgraded,
        ..changed
    })
}

fn has_tag(cell: &Value, tag: &str) -> bool {
    let mut tags = cell["metadata"]["tags"].as_array().into_iter().flatten();
    tags.any(|one| one == tag)
}

/// A parameter: the line that sets its default.
struct Default {
    name: String,
    line: String,
    /// The value in the line.
    value: Range<usize>,
    /// The literal that is the value, or the only one in it.
    literal: Option<Lit>,
}

fn defaults(source: &str) -> Vec<Default> {
    let rust = without_commands(source);
    let Some((statements, offset)) = located_statements(&rust) else {
        return Vec::new();
    };
    let locals = statements.iter().filter_map(|statement| match statement {
        Stmt::Local(local) => Default::of(local, &rust, offset),
        _ => None,
    });
    locals.collect()
}

impl Default {
    /// `offset` is where the source begins in the text that was parsed.
    fn of(local: &Local, source: &str, offset: usize) -> Option<Default> {
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        let Pat::Ident(name) = pattern else {
            return None;
        };
        let range = |spanned: &dyn syn::spanned::Spanned| {
            let range = spanned.span().byte_range();
            range.start - offset..range.end - offset
        };
        let whole = range(local);
        let value = &local.init.as_ref()?.expr;
        let mut literals = Literals::default();
        literals.visit_expr(value);
        let (literal, value) = match literals.found.as_slice() {
            [(literal, place)] => (
                Some(literal.clone()),
                place.start - offset..place.end - offset,
            ),
            _ => (None, range(value)),
        };
        Some(Default {
            name: name.ident.to_string(),
            line: source.get(whole.clone())?.to_owned(),
            value: value.start - whole.start..value.end - whole.start,
            literal,
        })
    }
}

/// The literals in an expression, each with its sign.
#[derive(Default)]
struct Literals {
    found: Vec<(Lit, Range<usize>)>,
}

impl<'e> Visit<'e> for Literals {
    fn visit_expr(&mut self, expression: &'e Expr) {
        use syn::spanned::Spanned;
        match expression {
            Expr::Lit(literal) => self
                .found
                .push((literal.lit.clone(), literal.span().byte_range())),
            Expr::Unary(unary) if matches!(&*unary.expr, Expr::Lit(_)) => {
                if let Expr::Lit(literal) = &*unary.expr {
                    self.found
                        .push((literal.lit.clone(), unary.span().byte_range()));
                }
            }
            other => visit::visit_expr(self, other),
        }
    }
}

/// Returns the line that sets a parameter to another value.
fn line(defaults: &[Default], name: &str, value: &str) -> Result<String> {
    let Some(default) = defaults.iter().find(|default| default.name == name) else {
        let names: Vec<&str> = defaults
            .iter()
            .map(|default| default.name.as_str())
            .collect();
        return Err(Error::Parameter {
            reason: format!("there is no parameter named {name}"),
            advice: match names[..] {
                [] => format!(
                    "The cell with the tag `{DEFAULTS}` has no line such as `let {name} = 1;`"
                ),
                _ => format!("Choose one of: {}", names.join(", ")),
            },
        });
    };
    let value = literal(default.literal.as_ref(), value).ok_or_else(|| Error::Parameter {
        reason: format!(
            "{name} cannot be {value}: its default is `{}`",
            default.line
        ),
        advice: "Write a value of the same type".into(),
    })?;
    let mut line = default.line.clone();
    line.replace_range(default.value.clone(), &value);
    Ok(line)
}

/// Returns a value as Rust, of the type of the default.
fn literal(default: Option<&Lit>, value: &str) -> Option<String> {
    match default {
        Some(Lit::Str(_)) => Some(format!("{value:?}")),
        Some(Lit::Float(literal)) => {
            value
                .parse::<f64>()
                .ok()
                .filter(|value| value.is_finite())?;
            let point = if value.contains(['.', 'e', 'E']) {
                ""
            } else {
                ".0"
            };
            Some(format!("{value}{point}{}", literal.suffix()))
        }
        Some(Lit::Int(literal)) => {
            value.parse::<i128>().ok()?;
            Some(format!("{value}{}", literal.suffix()))
        }
        Some(Lit::Bool(_)) => value.parse::<bool>().ok().map(|value| value.to_string()),
        _ => syn::parse_str::<Expr>(value).ok().map(|_| value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notebook(cells: &[(&str, &str)]) -> Notebook {
        let cells: Vec<Value> = { cells.iter().enumerate() }
            .map(|(i, (tag, source))| {
                json!({"cell_type": "code", "execution_count": null, "id": format!("c{i}"), "metadata": {"tags": [tag]},
                       "outputs": [], "source": source})
            })
            .collect();
        let document = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
        Notebook::read("n.ipynb", document.to_string().into_bytes()).expect("a notebook")
    }

    const SOURCE: &str = "// defaults\nlet mut lr: f64 = 0.1; let n = 5usize;\nlet name = \"é\".to_owned();\nlet on = true;\nlet low = -1.5;\nlet sizes = vec![1, 2];";

    fn set(parameters: &[(&str, &str)]) -> Result<String> {
        let owned: Vec<(String, String)> = { parameters.iter() }
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let notebook = notebook(&[("", "1"), (DEFAULTS, SOURCE), ("", "lr")]);
        let set = with_parameters(notebook, &owned)?;
        let ids: Vec<&str> = set.cells.iter().map(|cell| cell.id.as_str()).collect();
        assert_eq!(ids, ["c0", "c1", SET, "c2"]);
        let again = with_parameters(set, &owned)?;
        assert_eq!(
            again.cells.len(),
            4,
            "the cell of an earlier run is replaced"
        );
        Ok(again.cells[2].source.clone())
    }

    #[test]
    fn a_value_has_the_type_of_its_default() {
        let lines = set(&[
            ("lr", "1"),
            ("n", "7"),
            ("name", "a \"b\""),
            ("on", "false"),
            ("low", "-2e-3"),
            ("sizes", "vec![3]"),
        ]);
        assert_eq!(
            lines.expect("they are set"),
            "// Parameters\nlet mut lr: f64 = 1.0;\nlet n = 7usize;\nlet name = \"a \\\"b\\\"\".to_owned();\nlet on = false;\n\
             let low = -2e-3;\nlet sizes = vec![3];"
        );
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let message = |parameters| set(parameters).expect_err("an error").to_string();
        assert_eq!(
            message(&[("rate", "1")]),
            "there is no parameter named rate\nChoose one of: lr, n, name, on, low, sizes"
        );
        assert!(
            message(&[("n", "0.5")])
                .starts_with("n cannot be 0.5: its default is `let n = 5usize;`\n")
        );
        let untagged = with_parameters(notebook(&[("", "1")]), &[("a".into(), "1".into())]);
        let message = untagged.expect_err("no such cell").to_string();
        assert!(
            message.starts_with("n.ipynb has no cell with the tag `parameters`\n"),
            "{message}"
        );
    }
}
