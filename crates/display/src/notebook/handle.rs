//! A live display of any bundle.

use super::bundle::MimeBundle;
use super::live::{Live, LiveContent};
use crate::erased::{Erased, outlined};
use crate::notebook::Show;

/// A display that can be updated in place, like IPython's `DisplayHandle`. Returned by
/// [`display_live`].
///
/// ```
/// use taper::prelude::*;
///
/// let display = display_live(&MimeBundle::text("waiting"));
/// display.update(&MimeBundle::text("ready"));
/// assert_eq!(display.show_text(), "ready");
/// ```
pub struct LiveDisplay {
    live: Erased<Live<MimeBundle>>,
}

/// Shows a bundle below the cell and returns a handle that updates it in place.
///
/// Updates are shown at most ten times a second. The last one is always shown: at the end of the cell,
/// and when the handle is dropped. Stock `evcxr_jupyter` shows only the last state, when the handle is
/// dropped; a plain program shows nothing.
///
/// ```
/// use taper::prelude::*;
///
/// let display = display_live(&MimeBundle::text("starting"));
/// for step in 0..3 {
///     display.update(&MimeBundle::text(format!("step {step}")));
/// }
/// assert_eq!(display.show_text(), "step 2");
/// ```
pub fn display_live(bundle: &MimeBundle) -> LiveDisplay {
    let live = Erased::<Live<_>>::default();
    live.change(|shown: &mut MimeBundle| {
        shown.clone_from(bundle);
        true
    });
    LiveDisplay { live }
}

outlined!(Debug for LiveDisplay { live });

impl LiveDisplay {
    /// Replaces the bundle in place, also from a later cell.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let display = display_live(&MimeBundle::text("0 %"));
    /// display.update(&MimeBundle::text("100 %"));
    /// assert_eq!(display.show_text(), "100 %");
    /// ```
    pub fn update(&self, bundle: &MimeBundle) {
        self.live.change(|shown| {
            let differs = shown != bundle;
            shown.clone_from(bundle);
            differs
        });
    }
}

impl LiveContent for MimeBundle {
    const FOLLOWS_CELL: bool = false;

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

    /// Does not show the display a second time if it is the value of its cell.
    fn evcxr_display(&self) {
        self.live.show_as_value();
    }
}
