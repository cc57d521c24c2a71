//! A chain of layers with the shapes of their outputs, as text and as a figure.

use super::render::UNIT;
use super::render::palette::{INK, stroke};
use super::render::scene::Scene;
use super::render::text::{FONT, ROW, shortened_to, text_width};
use crate::notebook::MimeBundle;
use plotters::style::RGBColor;
use plotters_backend::text_anchor::HPos;

/// The layers that an input passes, in order. The first step is the input.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    pub steps: Vec<Step>,
}

/// A layer of a chain.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The place of the layer, as in `net[3][0]`: `3.0`.
    pub(crate) path: String,
    pub layer: String,
    pub outcome: Outcome,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub enum Outcome {
    /// The shape of its output.
    Shape(Vec<usize>),
    /// The layer cannot take the output of the step before it.
    Refused,
    /// The layer was not reached.
    Waiting,
}

/// How many layers are shown before the one that refuses its input, and after it.
const SHOWN: (usize, usize) = (8, 3);
/// The longest description of a layer, in letters.
const LETTERS: usize = 60;

#[doc(hidden)]
impl Step {
    pub fn new(path: impl Into<String>, layer: &str, outcome: Outcome) -> Self {
        // A layer of layers is described in several lines.
        let layer = layer.lines().next().unwrap_or_default();
        let layer = shortened_to(layer.trim_end_matches('('), LETTERS);
        let path = path.into();
        Step {
            path,
            layer,
            outcome,
        }
    }

    fn result(&self) -> String {
        match &self.outcome {
            Outcome::Shape(dims) => {
                let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
                format!("({})", dims.join(", "))
            }
            Outcome::Refused => "does not fit".to_owned(),
            Outcome::Waiting => String::new(),
        }
    }
}

impl Chain {
    /// Returns a line for each step, with a cross before the layer that refuses its input.
    pub fn text(&self) -> String {
        let steps = self.shown();
        let widest = |text: fn(&Step) -> usize| steps.iter().map(text).max().unwrap_or(0);
        let path = match widest(|step| step.path.chars().count()) {
            0 => 0,
            path => path + 2,
        };
        let layer = widest(|step| step.layer.chars().count());
        let lines = steps.iter().map(|step| {
            let mark = if step.is_refused() { '✗' } else { ' ' };
            let line = format!(
                "{mark} {:path$}{:layer$}  {}",
                step.path,
                step.layer,
                step.result()
            );
            line.trim_end().to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the figure, with a description in place of [`text`](Self::text) for an error that contains the text.
    pub fn figure(&self) -> MimeBundle {
        MimeBundle::text(self.description()).with("image/svg+xml", self.svg())
    }

    /// Returns the text and the figure.
    pub fn bundle(&self) -> MimeBundle {
        MimeBundle::text(self.text()).with("image/svg+xml", self.svg())
    }

    fn description(&self) -> String {
        let shape = |step: Option<&Step>| step.map_or(String::new(), Step::result);
        match self.steps.iter().position(Step::is_refused) {
            Some(at) => format!(
                "a chain of layers: {} does not fit an input of shape {}",
                self.steps[at].layer,
                shape(self.steps[..at].last())
            ),
            None => format!(
                "a chain of layers, from {} to {}",
                shape(self.steps.first()),
                shape(self.steps.last())
            ),
        }
    }

    /// Returns the steps to show: of a long chain those near the layer that refuses its input.
    fn shown(&self) -> Vec<Step> {
        let Some(at) = self.steps.iter().position(Step::is_refused) else {
            return self.steps.clone();
        };
        let more = |count: usize| Step::new("", &format!("… {count} more"), Outcome::Waiting);
        let (before, after) = (&self.steps[..at], &self.steps[at + 1..]);
        let mut shown: Vec<Step> = before.iter().take(1).cloned().collect();
        let left_out = before.len().saturating_sub(SHOWN.0 + 1);
        // A line that says that one line was left out saves nothing.
        let left_out = if left_out > 1 { left_out } else { 0 };
        if left_out > 0 {
            shown.push(more(left_out));
        }
        shown.extend(before.iter().skip(1 + left_out).cloned());
        shown.push(self.steps[at].clone());
        let kept = if after.len() > SHOWN.1 + 1 {
            SHOWN.1
        } else {
            after.len()
        };
        shown.extend(after[..kept].iter().cloned());
        if kept < after.len() {
            shown.push(more(after.len() - kept));
        }
        shown
    }

    /// Draws a box for each step, and beside the rule to the next one the shape that goes along it. So the figure is as
    /// narrow as a phone.
    fn svg(&self) -> String {
        let steps = self.shown();
        let labels: Vec<Vec<String>> = steps.iter().map(Step::label).collect();
        let width = |text: &String| text_width(text, FONT);
        let box_width = labels.iter().flatten().map(width).max().unwrap_or(0) + 2 * GAP;
        let results = steps.iter().map(|step| RESULT + width(&step.result()));
        let size = (
            2 * MARGIN + results.fold(box_width, i32::max),
            2 * MARGIN + { labels.iter() }
                .map(|label| height(label) + BETWEEN)
                .sum::<i32>(),
        );
        let size = ((size.0 / UNIT) as u32, (size.1 / UNIT) as u32);
        let mut scene = Scene::new(size, self.description());
        let mut top = MARGIN;
        for (i, (step, label)) in steps.iter().zip(&labels).enumerate() {
            let (color, dashes): (RGBColor, &[f64]) = match step.outcome {
                Outcome::Shape(_) => (INK, &[]),
                Outcome::Refused => (stroke(1).color, &[]),
                Outcome::Waiting => (INK, &[3.0, 3.0]),
            };
            scene.draw_frame((MARGIN, top), (box_width, height(label)), color, dashes);
            for (row, line) in label.iter().enumerate() {
                let middle = top + HEIGHT / 2 + row as i32 * ROW;
                scene.write(line, (MARGIN + GAP, middle), HPos::Left, color);
            }
            let bottom = top + height(label);
            top = bottom + BETWEEN;
            if i + 1 < steps.len() {
                scene.draw_rule((MARGIN + RULE, bottom), (MARGIN + RULE, top));
            }
            let beside = (MARGIN + RESULT, bottom + BETWEEN / 2);
            scene.write(&step.result(), beside, HPos::Left, color);
        }
        scene.svg()
    }
}

/// The sizes of the figure: around it, beside texts, of a box with one line, between boxes, and where in a box the rule to
/// the next one and the text beside it begin.
const MARGIN: i32 = 4 * UNIT;
const GAP: i32 = 10 * UNIT;
const HEIGHT: i32 = 22 * UNIT;
const BETWEEN: i32 = 20 * UNIT;
const RULE: i32 = 20 * UNIT;
const RESULT: i32 = RULE + GAP;
/// The most letters in a line of a box.
const LINE: usize = 46;

fn height(label: &[String]) -> i32 {
    HEIGHT + (label.len() as i32 - 1) * ROW
}

impl Step {
    fn is_refused(&self) -> bool {
        self.outcome == Outcome::Refused
    }

    /// Returns the lines in the box.
    fn label(&self) -> Vec<String> {
        let mark = if self.is_refused() { "✗ " } else { "" };
        let label = match self.path.as_str() {
            "" => format!("{mark}{}", self.layer),
            path => format!("{mark}{path}  {}", self.layer),
        };
        let spaces = label.char_indices().take(LINE + 1);
        let end = spaces.filter(|(_, c)| *c == ' ').last();
        match end.filter(|_| label.chars().count() > LINE) {
            Some((end, _)) => vec![
                label[..end].to_owned(),
                shortened_to(&label[end + 1..], LINE),
            ],
            None => vec![label],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(passed: usize, refused: bool, waiting: usize) -> Chain {
        let shape = || Outcome::Shape(vec![32, 3]);
        let mut steps = vec![Step::new("", "input", shape())];
        let mut add = |outcome| {
            let path = (steps.len() - 1).to_string();
            steps.push(Step::new(path, "ReLU()", outcome));
        };
        (0..passed).for_each(|_| add(shape()));
        (0..usize::from(refused)).for_each(|_| add(Outcome::Refused));
        (0..waiting).for_each(|_| add(Outcome::Waiting));
        Chain { steps }
    }

    #[test]
    fn a_long_chain_is_shown_near_the_layer_that_refuses() {
        let text = chain(20, true, 9).text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 1 + 8 + 1 + 3 + 1, "{text}");
        assert_eq!(lines[0], "      input      (32, 3)");
        assert_eq!(lines[1], "      … 12 more");
        assert_eq!(lines[2], "  12  ReLU()     (32, 3)");
        assert_eq!(lines[10], "✗ 20  ReLU()     does not fit");
        assert_eq!(lines[11], "  21  ReLU()");
        assert_eq!(lines[14], "      … 6 more");
        let all = chain(9, true, 4).text();
        assert_eq!(all.lines().count(), 15, "one line is not left out: {all}");
    }

    #[test]
    fn the_figure_names_the_layer_that_refuses() {
        let bundle = chain(1, true, 1).figure();
        let svg = bundle.get("image/svg+xml").expect("a figure");
        let title =
            "<title>a chain of layers: ReLU() does not fit an input of shape (32, 3)</title>";
        assert!(svg.contains(title), "{svg}");
        assert_eq!(
            svg.matches("stroke-dasharray").count(),
            1,
            "the layer that waits"
        );
        assert!(svg.contains(">✗ 1  ReLU()</text>") && svg.contains(">does not fit</text>"));
        assert_eq!(svg.matches(">(32, 3)</text>").count(), 2);
        let fits = chain(2, false, 0).bundle();
        assert_eq!(
            fits.get("text/plain").map(|text| text.lines().count()),
            Some(3)
        );
    }

    #[test]
    fn the_figure_of_long_layers_fits_on_a_phone() {
        let layer = "Conv2d(64, 128, kernel_size=3, stride=1, padding=1, groups=32)";
        let step = Step::new("3.0", layer, Outcome::Refused);
        assert_eq!(
            step.label(),
            [
                "✗ 3.0  Conv2d(64, 128, kernel_size=3,",
                "stride=1, padding=1, groups=…"
            ]
        );
        let svg = Chain { steps: vec![step] }.svg();
        let width = svg
            .split_once("width=\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        let width: u32 = width
            .and_then(|(width, _)| width.parse().ok())
            .expect("a width");
        assert!(width <= 340, "{svg}");
    }

    #[test]
    fn a_layer_of_layers_is_shown_by_its_name() {
        let step = Step::new("0", "Sequential(\n  (0): ReLU()\n)", Outcome::Waiting);
        assert_eq!(step.layer, "Sequential");
    }
}
