//! Adapts rust-analyzer's documentation to a notebook: lines of examples that rustdoc hides are left out,
//! and headings have the size of the text.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Returns documentation in Markdown as HTML.
pub(crate) fn page_of(markdown: &str) -> String {
    let events = events(markdown).into_iter().map(|event| match event {
        Event::Start(Tag::Heading { .. }) => Event::Html("<p><strong>".into()),
        Event::End(TagEnd::Heading(_)) => Event::Html("</strong></p>\n".into()),
        event => event,
    });
    let mut page = String::new();
    html::push_html(&mut page, events);
    page
}

/// Returns documentation in Markdown as plain text.
pub(crate) fn text_of(markdown: &str) -> String {
    let mut plain = String::new();
    for event in events(markdown) {
        match event {
            Event::Text(it) | Event::Code(it) => plain.push_str(&it),
            Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Item | TagEnd::TableRow) => {
                plain.push('\n');
            }
            Event::Start(Tag::Item) => plain.push_str("- "),
            Event::End(TagEnd::TableCell) => plain.push('\t'),
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_)) => plain.push_str("\n\n"),
            Event::End(TagEnd::CodeBlock | TagEnd::List(_) | TagEnd::Table) => plain.push('\n'),
            _ => {}
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

/// Parses Markdown. Of the links, those to pages remain, and not those to items; of examples, what is not hidden.
fn events(markdown: &str) -> Vec<Event<'_>> {
    let mut to_item = |_: pulldown_cmark::BrokenLink| Some((CowStr::from(""), CowStr::from("")));
    let parser =
        Parser::new_with_broken_link_callback(markdown, Options::ENABLE_TABLES, Some(&mut to_item));
    let mut is_kept = Vec::new();
    let mut is_code = false;
    let events = parser.filter_map(|event| {
        match &event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                is_kept.push(dest_url.starts_with("http"));
                return is_kept.last()?.then_some(event);
            }
            Event::End(TagEnd::Link) => return is_kept.pop()?.then_some(event),
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(code) if is_code => return Some(Event::Text(shown(code).into())),
            _ => {}
        }
        Some(event)
    });
    events.collect()
}

/// Returns the lines of an example that rustdoc shows.
fn shown(code: &str) -> String {
    let is_hidden = |line: &&str| line.trim_end() == "#" || line.starts_with("# ");
    let lines = code.split_inclusive('\n');
    lines.filter(|line| !is_hidden(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_lines_are_left_out() {
        let example = "# use a::b;\n#\nlet x = 1;\n# Ok::<(), Error>(())\n";
        assert_eq!(shown(example), "let x = 1;\n");
        assert_eq!(shown("#[derive(Debug)]"), "#[derive(Debug)]");
    }

    #[test]
    fn markdown_is_shown_as_a_page_and_as_text() {
        let markdown = "# Sum\nOf *all* of [`Tensor`], see [here](https://a.b) and [there](Self::x).\n\n- one\n- two\n\n```\n# hidden();\nx.sum()\n```\nEnd.";
        let text =
            "Sum\n\nOf all of Tensor, see here and there.\n\n- one\n- two\n\nx.sum()\n\nEnd.";
        assert_eq!(text_of(markdown), text);
        let page = page_of(markdown);
        assert!(page.starts_with(
            "<p><strong>Sum</strong></p>\n<p>Of <em>all</em> of <code>Tensor</code>, see <a href"
        ));
        assert!(
            page.contains("</a> and there.") && !page.contains("hidden"),
            "{page}"
        );
    }
}
