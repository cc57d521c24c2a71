//! Markdown cells. The syntax is JupyterLab's; what runs or loads something is left out.

use super::cell::{Cell, Kind};
use super::image::{Picture, decode_base64};
use super::links::{Target, Wanted, anchor_of, encode, resolve};
use super::outputs::figure;
use super::page::Desk;
use super::sanitise::{Fragments, without_marks};
use super::{escape, highlight, math};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};
use std::ops::Range;

/// The anchors of a text's headings, in order.
pub fn headings(source: &str) -> Vec<String> {
    let source = without_marks(source);
    let events = parse(&source);
    let begins = |at: &usize| matches!(events[*at], Event::Start(Tag::Heading { .. }));
    (0..events.len())
        .filter(begins)
        .map(|at| anchor_of(&plain(&events[inside(&events, at)])))
        .collect()
}

/// How many pictures stand alone and have a caption.
pub fn count_figures(source: &str) -> usize {
    let source = without_marks(source);
    let events = parse(&source);
    (0..events.len())
        .filter(|at| captioned_picture(&events, *at).is_some())
        .count()
}

/// A markdown cell.
pub fn render(cell: &Cell, desk: &mut Desk) -> String {
    Prose::new(Some(cell), desk).render(&cell.source)
}

/// An output that is markdown.
pub fn output(source: &str, desk: &mut Desk) -> String {
    Prose::new(None, desk).render(source)
}

/// One line of prose, without a paragraph around it.
pub fn caption(source: &str, desk: &mut Desk) -> String {
    let html = output(source, desk);
    let html = html.trim();
    let inner = html
        .strip_prefix("<p>")
        .and_then(|html| html.strip_suffix("</p>"));
    inner.unwrap_or(html).to_owned()
}

fn parse(source: &str) -> Vec<Event<'_>> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH;
    Parser::new_ext(source, options).collect()
}

/// The events between the start at `at` and its end.
fn inside(events: &[Event], at: usize) -> Range<usize> {
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

/// The text without its markup.
fn plain(events: &[Event]) -> String {
    let text = |event: &Event| match event {
        Event::Text(text) | Event::Code(text) | Event::InlineMath(text) => text.to_string(),
        Event::SoftBreak | Event::HardBreak => " ".into(),
        _ => String::new(),
    };
    events.iter().map(text).collect()
}

/// Where a paragraph that begins at `at` ends, if a picture is all that is in it.
fn picture_alone(events: &[Event], at: usize) -> Option<usize> {
    let (Event::Start(Tag::Paragraph), Some(Event::Start(Tag::Image { .. }))) =
        (&events[at], events.get(at + 1))
    else {
        return None;
    };
    let end = inside(events, at + 1).end + 1;
    matches!(events.get(end), Some(Event::End(TagEnd::Paragraph))).then_some(end)
}

fn captioned_picture(events: &[Event], at: usize) -> Option<usize> {
    let end = picture_alone(events, at)?;
    matches!(&events[at + 1], Event::Start(Tag::Image { title, .. }) if !title.is_empty())
        .then_some(end)
}

/// A text on its way into the page.
struct Prose<'p, 'd> {
    cell: Option<&'p Cell>,
    desk: &'p mut Desk<'d>,
    fragments: Fragments,
    headings: std::slice::Iter<'p, String>,
    figures: std::slice::Iter<'p, String>,
}

impl<'p, 'd> Prose<'p, 'd> {
    fn new(cell: Option<&'p Cell>, desk: &'p mut Desk<'d>) -> Self {
        Prose {
            headings: cell.map_or([].iter(), |cell| cell.headings.iter()),
            figures: cell.map_or([].iter(), |cell| cell.figures.iter()),
            fragments: Fragments::default(),
            cell,
            desk,
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

    /// Writes the event at `at`, with those that belong to it; gives the place of the next.
    fn event<'e>(&mut self, events: &[Event<'e>], at: usize, out: &mut Vec<Event<'e>>) -> usize {
        let here = at + 1;
        match &events[at] {
            Event::InlineMath(formula) => out.push(self.formula(formula, false)),
            Event::DisplayMath(formula) => out.push(self.formula(formula, true)),
            Event::Code(code) => {
                let code = highlight::inline(code, &self.desk.links);
                out.push(self.put(format!("<code class=\"nohighlight\">{code}</code>")));
            }
            Event::TaskListMarker(done) => {
                out.push(Event::Text(if *done { "☑ " } else { "☐ " }.into()));
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let code = inside(events, at);
                out.push(self.code_block(kind, &plain(&events[code.clone()])));
                return code.end + 1;
            }
            Event::Start(Tag::Heading { level, .. }) => {
                let text = inside(events, at);
                let id = self.headings.next().cloned().unwrap_or_default();
                self.heading(*level, id, &events[text.clone()], out);
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
                let image = self.image(dest_url, &plain(&events[alt.clone()]));
                out.push(self.put(image));
                return alt.end + 1;
            }
            Event::Start(Tag::Paragraph) => {
                if let Some(end) = picture_alone(events, at) {
                    let html = self.picture(&events[here..end]);
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
        match math::to_html(formula, display) {
            Ok(html) => self.put(html),
            Err(error) => {
                self.desk.problem(&format!(
                    "holds a formula that cannot be set: ${formula}$\n{error}"
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
            "rust" => highlight::cell(code, &self.desk.links),
            _ => escape(code.trim_end()),
        };
        self.put(format!(
            "<pre><code class=\"nohighlight\">{code}</code></pre>\n"
        ))
    }

    /// The heading leads to itself, unless there is another link in it.
    fn heading<'e>(
        &mut self,
        level: pulldown_cmark::HeadingLevel,
        id: String,
        text: &[Event<'e>],
        out: &mut Vec<Event<'e>>,
    ) {
        let has_link = text
            .iter()
            .any(|event| matches!(event, Event::Start(Tag::Link { .. })));
        let href = encode(&id);
        out.push(Event::Start(Tag::Heading {
            level,
            id: Some(id.into()),
            classes: Vec::new(),
            attrs: Vec::new(),
        }));
        if !has_link {
            out.push(Event::InlineHtml(
                format!("<a class=\"header\" href=\"#{}\">", escape(&href)).into(),
            ));
        }
        self.events(text, out);
        if !has_link {
            out.push(Event::InlineHtml("</a>".into()));
        }
        out.push(Event::End(TagEnd::Heading(level)));
    }

    fn link<'e>(&mut self, start: &Event<'e>, url: &str, text: &[Event<'e>]) -> Vec<Event<'e>> {
        let mut inner = Vec::new();
        let wanted = Wanted::by(&plain(text));
        let mut start = start.clone();
        self.events(text, &mut inner);
        match resolve(self.desk.shelf, self.desk.chapter, url, wanted) {
            Ok(Target::Page { href, number }) => {
                if let Event::Start(Tag::Link { dest_url, .. }) = &mut start {
                    *dest_url = href.into();
                }
                inner.extend(number.map(|number| Event::Text(format!("\u{a0}{number}").into())));
            }
            Ok(Target::File(path)) => self.desk.file(&path),
            Ok(Target::Elsewhere) => {}
            Err(problem) => self.desk.problem(&problem),
        }
        let mut link = vec![start];
        link.extend(inner);
        link.push(Event::End(TagEnd::Link));
        link
    }

    /// A picture that stands alone; with a title it has a number and a caption.
    fn picture(&mut self, events: &[Event]) -> String {
        let Event::Start(Tag::Image {
            dest_url, title, ..
        }) = &events[0]
        else {
            return String::new();
        };
        let image = self.image(dest_url, &plain(&events[inside(events, 0)]));
        let image = format!("<div class=\"picture\">{image}</div>\n");
        match self.figures.next().filter(|_| !title.is_empty()) {
            Some(number) => {
                let caption = caption(title, self.desk);
                figure(&image, number, &caption)
            }
            None => image,
        }
    }

    fn image(&mut self, url: &str, alt: &str) -> String {
        if alt.trim().is_empty() {
            self.desk.problem(&format!(
                "shows {url} without saying what is in it\n\
                 Write it between the brackets: ![what it shows]({url})"
            ));
        }
        match self.read_image(url) {
            Ok(picture) => self.desk.picture(picture, alt),
            Err(problem) => {
                self.desk.problem(&problem);
                String::new()
            }
        }
    }

    fn read_image(&self, url: &str) -> Result<Picture, String> {
        if let Some(name) = url.strip_prefix("attachment:") {
            let attachments = match self.cell.map(|cell| &cell.kind) {
                Some(Kind::Markdown { attachments }) => attachments.get(name),
                _ => None,
            };
            let (kind, data) = attachments
                .and_then(|bundle| bundle.as_object()?.iter().next())
                .ok_or_else(|| {
                    format!(
                        "shows the attachment {name}, which is not there\n\
                         Drop the picture onto the cell again"
                    )
                })?;
            if kind == "image/svg+xml" {
                let bytes = decode_base64(&super::cell::text(data)).unwrap_or_default();
                return Picture::of_file("attachment.svg", bytes);
            }
            return Picture::of_output(kind, data, &serde_json::Value::Null);
        }
        if url.contains("://") || url.starts_with("data:") {
            return Err(format!(
                "shows {url}, which is not a file of the course\n\
                 The book loads nothing from elsewhere: put the picture beside the notebook"
            ));
        }
        let file = self.desk.shelf.beside(self.desk.chapter, url);
        let bytes = std::fs::read(&file).map_err(|error| {
            format!(
                "shows {url}, which cannot be read: {error}\n\
                 The path is relative to the notebook"
            )
        })?;
        Picture::of_file(url, bytes)
    }
}
