//! Terminal output as HTML: colours by escape sequences, and lines that overwrite themselves.

use crate::html::escape;
use std::fmt::Write;

/// Converts terminal output to HTML: colours and emphasis become classes, all other escape sequences are removed.
pub(crate) fn to_html(text: &str) -> String {
    let text = overwrite(text);
    let mut html = String::with_capacity(text.len());
    let mut style = Style::default();
    let mut rest = text.as_str();
    while let Some(at) = rest.find('\x1b') {
        style.write(&rest[..at], &mut html);
        let (sequence, after) = split_sequence(&rest[at + 1..]);
        if let Some(codes) = sequence {
            style.apply(codes);
        }
        rest = after;
    }
    style.write(rest, &mut html);
    html
}

/// Removes all escape sequences.
pub(crate) fn strip(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        plain.push_str(&rest[..at]);
        rest = split_sequence(&rest[at + 1..]).1;
    }
    plain.push_str(rest);
    plain
}

/// Splits the text after an escape character into the codes of the sequence and the text that follows it. There are
/// codes only if the sequence changes the style.
fn split_sequence(text: &str) -> (Option<&str>, &str) {
    if let Some(parameters) = text.strip_prefix('[') {
        let Some(end) = parameters.find(|c: char| ('\x40'..='\x7e').contains(&c)) else {
            return (None, "");
        };
        let codes = (parameters.as_bytes()[end] == b'm').then(|| &parameters[..end]);
        return (codes, &parameters[end + 1..]);
    }
    if let Some(command) = text.strip_prefix(']') {
        let bell = command.find('\x07').map(|at| (at, 1));
        let terminator = command.find("\x1b\\").map(|at| (at, 2));
        let (at, length) = bell
            .into_iter()
            .chain(terminator)
            .min()
            .unwrap_or((command.len(), 0));
        return (None, &command[at + length..]);
    }
    let mut characters = text.chars();
    characters.next();
    (None, characters.as_str())
}

/// Applies carriage returns: the text that follows one overwrites the beginning of its line.
fn overwrite(text: &str) -> String {
    if !text.contains('\r') {
        return text.to_owned();
    }
    let lines = text.split('\n').map(|line| {
        let line = line.trim_end_matches('\r');
        let mut shown: Vec<char> = Vec::new();
        for part in line.split('\r') {
            for (at, c) in part.chars().enumerate() {
                match shown.get_mut(at) {
                    Some(place) => *place = c,
                    None => shown.push(c),
                }
            }
        }
        shown.into_iter().collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

const COLOURS: [&str; 8] = [
    "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Style {
    bold: bool,
    faint: bool,
    italic: bool,
    underline: bool,
    inverse: bool,
    foreground: Option<Colour>,
    background: Option<Colour>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colour {
    /// One of the sixteen colours that the theme defines.
    Named(u8),
    Exact(u8, u8, u8),
}

impl Style {
    fn apply(&mut self, codes: &str) {
        let mut codes = codes
            .split([';', ':'])
            .map(|code| code.parse::<u16>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Style::default(),
                1 => self.bold = true,
                2 => self.faint = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.inverse = true,
                22 => (self.bold, self.faint) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.inverse = false,
                30..=37 => self.foreground = Some(Colour::Named(code as u8 - 30)),
                38 => self.foreground = extended(&mut codes),
                39 => self.foreground = None,
                40..=47 => self.background = Some(Colour::Named(code as u8 - 40)),
                48 => self.background = extended(&mut codes),
                49 => self.background = None,
                90..=97 => self.foreground = Some(Colour::Named(code as u8 - 90 + 8)),
                100..=107 => self.background = Some(Colour::Named(code as u8 - 100 + 8)),
                _ => {}
            }
        }
    }

    fn write(&self, text: &str, html: &mut String) {
        if text.is_empty() {
            return;
        }
        if *self == Style::default() {
            html.push_str(&escape(text));
            return;
        }
        let (mut classes, mut exact) = (Vec::new(), String::new());
        let emphasis = [
            (self.bold, "ansi-bold"),
            (self.faint, "ansi-faint"),
            (self.italic, "ansi-italic"),
            (self.underline, "ansi-underline"),
            (self.inverse, "ansi-inverse"),
        ];
        classes.extend(
            emphasis
                .iter()
                .filter(|(on, _)| *on)
                .map(|(_, class)| (*class).to_owned()),
        );
        for (colour, part, property) in [
            (self.foreground, "fg", "color"),
            (self.background, "bg", "background-color"),
        ] {
            match colour {
                Some(Colour::Named(n)) => {
                    let bright = if n >= 8 { "bright-" } else { "" };
                    classes.push(format!(
                        "ansi-{bright}{}-{part}",
                        COLOURS[usize::from(n % 8)]
                    ));
                }
                Some(Colour::Exact(r, g, b)) => {
                    let _ = write!(exact, "{property}:rgb({r},{g},{b});");
                }
                None => {}
            }
        }
        html.push_str("<span");
        if !classes.is_empty() {
            let _ = write!(html, " class=\"{}\"", classes.join(" "));
        }
        if !exact.is_empty() {
            let _ = write!(html, " style=\"{exact}\"");
        }
        let _ = write!(html, ">{}</span>", escape(text));
    }
}

/// Reads `5;n`, one of 256 colours, or `2;r;g;b`, any colour.
fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<Colour> {
    let mut next = || codes.next().and_then(|code| u8::try_from(code).ok());
    match next()? {
        5 => Some(match next()? {
            n @ 0..16 => Colour::Named(n),
            n @ 16..232 => {
                let shade = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
                let n = n - 16;
                Colour::Exact(shade(n / 36), shade(n / 6 % 6), shade(n % 6))
            }
            n => {
                let grey = 8 + 10 * (n - 232);
                Colour::Exact(grey, grey, grey)
            }
        }),
        2 => Some(Colour::Exact(next()?, next()?, next()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_classes_and_text_is_escaped() {
        assert_eq!(
            to_html("a\x1b[1;31merror\x1b[0m: <T>"),
            "a<span class=\"ansi-bold ansi-red-fg\">error</span>: &lt;T&gt;"
        );
        assert_eq!(
            to_html("\x1b[38;5;12mb\x1b[38;2;1;2;3mc\x1b[39md"),
            "<span class=\"ansi-bright-blue-fg\">b</span><span style=\"color:rgb(1,2,3);\">c</span>d"
        );
    }

    #[test]
    fn other_escape_sequences_are_removed() {
        assert_eq!(
            to_html("a\x1b[2Kb\x1b]8;;https://x\x07link\x1b]8;;\x1b\\c\x1b[3"),
            "ablinkc"
        );
        assert_eq!(strip("\x1b[31mred\x1b[0m\x1b"), "red");
    }

    #[test]
    fn carriage_returns_overwrite_the_line() {
        assert_eq!(to_html("10 %\r55 %\r100 %\ndone\r\n"), "100 %\ndone\n");
        assert_eq!(to_html("abc\rx"), "xbc");
    }
}
