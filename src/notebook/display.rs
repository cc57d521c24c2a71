//! Showing a bundle below the cell, or as its value.

use super::bundle::MimeBundle;
use super::cell;
use super::record::{Host, send_record, write_evcxr_blocks, write_record};
use serde_json::json;

/// Shows a bundle below the cell, like IPython's `display`.
///
/// Several calls in one cell give several outputs, in order.
///
/// ```
/// use taper::notebook::{MimeBundle, display};
///
/// display(&MimeBundle::text("shown in a notebook, silent in a test"));
/// ```
pub fn display(bundle: &MimeBundle) {
    emit("display", bundle);
}

/// Removes what the cell has shown so far, like IPython's `clear_output`; with `wait`, only when the
/// next output comes, so that nothing flickers. Does nothing outside the Taper kernel.
///
/// Something that changes in place is easier with [`display_live`](super::display_live).
///
/// ```
/// use taper::notebook::{MimeBundle, clear_output, display};
///
/// for step in 0..3 {
///     clear_output(true);
///     display(&MimeBundle::text(format!("step {step}")));
/// }
/// ```
pub fn clear_output(wait: bool) {
    send_record(&json!({ "op": "clear", "wait": wait }));
    cell::turn_page();
}

/// Shows a bundle as the value of the cell (Jupyter's `Out[n]`).
pub(crate) fn result(bundle: &MimeBundle) {
    emit("result", bundle);
}

fn emit(op: &str, bundle: &MimeBundle) {
    match Host::current() {
        Host::Taper { secret } => write_record(secret, &json!({ "op": op, "data": bundle.data() })),
        Host::Evcxr => write_evcxr_blocks(bundle),
        Host::Plain => {}
    }
}
