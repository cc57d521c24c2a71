//! Checks that every colour of text in the book's theme can be read on its background, in both themes, and terminal
//! output in JupyterLab's.

use std::collections::BTreeMap;
use std::path::Path;

/// What WCAG 2 asks for text of normal size.
const READABLE: f64 = 4.5;
const TEXTS: [&str; 15] = [
    "fg",
    "soft",
    "links",
    "keyword",
    "string",
    "number",
    "comment",
    "macro",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "inline-code-color",
];
const BACKGROUNDS: [&str; 3] = ["bg", "code-bg", "error-bg"];
/// The backgrounds that terminal output sets; the text on them has the colour of the page.
const ANSI: [&str; 6] = ["red", "green", "yellow", "blue", "magenta", "cyan"];

#[test]
fn texts_can_be_read_in_both_themes() {
    for theme in [".light, .navy", "    .navy"] {
        let colours = colours("book/theme/taper.css", theme);
        let colour = |name: &str| {
            *colours
                .get(name)
                .unwrap_or_else(|| panic!("{theme} has no --{name}"))
        };
        let on_page = TEXTS
            .iter()
            .flat_map(|text| BACKGROUNDS.map(|background| (*text, background)));
        // `ansi.rs` writes white text as `fg`, black as `soft`, and both as the background `line`.
        let on_ansi = ANSI
            .iter()
            .flat_map(|ansi| [("bg", *ansi), (*ansi, "line")]);
        for (text, background) in on_page
            .chain(on_ansi)
            .chain([("fg", "line"), ("soft", "line")])
        {
            let contrast = contrast(colour(text), colour(background));
            assert!(
                contrast >= READABLE,
                "{theme}: --{text} on --{background} has {contrast:.2}"
            );
        }
    }
}

/// The backgrounds are those of JupyterLab's two themes: of the page, of a cell, and of an error.
#[test]
fn terminal_output_can_be_read_in_jupyterlab() {
    let dark: [[u8; 3]; 3] = [[0x11; 3], [0x21; 3], [0x51, 0x1f, 0x1b]];
    let light = [[255; 3], [0xf5; 3], [0xff, 0xdd, 0xdd]];
    for (is_light, backgrounds) in [("true", light), ("false", dark)] {
        let theme = format!("body[data-jp-theme-light=\"{is_light}\"]");
        let colours = colours("packaging/lab/style/terminal.css", &theme);
        assert_eq!(colours.len(), 8, "{theme}");
        for (name, colour) in colours {
            let least = backgrounds
                .iter()
                .map(|on| contrast(colour, *on))
                .fold(21.0, f64::min);
            assert!(least >= READABLE, "{theme}: --{name} has {least:.2}");
        }
    }
}

#[test]
fn contrast_is_that_of_the_standard() {
    assert!((contrast([0; 3], [255; 3]) - 21.0).abs() < 1e-9);
    // The grey that is just dark enough on white.
    assert!((contrast([0x76; 3], [255; 3]) - 4.54).abs() < 0.01);
}

/// Returns the variables of a theme that are colours.
fn colours(file: &str, theme: &str) -> BTreeMap<String, [u8; 3]> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file);
    let css = std::fs::read_to_string(file).expect("the style sheet");
    let (_, rest) = css
        .split_once(&format!("\n{theme} {{\n"))
        .expect("the theme");
    let (block, _) = rest.split_once('}').expect("its end");
    let variable = |line: &str| {
        let (name, value) = line.trim().strip_prefix("--")?.split_once(": #")?;
        let value = u32::from_str_radix(value.strip_suffix(';')?, 16).ok()?;
        let [_, red, green, blue] = value.to_be_bytes();
        Some((name.to_owned(), [red, green, blue]))
    };
    block.lines().filter_map(variable).collect()
}

/// Returns the contrast ratio of WCAG 2, from 1 to 21.
fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Returns the relative luminance of a colour in sRGB, from 0 to 1.
fn luminance(colour: [u8; 3]) -> f64 {
    let linear = |part: u8| match f64::from(part) / 255.0 {
        dark if dark <= 0.04045 => dark / 12.92,
        light => ((light + 0.055) / 1.055).powf(2.4),
    };
    let [red, green, blue] = colour.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}
