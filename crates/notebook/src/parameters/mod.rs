//! Parameters of a run, as papermill defines them: a cell with the tag `parameters` has defaults, and a cell that is
//! added after it sets other values.
//!
//! `defaults` reads the lines with the defaults, `kind` the type that each of them states, and `value` converts what was
//! set to that type. What cannot be converted is refused before the cell is made.

mod defaults;
mod kind;
#[cfg(test)]
mod tests;
mod value;

use crate::document::notebook::{CodeCell, Notebook};
use anyhow::{Context, Error, Result, anyhow, bail};
use defaults::Default;
use serde_json::{Value, json};
use value::Given;

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
        bail!(
            "{} has no cell with the tag `{DEFAULTS}`\n\
             Put the `let` lines with the defaults into one cell, and add the tag in JupyterLab's property inspector",
            notebook.name
        );
    };
    let is_meant = |cell: &&CodeCell| cell.position == position;
    let source = { notebook.cells.iter() }
        .find(is_meant)
        .map_or("", |cell| &cell.source);
    let given = parameters
        .iter()
        .map(|(name, value)| (name.as_str(), Given::Text(value.clone())));
    let cell = json!({
        "cell_type": "code",
        "execution_count": null,
        "id": SET,
        "metadata": {"tags": [SET]},
        "outputs": [],
        "source": cell(source, given, "Parameters")?,
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
    let mut changed = Notebook::read(&notebook.name, text.into_bytes())?;
    for cell in &mut changed.cells {
        let mut before = notebook.cells.iter();
        cell.line = before.find(|it| it.id == cell.id).and_then(|it| it.line);
    }
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

/// What papermill asks: the source of the cell with the defaults, and the values to set, if there are any.
#[derive(Debug, serde::Deserialize)]
pub struct ParameterRequest {
    /// The source of the cell with the defaults.
    source: String,
    /// The values as JSON, by name.
    #[serde(default)]
    values: serde_json::Map<String, Value>,
    /// The comment in the first line of the cell that is made.
    #[serde(default)]
    comment: String,
}

impl ParameterRequest {
    /// Returns the name, the type, the default and the comment of each parameter, and the source of the cell that sets the
    /// values.
    ///
    /// # Errors
    ///
    /// Fails if there is no such parameter, or if a value has another type than its default.
    pub fn answer(&self) -> Result<Value> {
        let defaults = defaults::read(&self.source);
        let parameters: Vec<Value> = { defaults.iter() }
            .map(|default| {
                json!({
                    "name": default.name, "type": default.kind.to_string(),
                    "default": default.text(), "help": default.comment,
                })
            })
            .collect();
        let given =
            { self.values.iter() }.map(|(name, value)| (name.as_str(), Given::Json(value.clone())));
        let cell = cell(&self.source, given, &self.comment)?;
        Ok(json!({ "parameters": parameters, "cell": cell }))
    }
}

/// Returns the source of the cell that sets parameters of the cell `source`.
fn cell<'a>(
    source: &str,
    given: impl Iterator<Item = (&'a str, Given)>,
    comment: &str,
) -> Result<String> {
    let defaults = defaults::read(source);
    let lines: Result<Vec<String>> = given
        .map(|(name, given)| line(&defaults, name, &given))
        .collect();
    Ok(format!("// {comment}\n{}", lines?.join("\n")))
}

/// Returns the line that sets a parameter to another value.
fn line(defaults: &[Default], name: &str, given: &Given) -> Result<String> {
    let Some(default) = defaults.iter().rfind(|default| default.name == name) else {
        return Err(unknown(defaults, name));
    };
    default.set(given).with_context(|| {
        let advice = match default.example() {
            Some(example) => format!("Write it as {name}={example}"),
            None => "Write a value of the same type, or change the default".into(),
        };
        format!(
            "the parameter `{name}` cannot be {given}: its default is `{}`, so it must be {}\n{advice}",
            default.line,
            default.kind.described()
        )
    })
}

fn unknown(defaults: &[Default], name: &str) -> Error {
    let names: Vec<&str> = defaults
        .iter()
        .map(|default| default.name.as_str())
        .collect();
    let has = match names[..] {
        [] => format!(" no line such as `let {name} = 1;`"),
        _ => format!(": {}", names.join(", ")),
    };
    anyhow!("there is no parameter named `{name}`\nThe cell with the tag `{DEFAULTS}` has{has}")
}
