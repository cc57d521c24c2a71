//! Escapes text for XML and HTML.

use std::fmt::{Display, Formatter, Result, Write};

/// Text that is escaped when it is formatted. The result is valid in XML and HTML, also in an attribute
/// with double quotes.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for character in self.0.chars() {
            match character {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_xml() {
        let shown = Escaped("a<b & \"c\"\u{1b}[0m é").to_string();
        assert_eq!(shown, "a&lt;b &amp; &quot;c&quot; [0m é");
    }
}
