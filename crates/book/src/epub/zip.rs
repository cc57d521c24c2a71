//! A zip file with the files of an EPUB.

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::io::{self, Seek, Write};

/// A zip file that is being written.
pub(super) struct Zip<W: Write + Seek> {
    out: W,
    /// The entries of the list at the end of the file.
    list: Vec<u8>,
    count: u16,
}

/// Zip's codes for a file that is stored as it is, and for a compressed file.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

impl<W: Write + Seek> Zip<W> {
    pub(super) fn new(out: W) -> Self {
        Zip {
            out,
            list: Vec::new(),
            count: 0,
        }
    }

    /// Adds a file as it is, as an EPUB begins with its type.
    pub(super) fn store(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.add(name, STORED, content, content)
    }

    /// Adds a file and compresses it.
    pub(super) fn compress(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content)?;
        self.add(name, DEFLATED, content, &encoder.finish()?)
    }

    fn add(&mut self, name: &str, method: u16, content: &[u8], data: &[u8]) -> io::Result<()> {
        let offset = size(self.out.stream_position()?)?;
        let mut crc = Crc::new();
        crc.update(content);
        let mut header = Vec::new();
        // The version that is needed, flags (names are UTF-8), the method, a time: midnight of 1980-01-01.
        for number in [20, 1 << 11, method, 0, 1 << 5 | 1] {
            header.extend(number.to_le_bytes());
        }
        for number in [crc.sum(), size(data.len())?, size(content.len())?] {
            header.extend(number.to_le_bytes());
        }
        header.extend(short(name.len())?.to_le_bytes());
        header.extend(0u16.to_le_bytes()); // no extra field
        self.out.write_all(b"PK\x03\x04")?;
        for part in [&header, name.as_bytes(), data] {
            self.out.write_all(part)?;
        }
        self.list.extend(b"PK\x01\x02");
        self.list.extend(20u16.to_le_bytes());
        self.list.extend(&header);
        self.list.extend([0; 10]); // no comment, the first disk, no attributes
        self.list.extend(offset.to_le_bytes());
        self.list.extend(name.as_bytes());
        self.count = short(usize::from(self.count) + 1)?;
        Ok(())
    }

    /// Writes the list of the files.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let offset = size(self.out.stream_position()?)?;
        self.out.write_all(&self.list)?;
        self.out.write_all(b"PK\x05\x06\0\0\0\0")?;
        self.out.write_all(&self.count.to_le_bytes())?;
        self.out.write_all(&self.count.to_le_bytes())?;
        self.out.write_all(&size(self.list.len())?.to_le_bytes())?;
        self.out.write_all(&offset.to_le_bytes())?;
        self.out.write_all(&[0, 0])
    }
}

fn size(number: impl TryInto<u32>) -> io::Result<u32> {
    let too_large = |_| io::Error::other("expected less than 4 GiB");
    number.try_into().map_err(too_large)
}

fn short(number: usize) -> io::Result<u16> {
    let too_many = |_| io::Error::other("expected less than 65,536 files, and short names");
    number.try_into().map_err(too_many)
}
