//! The headings and the figures of a markdown text, before it is rendered.

use crate::sanitise::without_marks;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// Parses markdown with the syntax of JupyterLab.
pub(crate) fn parse(source: &str) -> Vec<Event<'_>> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH;
    Parser::new_ext(source, options).collect()
}

/// Returns the anchors of a text's headings, in order.
pub(crate) fn headings(source: &str) -> Vec<String> {
    let source = without_marks(source);
    let events = parse(&source);
    let is_start = |at: &usize| matches!(events[*at], Event::Start(Tag::Heading { .. }));
    (0..events.len())
        .filter(is_start)
        .map(|at| anchor_of(&plain_text(&events[inside(&events, at)])))
        .collect()
}

/// Returns the anchor of a heading, which JupyterLab derives from its text.
fn anchor_of(heading: &str) -> String {
    heading.trim().replace(char::is_whitespace, "-")
}

/// Counts the images that are a paragraph of their own and have a caption.
pub(crate) fn count_figures(source: &str) -> usize {
    let source = without_marks(source);
    let events = parse(&source);
    let is_figure = |at: &usize| {
        let title = matches!(events.get(at + 1), Some(Event::Start(Tag::Image { title, .. })) if !title.is_empty());
        title && lone_image(&events, *at).is_some()
    };
    (0..events.len()).filter(is_figure).count()
}

/// Returns the end of the paragraph that begins at `at`, if it holds an image and nothing else.
pub(crate) fn lone_image(events: &[Event], at: usize) -> Option<usize> {
    let (Event::Start(Tag::Paragraph), Some(Event::Start(Tag::Image { .. }))) =
        (&events[at], events.get(at + 1))
    else {
        return None;
    };
    let end = inside(events, at + 1).end + 1;
    matches!(events.get(end), Some(Event::End(TagEnd::Paragraph))).then_some(end)
}

/// Returns the positions of the events between the start at `at` and its end.
pub(crate) fn inside(events: &[Event], at: usize) -> Range<usize> {
    let mut depth = 0;
    for (end, event) in events.iter().enumerate().skip(at) {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1..end;
        }
    }
    at + 1..events.len()
}

/// Returns the text without its markup.
pub(crate) fn plain_text(events: &[Event]) -> String {
    let text = |event: &Event| match event {
        Event::Text(text) | Event::Code(text) | Event::InlineMath(text) => text.to_string(),
        Event::SoftBreak | Event::HardBreak => " ".into(),
        _ => String::new(),
    };
    events.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_jupyterlab() {
        assert_eq!(anchor_of("What a transfer costs"), "What-a-transfer-costs");
        assert_eq!(
            anchor_of("Why ? is there: 2 reasons"),
            "Why-?-is-there:-2-reasons"
        );
    }
}
