//! MIME bundles in the types of the protocol's library.

use jupyter_protocol::{Media, MediaType};
use taper_evaluator::event::MimeBundle;

/// Converts a bundle. The library sends each representation as it is.
pub(super) fn media(data: MimeBundle) -> Media {
    Media::new(data.into_iter().map(MediaType::Other).collect())
}
