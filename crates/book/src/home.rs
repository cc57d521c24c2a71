//! Pages of `book/src` with marks, which are replaced by parts of the chapters.
//!
//! `<!-- chapters -->` becomes a list of the chapters, each with its question, the time that it takes and its
//! last figure. `<!-- solutions -->` becomes a list of the pages with solutions. `<!-- stages gpt#train-run -->` becomes a figure that shows the output of the cell `train-run` on the
//! page `gpt` step by step.

use crate::book::Book;
use crate::builder::Page;
use crate::cell::{Cell, Kind};
use crate::chapter::Chapter;
use crate::html::escape;
use crate::outline::{parse, plain_text};
use crate::url::encode;
use crate::{api, highlight, page, toolbar};
use serde_json::Value;
use taper_evaluator::joined;

const CHAPTERS: &str = "<!-- chapters -->";
const SOLUTIONS: &str = "<!-- solutions -->";
const STAGES: &str = "<!-- stages ";

/// The notebooks of the book, and the pages with their paths in the same order.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) book: Book,
    pub(crate) pages: Vec<(String, Page)>,
}

/// Replaces the marks in a page that is not a notebook.
pub(crate) fn complete(content: &str, rendered: &Rendered, items: &Value) -> String {
    let mut page = content.to_owned();
    if page.contains(CHAPTERS) {
        page = page.replace(CHAPTERS, &chapters(rendered, items));
    }
    if page.contains(SOLUTIONS) {
        page = page.replace(SOLUTIONS, &solutions(&rendered.book));
    }
    if let Some((before, rest)) = page.split_once(STAGES)
        && let Some((cell, after)) = rest.split_once(" -->")
    {
        page = format!("{before}{}{after}", stages(rendered, cell));
    }
    page
}

/// Returns the pages with solutions as a list, in the order of the book.
fn solutions(book: &Book) -> String {
    let pages = book.chapters.iter().filter_map(|chapter| {
        let name = chapter.page.strip_prefix(toolbar::SOLUTIONS)?;
        let of = book.chapters.iter().find(|other| other.page == name)?;
        let number = of.number.as_ref().map(|number| format!("{number}. "));
        let href = encode(&chapter.page);
        Some(format!(
            "<li><a href=\"{href}.html\">{}{}</a></li>\n",
            number.unwrap_or_default(),
            escape(of.title())
        ))
    });
    format!(
        "<ul class=\"solutions\">\n{}</ul>\n",
        pages.collect::<String>()
    )
}

/// Returns the chapters as a list for each part of the book.
fn chapters(rendered: &Rendered, items: &Value) -> String {
    let (mut html, mut cards) = (String::new(), String::new());
    let end = |cards: &mut String, html: &mut String| {
        if !cards.is_empty() {
            *html += &format!("<ul class=\"chapters\">\n{cards}</ul>\n");
            cards.clear();
        }
    };
    let mut part = None;
    for item in items.as_array().into_iter().flatten() {
        if let Some(title) = item["PartTitle"].as_str() {
            end(&mut cards, &mut html);
            part = Some(title);
        }
        let Some(card) = card(rendered, &item["Chapter"]) else {
            continue;
        };
        if let Some(title) = part.take() {
            html += &format!("<h3>{}</h3>\n", escape(title));
        }
        cards += &card;
    }
    end(&mut cards, &mut html);
    html
}

/// Returns the entry of a chapter in the list; `None` for a chapter without a figure, which is for reference.
fn card(rendered: &Rendered, item: &Value) -> Option<String> {
    let name = item["name"].as_str()?;
    let source = item["source_path"].as_str()?;
    let is_meant = |chapter: &&Chapter| source.ends_with(&format!("/{}.ipynb", chapter.path));
    let chapter = rendered.book.chapters.iter().find(is_meant)?;
    let (_, Page { cover, .. }) = rendered.pages.iter().find(|(p, _)| *p == chapter.page)?;
    let introduction = &chapter.cells.first()?.source;
    let unit = rendered.book.labels.get("{} minutes");
    let time = minutes(introduction, unit).map(|minutes| unit.replace("{}", minutes));
    let question = question(introduction).or_else(|| first_sentence(introduction));
    let question = plain_text(&parse(question.unwrap_or_default()));
    let number = chapter.number.as_ref();
    Some(format!(
        "<li><a href=\"{}.html\">{}<span class=\"chapter-name\">{}{}</span></a>\
         <span class=\"chapter-question\">{}</span><span class=\"chapter-time\">{}</span></li>\n",
        encode(&chapter.page),
        from_home(&decoration(cover.as_deref()?), &chapter.page),
        number
            .map(|number| format!("{number}. "))
            .unwrap_or_default(),
        escape(name),
        escape(&question),
        time.unwrap_or_default(),
    ))
}

/// Returns the figure as part of a link whose text says where it leads: it is loaded when it comes into view, and
/// not read aloud.
fn decoration(figure: &str) -> String {
    let parts = figure
        .split_once(" alt=\"")
        .and_then(|(before, rest)| Some((before, rest.split_once('"')?.1)));
    parts.map_or_else(
        || figure.to_owned(),
        |(before, after)| format!("{before} alt=\"\" loading=\"lazy\"{after}"),
    )
}

/// Returns the figure of a page with the path of its file relative to the home page.
fn from_home(figure: &str, page: &str) -> String {
    match page.rsplit_once('/') {
        Some((folder, _)) if !figure.contains("src=\"data:") => {
            figure.replace("src=\"", &format!("src=\"{}/", encode(folder)))
        }
        _ => figure.to_owned(),
    }
}

/// Splits an introduction before "**You need** …". In all languages this and what the chapter teaches are its last
/// paragraphs that begin in bold.
fn split_at_needed(introduction: &str) -> Option<(&str, &str)> {
    let bold: Vec<usize> = introduction
        .match_indices("\n\n**")
        .map(|(at, _)| at)
        .collect();
    let at = bold.get(bold.len().saturating_sub(2))?;
    Some(introduction.split_at(*at))
}

/// Returns the minutes that a chapter takes, which are before "minutes" in what it needs; `unit` is `{} minutes` in the
/// language of the book.
fn minutes<'a>(introduction: &'a str, unit: &str) -> Option<&'a str> {
    let (_, needed) = split_at_needed(introduction)?;
    let (before, _) = needed.split_once(unit.replace("{}", "").trim())?;
    let before = before.trim_end();
    let number = before.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (number != before).then(|| &before[number.len()..])
}

/// Returns the last questions before "**You need**", with the sentence before them.
fn question(introduction: &str) -> Option<&str> {
    const MARKS: [char; 2] = ['?', '？'];
    let (before, _) = split_at_needed(introduction)?;
    let paragraph = before
        .split("\n\n")
        .filter(|text| text.contains(MARKS))
        .last()?;
    let sentences = sentences(paragraph);
    let last = sentences
        .iter()
        .rposition(|sentence| sentence.ends_with(MARKS))?;
    let is_question = |sentence: &&&str| sentence.ends_with(MARKS);
    let questions = sentences[..=last]
        .iter()
        .rev()
        .take_while(is_question)
        .count();
    let first = (last + 1 - questions).saturating_sub(1);
    let (begin, end) = (sentences[first], sentences[last]);
    // Both are parts of the paragraph.
    let at = |part: &str| part.as_ptr() as usize - paragraph.as_ptr() as usize;
    Some(&paragraph[at(begin)..at(end) + end.len()])
}

/// Returns the first sentence below the title.
fn first_sentence(introduction: &str) -> Option<&str> {
    let paragraph = introduction
        .split("\n\n")
        .find(|text| !text.starts_with('#'))?;
    sentences(paragraph).first().copied()
}

/// Splits a paragraph after each full stop and question mark before a space; "1.5" and "library.md" have none. Those of
/// Chinese need no space.
fn sentences(paragraph: &str) -> Vec<&str> {
    let marks = paragraph.match_indices(['.', '?', '。', '？']);
    let ends = marks.map(|(at, mark)| at + mark.len());
    let is_end = |at: &usize| {
        let next = paragraph[*at..].chars().next();
        next.is_none_or(char::is_whitespace) || paragraph[..*at].ends_with(['。', '？'])
    };
    let mut begin = 0;
    let cut = |end| paragraph[std::mem::replace(&mut begin, end)..end].trim();
    ends.filter(is_end).map(cut).collect()
}

/// Renders the stages of an output, each of which begins with a line such as `step 120, loss 2.64:`.
fn stages(rendered: &Rendered, cell: &str) -> String {
    let found = cell.split_once('#').and_then(|(page, id)| {
        let chapter = rendered.book.chapters.iter().find(|c| c.page == page)?;
        chapter.cells.iter().find(|cell| cell.id == id)
    });
    let printed = found.map(printed).unwrap_or_default();
    let stage = |(title, code): (String, String)| {
        let code = highlight::cell(&code, &api::Links::none());
        format!(
            "<div class=\"stage\"><p>{}</p>\n<pre><code class=\"nohighlight\">{code}</code></pre></div>\n",
            escape(&title)
        )
    };
    let html: String = split(&printed).into_iter().map(stage).collect();
    page::without_blank_lines(&format!(
        "<div class=\"stages\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">\n{html}</div>\n",
        escape(
            rendered
                .book
                .labels
                .get("What a network writes while it learns")
        )
    ))
}

fn printed(cell: &Cell) -> String {
    let Kind::Code { outputs, .. } = &cell.kind else {
        return String::new();
    };
    outputs
        .iter()
        .map(|output| joined(&output["text"]))
        .collect()
}

fn split(printed: &str) -> Vec<(String, String)> {
    let mut stages: Vec<(String, String)> = Vec::new();
    let mut is_inside = false;
    for line in printed.lines() {
        if let Some(title) = line
            .strip_suffix(':')
            .filter(|title| title.starts_with("step "))
        {
            stages.push((title.to_owned(), String::new()));
            is_inside = true;
        } else if line.is_empty() {
            is_inside = false;
        } else if let Some((_, code)) = stages.last_mut().filter(|_| is_inside) {
            *code += &format!("{line}\n");
        }
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_introduction_has_a_question_and_a_time() {
        let text = "# T\n\nA tensor. It is an array. How do you create it?\n\n**You need** nothing. It takes about 40 minutes. Ready?";
        assert_eq!(minutes(text, "{} minutes"), Some("40"));
        assert_eq!(
            question(text),
            Some("It is an array. How do you create it?")
        );
        assert_eq!(
            (minutes("# T", "{} minutes"), question("# T")),
            (None, None)
        );
        let text = "# 题\n\n**张量**是 1.5 维数组。怎样创建它？为什么？\n\n**你需要**先读。本章大约需要 30 分钟。\n\n**学完**";
        assert_eq!(minutes(text, "{} 分钟"), Some("30"));
        assert_eq!(
            question(text),
            Some("**张量**是 1.5 维数组。怎样创建它？为什么？")
        );
    }

    #[test]
    fn a_question_comes_with_the_sentence_before_it() {
        for (text, expected) in [
            (
                "# T\n\nA. It takes 1.5 ms. Why?\n\nB.\n\n",
                "It takes 1.5 ms. Why?",
            ),
            (
                "# T\n\nOne costs 5. How much more? And two?",
                "One costs 5. How much more? And two?",
            ),
            (
                "# T\n\nWhat is it? A [b.c](d.html?e). Why?",
                "A [b.c](d.html?e). Why?",
            ),
            (
                "# T\n\nHow, and why? In this chapter you see.",
                "How, and why?",
            ),
        ] {
            assert_eq!(
                question(&format!("{text}\n\n**You need** nothing.")),
                Some(expected)
            );
        }
        assert_eq!(
            first_sentence("# T\n\nA `b.c` is 1.5.\nNext."),
            Some("A `b.c` is 1.5.")
        );
    }

    #[test]
    fn a_chapter_without_a_number_has_only_its_title() {
        let mut chapter = Chapter::default();
        (chapter.path, chapter.page) = ("intro".into(), "intro".into());
        let cell = json!({ "cell_type": "markdown", "source": "# Introduction" });
        chapter.cells.push(Cell::read(&cell, None));
        let page = Page {
            cover: Some("<img src=\"a.svg\">".into()),
            ..Page::default()
        };
        let mut rendered = Rendered {
            book: Book::default(),
            pages: vec![("intro".into(), page)],
        };
        rendered.book.chapters.push(chapter);
        let items =
            json!([{ "Chapter": { "name": "Intro", "source_path": "../notebooks/intro.ipynb" } }]);
        let html = chapters(&rendered, &items);
        assert!(
            html.contains("<span class=\"chapter-name\">Intro</span>"),
            "{html}"
        );
        rendered.book.chapters[0].number = Some("1".into());
        let html = chapters(&rendered, &items);
        assert!(
            html.contains("<span class=\"chapter-name\">1. Intro</span>"),
            "{html}"
        );
    }

    #[test]
    fn a_figure_beside_a_name_is_a_decoration() {
        let figure = "<img src=\"a.svg\" alt=\"y over x\" width=\"6\" height=\"4\">";
        let expected = "<img src=\"a.svg\" alt=\"\" loading=\"lazy\" width=\"6\" height=\"4\">";
        assert_eq!(decoration(figure), expected);
    }

    #[test]
    fn a_figure_is_found_from_the_home_page() {
        let figure = "<img src=\"a_files/b.svg\" alt=\"\">";
        let moved = "<img src=\"more/a_files/b.svg\" alt=\"\">";
        assert_eq!(from_home(figure, "more/a"), moved);
        assert_eq!(from_home(figure, "a"), figure);
        let inside = "<img src=\"data:image/png;base64,AA==\">";
        assert_eq!(from_home(inside, "more/a"), inside);
    }

    #[test]
    fn an_output_is_split_into_its_stages() {
        let printed =
            "starts\nstep 1, loss 2.6:\nfn f() {\n}\n\nstep 2, loss 1.8:\nfn g()\n\n99 seconds\n";
        let expected = [
            ("step 1, loss 2.6", "fn f() {\n}\n"),
            ("step 2, loss 1.8", "fn g()\n"),
        ];
        assert_eq!(
            split(printed),
            expected.map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
    }
}
