//! SVG, reduced to what an image needs.
//!
//! The file is parsed, and only elements, attributes and values that are listed here are written again. A
//! part that is not listed is an error if a reader would miss it (an element, an address to load from, a
//! style). Parts that are never visible (comments, processing instructions, an editor's metadata, event
//! handlers) are left out.

use crate::error::SvgError;
use crate::html::escape;
use roxmltree::{Attribute, Document, Node, ParsingOptions};

const SVG: &str = "http://www.w3.org/2000/svg";
const XLINK: &str = "http://www.w3.org/1999/xlink";

/// The deepest nesting of elements; the writer is recursive.
const MAX_DEPTH: usize = 256;

/// An image that neither runs nor loads anything.
#[derive(Debug)]
pub(crate) struct Svg {
    pub(crate) text: String,
    /// The width and the height in CSS pixels.
    pub(crate) size: (u32, u32),
    /// The text of its `<title>` or `aria-label`.
    pub(crate) title: Option<String>,
}

/// Parses an SVG and reduces it to the allowed elements and attributes.
pub(crate) fn reduce(text: &str) -> Result<Svg, SvgError> {
    // Without entities, the document is not larger than its text.
    if text.contains("<!ENTITY") {
        return Err(SvgError::Entities);
    }
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| SvgError::NotXml(error.to_string()))?;
    let root = document.root_element();
    if !is_svg(root) || root.tag_name().name() != "svg" {
        return Err(SvgError::OtherRoot(root.tag_name().name().to_owned()));
    }
    let size = size(root).ok_or(SvgError::NoSize)?;
    let mut reduced = String::with_capacity(text.len());
    write_element(root, 1, &mut reduced)?;
    Ok(Svg {
        text: reduced,
        size,
        title: title(root),
    })
}

/// Returns whether an element is in SVG's namespace, or in none: JupyterLab adds the namespace where it is missing, so
/// files without it are in use.
fn is_svg(node: Node) -> bool {
    matches!(node.tag_name().namespace(), None | Some(SVG))
}

fn write_element(node: Node, depth: usize, out: &mut String) -> Result<(), SvgError> {
    let name = node.tag_name().name();
    if !is_svg(node) || name == "metadata" {
        return Ok(());
    }
    if !ELEMENTS.contains(&name) {
        return Err(SvgError::Element(name.to_owned()));
    }
    if depth > MAX_DEPTH {
        return Err(SvgError::TooDeep(MAX_DEPTH));
    }
    *out += "<";
    *out += name;
    if depth == 1 {
        *out += &format!(" xmlns=\"{SVG}\" xmlns:xlink=\"{XLINK}\"");
    }
    for attribute in node.attributes() {
        write_attribute(name, attribute, out)?;
    }
    *out += ">";
    for child in node.children() {
        if child.is_element() {
            write_element(child, depth + 1, out)?;
        } else if child.is_text() {
            let text = child.text().unwrap_or_default();
            if name == "style" {
                check_style(text)?;
            }
            *out += &escape(text);
        }
    }
    *out += "</";
    *out += name;
    *out += ">";
    Ok(())
}

fn write_attribute(element: &str, attribute: Attribute, out: &mut String) -> Result<(), SvgError> {
    let (name, value) = (attribute.name(), attribute.value());
    let prefix = match attribute.namespace() {
        None => "",
        Some(XLINK) => "xlink:",
        Some(roxmltree::NS_XML_URI) => "xml:",
        Some(_) => return Ok(()),
    };
    match (prefix, name) {
        // Links do nothing in an SVG that is shown as an image.
        ("" | "xlink:", "href") if element == "a" => return Ok(()),
        ("" | "xlink:", "href") => check_address(element, value)?,
        ("", name) if TEXTS.contains(&name) => {}
        ("", name) if VALUES.contains(&name) => check_style(value)?,
        ("xml:", "space") => {}
        _ => return Ok(()),
    }
    *out += &format!(" {prefix}{name}=\"{}\"", escape(value));
    Ok(())
}

/// Accepts a fragment of the same file, and in `<image>` a data URL with pixels.
fn check_address(element: &str, address: &str) -> Result<(), SvgError> {
    let pixels = ["png", "jpeg", "gif"];
    let is_pixels = |format: &&str| address.starts_with(&format!("data:image/{format};base64,"));
    if address.starts_with('#') || element == "image" && pixels.iter().any(is_pixels) {
        return Ok(());
    }
    Err(SvgError::Address(shorten(address)))
}

/// Accepts CSS that refers to nothing outside of the file. Only @-rules and functions load something, and an
/// escape could hide either.
fn check_style(css: &str) -> Result<(), SvgError> {
    let is_plain = !css.contains(['\\', '@']);
    let is_local = |(at, _): (usize, &str)| {
        let before = &css[..at];
        let name = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
        let name = before[name.len()..].to_ascii_lowercase();
        let argument = css[at + 1..].trim_start().trim_start_matches(['"', '\'']);
        FUNCTIONS.contains(&name.as_str()) || name == "url" && argument.starts_with('#')
    };
    if is_plain && css.match_indices('(').all(is_local) {
        return Ok(());
    }
    Err(SvgError::Style(shorten(css)))
}

fn shorten(text: &str) -> String {
    let short: String = text.trim().chars().take(60).collect();
    let end = if short.len() < text.trim().len() {
        "…"
    } else {
        ""
    };
    format!("`{short}{end}`")
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
    let is_title = |node: &Node| is_svg(*node) && node.tag_name().name() == "title";
    let element = root.descendants().find(is_title);
    let title = element
        .and_then(|node| node.text())
        .or_else(|| root.attribute("aria-label"))?;
    let title = title.trim();
    (!title.is_empty()).then(|| title.to_owned())
}

/// The allowed elements: shapes, text, paint and filters, but no scripts, animations, foreign documents or `feImage`.
#[rustfmt::skip]
const ELEMENTS: &[&str] = &[
    "a", "circle", "clipPath", "defs", "desc", "ellipse", "feBlend", "feColorMatrix",
    "feComponentTransfer", "feComposite", "feConvolveMatrix", "feDiffuseLighting",
    "feDisplacementMap", "feDistantLight", "feDropShadow", "feFlood", "feFuncA", "feFuncB",
    "feFuncG", "feFuncR", "feGaussianBlur", "feMerge", "feMergeNode", "feMorphology", "feOffset",
    "fePointLight", "feSpecularLighting", "feSpotLight", "feTile", "feTurbulence", "filter", "g",
    "image", "line", "linearGradient", "marker", "mask", "path", "pattern", "polygon", "polyline",
    "radialGradient", "rect", "stop", "style", "svg", "switch", "symbol", "text", "textPath",
    "title", "tspan", "use",
];

/// Attributes whose value is never CSS.
#[rustfmt::skip]
const TEXTS: &[&str] = &[
    "aria-describedby", "aria-hidden", "aria-label", "aria-labelledby", "class", "d", "id",
    "points", "role", "type", "version", "viewBox",
];

/// Attributes whose value is CSS, or is checked as if it were.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    // Geometry
    "cx", "cy", "dx", "dy", "fx", "fy", "gradientTransform", "gradientUnits", "height",
    "lengthAdjust", "markerHeight", "markerUnits", "markerWidth", "method", "orient",
    "pathLength", "patternContentUnits", "patternTransform", "patternUnits",
    "preserveAspectRatio", "r", "refX", "refY", "rotate", "rx", "ry", "side", "spacing",
    "spreadMethod", "startOffset", "textLength", "transform", "transform-origin", "width", "x",
    "x1", "x2", "y", "y1", "y2", "clipPathUnits", "maskContentUnits", "maskUnits",
    // Presentation
    "alignment-baseline", "baseline-shift", "clip-path", "clip-rule", "color",
    "color-interpolation", "color-interpolation-filters", "direction", "display",
    "dominant-baseline", "fill", "fill-opacity", "fill-rule", "filter", "flood-color",
    "flood-opacity", "font-family", "font-size", "font-stretch", "font-style", "font-variant",
    "font-weight", "image-rendering", "letter-spacing", "lighting-color", "marker", "marker-end",
    "marker-mid", "marker-start", "mask", "mix-blend-mode", "opacity", "overflow", "paint-order",
    "shape-rendering", "stop-color", "stop-opacity", "stroke", "stroke-dasharray",
    "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit",
    "stroke-opacity", "stroke-width", "style", "text-anchor", "text-decoration",
    "text-rendering", "unicode-bidi", "vector-effect", "visibility", "white-space",
    "word-spacing", "writing-mode", "offset",
    // Filters
    "amplitude", "azimuth", "baseFrequency", "bias", "diffuseConstant", "divisor", "edgeMode",
    "elevation", "exponent", "filterUnits", "in", "in2", "intercept", "k1", "k2", "k3", "k4",
    "kernelMatrix", "kernelUnitLength", "limitingConeAngle", "mode", "numOctaves", "operator",
    "order", "pointsAtX", "pointsAtY", "pointsAtZ", "preserveAlpha", "primitiveUnits", "radius",
    "result", "scale", "seed", "slope", "specularConstant", "specularExponent", "stdDeviation",
    "stitchTiles", "surfaceScale", "tableValues", "targetX", "targetY", "values",
    "xChannelSelector", "yChannelSelector", "z",
];

/// Functions of CSS that load nothing; `url` is checked separately.
#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "calc", "hsl", "hsla", "matrix", "rgb", "rgba", "rotate", "scale", "skewx", "skewy",
    "translate", "translatex", "translatey", "var",
];

#[cfg(test)]
mod tests;
