//! A display that the program changes itself.

use super::bundle::MimeBundle;
use super::live::{Live, Picture};
use crate::notebook::Show;

/// Something on the page that can be changed, like IPython's `DisplayHandle`. See
/// [`display_live`].
///
/// ```
/// use taper::prelude::*;
///
/// let display: LiveDisplay = display_live(&MimeBundle::text("waiting"));
/// display.update(&MimeBundle::text("ready"));
/// assert_eq!(display.show_text(), "ready");
/// ```
#[derive(Debug)]
pub struct LiveDisplay {
    live: Live<MimeBundle>,
}

/// Shows a bundle below the cell and gives the handle by which to change it in place.
///
/// Changes are shown at most ten times a second, the last one always: at the end of the cell, and
/// when the handle is dropped. Stock `evcxr_jupyter` shows the last state only, when the handle is
/// dropped; a plain program shows nothing.
///
/// ```
/// use taper::prelude::*;
///
/// let display = display_live(&MimeBundle::text("starting"));
/// for step in 0..3 {
///     display.update(&MimeBundle::text(format!("step {step}")));
/// }
/// ```
pub fn display_live(bundle: &MimeBundle) -> LiveDisplay {
    let live = Live::default();
    live.change(|shown: &mut MimeBundle| {
        shown.clone_from(bundle);
        true
    });
    LiveDisplay { live }
}

impl LiveDisplay {
    /// Shows another bundle in the same place, also from a later cell.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let display = display_live(&MimeBundle::text("0 %"));
    /// display.update(&MimeBundle::text("100 %"));
    /// ```
    pub fn update(&self, bundle: &MimeBundle) {
        self.live.change(|shown| {
            let differs = shown != bundle;
            shown.clone_from(bundle);
            differs
        });
    }
}

impl Picture for MimeBundle {
    const FOLLOWS_THE_CELL: bool = false;

    fn bundle(&self) -> MimeBundle {
        self.clone()
    }
}

impl Show for LiveDisplay {
    fn show_text(&self) -> String {
        self.live.read().show_text()
    }

    fn show_bundle(&self) -> MimeBundle {
        self.live.read()
    }

    /// As the value of its cell it is not shown a second time.
    fn evcxr_display(&self) {
        self.live.show_as_value();
    }
}
