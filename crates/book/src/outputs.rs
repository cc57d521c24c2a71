//! What a cell shows, as the file has it: displays that were updated are there in their final state.

use super::cell::{self, Cell, Kind};
use super::image::{KINDS, Picture};
use super::page::Desk;
use super::sanitise::{clean, without_marks};
use super::tags::Shown;
use super::{ansi, escape, markdown, math};
use serde_json::Value;

/// The outputs of a code cell; nothing where there are none.
pub fn render(cell: &Cell, desk: &mut Desk) -> String {
    let Kind::Code {
        outputs,
        elsewhere,
        caption,
    } = &cell.kind
    else {
        return String::new();
    };
    if cell.look.output == Shown::Removed {
        return String::new();
    }
    let caption = caption.as_deref();
    let mut html = all(cell, outputs, caption, desk);
    if let Some(there) = elsewhere {
        let other = all(cell, &there.outputs, caption, desk);
        html = machine(HERE, &html) + &machine(&there.machine, &other);
        html = format!("<div class=\"machines\">\n{html}</div>\n");
    }
    if html.is_empty() {
        return html;
    }
    if let (Some(caption), Some(number)) = (caption, cell.figures.first()) {
        let caption = markdown::caption(caption, desk);
        html = figure(&html, number, &caption);
    }
    let scroll = if cell.look.scroll { " scroll" } else { "" };
    format!("<div class=\"outputs{scroll}\">\n{html}</div>\n")
}

/// What a notebook holds itself is what it shows on a machine without a GPU.
const HERE: &str = "CPU";

/// What the cell showed on one machine; `taper.js` makes tabs of them.
fn machine(name: &str, outputs: &str) -> String {
    let name = escape(name);
    format!("<section class=\"machine\" aria-label=\"{name}\">\n{outputs}</section>\n")
}

fn all(cell: &Cell, outputs: &[Value], caption: Option<&str>, desk: &mut Desk) -> String {
    joined(outputs)
        .iter()
        .filter_map(|output| one(cell, output, caption, desk))
        .collect()
}

/// A figure with its number and its caption.
pub fn figure(content: &str, number: &str, caption: &str) -> String {
    format!(
        "<figure>\n{content}<figcaption>\
         <b class=\"figure-number\">Figure {}.</b> {caption}</figcaption>\n</figure>\n",
        escape(number)
    )
}

/// Pieces of one stream that follow each other are one text.
fn joined(outputs: &[Value]) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for output in outputs {
        if let Some(last) = joined.last_mut()
            && output["output_type"] == "stream"
            && last["output_type"] == "stream"
            && last["name"] == output["name"]
        {
            last["text"] = (cell::text(&last["text"]) + &cell::text(&output["text"])).into();
        } else {
            joined.push(output.clone());
        }
    }
    joined
}

fn one(cell: &Cell, output: &Value, caption: Option<&str>, desk: &mut Desk) -> Option<String> {
    match output["output_type"].as_str()? {
        "stream" => {
            let name = output["name"].as_str().unwrap_or("stdout");
            let is_removed = match name {
                "stderr" => cell.look.no_stderr,
                _ => cell.look.no_stdout,
            };
            let class = if name == "stderr" { "stderr" } else { "stdout" };
            (!is_removed).then(|| block(class, &ansi::to_html(&cell::text(&output["text"]))))
        }
        "error" => Some(block("error", &ansi::to_html(&traceback(output)))),
        "display_data" | "execute_result" => display(output, caption, desk),
        _ => None,
    }
}

fn traceback(error: &Value) -> String {
    let lines = error["traceback"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let lines: Vec<&str> = lines.collect();
    if lines.is_empty() {
        let text = |name: &str| error[name].as_str().unwrap_or_default();
        return format!("{}: {}", text("ename"), text("evalue"));
    }
    lines.join("\n")
}

fn block(class: &str, html: &str) -> String {
    format!(
        "<pre class=\"output {class}\">{}</pre>\n",
        html.trim_end_matches('\n')
    )
}

/// The representation that JupyterLab would show.
fn display(output: &Value, caption: Option<&str>, desk: &mut Desk) -> Option<String> {
    let data = &output["data"];
    let text = |kind: &str| data.get(kind).map(cell::text);
    if let Some(html) = text("text/html") {
        let html = clean(&without_marks(&html));
        return Some(format!(
            "<div class=\"output html\">{}</div>\n",
            html.trim()
        ));
    }
    if let Some(prose) = text("text/markdown") {
        return Some(format!(
            "<div class=\"output prose\">{}</div>\n",
            markdown::output(&prose, desk)
        ));
    }
    if let Some(formula) = text("text/latex") {
        let formula = formula.trim().trim_matches('$').to_owned();
        return match math::to_html(&formula, true) {
            Ok(html) => Some(format!("<div class=\"output\">{html}</div>\n")),
            Err(error) => {
                desk.problem(&format!(
                    "shows a formula that cannot be set: {error}\n\
                     Correct it, and run the notebook again"
                ));
                None
            }
        };
    }
    if let Some(kind) = KINDS.into_iter().find(|kind| data.get(kind).is_some()) {
        return picture(kind, output, caption, desk);
    }
    let plain = text("text/plain").or_else(|| {
        let json = data.get("application/json")?;
        serde_json::to_string_pretty(json).ok()
    })?;
    Some(block("result", &ansi::to_html(&plain)))
}

fn picture(kind: &str, output: &Value, caption: Option<&str>, desk: &mut Desk) -> Option<String> {
    let metadata = &output["metadata"][kind];
    match Picture::of_output(kind, &output["data"][kind], metadata) {
        Ok(picture) => {
            let plain = output["data"].get("text/plain").map(cell::text);
            let own = metadata["alt"]
                .as_str()
                .map(str::to_owned)
                .or_else(|| picture.title.clone());
            let alt = own.or_else(|| caption.map(str::to_owned)).or(plain);
            let alt = alt.unwrap_or_else(|| "what the code above draws".into());
            let image = desk.picture(picture, &ansi::strip(&alt));
            Some(format!("<div class=\"output picture\">{image}</div>\n"))
        }
        Err(error) => {
            desk.problem(&error);
            None
        }
    }
}
