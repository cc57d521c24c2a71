//! Splits Rust code into tokens, for highlighting and links.
//!
//! The tokens are those of the compiler's lexer, as far as the book distinguishes them. Joined, the tokens are
//! the code again, even if the code has mistakes or is incomplete. `proc-macro2` would refuse such code and drop
//! comments; the compiler's own lexer comes with rust-analyzer, on which the book does not depend.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Space,
    Comment,
    /// An integer or a floating-point number, with its suffix.
    Number,
    /// A string or a character.
    Text,
    Lifetime,
    /// A name or a keyword.
    Name,
    /// One character of punctuation, or anything else.
    Other,
}

/// A token of the code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
}

/// Returns all tokens of the code, in order.
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut cursor = Cursor { rest: code };
    let mut tokens = Vec::new();
    while !cursor.rest.is_empty() {
        let before = cursor.rest;
        let kind = cursor.token();
        let text = &before[..before.len() - cursor.rest.len()];
        tokens.push(Token { kind, text });
    }
    tokens
}

/// The code that is not read yet.
struct Cursor<'a> {
    rest: &'a str,
}

impl Cursor<'_> {
    /// Reads one token.
    fn token(&mut self) -> Kind {
        let first = self.take().unwrap_or_default();
        match (first, self.peek(0), self.peek(1)) {
            ('/', Some('/'), _) => self.line_comment(),
            ('/', Some('*'), _) => self.block_comment(),
            (space, ..) if is_space(space) => {
                self.take_while(is_space);
                Kind::Space
            }
            ('r', Some('#'), Some(begin)) if is_name_start(begin) => {
                self.take();
                self.take_while(is_name_part);
                Kind::Other
            }
            ('r', Some('"' | '#'), _) => self.raw_string(),
            ('b' | 'c', Some('r'), Some('"' | '#')) => {
                self.take();
                self.raw_string()
            }
            ('b' | 'c', Some('"'), _) | ('b', Some('\''), _) => self.prefixed(),
            ('"', ..) => self.quoted('"'),
            ('\'', ..) => self.lifetime_or_character(),
            ('0'..='9', ..) => self.number(first),
            (begin, ..) if is_name_start(begin) => self.name(),
            _ => Kind::Other,
        }
    }

    fn line_comment(&mut self) -> Kind {
        self.take_while(|c| c != '\n');
        Kind::Comment
    }

    /// Reads a block comment, in which other comments may be nested.
    fn block_comment(&mut self) -> Kind {
        self.take();
        let mut depth = 1;
        while depth > 0 && !self.rest.is_empty() {
            if self.take_text("/*") {
                depth += 1;
            } else if self.take_text("*/") {
                depth -= 1;
            } else {
                self.take();
            }
        }
        Kind::Comment
    }

    /// Reads a name. A name directly before `#` or a quote is the prefix of a literal that Rust does not have.
    fn name(&mut self) -> Kind {
        self.take_while(is_name_part);
        match self.peek(0) {
            Some('#' | '"' | '\'') => Kind::Other,
            _ => Kind::Name,
        }
    }

    fn prefixed(&mut self) -> Kind {
        match self.take() {
            Some(quote) => self.quoted(quote),
            None => Kind::Other,
        }
    }

    /// Reads to the closing quote or the end of the code. A character literal without a closing quote ends with
    /// its line, or where a comment may begin.
    fn quoted(&mut self, quote: char) -> Kind {
        if quote == '\'' && self.peek(1) == Some('\'') && self.peek(0) != Some('\\') {
            self.take();
            self.take();
            self.suffix();
            return Kind::Text;
        }
        while let Some(next) = self.peek(0) {
            let ends_line = next == '\n' && self.peek(1) != Some('\'');
            if quote == '\'' && (ends_line || next == '/') {
                return Kind::Text;
            }
            self.take();
            if next == quote {
                self.suffix();
                return Kind::Text;
            }
            if next == '\\' {
                self.take();
            }
        }
        Kind::Text
    }

    /// Reads a raw string after its `r`.
    fn raw_string(&mut self) -> Kind {
        let marks = self.rest.len() - self.rest.trim_start_matches('#').len();
        self.rest = &self.rest[marks..];
        if !self.take_text("\"") {
            return Kind::Text;
        }
        let end = format!("\"{}", "#".repeat(marks));
        match self.rest.find(&end) {
            Some(at) => {
                self.rest = &self.rest[at + end.len()..];
                self.suffix();
            }
            None => self.rest = "",
        }
        Kind::Text
    }

    fn lifetime_or_character(&mut self) -> Kind {
        let begins_name = self
            .peek(0)
            .is_some_and(|c| is_name_start(c) || c.is_ascii_digit());
        if !begins_name || self.peek(1) == Some('\'') {
            return self.quoted('\'');
        }
        self.take_while(is_name_part);
        if self.take_text("'") {
            self.suffix();
            return Kind::Text;
        }
        Kind::Lifetime
    }

    fn number(&mut self, first: char) -> Kind {
        match self.peek(0) {
            Some('b' | 'o') if first == '0' => {
                self.take();
                self.digits();
            }
            Some('x') if first == '0' => {
                self.take();
                self.take_while(|c| c.is_ascii_hexdigit() || c == '_');
            }
            _ => self.digits(),
        }
        // Not the points of `0..2` and `1.max(2)`.
        let is_point =
            self.peek(0) == Some('.') && self.peek(1).is_none_or(|c| c != '.' && !is_name_start(c));
        if is_point {
            self.take();
            self.digits();
        }
        if matches!(self.peek(0), Some('e' | 'E')) {
            self.take();
            if matches!(self.peek(0), Some('+' | '-')) {
                self.take();
            }
            self.digits();
        }
        self.suffix();
        Kind::Number
    }

    fn digits(&mut self) {
        self.take_while(|c| c.is_ascii_digit() || c == '_');
    }

    /// Reads a suffix such as `f32`.
    fn suffix(&mut self) {
        if self.peek(0).is_some_and(is_name_start) {
            self.take_while(is_name_part);
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.chars().nth(ahead)
    }

    fn take(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let taken = characters.next();
        self.rest = characters.as_str();
        taken
    }

    fn take_text(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(wanted);
    }
}

/// Returns whether Rust treats a character as white space: Unicode's `Pattern_White_Space`.
fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r' | ' ' | '\u{85}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
    )
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tokens that are not white space, and checks that all tokens together are the code.
    fn kinds(code: &str) -> Vec<(Kind, &str)> {
        let tokens = tokens(code).into_iter();
        assert_eq!(tokens.clone().map(|t| t.text).collect::<String>(), code);
        let tokens = tokens.map(|token| (token.kind, token.text));
        tokens.filter(|(kind, _)| *kind != Kind::Space).collect()
    }

    fn only(kind: Kind, codes: &[&str]) {
        for code in codes {
            assert_eq!(kinds(code), [(kind, *code)]);
        }
    }

    #[test]
    fn literals_are_one_token() {
        only(
            Kind::Number,
            &[
                "0",
                "1_000",
                "0xffu8",
                "0b01",
                "2.5",
                "1.",
                "1e-3",
                "2.5e10f64",
                "3usize",
            ],
        );
        only(
            Kind::Text,
            &[
                "\"a\\\"b\"",
                "r\"\\\"",
                "r#\"a\"b\"#",
                "b\"x\"",
                "br#\"x\"#",
                "c\"x\"",
                "'a'",
                "'\\''",
                "'\\u{1f600}'",
                "b'\\n'",
                "'é'",
                "' '",
            ],
        );
    }

    #[test]
    fn lifetimes_names_and_comments() {
        only(Kind::Lifetime, &["'a", "'static"]);
        only(Kind::Name, &["x", "_", "r", "b", "br", "größe", "self"]);
        only(Kind::Comment, &["// a", "/* a /* b */ c */", "/// a"]);
    }

    #[test]
    fn points_of_numbers_ranges_and_methods_differ() {
        use Kind::{Name, Number, Other};
        assert_eq!(
            kinds("0..2"),
            [(Number, "0"), (Other, "."), (Other, "."), (Number, "2")]
        );
        assert_eq!(kinds("1.max")[..2], [(Number, "1"), (Other, ".")]);
        assert_eq!(kinds("x.0"), [(Name, "x"), (Other, "."), (Number, "0")]);
    }

    #[test]
    fn unclosed_literals_and_comments_end_with_the_code() {
        only(Kind::Text, &["\"a\nb", "r#\"a\"", "\"a\\"]);
        only(Kind::Comment, &["/* a", "/* /* */"]);
        assert_eq!(kinds("'\nx").last(), Some(&(Kind::Name, "x")));
    }
}
