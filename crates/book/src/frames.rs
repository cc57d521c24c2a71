//! Sliders of `interact`: what a callback shows at each position was computed before, and is part of the page.

use crate::html::escape;
use serde_json::{Value, json};

/// The MIME type in which the library sends the frames of an interaction.
pub const MEDIA_TYPE: &str = "application/vnd.taper.frames+json";

/// The MIME type of a control of JupyterLab.
pub(crate) const VIEW: &str = "application/vnd.jupyter.widget-view+json";

/// The script that moves the sliders, for the book and for published pages.
pub(crate) const SCRIPT: &str = include_str!("sliders.js");

/// Returns whether one of the outputs has frames: then the controls of JupyterLab beside them are not needed.
pub(crate) fn are_in(outputs: &[Value]) -> bool {
    let mut data = outputs.iter().map(|output| &output["data"]);
    data.any(|data| data.get(MEDIA_TYPE).is_some())
}

/// Returns whether an output is a control of JupyterLab that a page cannot show.
pub(crate) fn is_control(output: &Value) -> bool {
    let data = &output["data"];
    data.get(VIEW).is_some() && data.get("image/svg+xml").is_none()
}

/// Renders the sliders, and the frames of all their positions, of which the page shows one; `render_output` renders the
/// output of a frame.
pub(crate) fn render(
    frames: &Value,
    render_output: &mut dyn FnMut(&Value) -> String,
) -> Option<String> {
    let sliders: Vec<Slider> = { frames["sliders"].as_array()?.iter() }
        .filter_map(Slider::read)
        .collect();
    let start = { sliders.iter() }.fold(0, |at, slider| at * slider.values.len() + slider.start);
    let mut rendered = String::new();
    for (at, data) in frames["frames"].as_array()?.iter().enumerate() {
        let output = json!({"output_type": "display_data", "data": data, "metadata": {}});
        let html = render_output(&output);
        rendered += &match at == start {
            true => format!("<div class=\"frame\">\n{html}</div>\n"),
            // Loaded when it is shown.
            false => format!(
                "<div class=\"frame\" hidden>\n{}</div>\n",
                html.replace("<img ", "<img loading=\"lazy\" ")
            ),
        };
    }
    let controls: String = sliders.iter().map(Slider::render).collect();
    Some(format!(
        "<div class=\"output interaction\">\n<div class=\"controls\">{controls}</div>\n\
         <div aria-live=\"polite\">\n{rendered}</div>\n</div>\n"
    ))
}

struct Slider {
    label: String,
    values: Vec<String>,
    start: usize,
}

impl Slider {
    fn read(slider: &Value) -> Option<Slider> {
        let values = slider["values"]
            .as_array()?
            .iter()
            .filter_map(Value::as_f64);
        Some(Slider {
            label: slider["label"].as_str()?.to_owned(),
            values: values.map(short).collect(),
            start: slider["start"].as_u64()? as usize,
        })
    }

    fn render(&self) -> String {
        let label = escape(&self.label);
        let value = self.values.get(self.start).map_or("", String::as_str);
        format!(
            "<span>{label}</span><input type=\"range\" aria-label=\"{label}\" aria-valuetext=\"{value}\" min=\"0\" \
             max=\"{}\" value=\"{}\" data-values=\"{}\"><output>{value}</output>\n",
            self.values.len().saturating_sub(1),
            self.start,
            self.values.join(" "),
        )
    }
}

/// Returns a value rounded to five significant digits.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short() {
        assert_eq!(short(0.1 + 0.2), "0.3");
        assert_eq!(short(1.0 / 3.0), "0.33333");
        assert_eq!(short(1e-7), "0.0000001");
    }
}
