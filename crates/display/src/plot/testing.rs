//! Helpers of the tests of figures.

use roxmltree::Document;

/// Returns the texts of an SVG, in order.
pub(super) fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}:\n{svg}"));
    let texts = document.descendants().filter(|n| n.has_tag_name("text"));
    texts.filter_map(|n| n.text()).map(str::to_owned).collect()
}
