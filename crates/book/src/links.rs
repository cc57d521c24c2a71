//! Links between pages: the same that JupyterLab follows, so a notebook reads well in both.
//!
//! `other.ipynb` is a chapter, `#Heading-text` or `other.ipynb#Heading-text` a section of it, and
//! `#cell-id=name` a cell. A link whose text is `chapter` or `figure` gets the number of what it
//! points to: `[figure](#cell-id=loss)` becomes "figure 4.2".

use super::chapter::{Chapter, Shelf};

/// Where a link leads.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// To a page of the book, or a place in it.
    Page {
        href: String,
        number: Option<String>,
    },
    /// Out of the book.
    Elsewhere,
    /// To a file beside the notebook.
    File(String),
}

/// What the text of a link says it points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Figure,
    Chapter,
    Anything,
}

impl Wanted {
    pub fn by(text: &str) -> Wanted {
        match text {
            "figure" | "Figure" => Wanted::Figure,
            "chapter" | "Chapter" => Wanted::Chapter,
            _ => Wanted::Anything,
        }
    }
}

/// Follows a link in `chapter`; the error says what is wrong with it and what to do.
pub fn resolve(
    shelf: &Shelf,
    chapter: &Chapter,
    link: &str,
    wanted: Wanted,
) -> Result<Target, String> {
    if has_scheme(link) || link.starts_with("//") {
        return Ok(Target::Elsewhere);
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let (path, anchor) = (decode(path), decode(anchor));
    if !path.is_empty() && !path.ends_with(".ipynb") {
        return Ok(Target::File(path));
    }
    let target = if path.is_empty() {
        chapter
    } else {
        shelf.find(chapter, &path).ok_or_else(|| {
            format!(
                "links to {path}, which is no page of the book\n\
                 Name a notebook of book/src/SUMMARY.md, relative to this one"
            )
        })?
    };
    let number = match wanted {
        Wanted::Anything => None,
        Wanted::Chapter => Some(target.number.clone().ok_or_else(|| {
            format!("calls {link} a chapter, but it has no number\nLink it by its name")
        })?),
        Wanted::Figure => Some(target.figure(&anchor).ok_or_else(|| {
            format!(
                "refers to the figure {link}, but that cell has none\n\
                 Write #cell-id= and the id of a cell that \
                 begins with `// Figure: ` and a caption"
            )
        })?),
    };
    if !anchor.is_empty() && !target.has_anchor(&anchor) {
        let similar = target.similar_anchor(&anchor);
        return Err(format!(
            "links to {link}, but there is no such heading or cell\n{}",
            similar.map_or_else(
                || "A heading's anchor is its text with - for blanks; a cell's is cell-id= and its id".into(),
                |similar| format!("Did you mean #{similar}?"),
            )
        ));
    }
    let page = shelf.href(chapter, target);
    let href = match (path.is_empty(), anchor.is_empty()) {
        (true, _) => format!("#{}", encode(&anchor)),
        (false, true) => page,
        (false, false) => format!("{page}#{}", encode(&anchor)),
    };
    Ok(Target::Page { href, number })
}

fn has_scheme(link: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    };
    link.split_once(':')
        .is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// As JupyterLab makes it from a heading's text.
pub fn anchor_of(heading: &str) -> String {
    heading.trim().replace(char::is_whitespace, "-")
}

/// For an address: what may not stand in one, in hexadecimal.
pub fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~!'()*,;:@/=+&$?".contains(&byte) {
            encoded.push(byte.into());
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes
            .get(at + 1..at + 3)
            .and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                decoded.push(byte);
                at += 3;
            }
            _ => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_jupyterlab() {
        assert_eq!(anchor_of("What a transfer costs"), "What-a-transfer-costs");
        assert_eq!(
            anchor_of("Why ? is there: 2 reasons"),
            "Why-?-is-there:-2-reasons"
        );
    }

    #[test]
    fn addresses_are_encoded_and_read_again() {
        for text in ["Data,-memory", "größe", "a%b", "cell-id=x"] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(encode("a \"b\""), "a%20%22b%22");
    }

    #[test]
    fn what_has_a_scheme_is_elsewhere() {
        assert!(has_scheme("https://x") && has_scheme("mailto:a@b"));
        assert!(!has_scheme("a/b:c") && !has_scheme("#x") && !has_scheme("x.ipynb"));
    }
}
