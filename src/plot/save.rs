//! Pictures in files.

use crate::error::{Result, explain};
use std::path::Path;

/// Writes a picture to a file whose name ends in `.svg`.
///
/// There is no PNG: to draw letters as pixels takes a font and more packages than all of Taper's
/// own. A browser, Inkscape or `rsvg-convert` makes one of the SVG.
pub(super) fn save_svg(path: &Path, svg: &str) -> Result<()> {
    let ending = path.extension();
    if ending.is_none_or(|ending| !ending.eq_ignore_ascii_case("svg")) {
        return Err(explain(
            format_args!(
                "cannot save a picture as {}: only SVG is known",
                path.display()
            ),
            format_args!("Name the file {}", path.with_extension("svg").display()),
        ));
    }
    std::fs::write(path, svg).map_err(|error| {
        explain(
            format_args!("cannot write {}: {error}", path.display()),
            "Choose a folder that exists and that you may write to",
        )
    })
}
