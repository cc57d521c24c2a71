//! Pictures: their size, which keeps the page from jumping, and what they say to those who cannot see.

use super::cell;
use serde_json::Value;

#[derive(Debug, PartialEq)]
pub struct Picture {
    pub extension: &'static str,
    pub bytes: Vec<u8>,
    /// In pixels of the page.
    pub size: (u32, u32),
    /// What it says of itself.
    pub title: Option<String>,
}

/// The kinds of pictures that are shown, the best first.
pub const KINDS: [&str; 4] = ["image/svg+xml", "image/png", "image/jpeg", "image/gif"];

impl Picture {
    /// One of a cell's outputs.
    pub fn of_output(kind: &str, data: &Value, metadata: &Value) -> Result<Picture, String> {
        let text = cell::text(data);
        let bytes = if kind == "image/svg+xml" {
            text.into_bytes()
        } else {
            decode_base64(&text)
                .ok_or("holds a picture that is not base64\nRun the notebook again")?
        };
        let mut picture = Picture::read(kind, bytes)?;
        // Pictures for sharp screens have more pixels than they are to have on the page.
        let wanted = |name| metadata[name].as_f64().map(|n| n.round() as u32);
        match (wanted("width"), wanted("height"), picture.size) {
            (Some(width), Some(height), _) => picture.size = (width, height),
            (Some(width), None, (w, h)) if w > 0 => picture.size = (width, h * width / w),
            _ => {}
        }
        Ok(picture)
    }

    /// A file that a notebook shows; `name` tells the kind.
    pub fn of_file(name: &str, bytes: Vec<u8>) -> Result<Picture, String> {
        let kind = match name
            .rsplit('.')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
            .as_str()
        {
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "jpg" | "jpeg" => "image/jpeg",
            "gif" => "image/gif",
            _ => {
                return Err(format!(
                    "shows {name}, which is no picture that the book knows\nMake it an SVG, PNG, JPEG or GIF"
                ));
            }
        };
        Picture::read(kind, bytes).map_err(|error| format!("shows {name}: {error}"))
    }

    fn read(kind: &str, bytes: Vec<u8>) -> Result<Picture, String> {
        let (extension, size) = match kind {
            "image/svg+xml" => return read_svg(bytes),
            "image/png" => ("png", size_of_png(&bytes)),
            "image/jpeg" => ("jpg", size_of_jpeg(&bytes)),
            _ => ("gif", size_of_gif(&bytes)),
        };
        let size = size.ok_or_else(|| {
            format!(
                "holds a picture that is not {kind}\nRun the notebook again, or replace the file"
            )
        })?;
        Ok(Picture {
            extension,
            bytes,
            size,
            title: None,
        })
    }
}

fn read_svg(bytes: Vec<u8>) -> Result<Picture, String> {
    let text = String::from_utf8_lossy(&bytes);
    if let Some(what) = what_runs(&text) {
        return Err(format!(
            "holds an SVG picture with {what}\n\
             The book shows no picture that could run or load something: remove it"
        ));
    }
    let root = root_tag(&text).ok_or("holds a picture that is not SVG\nRun the notebook again")?;
    let size = size_of_svg(root).ok_or(
        "holds an SVG picture without a size\n\
         Give its <svg> a width and a height, or a viewBox",
    )?;
    let title = element(&text, "title")
        .or_else(|| attribute(root, "aria-label"))
        .map(unescape)
        .filter(|title| !title.trim().is_empty());
    Ok(Picture {
        extension: "svg",
        size,
        title,
        bytes,
    })
}

/// What in an SVG could run or load something when it is opened by itself.
fn what_runs(svg: &str) -> Option<&'static str> {
    let svg: String = svg.to_ascii_lowercase();
    let parts = [
        ("script", "a script"),
        ("foreignobject", "a foreignObject"),
        ("iframe", "a frame"),
        ("embed", "an embedded document"),
        ("object", "an embedded document"),
        ("handler", "a handler"),
        ("set", "an animation"),
        ("animate", "an animation"),
    ];
    for tag in svg.split('<').skip(1) {
        let tag = up_to_its_end(tag);
        if tag.starts_with("!entity") {
            return Some("an entity");
        }
        let name = tag
            .split(|c: char| c.is_whitespace() || c == '/')
            .next()
            .unwrap_or(tag);
        let name = name.rsplit(':').next().unwrap_or(name);
        if let Some((_, what)) = parts.iter().find(|(part, _)| *part == name) {
            return Some(what);
        }
        if has_handler(tag) {
            return Some("a handler");
        }
    }
    let loads = svg.contains("@import")
        || addresses(&svg, "href", '=').any(|address| !is_inside(address))
        || addresses(&svg, "url", '(').any(|address| !is_inside(address));
    loads.then_some("an address to load from")
}

/// A `>` within quotes does not end a tag.
fn up_to_its_end(tag: &str) -> &str {
    let mut quote = None;
    let end = tag.find(|c| {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        c == '>' && quote.is_none()
    });
    &tag[..end.unwrap_or(tag.len())]
}

/// An attribute whose name begins with `on`.
fn has_handler(tag: &str) -> bool {
    tag.match_indices("on").any(|(at, _)| {
        let begins = tag[..at].ends_with(|c: char| c.is_whitespace() || "\"'/".contains(c));
        let letters = tag[at + 2..].trim_start_matches(char::is_alphabetic);
        let is_longer = letters.len() < tag.len() - at - 2;
        begins && is_longer && letters.trim_start().starts_with('=')
    })
}

/// What follows each `name` and the sign behind it.
fn addresses<'s>(svg: &'s str, name: &'s str, sign: char) -> impl Iterator<Item = &'s str> {
    let begin = move |rest: &'s str| {
        let address = rest.trim_start().strip_prefix(sign)?;
        Some(address.trim_start().trim_start_matches(['"', '\'']))
    };
    svg.split(name).skip(1).filter_map(begin)
}

/// Anything else, also when it is written with entities or blanks within, could be loaded.
fn is_inside(address: &str) -> bool {
    let kinds = ["#", "data:image/png", "data:image/jpeg", "data:image/gif"];
    kinds.iter().any(|kind| address.starts_with(kind))
}

fn root_tag(svg: &str) -> Option<&str> {
    let begin = svg.find("<svg")?;
    let tag = &svg[begin..];
    Some(&tag[..tag.find('>')?])
}

fn size_of_svg(root: &str) -> Option<(u32, u32)> {
    let length = |name| attribute(root, name).and_then(pixels);
    if let (Some(width), Some(height)) = (length("width"), length("height")) {
        return Some((width, height));
    }
    let view: Vec<f64> = attribute(root, "viewBox")?
        .split([' ', ','])
        .filter_map(|number| number.parse().ok())
        .collect();
    match view[..] {
        [_, _, width, height] if width > 0.0 && height > 0.0 => Some((width as u32, height as u32)),
        _ => None,
    }
}

fn pixels(length: &str) -> Option<u32> {
    let number = length.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &length[number.len()..] {
        "" | "px" => 1.0,
        "pt" => 4.0 / 3.0,
        "in" => 96.0,
        "cm" => 96.0 / 2.54,
        "mm" => 96.0 / 25.4,
        _ => return None,
    };
    let pixels = (number.trim().parse::<f64>().ok()? * factor).round();
    (pixels >= 1.0).then_some(pixels as u32)
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    for quote in ['"', '\''] {
        let begin = format!(" {name}={quote}");
        // The name may also begin a line.
        if let Some(at) = tag
            .find(&begin)
            .or_else(|| tag.find(&begin.replace(' ', "\n")))
        {
            return tag[at + begin.len()..].split(quote).next();
        }
    }
    None
}

/// The text of the first element of this name.
fn element<'a>(svg: &'a str, name: &str) -> Option<&'a str> {
    let begin = svg.find(&format!("<{name}>"))? + name.len() + 2;
    svg[begin..].split("</").next()
}

fn unescape(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(text.trim().to_owned(), |text, (entity, c)| {
            text.replace(entity, c)
        })
}

fn size_of_png(bytes: &[u8]) -> Option<(u32, u32)> {
    let rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let number = |at: usize| Some(u32::from_be_bytes(rest.get(at..at + 4)?.try_into().ok()?));
    Some((number(8)?, number(12)?))
}

fn size_of_gif(bytes: &[u8]) -> Option<(u32, u32)> {
    let rest = bytes.strip_prefix(b"GIF8")?;
    let number = |at: usize| Some(u16::from_le_bytes(rest.get(at..at + 2)?.try_into().ok()?));
    Some((number(2)?.into(), number(4)?.into()))
}

/// A JPEG is a row of segments; the one that begins a frame has the size.
fn size_of_jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut rest = bytes.strip_prefix(b"\xff\xd8")?;
    loop {
        let &[0xff, marker, high, low, ..] = rest else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let number =
                |at: usize| Some(u16::from_be_bytes(rest.get(at..at + 2)?.try_into().ok()?));
            return Some((number(7)?.into(), number(5)?.into()));
        }
        rest = rest.get(2 + length..)?;
    }
}

/// Jupyter breaks it into lines.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for c in text
        .bytes()
        .filter(|c| !c.is_ascii_whitespace() && *c != b'=')
    {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(text: &str) -> Result<Picture, String> {
        Picture::of_file("x.svg", text.as_bytes().to_vec())
    }

    #[test]
    fn an_svg_tells_its_size_and_title() {
        let picture = svg("<svg width=\"600\" height=\"300.4px\"><title>a &lt; b</title></svg>")
            .expect("it reads");
        assert_eq!(
            (picture.size, picture.title.as_deref()),
            ((600, 300), Some("a < b"))
        );
        let picture = svg("<?xml version='1.0'?>\n<svg\nviewBox='0 0 40 20' width='100%'></svg>")
            .expect("it reads");
        assert_eq!((picture.size, picture.title), ((40, 20), None));
        assert_eq!(
            svg("<svg width='72pt' height='1in'/>")
                .expect("it reads")
                .size,
            (96, 96)
        );
        assert!(
            svg("<svg/>")
                .expect_err("no size")
                .contains("without a size")
        );
        assert!(svg("<p>").expect_err("no svg").contains("not SVG"));
    }

    #[test]
    fn an_svg_that_runs_or_loads_something_is_refused() {
        for inside in [
            "<script>alert(1)</script>",
            "<svg:SCRIPT href=\"#\"/>",
            "<g onload=\"alert(1)\"/>",
            "<g\nonclick='alert(1)'/>",
            "<g id=\">\" onload = \"alert(1)\"/>",
            "<g style=\"fill:url( '//example.com/x')\"/>",
            "<use href=\"data:image/svg+xml,x\"/>",
            "<a xlink:href=\"javascript:alert(1)\"/>",
            "<a href = \" java&#115;cript:alert(1)\"/>",
            "<image href=\"https://example.com/x.png\"/>",
            "<foreignObject><p>x</p></foreignObject>",
            "<style>@import url(https://example.com)</style>",
            "<rect fill=\"url(https://example.com/x)\"/>",
            "<animate attributeName=\"href\" to=\"javascript:alert(1)\"/>",
        ] {
            let text = format!("<svg width=\"1\" height=\"1\">{inside}</svg>");
            assert!(svg(&text).is_err(), "{inside}");
        }
        let drawing = "<svg width=\"1\" height=\"1\"><text>one = 1, on = off</text><g clip-path=\"url(#a)\"/>\
                       <use href=\"#a\"/><image href=\"data:image/png;base64,AA\"/></svg>";
        assert!(svg(drawing).is_ok());
    }

    #[test]
    fn other_pictures_tell_their_size() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02";
        let gif = b"GIF89a\x03\0\x02\0";
        let jpeg = b"\xff\xd8\xff\xe0\0\x04JF\xff\xc0\0\x11\x08\0\x02\0\x03";
        for (name, bytes) in [("a.png", &png[..]), ("a.gif", gif), ("a.jpeg", jpeg)] {
            let picture = Picture::of_file(name, bytes.to_vec()).expect(name);
            assert_eq!(picture.size, (3, 2), "{name}");
            assert!(Picture::of_file(name, b"no".to_vec()).is_err(), "{name}");
        }
        assert!(Picture::of_file("a.bmp", Vec::new()).is_err());
    }

    #[test]
    fn base64_is_read() {
        assert_eq!(decode_base64("aGVs\nbG8=").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode_base64("?"), None);
    }
}
