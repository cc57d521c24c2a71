//! What all pictures of data have in common: they are shown, and saved, if they could be drawn.

use super::page::{Anchor, Page, UNIT};
use super::palette::INK;
use super::text::{FONT, text_width};
use crate::display::MimeBundle;
use crate::error::{Result, explain};
use candle_core::Error;
use std::path::Path;

/// A picture, or what is wrong with the data that it was to show.
pub(super) trait Drawn {
    fn page(&self) -> Page;

    /// What is to be seen, in words.
    fn words(&self) -> String;

    fn problem(&self) -> Option<&str>;
}

/// The words, or the problem.
pub(super) fn text(picture: &impl Drawn) -> String {
    match picture.problem() {
        Some(problem) => problem.to_owned(),
        None => picture.words(),
    }
}

/// The picture and its words, or the problem.
pub(super) fn bundle(picture: &impl Drawn) -> MimeBundle {
    let text = MimeBundle::text(text(picture));
    match picture.problem() {
        Some(_) => text,
        None => text.with("image/svg+xml", picture.page().svg()),
    }
}

/// The picture as the text of an SVG file; the problem is drawn as well.
pub(super) fn svg(picture: &impl Drawn) -> String {
    match picture.problem() {
        Some(problem) => written(problem).svg(),
        None => picture.page().svg(),
    }
}

/// A picture of nothing but lines of text.
fn written(text: &str) -> Page {
    const ROW: i32 = 15 * UNIT;
    const GAP: i32 = 6 * UNIT;
    let widest = text.lines().map(|line| text_width(line, FONT)).max();
    let width = widest.unwrap_or(0) + 2 * GAP;
    let height = text.lines().count() as i32 * ROW + 2 * GAP;
    let mut page = Page::new(
        ((width / UNIT) as u32, (height / UNIT) as u32),
        text.replace('\n', "; "),
    );
    for (i, line) in text.lines().enumerate() {
        let place = (GAP, GAP + i as i32 * ROW + ROW / 2);
        page.write(line, place, Anchor::Start, INK);
    }
    page
}

/// Writes the picture to a file.
pub(super) fn save(picture: &impl Drawn, path: &Path) -> Result<()> {
    match picture.problem() {
        Some(problem) => Err(Error::Msg(problem.to_owned())),
        None => save_page(&picture.page(), path),
    }
}

/// Writes a picture to a file whose name ends in `.svg` or `.png`.
pub(super) fn save_page(page: &Page, path: &Path) -> Result<()> {
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let bytes = match ending.as_ref().and_then(|ending| ending.to_str()) {
        Some("svg") => page.svg().into_bytes(),
        Some("png") => page.pixels().encode_png(),
        _ => {
            let (svg, png) = (path.with_extension("svg"), path.with_extension("png"));
            return Err(explain(
                format_args!(
                    "cannot save a picture as {}: only SVG and PNG are known",
                    path.display()
                ),
                format_args!("Name the file {} or {}", svg.display(), png.display()),
            ));
        }
    };
    std::fs::write(path, bytes).map_err(|error| {
        explain(
            format_args!("cannot write {}: {error}", path.display()),
            "Choose a folder that exists and that you may write to",
        )
    })
}
