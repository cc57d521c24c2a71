//! The outputs of a cell while it runs, as changes of the page.

use crate::api::Links;
use crate::book::Book;
use crate::builder::PageBuilder;
use crate::chapter::Chapter;
use crate::{frames, outputs};
use serde_json::{Value, json};
use taper_evaluator::{CellOutputs, Event};

/// The bytes of text that a page shows of a cell: more would make the browser slow.
const MAX_TEXT: usize = 200_000;

/// The outputs of a running cell, and the outputs that the page shows.
#[derive(Debug, Default)]
pub(crate) struct Live {
    outputs: CellOutputs,
    shown: Vec<Value>,
    text: usize,
}

impl Live {
    /// Adds one event of the cell.
    pub(crate) fn event(&mut self, mut event: Event) {
        if let Event::Text { text, .. } = &mut event {
            if self.text > MAX_TEXT {
                return;
            }
            let room = MAX_TEXT - self.text;
            self.text += text.len();
            if text.len() > room {
                text.truncate(text.floor_char_boundary(room));
                *text += &format!("\n… (the page shows the first {MAX_TEXT} bytes of text)\n");
            }
        }
        self.outputs.event(event, 1);
    }

    /// Returns what has changed since the last call: `{"count": 2, "outputs": [[1, "<pre>…</pre>"]]}`.
    pub(crate) fn changes(&mut self) -> Option<Value> {
        let shown = self.outputs.shown();
        let mut now: Vec<Value> = shown.map(|output| output.content.clone()).collect();
        if frames::are_in(&now) {
            now.retain(|output| !frames::is_control(output));
        }
        let changed: Vec<Value> = now
            .iter()
            .enumerate()
            .filter(|(at, output)| self.shown.get(*at) != Some(output))
            .map(|(at, output)| json!([at, render(output)]))
            .collect();
        let is_same = changed.is_empty() && now.len() == self.shown.len();
        self.shown = now;
        (!is_same).then(|| json!({"count": self.shown.len(), "outputs": changed}))
    }
}

/// Renders an output as the book does, but with its images in the HTML.
fn render(output: &Value) -> String {
    let (book, chapter) = (Book::default(), Chapter::default());
    let mut builder = PageBuilder::new(&book, &chapter, Links::none()).with_images_inside();
    let html = outputs::render_alone(output, &mut builder).unwrap_or_default();
    let page = builder.finish(html);
    match page.problems.first() {
        Some(problem) => outputs::block("error", problem),
        None => page.html,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    fn text(text: &str) -> Event {
        Event::stdout(text)
    }

    fn display(media_type: &str, content: &str) -> Event {
        Event::Display {
            data: Map::from_iter([(media_type.to_owned(), content.into())]),
            metadata: Map::new(),
            display_id: None,
        }
    }

    fn html(live: &mut Live) -> String {
        let changes = live.changes().expect("a change");
        changes["outputs"][0][1].as_str().expect("HTML").to_owned()
    }

    #[test]
    fn only_what_has_changed_is_sent() {
        let mut live = Live::default();
        assert_eq!(live.changes(), None);
        live.event(text("1 %"));
        live.event(text("\r2 %"));
        assert!(html(&mut live).contains("stdout\">2 %</pre>"));
        assert_eq!(live.changes(), None);
        live.event(display("text/plain", "a"));
        let changes = live.changes().expect("a change");
        assert_eq!(
            (&changes["count"], &changes["outputs"][0][0]),
            (&2.into(), &1.into())
        );
        live.event(Event::Clear { wait: false });
        assert_eq!(live.changes(), Some(json!({"count": 0, "outputs": []})));
    }

    #[test]
    fn nothing_in_an_output_runs() {
        let mut live = Live::default();
        live.event(display(
            "text/html",
            "<b onclick=\"x()\">1</b><script>x()</script>",
        ));
        assert!(html(&mut live).contains("<b>1</b>"));
        // An image runs nothing.
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"><script>x()</script></svg>";
        for (svg, shows) in [
            (svg, "<img src=\"data:image/svg+xml;base64,"),
            ("no", "is not valid SVG"),
        ] {
            let mut live = Live::default();
            live.event(display("image/svg+xml", svg));
            let html = html(&mut live);
            assert!(html.contains(shows) && !html.contains("x()"), "{html}");
        }
    }

    #[test]
    fn endless_text_is_cut() {
        let mut live = Live::default();
        for _ in 0..30 {
            live.event(text(&"x".repeat(10_000)));
        }
        let html = html(&mut live);
        assert!(html.len() < 250_000 && html.contains("the first 200000 bytes"));
    }

    #[test]
    fn the_text_before_the_limit_is_shown() {
        // A character of two bytes is at the limit.
        for written in ["x".repeat(300_000), format!("x{}", "é".repeat(150_000))] {
            let mut live = Live::default();
            live.event(text(&written));
            live.event(text("more"));
            let html = html(&mut live);
            let note = "\n… (the page shows the first 200000 bytes of text)</pre>\n";
            let shown = html.strip_suffix(note).expect("the note");
            let shown = shown
                .strip_prefix("<pre class=\"output stdout\">")
                .expect("text");
            assert!(
                written.starts_with(shown) && shown.len() >= 199_999,
                "{}",
                shown.len()
            );
        }
    }
}
