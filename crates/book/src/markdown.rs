//! Renders markdown with JupyterLab's syntax. HTML that runs code or loads something is removed.

use crate::builder::PageBuilder;
use crate::cell::{Cell, Kind};
use crate::html::{div, escape, figure};
use crate::image::Image;
use crate::links::{Target, resolve};
use crate::outline::{inside, lone_image, parse, plain_text};
use crate::sanitise::{Fragments, without_marks};
use crate::url::{encode, is_external};
use crate::{highlight, math};
use anyhow::{Context, Result, anyhow, bail};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Tag, TagEnd, html};

/// Renders a markdown cell.
pub(crate) fn render(cell: &Cell, builder: &mut PageBuilder) -> String {
    Prose::new(Some(cell), builder).render(&cell.source)
}

/// Renders an output that is markdown.
pub(crate) fn render_output(source: &str, builder: &mut PageBuilder) -> String {
    Prose::new(None, builder).render(source)
}

/// Renders one line of markdown, without a paragraph around it.
pub(crate) fn render_line(source: &str, builder: &mut PageBuilder) -> String {
    let html = render_output(source, builder);
    let html = html.trim();
    let inner = html
        .strip_prefix("<p>")
        .and_then(|html| html.strip_suffix("</p>"));
    inner.unwrap_or(html).to_owned()
}

/// A markdown text that is being rendered.
struct Prose<'p, 'b> {
    cell: Option<&'p Cell>,
    builder: &'p mut PageBuilder<'b>,
    fragments: Fragments,
    headings: std::slice::Iter<'p, String>,
    figures: std::slice::Iter<'p, String>,
}

impl<'p, 'b> Prose<'p, 'b> {
    fn new(cell: Option<&'p Cell>, builder: &'p mut PageBuilder<'b>) -> Self {
        Prose {
            headings: cell.map_or([].iter(), |cell| cell.headings.iter()),
            figures: cell.map_or([].iter(), |cell| cell.figures.iter()),
            fragments: Fragments::default(),
            cell,
            builder,
        }
    }

    fn render(mut self, source: &str) -> String {
        let source = without_marks(source);
        let mut out = Vec::new();
        self.events(&parse(&source), &mut out);
        let mut text = String::new();
        html::push_html(&mut text, out.into_iter());
        self.fragments.restore(&text)
    }

    fn events<'e>(&mut self, events: &[Event<'e>], out: &mut Vec<Event<'e>>) {
        let mut at = 0;
        while at < events.len() {
            at = self.event(events, at, out);
        }
    }

    /// Writes the event at `at` and the events inside of it; returns the position of the next event.
    fn event<'e>(&mut self, events: &[Event<'e>], at: usize, out: &mut Vec<Event<'e>>) -> usize {
        let here = at + 1;
        match &events[at] {
            Event::InlineMath(formula) => out.push(self.formula(formula, false)),
            Event::DisplayMath(formula) => out.push(self.formula(formula, true)),
            Event::Code(code) => {
                let code = highlight::inline(code, &self.builder.links);
                out.push(self.put(format!("<code class=\"nohighlight\">{code}</code>")));
            }
            Event::TaskListMarker(done) => {
                out.push(Event::Text(if *done { "☑ " } else { "☐ " }.into()));
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let code = inside(events, at);
                out.push(self.code_block(kind, &plain_text(&events[code.clone()])));
                return code.end + 1;
            }
            Event::Start(Tag::Heading { level, .. }) => {
                let text = inside(events, at);
                let id = self.headings.next().filter(|id| !id.is_empty());
                self.heading(*level, id.cloned(), &events[text.clone()], out);
                return text.end + 1;
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let text = inside(events, at);
                let link = self.link(&events[at], dest_url, &events[text.clone()]);
                out.extend(link);
                return text.end + 1;
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                let alt = inside(events, at);
                let image = self.image(dest_url, &plain_text(&events[alt.clone()]));
                out.push(self.put(image));
                return alt.end + 1;
            }
            Event::Start(Tag::Paragraph) => {
                if let Some(end) = lone_image(events, at) {
                    let html = self.lone_image(&events[here..end]);
                    out.push(self.put(html));
                    return end + 1;
                }
                out.push(events[at].clone());
            }
            Event::Start(Tag::Table(_)) => {
                out.push(Event::Html("<div class=\"table-wrapper\">".into()));
                out.push(events[at].clone());
            }
            Event::End(TagEnd::Table) => {
                out.push(events[at].clone());
                out.push(Event::Html("</div>\n".into()));
            }
            other => out.push(other.clone()),
        }
        here
    }

    fn put<'e>(&mut self, html: String) -> Event<'e> {
        Event::Html(self.fragments.put(html).into())
    }

    fn formula<'e>(&mut self, formula: &str, display: bool) -> Event<'e> {
        match math::to_html(formula, display, self.builder.is_published()) {
            Ok(html) => self.put(html),
            Err(message) => {
                self.builder.problem(&format!(
                    "has a formula that cannot be rendered: ${formula}$\n{message}"
                ));
                Event::Text(CowStr::from(formula.to_owned()))
            }
        }
    }

    fn code_block<'e>(&mut self, kind: &CodeBlockKind, code: &str) -> Event<'e> {
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split([',', ' ']).next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        let code = match language {
            "rust" => highlight::cell(code, &self.builder.links),
            _ => escape(code.trim_end()),
        };
        self.put(format!(
            "<pre><code class=\"nohighlight\">{code}</code></pre>\n"
        ))
    }

    /// Writes a heading. With an id it links to itself, unless its text contains a link.
    fn heading<'e>(
        &mut self,
        level: HeadingLevel,
        id: Option<String>,
        text: &[Event<'e>],
        out: &mut Vec<Event<'e>>,
    ) {
        let has_link = text
            .iter()
            .any(|event| matches!(event, Event::Start(Tag::Link { .. })));
        let href = id.as_deref().filter(|_| !has_link).map(encode);
        out.push(Event::Start(Tag::Heading {
            level,
            id: id.map(CowStr::from),
            classes: Vec::new(),
            attrs: Vec::new(),
        }));
        if let Some(href) = &href {
            out.push(Event::InlineHtml(
                format!("<a class=\"header\" href=\"#{}\">", escape(href)).into(),
            ));
        }
        self.events(text, out);
        if href.is_some() {
            out.push(Event::InlineHtml("</a>".into()));
        }
        out.push(Event::End(TagEnd::Heading(level)));
    }

    fn link<'e>(&mut self, start: &Event<'e>, url: &str, text: &[Event<'e>]) -> Vec<Event<'e>> {
        let mut inner = Vec::new();
        let mut start = start.clone();
        self.events(text, &mut inner);
        match resolve(
            self.builder.book,
            self.builder.chapter,
            url,
            &plain_text(text),
        ) {
            Ok(Target::Page { href, .. }) if is_measured(url, text) => {
                // A number of the text is evidence, not a way to go on reading.
                let start = format!("<a class=\"measured\" href=\"{}\">", escape(&href));
                inner.insert(0, Event::InlineHtml(start.into()));
                inner.push(Event::InlineHtml("</a>".into()));
                return inner;
            }
            Ok(Target::Page { href, number }) => {
                if let Event::Start(Tag::Link { dest_url, .. }) = &mut start {
                    *dest_url = href.into();
                }
                inner.extend(number.map(|number| Event::Text(format!("\u{a0}{number}").into())));
            }
            Ok(Target::File(path)) if self.builder.is_published() => {
                self.builder.problem(&not_in_page(&path));
                return inner;
            }
            Ok(Target::File(path)) => self.builder.file(&path),
            Ok(Target::External) => {}
            Err(_) if self.builder.is_published() => {
                self.builder.problem(&not_in_page(url));
                return inner;
            }
            Err(problem) => self.builder.problem(&problem.to_string()),
        }
        let mut link = vec![start];
        link.extend(inner);
        link.push(Event::End(TagEnd::Link));
        link
    }

    /// Renders an image that is a paragraph of its own; its title is the caption of a figure.
    fn lone_image(&mut self, events: &[Event]) -> String {
        let Event::Start(Tag::Image {
            dest_url, title, ..
        }) = &events[0]
        else {
            return String::new();
        };
        let image = self.image(dest_url, &plain_text(&events[inside(events, 0)]));
        let image = div("picture", &image);
        if title.is_empty() {
            return image;
        }
        match self.figures.next() {
            Some(number) => {
                let caption = render_line(title, self.builder);
                let label = self.builder.book.labels.with("Figure {}.", number);
                figure(&image, &label, &caption)
            }
            None => image,
        }
    }

    fn image(&mut self, url: &str, alt: &str) -> String {
        if alt.trim().is_empty() {
            self.builder.problem(&format!(
                "shows {url} without a description\n\
                 Write it between the brackets: ![what it shows]({url})"
            ));
        }
        match self.read_image(url) {
            Ok(image) => self.builder.image(image, alt),
            Err(problem) => {
                self.builder.problem(&problem.to_string());
                String::new()
            }
        }
    }

    fn read_image(&self, url: &str) -> Result<Image> {
        let unusable = |problem| anyhow!("shows {url}, which {problem}");
        if let Some(name) = url.strip_prefix("attachment:") {
            let attachment = match self.cell.map(|cell| &cell.kind) {
                Some(Kind::Markdown { attachments }) => attachments.get(name),
                _ => None,
            };
            let (media_type, data) = attachment
                .and_then(|bundle| bundle.as_object()?.iter().next())
                .with_context(|| {
                    format!(
                        "shows the attachment {name}, which does not exist\nDrop the image onto the cell again"
                    )
                })?;
            return Image::of_attachment(media_type, data).map_err(unusable);
        }
        if is_external(url) {
            bail!(
                "shows {url}, which is not a file of the course\n\
                 The book loads nothing from the web: put the image beside the notebook"
            );
        }
        let file = self.builder.book.beside(self.builder.chapter, url);
        match std::fs::read(&file) {
            Ok(bytes) => Image::of_file(url, bytes).map_err(unusable),
            Err(error) => bail!(
                "shows {url}, which cannot be read: {error}\nThe path is relative to the notebook"
            ),
        }
    }
}

fn not_in_page(path: &str) -> String {
    format!("links to {path}, which is not part of the page: the link becomes plain text")
}

/// Returns whether a link leads from a number to the cell that prints it.
fn is_measured(url: &str, text: &[Event]) -> bool {
    url.contains("#cell-id=") && plain_text(text).contains(|c: char| c.is_ascii_digit())
}
