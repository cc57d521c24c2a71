//! Frames: what an interaction shows at many positions of its sliders, for a page that no kernel serves.

use super::Slider;
use crate::notebook::bundle::MimeBundle;
use serde_json::{Value, json};

/// The variable with which `taper publish` asks for this many positions of a slider.
const WANTED: &str = "TAPER_FRAMES";

/// The MIME type of the frames: the positions of each slider, and a bundle for each combination, in the order in which
/// the last slider moves fastest.
const FRAMES: &str = "application/vnd.taper.frames+json";

/// Adds the frames to the first bundle of an interaction, if they are wanted.
pub(super) fn added(
    first: MimeBundle,
    sliders: &[Slider],
    run: &mut dyn FnMut(&[f64]) -> MimeBundle,
) -> MimeBundle {
    let wanted = std::env::var(WANTED).ok();
    match wanted.and_then(|wanted| wanted.parse().ok()) {
        Some(count) if !sliders.is_empty() => with_frames(first, sliders, count, run),
        _ => first,
    }
}

fn with_frames(
    first: MimeBundle,
    sliders: &[Slider],
    count: usize,
    run: &mut dyn FnMut(&[f64]) -> MimeBundle,
) -> MimeBundle {
    let count = for_each(count, sliders.len());
    let positions: Vec<_> = sliders
        .iter()
        .map(|slider| slider.positions(count))
        .collect();
    let total = positions.iter().map(|(values, _)| values.len()).product();
    let frame = |index: usize| {
        let mut rest = index;
        let mut values: Vec<f64> = { positions.iter().rev() }
            .map(|(of_slider, _)| {
                let value = of_slider[rest % of_slider.len()];
                rest /= of_slider.len();
                value
            })
            .collect();
        values.reverse();
        Value::from(run(&values).data().clone())
    };
    let frames: Vec<Value> = (0..total).map(frame).collect();
    let sliders = sliders.iter().zip(&positions);
    let sliders = sliders.map(|(slider, (values, start))| {
        json!({ "label": slider.label, "values": values, "start": start })
    });
    let sliders: Vec<Value> = sliders.collect();
    let mut data = first.data().clone();
    data.insert(
        FRAMES.to_owned(),
        json!({ "sliders": sliders, "frames": frames }),
    );
    MimeBundle::from(data)
}

/// Returns how many positions each slider gets. All combinations of several sliders are shown, at most four times as
/// many as the positions of a single slider.
fn for_each(count: usize, sliders: usize) -> usize {
    match sliders {
        0 | 1 => count,
        _ => (4.0 * count as f64).powf(1.0 / sliders as f64) as usize,
    }
    .max(2)
}

impl Slider {
    /// Returns at most `count` positions over the whole range, and the index of the one at which the slider starts.
    fn positions(&self, count: usize) -> (Vec<f64>, usize) {
        let ((low, high), step, own) = (self.ends(), self.step_size(), self.get());
        let steps = match step > 0.0 {
            true => ((high - low) / step + 1e-9).floor() as usize,
            false => 0,
        };
        let count = count.min(steps + 1);
        let at = |i: usize| low + step * (i * steps / (count - 1).max(1)) as f64;
        let value = |position: f64| match self.is_log {
            true => 10f64.powf(position),
            false => position,
        };
        let mut values: Vec<f64> = (0..count).map(|i| value(at(i))).collect();
        let first = match self.is_log {
            true => own.log10(),
            false => own,
        };
        let distance = |i: &usize| (at(*i) - first).abs();
        let start = { 0..count }.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let start = start.unwrap_or(0);
        values[start] = own;
        (values, start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::slider;
    use super::*;

    #[test]
    fn positions_are_steps_over_the_whole_range() {
        let (values, start) = slider("n", 1.0..=10.0).step(1.0).value(3.0).positions(25);
        assert_eq!((values.len(), start, values[9]), (10, 2, 10.0));
        let (values, start) = slider("x", 0.0..=1.0).positions(5);
        assert_eq!((values, start), (vec![0.0, 0.25, 0.5, 0.75, 1.0], 2));
        let (values, start) = slider("lr", 1e-4..=1.0).log().value(0.02).positions(5);
        assert_eq!((values[0], values[start], values[4]), (1e-4, 0.02, 1.0));
        assert_eq!(slider("one", 2.0..=2.0).positions(5), (vec![2.0], 0));
    }

    #[test]
    fn all_combinations_of_two_sliders_are_frames() {
        let sliders = [
            slider("a", 0.0..=1.0).step(1.0).value(0.0),
            slider("b", 0.0..=1.0),
        ];
        let mut run = |values: &[f64]| MimeBundle::text(format!("{values:?}"));
        let first = run(&[0.0, 0.5]);
        let bundle = with_frames(first, &sliders, 3, &mut run);
        let frames = &bundle.data()[FRAMES];
        let texts: Vec<&str> = { frames["frames"].as_array().expect("a list").iter() }
            .filter_map(|frame| frame["text/plain"].as_str())
            .collect();
        assert_eq!(
            texts,
            [
                "[0.0, 0.0]",
                "[0.0, 0.5]",
                "[0.0, 1.0]",
                "[1.0, 0.0]",
                "[1.0, 0.5]",
                "[1.0, 1.0]"
            ]
        );
        assert_eq!(frames["sliders"][1]["label"], "b");
        assert_eq!(frames["sliders"][1]["start"], 1);
        assert_eq!(bundle.get("text/plain"), Some("[0.0, 0.5]"));
    }
}
