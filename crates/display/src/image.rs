//! Images in memory: reads PNG and JPEG, writes PNG.

use crate::Result;
use crate::tensor::Tensor;
use candle_core::Device;
use png::{BitDepth, ColorType, Transformations};
use std::io::Cursor;
use std::ops::Range;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// An image, row by row, with three bytes per pixel: red, green, blue.
#[derive(Clone, Debug, PartialEq)]
pub struct RgbImage {
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<u8>,
}

impl RgbImage {
    /// Creates an image of one colour.
    pub fn filled(width: usize, height: usize, color: [u8; 3]) -> Self {
        RgbImage {
            width,
            height,
            rgb: color.repeat(width * height),
        }
    }

    /// Decodes the contents of a PNG or JPEG file. An error is a few words long.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        match bytes {
            [0x89, b'P', b'N', b'G', ..] => decode_png(bytes),
            [0xff, 0xd8, ..] => decode_jpeg(bytes),
            _ => Err("neither PNG nor JPEG".to_owned()),
        }
    }

    /// Copies an image into a rectangle of this one and scales it without interpolation.
    pub(crate) fn paint(&mut self, image: &RgbImage, columns: Range<usize>, rows: Range<usize>) {
        // The source pixel at the centre of the target pixel.
        let source = |i: usize, length: usize, count: usize| (2 * i + 1) * count / (2 * length);
        for y in rows.start..rows.end.min(self.height) {
            let v = source(y - rows.start, rows.len(), image.height);
            for x in columns.start..columns.end.min(self.width) {
                let u = source(x - columns.start, columns.len(), image.width);
                let (to, from) = (3 * (y * self.width + x), 3 * (v * image.width + u));
                self.rgb[to..to + 3].copy_from_slice(&image.rgb[from..from + 3]);
            }
        }
    }

    /// Returns the contents of a PNG file.
    pub fn encode_png(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        let written = encoder
            .write_header()
            .and_then(|mut writer| writer.write_image_data(&self.rgb));
        written.expect("an image that is not empty can be encoded in memory");
        bytes
    }

    /// Returns a tensor `(height, width, 3)` of `u8`.
    pub fn to_tensor(&self) -> Tensor {
        let shape = (self.height, self.width, 3);
        Tensor::from_vec_on(self.rgb.to_vec(), shape, &Device::Cpu)
    }
}

/// The largest width or height of an image, in pixels. The JPEG decoder has the same limit. Without it, the
/// memory for any size in a header would be allocated before the first pixel is read.
const LARGEST_SIDE: usize = 1 << 14;

/// The largest number of pixels of an image: 400 MB in memory.
const MOST_PIXELS: usize = 1 << 27;

/// The largest number of pixels that a byte of a file may hold: a PNG of one colour has up to 8256 of them, a JPEG up to
/// 512.
const PIXELS_PER_BYTE: usize = 8300;

/// Checks the size in a header, before memory is allocated for it.
fn check_size(bytes: &[u8], width: usize, height: usize) -> Result<(), String> {
    let side = LARGEST_SIDE;
    if width.max(height) > side {
        return Err(format!(
            "expected at most {side} pixels per side, found {width} by {height}"
        ));
    }
    let most = MOST_PIXELS.min(PIXELS_PER_BYTE.saturating_mul(bytes.len()));
    match width * height > most {
        true => Err(format!(
            "expected at most {most} pixels in {} bytes, found {width} by {height}",
            bytes.len()
        )),
        false => Ok(()),
    }
}

fn decode_png(bytes: &[u8]) -> Result<RgbImage, String> {
    let text = |error: png::DecodingError| error.to_string();
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(text)?;
    let (width, height) = reader.info().size();
    check_size(bytes, width as usize, height as usize)?;
    let size = reader.output_buffer_size();
    let mut samples = vec![0; size.ok_or("its size is too large")?];
    let frame = reader.next_frame(&mut samples).map_err(text)?;
    samples.truncate(frame.buffer_size());
    let rgb = match frame.color_type {
        ColorType::Grayscale => samples.iter().flat_map(|&grey| [grey; 3]).collect(),
        ColorType::GrayscaleAlpha => samples.chunks(2).flat_map(|pixel| [pixel[0]; 3]).collect(),
        ColorType::Rgba => samples.chunks(4).flat_map(|p| [p[0], p[1], p[2]]).collect(),
        ColorType::Rgb | ColorType::Indexed => samples,
    };
    Ok(RgbImage {
        width: frame.width as usize,
        height: frame.height as usize,
        rgb,
    })
}

fn decode_jpeg(bytes: &[u8]) -> Result<RgbImage, String> {
    // Strict: the missing part of a truncated file would otherwise be grey, without an error.
    let options = DecoderOptions::default()
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .set_strict_mode(true);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let text = |error| format!("{error:?}");
    decoder.decode_headers().map_err(text)?;
    let (width, height) = decoder.dimensions().ok_or("it has no size")?;
    check_size(bytes, width, height)?;
    let rgb = decoder.decode().map_err(text)?;
    Ok(RgbImage { width, height, rgb })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_png_survives_a_round_trip() {
        let mut pixels = RgbImage::filled(3, 2, [10, 20, 30]);
        pixels.rgb[4] = 255;
        assert_eq!(RgbImage::decode(&pixels.encode_png()).unwrap(), pixels);
        let tensor = pixels.to_tensor();
        assert_eq!(tensor.dims(), [2, 3, 3]);
    }

    #[test]
    fn every_colour_type_of_png_is_converted_to_rgb() {
        let written = |color, depth, data: &[u8]| {
            let mut bytes = Vec::new();
            let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
            encoder.set_color(color);
            encoder.set_depth(depth);
            if color == ColorType::Indexed {
                encoder.set_palette(vec![1, 2, 3, 4, 5, 6]);
            }
            let mut writer = encoder.write_header().unwrap();
            writer.write_image_data(data).unwrap();
            drop(writer);
            RgbImage::decode(&bytes).unwrap().rgb
        };
        use BitDepth::{Eight, One, Sixteen};
        assert_eq!(
            written(ColorType::Grayscale, Eight, &[7, 9]),
            [7, 7, 7, 9, 9, 9]
        );
        assert_eq!(
            written(ColorType::Grayscale, One, &[0x40]),
            [0, 0, 0, 255, 255, 255]
        );
        assert_eq!(
            written(ColorType::Grayscale, Sixteen, &[7, 1, 9, 1]),
            [7, 7, 7, 9, 9, 9]
        );
        assert_eq!(
            written(ColorType::GrayscaleAlpha, Eight, &[7, 1, 9, 1]),
            [7, 7, 7, 9, 9, 9]
        );
        assert_eq!(
            written(ColorType::Rgba, Eight, &[1, 2, 3, 0, 4, 5, 6, 0]),
            [1, 2, 3, 4, 5, 6]
        );
        assert_eq!(
            written(ColorType::Indexed, One, &[0x40]),
            [1, 2, 3, 4, 5, 6]
        );
    }

    /// The header of this small file claims a size of 120 GB.
    #[test]
    fn a_size_without_limits_is_an_error() {
        let mut bytes = RgbImage::filled(1, 1, [0; 3]).encode_png();
        let side = 200_000u32.to_be_bytes();
        bytes[16..20].copy_from_slice(&side);
        bytes[20..24].copy_from_slice(&side);
        let crc = crc32(&bytes[12..29]).to_be_bytes();
        bytes[29..33].copy_from_slice(&crc);
        assert_eq!(
            RgbImage::decode(&bytes).unwrap_err(),
            "expected at most 16384 pixels per side, found 200000 by 200000"
        );
    }

    /// A JPEG of 1.6 KB that claims 16384 by 16384 pixels took 14 s and 1.6 GB.
    #[test]
    fn a_size_that_the_file_cannot_hold_is_an_error() {
        let mut jpeg = include_bytes!("image/orange.jpg").to_vec();
        let frame = jpeg
            .windows(2)
            .position(|marker| marker == [0xff, 0xc0])
            .unwrap();
        // The height and the width follow the marker, a length and a precision.
        jpeg[frame + 5..frame + 9].copy_from_slice(&[0x40, 0, 0x40, 0]);
        let message = RgbImage::decode(&jpeg).unwrap_err();
        assert!(message.ends_with("found 16384 by 16384"), "{message}");
        // A bit a pixel, of one colour: as many pixels in a byte as there can be.
        let (side, mut png) = (4096_u32, Vec::new());
        let mut encoder = png::Encoder::new(&mut png, side, side);
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(BitDepth::One);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header().unwrap();
        writer
            .write_image_data(&vec![0; (side * side / 8) as usize])
            .unwrap();
        drop(writer);
        assert_eq!(RgbImage::decode(&png).unwrap().width, 4096);
    }

    /// Returns the checksum of a chunk of a PNG file.
    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (0xedb8_8320 * (crc & 1))
            })
        })
    }

    #[test]
    fn an_image_is_painted_into_a_rectangle() {
        let mut image = RgbImage::filled(2, 1, [7; 3]);
        image.rgb[3..].fill(9);
        let mut canvas = RgbImage::filled(6, 2, [0; 3]);
        canvas.paint(&image, 1..5, 1..3); // the lowest row is outside
        let red: Vec<u8> = canvas.rgb.iter().copied().step_by(3).collect();
        assert_eq!(red, [0, 0, 0, 0, 0, 0, 0, 7, 7, 9, 9, 0]);
    }

    #[test]
    fn a_jpeg_is_decoded() {
        let pixels = RgbImage::decode(include_bytes!("image/orange.jpg")).unwrap();
        assert_eq!((pixels.width, pixels.height), (20, 12));
        let near = |got: u8, want: u8| got.abs_diff(want) <= 3;
        for pixel in pixels.rgb.chunks(3) {
            assert!(
                near(pixel[0], 230) && near(pixel[1], 159) && near(pixel[2], 0),
                "{pixel:?}"
            );
        }
    }

    #[test]
    fn truncated_files_and_other_formats_are_errors() {
        let png = RgbImage::filled(30, 20, [1, 2, 3]).encode_png();
        let jpeg = include_bytes!("image/orange.jpg");
        for bytes in [
            &png[..png.len() / 2],
            &png[..20],
            &jpeg[..jpeg.len() - 20],
            &jpeg[..100],
            b"GIF89a",
            b"",
        ] {
            assert!(RgbImage::decode(bytes).is_err(), "{} bytes", bytes.len());
        }
    }
}
