//! A field in which the user draws an image, for [`interact`](crate::notebook::interact).

use super::images::show_images;
use crate::notebook::{Controls, MimeBundle, Show, new_control, show_control};
use crate::tensor::{Tensor, tensor, zeros};
use serde_json::json;

/// The canvas and its script. `SIDE`, `PIXELS` and `CLASS` are replaced.
const FIELD: &str = include_str!("drawing.html");

/// A field in which the user draws an image. [`drawing`] creates it, [`interact`](crate::notebook::interact) shows it.
#[derive(Clone, Debug)]
#[must_use = "interact(…) shows a field for drawing"]
pub struct Drawing {
    side: usize,
    start: Tensor,
}

/// Creates a square field of `side` by `side` pixels in which the user draws with the mouse, a pen or a finger.
///
/// In [`interact`](crate::notebook::interact), the callback receives the drawing as a batch of one image, of shape
/// (1, 1, side, side), with values from 0 (black) to 1 (white). Where a page cannot show the field, it shows the image
/// with which it starts.
///
/// ```
/// use taper::prelude::*;
///
/// interact(drawing(8), |image| {
///     assert_eq!(image.dims(), [1, 1, 8, 8]);
///     Ok(image.mean_all().item())
/// });
/// ```
pub fn drawing(side: usize) -> Drawing {
    Drawing {
        side,
        start: zeros((1, 1, side, side)),
    }
}

impl Drawing {
    setters! {
        /// Starts with an image, whose elements are the pixels of the field row by row, instead of an empty field.
        ///
        /// # Panics
        /// Panics if the image does not have side · side elements.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let digit = Digits::new().val()?.get(&[0])?.x; // (1, 1, 8, 8)
        /// interact(drawing(8).start(&digit), |image| Ok(image.sum_all().item()));
        /// # Ok::<(), Error>(())
        /// ```
        pub fn start(self, image: &Tensor): self.start = image.reshape((1, 1, self.side, self.side)).detach();
    }

    fn pixels(&self) -> Vec<f64> {
        let pixels = self.start.flatten_all().to_vec1::<f32>();
        pixels.into_iter().map(f64::from).collect()
    }
}

impl Controls for Drawing {
    type Values = Tensor;

    /// Shows the canvas, a widget with HTML, and a hidden box for text, into which the script of the canvas writes the
    /// pixels: Jupyter sends what the box contains.
    fn show_controls(&self) -> Vec<(String, Vec<f64>)> {
        let pixels = self.pixels();
        let text: Vec<String> = pixels.iter().map(|pixel| format!("{pixel:.3}")).collect();
        let text = text.join(" ");
        let id = new_control(
            "Textarea",
            |id| json!({ "_dom_classes": [class(id)], "continuous_update": true, "value": text }),
        );
        let html = FIELD
            .replace("SIDE", &self.side.to_string())
            .replace("PIXELS", &text)
            .replace("CLASS", &class(&id));
        let canvas = new_control("HTML", |_| json!({ "value": html }));
        show_control(&canvas, show_images(&self.start).width(160).show_bundle());
        let words = format!("a field of {0} by {0} pixels for drawing", self.side);
        show_control(&id, MimeBundle::text(words));
        vec![(id, pixels)]
    }

    fn values(all: &[f64]) -> Tensor {
        let side = all.len().isqrt();
        let pixels: Vec<f32> = all.iter().map(|pixel| *pixel as f32).collect();
        tensor(pixels).reshape((1, 1, side, side))
    }
}

/// The class by which the script finds the box for text.
fn class(id: &str) -> String {
    format!("taper-pixels-{id}")
}
