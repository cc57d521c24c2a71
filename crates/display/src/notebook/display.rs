//! Shows a bundle below the cell, or as its value.

use super::bundle::MimeBundle;
use super::cell;
use super::record::{Host, send_record, write_evcxr_blocks};
use serde_json::json;

/// Shows a bundle below the cell, like IPython's `display`.
///
/// Several calls in one cell produce several outputs, in order.
///
/// ```
/// use taper::notebook::{MimeBundle, display};
///
/// let bundle = MimeBundle::text("3 rows").with("text/html", "<b>3</b> rows");
/// display(&bundle); // a plain program prints nothing
/// assert_eq!(bundle.get("text/plain"), Some("3 rows"));
/// ```
pub fn display(bundle: &MimeBundle) {
    emit("display", bundle);
}

/// Removes the outputs of the cell, like IPython's `clear_output`. With `wait`, removes them only when
/// the next output arrives, which avoids flicker. Does nothing outside the Taper kernel.
///
/// For a display that changes in place, [`display_live`](super::display_live) is easier.
///
/// ```
/// use taper::notebook::{MimeBundle, clear_output, display};
///
/// for step in 0..3 {
///     clear_output(true);
///     let bundle = MimeBundle::text(format!("step {step}"));
///     display(&bundle);
///     assert!(bundle.get("text/plain").is_some());
/// }
/// ```
pub fn clear_output(wait: bool) {
    send_record(&json!({ "event": "clear", "wait": wait }));
    cell::begin_output_area();
}

/// Shows a bundle as the value of the cell (Jupyter's `Out[n]`).
pub(crate) fn result(bundle: &MimeBundle) {
    emit("result", bundle);
}

/// Shows a bundle as the value of the cell and drops it, so that the code that drops a bundle is compiled
/// once, here, and not in each cell.
pub(super) fn owned_result(bundle: MimeBundle) {
    result(&bundle);
}

fn emit(event: &str, bundle: &MimeBundle) {
    match Host::current() {
        Host::Taper(receiver) => {
            receiver.receive(&json!({ "event": event, "data": bundle.data() }));
        }
        Host::Evcxr => write_evcxr_blocks(bundle),
        Host::Plain => {}
    }
}
