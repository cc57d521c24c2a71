//! Sliders of a published page: what a callback shows at each position is computed before, and is part of the page.

use crate::html::{data, escape};
use serde_json::{Value, json};

/// The MIME type in which the library sends the frames of an interaction.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.taper.frames+json";

/// Renders the sliders, and the frame at which they start; `render_output` renders the output of a frame.
pub(crate) fn render(
    frames: &Value,
    render_output: &mut dyn FnMut(&Value) -> String,
) -> Option<String> {
    let sliders: Vec<Slider> = { frames["sliders"].as_array()?.iter() }
        .filter_map(Slider::read)
        .collect();
    let bundles = frames["frames"].as_array()?;
    let rendered: Vec<String> = { bundles.iter() }
        .map(|data| {
            let output = json!({"output_type": "display_data", "data": data, "metadata": {}});
            render_output(&output)
        })
        .collect();
    let start = { sliders.iter() }.fold(0, |at, slider| at * slider.values.len() + slider.start);
    let controls: String = sliders.iter().map(Slider::render).collect();
    Some(format!(
        "<div class=\"output interaction\">\n<div class=\"controls\">{controls}</div>\n\
         <div class=\"frame\" aria-live=\"polite\">{}</div>\n{}</div>\n",
        rendered.get(start)?,
        data(&json!(rendered)),
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
            "<span>{label}</span><input type=\"range\" disabled aria-label=\"{label}\" aria-valuetext=\"{value}\" min=\"0\" \
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
