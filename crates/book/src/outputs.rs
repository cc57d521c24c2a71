//! Renders the outputs of a code cell. Displays that were updated have their final state in the file.

use crate::builder::PageBuilder;
use crate::cell::{Cell, Kind};
use crate::frames::{self, VIEW};
use crate::html::{div, escape, figure};
use crate::image::{Format, Image};
use crate::sanitise::{clean, without_marks};
use crate::tags::Visibility;
use crate::{ansi, markdown, math};
use serde_json::Value;
use taper_evaluator::{CellOutputs, joined};

/// Renders the outputs of a code cell; returns an empty text where there are none.
pub(crate) fn render(cell: &Cell, builder: &mut PageBuilder) -> String {
    let Kind::Code {
        outputs,
        other,
        caption,
    } = &cell.kind
    else {
        return String::new();
    };
    if cell.tags.output == Visibility::Removed {
        return String::new();
    }
    let caption = caption.as_deref();
    let mut html = render_all(cell, outputs, caption, builder);
    if let Some(other) = other {
        let outputs = render_all(cell, &other.outputs, caption, builder) + &own_card(builder);
        html = machine(OWN_MACHINE, &html) + &machine(&other.machine, &outputs);
        html = format!("<div class=\"machines\">\n{html}</div>\n");
    }
    if html.is_empty() {
        return html;
    }
    if let (Some(caption), Some(number)) = (caption, cell.figures.first()) {
        let caption = markdown::render_line(caption, builder);
        let label = builder.book.labels.with("Figure {}.", number);
        html = figure(&html, &label, &caption);
    }
    let scroll = if cell.tags.scroll { " scroll" } else { "" };
    format!("<div class=\"outputs{scroll}\">\n{html}</div>\n")
}

/// The name of the machine that produced the outputs in a notebook, which has no GPU.
const OWN_MACHINE: &str = "CPU";

/// Returns the hint how readers add the outputs of their own GPU.
fn own_card(builder: &PageBuilder) -> String {
    let text = builder.book.labels.get("Add the outputs of your own GPU:");
    format!("<p class=\"machine-own\">{text} <code>cargo taper gpu-check</code></p>\n")
}

/// Encloses the outputs of one machine; `taper.js` shows those of several machines as tabs.
fn machine(name: &str, outputs: &str) -> String {
    let name = escape(name);
    format!("<section class=\"machine\" aria-label=\"{name}\">\n{outputs}</section>\n")
}

fn render_all(
    cell: &Cell,
    outputs: &[Value],
    caption: Option<&str>,
    builder: &mut PageBuilder,
) -> String {
    let has_frames = frames::are_in(outputs);
    // Joins consecutive outputs of the same stream.
    let mut cell_outputs = CellOutputs::default();
    for output in outputs {
        let mut output = output.clone();
        if let Some(text) = output.get_mut("text") {
            *text = joined(text).into();
        }
        cell_outputs.show(output, None);
    }
    let shown = cell_outputs.shown().map(|output| &output.content);
    shown
        .filter(|output| !has_frames || !frames::is_control(output))
        .filter_map(|output| render_one(cell, output, caption, builder))
        .collect()
}

/// Renders one output of a cell without tags and caption.
pub(crate) fn render_alone(output: &Value, builder: &mut PageBuilder) -> Option<String> {
    let cell = Cell::read(&Value::Null, None);
    render_one(&cell, output, None, builder)
}

fn render_one(
    cell: &Cell,
    output: &Value,
    caption: Option<&str>,
    builder: &mut PageBuilder,
) -> Option<String> {
    match output["output_type"].as_str()? {
        "stream" => {
            let (class, is_removed) = match output["name"].as_str() {
                Some("stderr") => ("stderr", cell.tags.no_stderr),
                _ => ("stdout", cell.tags.no_stdout),
            };
            (!is_removed).then(|| block(class, &joined(&output["text"])))
        }
        "error" => Some(block("error", &traceback(output))),
        "display_data" | "execute_result" => display(cell, output, caption, builder),
        _ => None,
    }
}

fn traceback(error: &Value) -> String {
    let lines = error["traceback"].as_array().into_iter().flatten();
    let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
    if lines.is_empty() {
        let text = |name: &str| error[name].as_str().unwrap_or_default();
        return format!("{}: {}", text("ename"), text("evalue"));
    }
    lines.join("\n")
}

/// Renders a text with terminal colours as an output of the class `class`.
pub(crate) fn block(class: &str, text: &str) -> String {
    let html = ansi::to_html(text);
    let html = html.trim_end_matches('\n');
    format!("<pre class=\"output {class}\">{html}</pre>\n")
}

fn enclose(class: &str, html: &str) -> String {
    div(&format!("output {class}"), html)
}

/// Renders the representation that JupyterLab would choose.
fn display(
    cell: &Cell,
    output: &Value,
    caption: Option<&str>,
    builder: &mut PageBuilder,
) -> Option<String> {
    let data = &output["data"];
    let text = |media_type: &str| data.get(media_type).map(joined);
    if let Some(frames) = data.get(frames::MEDIA_TYPE) {
        // The figure of the chapter is the one that the notebook shows.
        let cover = builder.cover().clone();
        let mut render =
            |output: &Value| render_one(cell, output, caption, builder).unwrap_or_default();
        let rendered = frames::render(frames, &mut render);
        *builder.cover() = cover;
        return rendered;
    }
    if let Some(html) = text("text/html") {
        let html = clean(&without_marks(&html));
        return Some(enclose("html", html.trim()));
    }
    if let Some(prose) = text("text/markdown") {
        let html = markdown::render_output(&prose, builder);
        return Some(enclose("prose", &html));
    }
    if let Some(formula) = text("text/latex") {
        let formula = formula.trim().trim_matches('$');
        return match math::to_html(formula, true, builder.is_published()) {
            Ok(html) => Some(div("output", &html)),
            Err(message) => {
                builder.problem(&format!(
                    "shows a formula that cannot be rendered: {message}\n\
                     Correct it, and run the notebook again"
                ));
                None
            }
        };
    }
    let is_there = |format: &Format| data.get(format.media_type()).is_some();
    if let Some(format) = Format::ALL.into_iter().find(is_there) {
        return image(format, output, caption, builder);
    }
    // The plain text of a slider has its initial value; the value that the user chose is in the notebook's metadata.
    let slider = data[VIEW]["model_id"].as_str();
    let chosen = slider.and_then(|id| builder.chapter.slider(id));
    let plain = chosen.or_else(|| text("text/plain")).or_else(|| {
        let json = data.get("application/json")?;
        serde_json::to_string_pretty(json).ok()
    })?;
    Some(block("result", &plain))
}

fn image(
    format: Format,
    output: &Value,
    caption: Option<&str>,
    builder: &mut PageBuilder,
) -> Option<String> {
    let (data, metadata) = (&output["data"], &output["metadata"][format.media_type()]);
    match Image::of_output(format, &data[format.media_type()], metadata) {
        Ok(image) => {
            let own = metadata["alt"].as_str().or(image.title.as_deref());
            let own = own.or(caption).map(str::to_owned);
            let description = own
                .or_else(|| data.get("text/plain").map(joined))
                .unwrap_or_else(|| builder.book.labels.get("what the code above draws").into());
            let image = builder.image(image, &ansi::strip(&description));
            Some(enclose("picture", &image))
        }
        Err(error) => {
            builder.problem(&format!("shows an image that {error}"));
            None
        }
    }
}
