//! Shows and saves charts, heat maps and image grids. If their data cannot be drawn, shows the reason
//! instead.

use super::UNIT;
use super::palette::INK;
use super::scene::{Item, Scene};
use super::text::{FONT, ROW, text_width};
use crate::error::{Error, Result, problem};
use crate::image::RgbImage;
use crate::notebook::MimeBundle;
use plotters_backend::text_anchor::HPos;
use std::path::Path;

/// A figure, or the problem with its data.
pub(in crate::plot) trait Graphic {
    fn scene(&self) -> Scene;

    /// Describes the contents of the figure in words.
    fn description(&self) -> String;

    fn problem(&self) -> Option<&str>;
}

/// Adds what every figure has: SVG text, a file, and being shown. `$example` creates one.
macro_rules! graphic {
    ($name:ident, $example:literal) => {
        impl $name {
            /// Returns the figure as SVG text.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("assert!(", $example, ".svg().starts_with(\"<svg \"));")]
            /// ```
            pub fn svg(&self) -> String {
                $crate::plot::render::output::svg(self)
            }

            /// Saves the figure as an SVG file, whose name ends in `.svg`. A figure of images without titles
            /// may also be a `.png` file, with twice as many pixels on white.
            ///
            /// # Errors
            /// Returns an error if the figure could not be created from the data, the name ends differently,
            /// or the file cannot be written.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            /// # let id = std::process::id();
            #[doc = concat!("# let path = std::env::temp_dir().join(format!(\"taper_", stringify!($name), "_{id}.svg\"));")]
            #[doc = concat!($example, ".save(&path)?;")]
            /// assert!(path.exists());
            /// # std::fs::remove_file(path)?;
            /// # Ok::<(), Error>(())
            /// ```
            pub fn save(&self, path: impl AsRef<std::path::Path>) -> $crate::Result<()> {
                $crate::plot::render::output::save(self, path.as_ref())
            }

            /// Shows the figure now, if it is not the value of a cell.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!($example, ".show();")]
            /// ```
            pub fn show(&self) {
                $crate::notebook::display(&$crate::notebook::Show::show_bundle(self));
            }
        }

        impl $crate::notebook::Show for $name {
            fn show_text(&self) -> String {
                $crate::plot::render::output::text(self)
            }

            fn show_bundle(&self) -> $crate::notebook::MimeBundle {
                $crate::plot::render::output::bundle(self)
            }
        }
    };
}

pub(in crate::plot) use graphic;

/// Returns the description, or the problem.
pub(in crate::plot) fn text(graphic: &dyn Graphic) -> String {
    match graphic.problem() {
        Some(problem) => problem.to_owned(),
        None => graphic.description(),
    }
}

/// Returns the figure and its description, or the problem.
pub(in crate::plot) fn bundle(graphic: &dyn Graphic) -> MimeBundle {
    let text = MimeBundle::text(text(graphic));
    match graphic.problem() {
        Some(_) => text,
        None => text.with("image/svg+xml", graphic.scene().svg()),
    }
}

/// Returns the figure, or the text of the problem, as SVG.
pub(in crate::plot) fn svg(graphic: &dyn Graphic) -> String {
    match graphic.problem() {
        Some(problem) => text_scene(problem).svg(),
        None => graphic.scene().svg(),
    }
}

/// Creates a scene that shows only lines of text.
fn text_scene(text: &str) -> Scene {
    const GAP: i32 = 6 * UNIT;
    let widest = text.lines().map(|line| text_width(line, FONT)).max();
    let width = widest.unwrap_or(0) + 2 * GAP;
    let height = text.lines().count() as i32 * ROW + 2 * GAP;
    let mut scene = Scene::new(
        ((width / UNIT) as u32, (height / UNIT) as u32),
        text.replace('\n', "; "),
    );
    for (i, line) in text.lines().enumerate() {
        let position = (GAP, GAP + i as i32 * ROW + ROW / 2);
        scene.write(line, position, HPos::Left, INK);
    }
    scene
}

/// Writes the figure to a file.
pub(in crate::plot) fn save(graphic: &dyn Graphic, path: &Path) -> Result<()> {
    match graphic.problem() {
        Some(problem) => Err(Error::msg(problem)),
        None => save_scene(&graphic.scene(), path),
    }
}

/// Writes a scene to a file: as SVG, or as PNG if it consists of images.
pub(in crate::plot) fn save_scene(scene: &Scene, path: &Path) -> Result<()> {
    let extension = path.extension().map(|name| name.to_ascii_lowercase());
    let bytes = match extension.as_ref().and_then(|name| name.to_str()) {
        Some("svg") => scene.svg().into_bytes(),
        Some("png") => match pixels(scene) {
            Some(pixels) => pixels.encode_png(),
            None => return Err(no_png(path)),
        },
        _ => return Err(unknown_format(scene, path)),
    };
    std::fs::write(path, bytes).map_err(|error| {
        problem!(
            ("cannot write {}: {error}", path.display());
            "Choose a folder that exists and that you may write to")
    })
}

fn unknown_format(scene: &Scene, path: &Path) -> Error {
    let (svg, png) = (path.with_extension("svg"), path.with_extension("png"));
    let (path, svg, png) = (path.display(), svg.display(), png.display());
    match pixels(scene) {
        Some(_) => problem!(
            "cannot save {path}: images without titles are saved as SVG or PNG";
            "Name the file {svg} or {png}"),
        None => problem!("cannot save {path}: figures are saved as SVG"; "Name the file {svg}"),
    }
}

fn no_png(path: &Path) -> Error {
    let (png, svg) = (path.display(), path.with_extension("svg"));
    let svg = svg.display();
    problem!(
        "cannot save {png}: lines and text are saved as SVG, not as PNG";
        "Save {svg}; a browser shows it, and `rsvg-convert {svg} -o {png}` converts it")
}

/// The number of pixels of a PNG per pixel of the SVG: sharp on high-resolution screens and on paper.
const PNG_SCALE: i32 = 2;

/// Draws the images of a scene on white. Returns `None` if there is anything else: lines and text need
/// a rasteriser and a font, which browsers have.
fn pixels(scene: &Scene) -> Option<RgbImage> {
    let (width, height) = (scene.size.0 as i32 * UNIT, scene.size.1 as i32 * UNIT);
    let scaled = |length: i32| ((length * PNG_SCALE + UNIT / 2) / UNIT) as usize;
    let mut canvas = RgbImage::filled(scaled(width), scaled(height), [255; 3]);
    for item in &scene.items {
        let Item::Image {
            image,
            corner: (left, top),
            size: (width, height),
        } = item
        else {
            return None;
        };
        let columns = scaled(*left)..scaled(left + width);
        let rows = scaled(*top)..scaled(top + height);
        canvas.paint(image, columns, rows);
    }
    Some(canvas)
}
