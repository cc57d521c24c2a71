//! The comments before the first cell: the metadata of the notebook as YAML, between two lines `// ---`.

use super::yaml;
use crate::document::error::Problem;
use serde_json::{Map, Value, json};

const FENCE: &str = "---";

#[derive(Default)]
pub(super) struct Header {
    /// The metadata of the notebook; `None` if the file has no header.
    pub(super) metadata: Option<Map<String, Value>>,
    /// What the header has beside them: a raw cell, as in jupytext.
    pub(super) front_matter: Option<Value>,
}

/// Returns the problem of a header that is not YAML in a line.
fn bad(line: usize) -> Problem {
    Problem::new(
        format!("line {line} is not understood: the comments between the lines `// ---` are YAML"),
        "Write `key: value`, or remove the header.",
    )
}

/// Reads the header. Returns the line after it too.
pub(super) fn read(lines: &[&str]) -> Result<(Header, usize), Problem> {
    let text = |at: usize| {
        let line = lines.get(at)?.strip_prefix("//")?;
        Some(line.strip_prefix(' ').unwrap_or(line))
    };
    let is_fence = |at| text(at).is_some_and(|text| text.trim_end() == FENCE);
    // A line for the shell, and one for Emacs that jupytext writes.
    let is_other = |at: &usize| {
        let line = lines.get(*at).copied().unwrap_or_default();
        line.starts_with("#!") || text(*at).is_some_and(|text| text.contains("-*- coding"))
    };
    let start = (0..2).take_while(is_other).count();
    if !is_fence(start) {
        return Ok((Header::default(), start));
    }
    let inside = (start + 1..lines.len()).take_while(|at| !is_fence(*at) && text(*at).is_some());
    let inside: Vec<&str> = inside.filter_map(text).collect();
    let end = start + 1 + inside.len();
    if !is_fence(end) {
        return Err(bad(end.min(lines.len().saturating_sub(1)) + 1));
    }
    let (ours, others) = split(&inside);
    let parsed = yaml::read(&ours).map_err(|at| {
        // Lines of other keys may come before.
        let found = inside.iter().position(|line| Some(line) == ours.get(at));
        bad(found.unwrap_or(at) + start + 2)
    })?;
    let mut metadata = match parsed.get("jupyter") {
        Some(Value::Object(metadata)) => metadata.clone(),
        _ => Map::new(),
    };
    if let Some(Value::Object(jupytext)) = metadata.get_mut("jupytext") {
        jupytext.remove("text_representation");
        if jupytext.is_empty() {
            metadata.remove("jupytext");
        }
    }
    let front_matter = (!others.is_empty()).then(|| {
        let source = format!("{FENCE}\n{}\n{FENCE}", others.join("\n"));
        json!({ "cell_type": "raw", "metadata": {}, "source": source })
    });
    let header = Header {
        metadata: Some(metadata),
        front_matter,
    };
    // A blank line follows.
    let is_blank = lines
        .get(end + 1)
        .is_some_and(|line| line.trim().is_empty());
    Ok((header, end + 1 + usize::from(is_blank)))
}

/// Splits the lines of a header into those of the key `jupyter` and the others.
fn split<'a>(lines: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let mut is_ours = false;
    lines.iter().partition(|line| {
        if !line.starts_with(' ') && !line.is_empty() {
            is_ours = line.trim_end() == "jupyter:";
        }
        is_ours
    })
}

/// Returns the lines of a header for the metadata of a notebook. What the kernel says about its language is left out: the
/// kernel says it again.
pub(super) fn write(metadata: &Value) -> Vec<String> {
    let mut metadata = metadata.as_object().cloned().unwrap_or_default();
    metadata.remove("language_info");
    let mut jupytext = match metadata.remove("jupytext") {
        Some(Value::Object(jupytext)) => jupytext,
        _ => Map::new(),
    };
    jupytext.insert(
        "text_representation".into(),
        json!({ "extension": ".rs", "format_name": "percent", "format_version": "1.3" }),
    );
    metadata.insert("jupytext".into(), Value::Object(jupytext));
    let mut lines = vec![FENCE.to_owned(), "jupyter:".to_owned()];
    yaml::write(&metadata, 1, &mut lines);
    lines.push(FENCE.to_owned());
    lines.iter().map(|line| format!("// {line}")).collect()
}
