//! MIME bundles in the types of the protocol's library.

use jupyter_protocol::{Media, MediaType};
use serde_json::Value;
use taper_evaluator::event::MimeBundle;

/// Converts a bundle. If the library cannot read it, for example because an image is a number, it
/// becomes plain text.
pub(super) fn media(data: MimeBundle) -> Media {
    let json = Value::Object(data);
    serde_json::from_value(json.clone()).unwrap_or_else(|error| {
        eprintln!("taper: an output is not a MIME bundle: {error}");
        MediaType::Plain(json.to_string()).into()
    })
}
