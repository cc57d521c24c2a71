//! Images: their format, and their size, with which the layout of the page does not shift while it loads.

use crate::svg;
use anyhow::{Context, Result};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, PAD_INDIFFERENT};
use imagesize::ImageType;
use serde_json::Value;
use taper_evaluator::joined;

/// An image that a page shows.
#[derive(Debug, PartialEq)]
pub(crate) struct Image {
    pub(crate) format: Format,
    pub(crate) bytes: Vec<u8>,
    /// The width and the height in CSS pixels.
    pub(crate) size: (u32, u32),
    /// The description that the file contains: the title of an SVG.
    pub(crate) title: Option<String>,
}

/// A format that browsers show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Svg,
    Png,
    Jpeg,
    Gif,
}

impl Format {
    /// All formats, the preferred one first.
    pub(crate) const ALL: [Format; 4] = [Format::Svg, Format::Png, Format::Jpeg, Format::Gif];

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Format::Svg => "image/svg+xml",
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::Gif => "image/gif",
        }
    }

    pub(crate) fn extension(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
            Format::Jpeg => "jpg",
            Format::Gif => "gif",
        }
    }

    fn of_media_type(media_type: &str) -> Option<Format> {
        let is_meant = |format: &Format| format.media_type() == media_type;
        Format::ALL.into_iter().find(is_meant)
    }

    fn of_file_name(name: &str) -> Option<Format> {
        let (_, extension) = name.rsplit_once('.')?;
        let extension = match extension.to_ascii_lowercase() {
            jpeg if jpeg == "jpeg" => "jpg".into(),
            other => other,
        };
        let is_meant = |format: &Format| format.extension() == extension;
        Format::ALL.into_iter().find(is_meant)
    }
}

const UNKNOWN_FORMAT: &str =
    "is not an image that the book supports\nMake it an SVG, PNG, JPEG or GIF";

impl Image {
    /// Reads an image among a cell's outputs.
    pub(crate) fn of_output(format: Format, data: &Value, metadata: &Value) -> Result<Image> {
        let text = joined(data);
        let bytes = match format {
            Format::Svg => text.into_bytes(),
            _ => decode_base64(&text)?,
        };
        let mut image = Image::read(format, bytes)?;
        // Images for high-resolution screens have more pixels than their size on the page.
        let wanted = |name| metadata[name].as_f64().map(|n| n.round() as u32);
        match (wanted("width"), wanted("height"), image.size) {
            (Some(width), Some(height), _) => image.size = (width, height),
            (Some(width), None, (w, h)) if w > 0 => image.size = (width, h * width / w),
            _ => {}
        }
        Ok(image)
    }

    /// Reads an image that was dropped onto a markdown cell.
    pub(crate) fn of_attachment(media_type: &str, data: &Value) -> Result<Image> {
        let format = Format::of_media_type(media_type).context(UNKNOWN_FORMAT)?;
        Image::read(format, decode_base64(&joined(data))?)
    }

    /// Reads an image file, whose format is the extension of its name.
    pub(crate) fn of_file(name: &str, bytes: Vec<u8>) -> Result<Image> {
        let format = Format::of_file_name(name).context(UNKNOWN_FORMAT)?;
        Image::read(format, bytes)
    }

    /// Returns a data URL with the image.
    pub(crate) fn data_url(&self) -> String {
        let data = base64::engine::general_purpose::STANDARD.encode(&self.bytes);
        format!("data:{};base64,{data}", self.format.media_type())
    }

    fn read(format: Format, bytes: Vec<u8>) -> Result<Image> {
        if format == Format::Svg {
            let svg = svg::read(&String::from_utf8_lossy(&bytes))?;
            return Ok(Image {
                format,
                bytes: svg.text.into_bytes(),
                size: svg.size,
                title: svg.title,
            });
        }
        let expected = match format {
            Format::Jpeg => ImageType::Jpeg,
            Format::Gif => ImageType::Gif,
            _ => ImageType::Png,
        };
        let size = imagesize::image_type(&bytes)
            .ok()
            .filter(|found| *found == expected)
            .and_then(|_| imagesize::blob_size(&bytes).ok())
            .and_then(|size| Some((size.width.try_into().ok()?, size.height.try_into().ok()?)));
        Ok(Image {
            format,
            size: size.with_context(|| {
                let expected = format.media_type();
                format!("is not {expected}\nRun the notebook again, or replace the file")
            })?,
            bytes,
            title: None,
        })
    }
}

/// Decodes base64, which Jupyter breaks into lines.
fn decode_base64(text: &str) -> Result<Vec<u8>> {
    const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, PAD_INDIFFERENT);
    let text: String = text.split_ascii_whitespace().collect();
    let bytes = BASE64.decode(text).ok();
    bytes.context("is not base64\nRun the notebook again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T>(result: Result<T>) -> Option<String> {
        result.err().map(|error| error.to_string())
    }

    #[test]
    fn sizes_are_read() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02";
        let gif = b"GIF89a\x03\0\x02\0\0\0";
        let jpeg = b"\xff\xd8\xff\xe0\0\x04JF\xff\xc0\0\x11\x08\0\x02\0\x03\x03\x01";
        for (name, bytes) in [("a.png", &png[..]), ("a.gif", gif), ("a.JPEG", jpeg)] {
            let image = Image::of_file(name, bytes.to_vec()).expect(name);
            assert_eq!(image.size, (3, 2), "{name}");
            let expected = image.format.media_type();
            for other in [&b"no"[..], &bytes[..8], b"<svg/>"] {
                let error = message(Image::of_file(name, other.to_vec()));
                let error = error.unwrap_or_default();
                assert!(
                    error.starts_with(&format!("is not {expected}\n")),
                    "{name}: {error}"
                );
            }
        }
        let renamed = Image::of_file("a.gif", png.to_vec());
        assert!(renamed.is_err(), "a PNG");
    }

    #[test]
    fn other_formats_are_refused() {
        for name in ["a.bmp", "a.svgz", "png"] {
            let image = Image::of_file(name, Vec::new());
            assert_eq!(message(image).as_deref(), Some(UNKNOWN_FORMAT), "{name}");
        }
        let image = Image::of_attachment("image/webp", &Value::Null);
        assert_eq!(message(image).as_deref(), Some(UNKNOWN_FORMAT));
    }

    #[test]
    fn base64_may_have_line_breaks() {
        assert_eq!(
            decode_base64("aGVs\nbG8=\n").expect("it is base64"),
            b"hello"
        );
        let error = message(decode_base64("?")).unwrap_or_default();
        assert!(error.starts_with("is not base64\n"), "{error}");
    }
}
