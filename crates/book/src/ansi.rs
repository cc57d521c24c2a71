//! Terminal output as HTML: colours by escape sequences, and lines that overwrite themselves.

use crate::html::escape;
use anstyle_parse::{Params, ParamsIter, Parser, Perform};

/// Converts terminal output to HTML: colours and emphasis become classes. What carriage returns and escape sequences
/// overwrite or erase is left out; all other escape sequences and control characters are removed.
pub(crate) fn to_html(text: &str) -> String {
    let characters = Screen::of(text).characters;
    let runs = characters.chunk_by(|(_, one), (_, other)| one == other);
    runs.map(|run| run[0].1.html(&text_of(run))).collect()
}

/// Returns what a terminal shows, without colours.
pub(crate) fn strip(text: &str) -> String {
    text_of(&Screen::of(text).characters)
}

fn text_of(characters: &[(char, Style)]) -> String {
    characters.iter().map(|(c, _)| c).collect()
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
    fn of(text: &str) -> Screen {
        let (mut screen, mut parser) = (
            Screen::default(),
            Parser::<anstyle_parse::DefaultCharAccumulator>::new(),
        );
        text.bytes()
            .for_each(|byte| parser.advance(&mut screen, byte));
        screen
    }

    /// Erases the last line from the cursor to the end (0), from the beginning to the cursor (1), or all of it (2).
    fn erase(&mut self, code: u16) {
        match code {
            0 => self.characters.truncate(self.cursor),
            1 => {
                let end = self.characters.len().min(self.cursor + 1);
                self.characters[self.line..end].fill((' ', Style::default()));
            }
            2 => self.characters.truncate(self.line),
            _ => {}
        }
    }
}

impl Perform for Screen {
    fn print(&mut self, c: char) {
        if self.cursor >= self.characters.len() {
            self.characters
                .resize(self.cursor + 1, (' ', Style::default()));
        }
        self.characters[self.cursor] = (c, self.style);
        self.cursor += 1;
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => self.cursor = self.line,
            b'\n' => {
                self.characters.push(('\n', self.style));
                self.line = self.characters.len();
                self.cursor = self.line;
            }
            b'\t' => self.print('\t'),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _: bool, action: u8) {
        match action {
            _ if !intermediates.is_empty() => {}
            b'm' => self.style.apply(params.iter()),
            b'K' => params.iter().take(1).for_each(|code| self.erase(code[0])),
            _ => {}
        }
    }
}

const COLOURS: [&str; 8] = [
    "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
];

/// The codes that turn an emphasis on and off, and its class.
const EMPHASIS: [(u16, u16, &str); 5] = [
    (1, 22, "ansi-bold"),
    (2, 22, "ansi-faint"),
    (3, 23, "ansi-italic"),
    (4, 24, "ansi-underline"),
    (7, 27, "ansi-inverse"),
];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    emphasis: [bool; EMPHASIS.len()],
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
    fn apply(&mut self, mut codes: ParamsIter) {
        while let Some([code, parameters @ ..]) = codes.next() {
            let named = |first| Some(Colour::Named((code - first) as u8));
            match code {
                0 => *self = Style::default(),
                30..=37 => self.foreground = named(30),
                38 => self.foreground = colour(parameters, &mut codes),
                39 => self.foreground = None,
                40..=47 => self.background = named(40),
                48 => self.background = colour(parameters, &mut codes),
                49 => self.background = None,
                // The colour of the underline is not shown.
                58 => drop(colour(parameters, &mut codes)),
                90..=97 => self.foreground = named(90 - 8),
                100..=107 => self.background = named(100 - 8),
                _ => {
                    for (emphasis, (on, off, _)) in self.emphasis.iter_mut().zip(EMPHASIS) {
                        *emphasis = match code {
                            code if *code == on => parameters != [0],
                            code => *emphasis && *code != off,
                        };
                    }
                }
            }
        }
    }

    fn html(self, text: &str) -> String {
        let text = escape(text);
        if self == Style::default() {
            return text;
        }
        let shown = self.emphasis.iter().zip(EMPHASIS).filter(|(on, _)| **on);
        let mut classes: Vec<String> = shown.map(|(_, (.., class))| class.to_owned()).collect();
        let mut exact = String::new();
        for (colour, part, property) in [
            (self.foreground, "fg", "color"),
            (self.background, "bg", "background-color"),
        ] {
            match colour {
                Some(Colour::Named(n)) => {
                    let bright = if n >= 8 { "bright-" } else { "" };
                    let name = COLOURS[usize::from(n % 8)];
                    classes.push(format!("ansi-{bright}{name}-{part}"));
                }
                Some(Colour::Exact(r, g, b)) => exact += &format!("{property}:rgb({r},{g},{b});"),
                None => {}
            }
        }
        let attribute = |name: &str, value: &str| match value {
            "" => String::new(),
            value => format!(" {name}=\"{value}\""),
        };
        let (class, style) = (
            attribute("class", &classes.join(" ")),
            attribute("style", &exact),
        );
        format!("<span{class}{style}>{text}</span>")
    }
}

/// Reads a colour from the parameters after colons or, without them, from the next codes: `5;n`, one of 256 colours, or
/// `2;r;g;b`, any colour.
fn colour(parameters: &[u16], codes: &mut ParamsIter) -> Option<Colour> {
    let mut all = parameters.to_vec();
    if all.is_empty() {
        all.push(codes.next()?[0]);
        let count = if all[0] == 2 { 3 } else { 1 };
        all.extend(codes.take(count).map(|code| code[0]));
    } else if all[0] == 2 && all.len() > 4 {
        // `2:space:r:g:b`, with the number of a colour space, which is usually empty.
        all.remove(1);
    }
    let all: Option<Vec<u8>> = all.into_iter().map(|code| code.try_into().ok()).collect();
    Some(match *all? {
        [5, n @ 0..16] => Colour::Named(n),
        [5, n @ 16..232] => {
            let shade = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let n = n - 16;
            Colour::Exact(shade(n / 36), shade(n / 6 % 6), shade(n % 6))
        }
        [5, n] => {
            let grey = 8 + 10 * (n - 232);
            Colour::Exact(grey, grey, grey)
        }
        [2, r, g, b, ..] => Colour::Exact(r, g, b),
        _ => return None,
    })
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
        assert_eq!(to_html("a\x02b\x1fc\td"), "abc\td", "HTML has none of them");
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
