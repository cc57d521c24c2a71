//! Renders a notebook as a page.

use crate::api::{Api, Links};
use crate::book::Book;
use crate::builder::{Page, PageBuilder};
use crate::cell::{Cell, Kind};
use crate::chapter::Chapter;
use crate::html::escape;
use crate::tags::Visibility;
use crate::toolbar::Toolbar;
use crate::{highlight, markdown, outputs};

/// Renders a chapter of the book.
pub(crate) fn render(chapter: &Chapter, book: &Book, api: Option<&Api>, toolbar: &Toolbar) -> Page {
    let own = chapter.cells.iter().flat_map(Cell::definitions).collect();
    let links = Links::new(api, own, format!("{}{}api/", chapter.up(), book.root));
    let mut builder = PageBuilder::new(book, chapter, links);
    let mut html = String::new();
    for cell in chapter.cells.iter().filter(|cell| cell.is_shown()) {
        builder.begin(cell);
        html += &render_cell(cell, &mut builder);
    }
    let after_title = html.find("</h1>").map_or(0, |at| at + "</h1>".len());
    html.insert_str(after_title, &format!("\n{}", toolbar.render(chapter, book)));
    builder.finish(without_blank_lines(&html))
}

/// Renders a cell: its prose, or its code and outputs.
pub(crate) fn render_cell(cell: &Cell, builder: &mut PageBuilder) -> String {
    let (kind, content) = match &cell.kind {
        Kind::Markdown { .. } => ("markdown", markdown::render(cell, builder)),
        Kind::Code { .. } => {
            let code = render_code(cell, builder);
            let outputs = outputs::render(cell, builder);
            let summary = builder.book.labels.get("Show output");
            let outputs = folded(cell.tags.output, summary, &outputs);
            ("code", code + &outputs)
        }
        Kind::Raw => ("markdown", String::new()),
    };
    let summary = builder.book.labels.get("Show cell");
    let content = folded(cell.tags.cell, summary, &content);
    format!(
        "<div class=\"cell {kind}\" id=\"{}\">\n{content}</div>\n",
        escape(&cell.anchor())
    )
}

fn render_code(cell: &Cell, builder: &PageBuilder) -> String {
    if cell.tags.input == Visibility::Removed || cell.source.trim().is_empty() {
        return String::new();
    }
    let code = highlight::cell(&cell.source, &builder.links);
    let code = format!("<pre class=\"input\"><code class=\"nohighlight\">{code}</code></pre>\n");
    folded(cell.tags.input, builder.book.labels.get("Show code"), &code)
}

fn folded(visibility: Visibility, summary: &str, html: &str) -> String {
    match visibility {
        Visibility::Hidden if !html.is_empty() => {
            format!("<details>\n<summary>{summary}</summary>\n{html}</details>\n")
        }
        _ => html.to_owned(),
    }
}

/// Writes blank lines as character references: in markdown, a blank line would end the HTML.
pub(crate) fn without_blank_lines(html: &str) -> String {
    let mut written = String::with_capacity(html.len());
    for line in html.lines() {
        if line.trim().is_empty() {
            written.push_str("&#10;");
        } else if !written.is_empty() {
            written.push('\n');
        }
        written.push_str(line);
    }
    written.push('\n');
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_become_character_references() {
        assert_eq!(
            without_blank_lines("<pre>a\n\n  \nb</pre>"),
            "<pre>a&#10;&#10;  \nb</pre>\n"
        );
    }
}
