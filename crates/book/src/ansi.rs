//! Terminal output as HTML: colours by escape sequences, and lines that overwrite themselves.

use crate::html::escape;
use std::fmt::Write;

/// Converts terminal output to HTML: colours and emphasis become classes. What carriage returns and escape sequences
/// overwrite or erase is left out; all other escape sequences are removed.
pub(crate) fn to_html(text: &str) -> String {
    let mut screen = Screen::default();
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        screen.write(&rest[..at]);
        let (sequence, after) = split_sequence(&rest[at + 1..]);
        match sequence {
            Some(Sequence::Style(codes)) => screen.style.apply(codes),
            Some(Sequence::Erase(code)) => screen.erase(code),
            None => {}
        }
        rest = after;
    }
    screen.write(rest);
    screen.to_html()
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

/// An escape sequence that has an effect on the page.
enum Sequence<'t> {
    /// Changes the style.
    Style(&'t str),
    /// Erases a part of the line.
    Erase(&'t str),
}

/// Splits the text after an escape character into the sequence and the text that follows it.
fn split_sequence(text: &str) -> (Option<Sequence<'_>>, &str) {
    if let Some(parameters) = text.strip_prefix('[') {
        let Some(end) = parameters.find(|c: char| ('\x40'..='\x7e').contains(&c)) else {
            return (None, "");
        };
        let codes = &parameters[..end];
        let is_private = codes.starts_with(['<', '=', '>', '?']);
        let sequence = match parameters.as_bytes()[end] {
            b'm' if !is_private => Some(Sequence::Style(codes)),
            b'K' if !is_private => Some(Sequence::Erase(codes)),
            _ => None,
        };
        return (sequence, &parameters[end + 1..]);
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

/// The lines of a terminal of unlimited width, of which the last one can change.
#[derive(Default)]
struct Screen {
    characters: Vec<(char, Style)>,
    /// The position at which the last line begins.
    line: usize,
    /// The position of the next character, which may be after the end of the line.
    cursor: usize,
    style: Style,
}

impl Screen {
    fn write(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\r' => self.cursor = self.line,
                '\n' => {
                    self.characters.push((c, self.style));
                    self.line = self.characters.len();
                    self.cursor = self.line;
                }
                _ => self.put(c),
            }
        }
    }

    fn put(&mut self, c: char) {
        if self.cursor > self.characters.len() {
            self.characters.resize(self.cursor, (' ', Style::default()));
        }
        match self.characters.get_mut(self.cursor) {
            Some(place) => *place = (c, self.style),
            None => self.characters.push((c, self.style)),
        }
        self.cursor += 1;
    }

    /// Erases the last line from the cursor to the end (no code, or 0), from the beginning to the cursor (1), or all
    /// of it (2).
    fn erase(&mut self, code: &str) {
        match code {
            "" | "0" => self.characters.truncate(self.cursor),
            "1" => {
                let end = self.characters.len().min(self.cursor + 1);
                self.characters[self.line..end].fill((' ', Style::default()));
            }
            "2" => self.characters.truncate(self.line),
            _ => {}
        }
    }

    fn to_html(&self) -> String {
        let mut html = String::with_capacity(self.characters.len());
        for run in self
            .characters
            .chunk_by(|(_, one), (_, other)| one == other)
        {
            let text: String = run.iter().map(|(c, _)| c).collect();
            run[0].1.write(&text, &mut html);
        }
        html
    }
}

const COLOURS: [&str; 8] = [
    "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
        let mut codes = codes.split(';');
        while let Some(code) = codes.next() {
            let (code, parameters) = match code.split_once(':') {
                Some((code, parameters)) => (code, Some(parameters)),
                None => (code, None),
            };
            let code = code.parse::<u16>().unwrap_or(0);
            match code {
                0 => *self = Style::default(),
                1 => self.bold = true,
                2 => self.faint = true,
                3 => self.italic = true,
                4 => self.underline = parameters != Some("0"),
                7 => self.inverse = true,
                22 => (self.bold, self.faint) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.inverse = false,
                30..=37 => self.foreground = Some(Colour::Named(code as u8 - 30)),
                38 => self.foreground = colour(parameters, &mut codes),
                39 => self.foreground = None,
                40..=47 => self.background = Some(Colour::Named(code as u8 - 40)),
                48 => self.background = colour(parameters, &mut codes),
                49 => self.background = None,
                // The colour of the underline is not shown.
                58 => {
                    let _ = colour(parameters, &mut codes);
                }
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

/// Reads a colour from the parameters after colons or, without them, from the next codes.
fn colour<'t>(
    parameters: Option<&'t str>,
    codes: &mut impl Iterator<Item = &'t str>,
) -> Option<Colour> {
    let Some(parameters) = parameters else {
        return extended(codes);
    };
    let mut parameters: Vec<&str> = parameters.split(':').collect();
    // `2:space:r:g:b`, with the number of a colour space, which is usually empty.
    if parameters[0] == "2" && parameters.len() > 4 {
        parameters.remove(1);
    }
    extended(&mut parameters.into_iter())
}

/// Reads `5;n`, one of 256 colours, or `2;r;g;b`, any colour.
fn extended<'t>(codes: &mut impl Iterator<Item = &'t str>) -> Option<Colour> {
    let mut next = || match codes.next()? {
        "" => Some(0),
        code => code.parse::<u8>().ok(),
    };
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
            to_html("a\x1b[2Ab\x1b]8;;https://x\x07link\x1b]8;;\x1b\\c\x1b[?1;31md\x1b[3"),
            "ablinkcd"
        );
        assert_eq!(strip("\x1b[31mred\x1b[0m\x1b"), "red");
    }

    #[test]
    fn carriage_returns_overwrite_the_line() {
        assert_eq!(to_html("10 %\r55 %\r100 %\ndone\r\n"), "100 %\ndone\n");
        assert_eq!(to_html("abc\rx"), "xbc");
        assert_eq!(to_html("abc\rx\ny"), "xbc\ny");
    }

    #[test]
    fn carriage_returns_keep_escape_sequences_whole() {
        let red = "<span class=\"ansi-red-fg\">x</span>";
        assert_eq!(to_html("abcdef\r\x1b[31mx"), format!("{red}bcdef"));
        assert_eq!(
            to_html("\x1b[31mab\x1b[0m\rx"),
            "x<span class=\"ansi-red-fg\">b</span>"
        );
        assert_eq!(
            to_html("\x1b[31ma\nb\x1b[0m"),
            "<span class=\"ansi-red-fg\">a\nb</span>"
        );
    }

    #[test]
    fn lines_are_erased() {
        assert_eq!(to_html("abcdef\r\x1b[Kxy"), "xy");
        assert_eq!(to_html("abcdef\rxy\x1b[0K\nz"), "xy\nz");
        assert_eq!(to_html("abc\r\x1b[2Kx"), "x");
        assert_eq!(to_html("abc\x1b[2Kx"), "   x", "the cursor stays");
        assert_eq!(to_html("abc\rx\x1b[1Ky"), " yc");
        assert_eq!(to_html("a\nbc\x1b[2K\rd"), "a\nd");
    }

    #[test]
    fn colours_may_have_parameters_after_colons() {
        let red = "<span style=\"color:rgb(255,0,0);\">x</span>";
        for codes in [
            "38:2::255:0:0",
            "38:2:0:255:0:0",
            "38:2:255:0:0",
            "38;2;255;0;0",
        ] {
            assert_eq!(to_html(&format!("\x1b[{codes}mx")), red, "{codes}");
        }
        let green = "<span class=\"ansi-bold ansi-green-fg\">x</span>";
        assert_eq!(to_html("\x1b[1;38:5:2mx"), green);
        assert_eq!(to_html("\x1b[1;38;5;2mx"), green);
        let underlined = "<span class=\"ansi-underline\">x</span>y";
        assert_eq!(to_html("\x1b[4:3mx\x1b[4:0my"), underlined);
        assert_eq!(
            to_html("\x1b[58;2;1;0;7;58:2::1:0:7mx"),
            "x",
            "the colour of the underline"
        );
    }
}
