//! What all pictures of data have in common: they are shown, and saved, if they could be drawn.

use super::UNIT;
use super::palette::INK;
use super::scene::{Anchor, Scene};
use super::text::{FONT, text_width};
use crate::error::{Result, explain};
use crate::notebook::MimeBundle;
use candle_core::Error;
use std::path::Path;

/// A picture, or what is wrong with the data that it was to show.
pub(in crate::plot) trait Graphic {
    fn scene(&self) -> Scene;

    /// What is to be seen, in words.
    fn words(&self) -> String;

    fn problem(&self) -> Option<&str>;
}

/// The words, or the problem.
pub(in crate::plot) fn text(picture: &impl Graphic) -> String {
    match picture.problem() {
        Some(problem) => problem.to_owned(),
        None => picture.words(),
    }
}

/// The picture and its words, or the problem.
pub(in crate::plot) fn bundle(picture: &impl Graphic) -> MimeBundle {
    let text = MimeBundle::text(text(picture));
    match picture.problem() {
        Some(_) => text,
        None => text.with("image/svg+xml", picture.scene().svg()),
    }
}

/// The picture as the text of an SVG file; the problem is drawn as well.
pub(in crate::plot) fn svg(picture: &impl Graphic) -> String {
    match picture.problem() {
        Some(problem) => written(problem).svg(),
        None => picture.scene().svg(),
    }
}

/// A picture of nothing but lines of text.
fn written(text: &str) -> Scene {
    const ROW: i32 = 15 * UNIT;
    const GAP: i32 = 6 * UNIT;
    let widest = text.lines().map(|line| text_width(line, FONT)).max();
    let width = widest.unwrap_or(0) + 2 * GAP;
    let height = text.lines().count() as i32 * ROW + 2 * GAP;
    let mut scene = Scene::new(
        ((width / UNIT) as u32, (height / UNIT) as u32),
        text.replace('\n', "; "),
    );
    for (i, line) in text.lines().enumerate() {
        let place = (GAP, GAP + i as i32 * ROW + ROW / 2);
        scene.write(line, place, Anchor::Start, INK);
    }
    scene
}

/// Writes the picture to a file.
pub(in crate::plot) fn save(picture: &impl Graphic, path: &Path) -> Result<()> {
    match picture.problem() {
        Some(problem) => Err(Error::Msg(problem.to_owned())),
        None => save_scene(&picture.scene(), path),
    }
}

/// Writes a picture to a file whose name ends in `.svg` or `.png`.
pub(in crate::plot) fn save_scene(scene: &Scene, path: &Path) -> Result<()> {
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let bytes = match ending.as_ref().and_then(|ending| ending.to_str()) {
        Some("svg") => scene.svg().into_bytes(),
        Some("png") => scene.pixels().encode_png(),
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
