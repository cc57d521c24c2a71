//! One notebook as one page.

use super::api::{Api, Links};
use super::cell::{Cell, Kind};
use super::chapter::{Chapter, Shelf};
use super::image::Picture;
use super::links::encode;
use super::tags::Shown;
use super::toolbar::Site;
use super::{escape, highlight, markdown, outputs};
use std::path::PathBuf;

/// A page, the files to which it points, and what is wrong with the notebook.
#[derive(Debug, Default)]
pub struct Page {
    /// HTML that is markdown, too: no blank line is in it.
    pub html: String,
    /// By path, from the first page's folder.
    pub files: Vec<(String, Content)>,
    pub problems: Vec<String>,
}

/// What is in a file.
#[derive(Debug)]
pub enum Content {
    Bytes(Vec<u8>),
    /// That of another file.
    CopyOf(PathBuf),
}

/// Where a page is put together.
pub struct Desk<'a> {
    pub shelf: &'a Shelf,
    pub chapter: &'a Chapter,
    pub links: Links<'a>,
    page: Page,
    /// The cell in hand.
    cell: &'a str,
    /// How many pictures it has so far.
    pictures: usize,
}

impl Page {
    pub fn of(chapter: &Chapter, shelf: &Shelf, api: Option<&Api>, site: &Site) -> Page {
        let own = chapter.cells.iter().flat_map(Cell::definitions).collect();
        let mut desk = Desk {
            shelf,
            chapter,
            links: Links::new(api, own, format!("{}api/", chapter.up())),
            page: Page::default(),
            cell: "",
            pictures: 0,
        };
        let mut html = String::new();
        for cell in chapter.cells.iter().filter(|cell| cell.is_shown()) {
            desk.take(cell);
            html += &render_cell(cell, &mut desk);
        }
        let line = site.line(chapter);
        let after_title = html.find("</h1>").map_or(0, |at| at + "</h1>".len());
        html.insert_str(after_title, &format!("\n{line}"));
        let mut page = desk.page;
        page.html = without_blank_lines(&html);
        page
    }
}

impl<'a> Desk<'a> {
    fn take(&mut self, cell: &'a Cell) {
        self.cell = &cell.id;
        self.pictures = 0;
    }

    /// Notes what is wrong with the cell in hand: one line what, one line what to do.
    pub fn problem(&mut self, problem: &str) {
        let problem = problem.replace('\n', "\n  ");
        let notebook = &self.chapter.place;
        self.page
            .problems
            .push(format!("{notebook}.ipynb, cell {}: {problem}", self.cell));
    }

    /// Puts a picture beside the page; gives the element that shows it.
    pub fn picture(&mut self, picture: Picture, alt: &str) -> String {
        self.pictures += 1;
        let name = format!(
            "{}_files/{}-{}.{}",
            self.chapter.stem(),
            self.cell,
            self.pictures,
            picture.extension
        );
        let (width, height) = picture.size;
        let element = format!(
            "<img src=\"{}\" alt=\"{}\" width=\"{width}\" height=\"{height}\">",
            escape(&encode(&name)),
            escape(&alt.split_whitespace().collect::<Vec<_>>().join(" "))
        );
        let folder = &self.chapter.place[..self.chapter.place.len() - self.chapter.stem().len()];
        self.page
            .files
            .push((format!("{folder}{name}"), Content::Bytes(picture.bytes)));
        element
    }

    /// Puts a file to which the page links beside it.
    pub fn file(&mut self, path: &str) {
        let file = self.shelf.beside(self.chapter, path);
        match file.strip_prefix(&self.shelf.notebooks) {
            Ok(place) if file.is_file() => {
                let place = place.to_string_lossy().into_owned();
                self.page.files.push((place, Content::CopyOf(file)));
            }
            Ok(_) => self.problem(&format!(
                "links to {path}, which is not there\n\
                 The path is relative to the notebook"
            )),
            Err(_) => self.problem(&format!(
                "links to {path}, which is not among the notebooks\n\
                 Move it there, or link to it on the web"
            )),
        }
    }
}

fn render_cell(cell: &Cell, desk: &mut Desk) -> String {
    let content = match &cell.kind {
        Kind::Markdown { .. } => markdown::render(cell, desk),
        Kind::Code { .. } => {
            let code = render_code(cell, desk);
            let outputs = outputs::render(cell, desk);
            code + &folded(cell.look.output, "Show output", &outputs)
        }
        Kind::Raw => String::new(),
    };
    let kind = match cell.kind {
        Kind::Code { .. } => "code",
        _ => "markdown",
    };
    let content = folded(cell.look.cell, "Show cell", &content);
    format!(
        "<div class=\"cell {kind}\" id=\"{}\">\n{content}</div>\n",
        escape(&cell.anchor())
    )
}

fn render_code(cell: &Cell, desk: &Desk) -> String {
    if cell.look.input == Shown::Removed || cell.source.trim().is_empty() {
        return String::new();
    }
    let code = highlight::cell(&cell.source, &desk.links);
    let code = format!("<pre class=\"input\"><code class=\"nohighlight\">{code}</code></pre>\n");
    folded(cell.look.input, "Show code", &code)
}

fn folded(shown: Shown, summary: &str, html: &str) -> String {
    match shown {
        Shown::Hidden if !html.is_empty() => {
            format!("<details>\n<summary>{summary}</summary>\n{html}</details>\n")
        }
        _ => html.to_owned(),
    }
}

/// For markdown, a blank line would end the HTML.
fn without_blank_lines(html: &str) -> String {
    let mut written = String::with_capacity(html.len());
    for line in html.lines() {
        if line.trim().is_empty() {
            written.push_str("&#10;");
            written.push_str(line);
        } else {
            if !written.is_empty() {
                written.push('\n');
            }
            written.push_str(line);
        }
    }
    written.push('\n');
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_are_written_otherwise() {
        assert_eq!(
            without_blank_lines("<pre>a\n\n  \nb</pre>"),
            "<pre>a&#10;&#10;  \nb</pre>\n"
        );
    }
}
