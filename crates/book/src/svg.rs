//! SVG: its size, its title and its namespace. A page shows it in an `<img>`, in which browsers run no script and load
//! no other file.

use anyhow::{Context, Result, bail};
use roxmltree::{Document, Node, ParsingOptions};

/// Lighter colours for the figures of the library in the dark, where an `<img>` has the colour scheme of its page.
const DARK: &str = "<style>@media (prefers-color-scheme: dark) { \
    text[fill='#777777'] { fill: #a5a29a } [stroke='#777777'] { stroke: #a5a29a } \
    :not(rect)[fill='#0072b2'] { fill: #56a8e0 } [stroke='#0072b2'] { stroke: #56a8e0 } }</style>";

const NO_SIZE: &str = "is an SVG without a size\nGive its <svg> a width and a height, or a viewBox";

/// What to do with a file that is not SVG.
const REPLACE: &str = "Run the notebook again, or replace the file";

const NAMESPACE: &str = " xmlns=\"http://www.w3.org/2000/svg\"";

/// An SVG that browsers show in an `<img>`.
#[derive(Debug, PartialEq)]
pub(crate) struct Svg {
    pub(crate) text: String,
    /// The width and the height in CSS pixels.
    pub(crate) size: (u32, u32),
    /// The text of its `<title>` or `aria-label`.
    pub(crate) title: Option<String>,
}

/// Reads an SVG. JupyterLab adds the namespace where it is missing, so files without it are in use: it is added here too.
pub(crate) fn read(text: &str) -> Result<Svg> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = match Document::parse_with_options(text, options) {
        Ok(document) => document,
        Err(error) => bail!("is not valid SVG: {error}\n{REPLACE}"),
    };
    let root = document.root_element();
    let name = root.tag_name();
    if name.name() != "svg" {
        bail!(
            "is not valid SVG: it begins with <{}>\n{REPLACE}",
            name.name()
        );
    }
    let mut text = text.to_owned();
    // Figures of the library have no background.
    if let (Some("img"), Some("none"), Some(first)) = (
        root.attribute("role"),
        root.attribute("fill"),
        root.first_child(),
    ) {
        text.insert_str(first.range().start, DARK);
    }
    if name.namespace().is_none() {
        text.insert_str(root.range().start + "<svg".len(), NAMESPACE);
    }
    Ok(Svg {
        text,
        size: size(root).context(NO_SIZE)?,
        title: title(root),
    })
}

fn size(root: Node) -> Option<(u32, u32)> {
    let length = |name| root.attribute(name).and_then(pixels);
    if let (Some(width), Some(height)) = (length("width"), length("height")) {
        return Some((width, height));
    }
    let view: Vec<f64> = root
        .attribute("viewBox")?
        .split([' ', ','])
        .filter_map(|number| number.parse().ok())
        .collect();
    match view[..] {
        [_, _, width, height] => Some((whole(width)?, whole(height)?)),
        _ => None,
    }
}

fn pixels(length: &str) -> Option<u32> {
    let number = length.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &length[number.len()..] {
        "" | "px" => 1.0,
        "pt" => 4.0 / 3.0,
        "in" => 96.0,
        "cm" => 96.0 / 2.54,
        "mm" => 96.0 / 25.4,
        _ => return None,
    };
    whole(number.trim().parse::<f64>().ok()? * factor)
}

/// Rounds to whole pixels. Returns `None` for less than one.
fn whole(pixels: f64) -> Option<u32> {
    let pixels = pixels.round();
    (pixels >= 1.0).then_some(pixels as u32)
}

fn title(root: Node) -> Option<String> {
    let is_title = |node: &Node| node.tag_name().name() == "title";
    let element = root.descendants().find(is_title);
    let title = element
        .and_then(|node| node.text())
        .or_else(|| root.attribute("aria-label"))?;
    let title = title.trim();
    (!title.is_empty()).then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_and_title_are_read() {
        let found = |text| {
            let found = read(text).map(|svg| (svg.size, svg.title));
            found.map_err(|error| error.to_string())
        };
        let no_size = Err(NO_SIZE.to_owned());
        assert_eq!(
            found("<svg width=\"600\" height=\"300.4px\"><title lang='en'>a &lt; b</title></svg>"),
            Ok(((600, 300), Some("a < b".into())))
        );
        assert_eq!(
            found(
                "<?xml version='1.0'?>\n<svg\nviewBox='0 0 40 20' width='100%' aria-label='x'></svg>"
            ),
            Ok(((40, 20), Some("x".into())))
        );
        assert_eq!(
            found("<svg width='72pt' height='1in'/>"),
            Ok(((96, 96), None))
        );
        assert_eq!(
            found("<svg viewBox='0\n0\t40 , 20.6'/>"),
            Ok(((40, 21), None))
        );
        // Less than a pixel is not a size.
        assert_eq!(found("<svg viewBox='0 0 0.4 0.4'/>"), no_size);
        assert_eq!(found("<svg/>"), no_size);
        let doctype = "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \
                       \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">";
        assert!(read(&format!("{doctype}<svg width='1' height='1'/>")).is_ok());
    }

    #[test]
    fn other_xml_is_refused() {
        for other in [
            "<p/>",
            "<p>",
            "no",
            "",
            "<svg width='1' height='1'>&undefined;</svg>",
        ] {
            let error = read(other).expect_err(other).to_string();
            assert!(error.starts_with("is not valid SVG: "), "{other}: {error}");
        }
    }

    #[test]
    fn a_figure_of_the_library_is_lighter_in_the_dark() {
        let svg = |attributes: &str| {
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"{attributes}>"
            )
        };
        let figure = svg(" role=\"img\" fill=\"none\"");
        let shown = |svg: &str| read(svg).expect("an image").text;
        assert_eq!(
            shown(&format!("{figure}<g/></svg>")),
            format!("{figure}{DARK}<g/></svg>")
        );
        let other = format!("{}<g/></svg>", svg(""));
        assert_eq!(shown(&other), other);
    }

    #[test]
    fn the_namespace_is_added_once() {
        let svg = read("<!-- a -->\n<svg width='1' height='1'/>").expect("an image");
        assert_eq!(
            svg.text,
            "<!-- a -->\n<svg xmlns=\"http://www.w3.org/2000/svg\" width='1' height='1'/>"
        );
        let again = read(&svg.text).expect("an image");
        assert_eq!(again.text, svg.text);
    }
}
