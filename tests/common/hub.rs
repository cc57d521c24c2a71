//! A local server with the protocol of the Hugging Face hub, and files in the hub's formats.

// Each test file uses only some of these items.
#![allow(dead_code)]

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What happens to one transfer of a file.
pub(crate) enum Fault {
    /// The connection closes after this number of bytes.
    Cut(usize),
    /// The transfer stalls after this number of bytes.
    Stall(usize),
    /// The whole file is sent, whatever range was requested.
    IgnoreRange,
    Status(&'static str),
}

/// A server that answers until the test ends.
pub(crate) struct FakeHub {
    pub(crate) endpoint: String,
    state: Arc<State>,
}

struct State {
    /// The files, by the end of their path.
    files: HashMap<String, Vec<u8>>,
    /// Sent instead of the correct checksum.
    checksum: Mutex<Option<String>>,
    faults: Mutex<VecDeque<Fault>>,
    /// For each transfer of a file: its path, and the first requested byte.
    transfers: Mutex<Vec<(String, usize)>>,
}

impl FakeHub {
    pub(crate) fn start<const N: usize>(files: [(&str, Vec<u8>); N]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let files = files.map(|(path, content)| (path.to_owned(), content));
        let state = Arc::new(State {
            files: HashMap::from(files),
            checksum: Mutex::default(),
            faults: Mutex::default(),
            transfers: Mutex::default(),
        });
        let shared = state.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = shared.clone();
                std::thread::spawn(move || state.answer(connection));
            }
        });
        FakeHub {
            endpoint: format!("http://127.0.0.1:{port}"),
            state,
        }
    }

    /// Makes the next transfers fail, each with one of these faults.
    pub(crate) fn fail<const N: usize>(&self, faults: [Fault; N]) {
        self.state.faults.lock().unwrap().extend(faults);
    }

    pub(crate) fn tell_checksum(&self, checksum: Option<&str>) {
        *self.state.checksum.lock().unwrap() = checksum.map(str::to_owned);
    }

    pub(crate) fn transfers(&self) -> Vec<(String, usize)> {
        self.state.transfers.lock().unwrap().clone()
    }
}

impl State {
    fn answer(&self, mut connection: TcpStream) -> Option<()> {
        let (path, from) = read_request(&connection)?;
        let name = self.files.keys().find(|name| path.ends_with(*name));
        let Some(name) = name else {
            return send(&mut connection, "404 Not Found", "", b"Entry not found");
        };
        let content = &self.files[name];
        // The hub redirects as well: its files are on another server.
        if path.contains("/resolve/") {
            let right = taper_host::digest::of(content);
            let told = self.checksum.lock().unwrap().clone().unwrap_or(right);
            let headers =
                format!("Location: /storage/{name}?signed=1\r\nX-Linked-Etag: \"{told}\"\r\n");
            return send(&mut connection, "302 Found", &headers, b"");
        }
        self.transfers.lock().unwrap().push((name.clone(), from));
        let fault = self.faults.lock().unwrap().pop_front();
        self.transfer(&mut connection, content, from, fault)
    }

    fn transfer(
        &self,
        connection: &mut TcpStream,
        content: &[u8],
        from: usize,
        fault: Option<Fault>,
    ) -> Option<()> {
        let all = content.len();
        let partial = format!("Content-Range: bytes {from}-{}/{all}\r\n", all.max(1) - 1);
        match fault {
            Some(Fault::Status(status)) => send(connection, status, "", b""),
            Some(Fault::IgnoreRange) => send(connection, "200 OK", "", content),
            _ if from > 0 && from >= all => send(connection, "416 Range Not Satisfiable", "", b""),
            Some(Fault::Cut(bytes)) => begin(connection, from, &partial, &content[from..], bytes),
            Some(Fault::Stall(bytes)) => {
                begin(connection, from, &partial, &content[from..], bytes)?;
                // Until the client closes the connection.
                connection.read(&mut [0]).ok().map(|_| ())
            }
            None => begin(connection, from, &partial, &content[from..], all),
        }
    }
}

/// Returns the path without the query, and the first requested byte.
fn read_request(connection: &TcpStream) -> Option<(String, usize)> {
    let mut lines = BufReader::new(connection).lines();
    let first = lines.next()?.ok()?;
    let path = first.split(' ').nth(1)?.split('?').next()?.to_owned();
    let mut from = 0;
    for line in lines {
        let line = line.ok()?.to_lowercase();
        if line.is_empty() {
            return Some((path, from));
        }
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse().ok()?;
        }
    }
    None
}

fn send(connection: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> Option<()> {
    send_part(connection, status, headers, body, body.len())
}

/// Announces the whole length of `body`, and sends this number of its bytes.
fn send_part(
    connection: &mut TcpStream,
    status: &str,
    headers: &str,
    body: &[u8],
    bytes: usize,
) -> Option<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).ok()?;
    connection.write_all(&body[..bytes.min(length)]).ok()
}

/// Begins the transfer of a file from the byte `from` on, and sends this number of bytes of `body`.
fn begin(
    connection: &mut TcpStream,
    from: usize,
    partial: &str,
    body: &[u8],
    bytes: usize,
) -> Option<()> {
    let (status, range) = if from > 0 {
        ("206 Partial Content", partial)
    } else {
        ("200 OK", "")
    };
    send_part(connection, status, range, body, bytes)
}

/// Returns a PNG image of these bytes: for each pixel its grey value, or red, green and blue.
pub(crate) fn png([channels, height, width]: [usize; 3], pixels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(if channels == 1 {
        png::ColorType::Grayscale
    } else {
        png::ColorType::Rgb
    });
    let mut writer = encoder.write_header().expect("it is written");
    writer.write_image_data(pixels).expect("it fits");
    writer.finish().expect("it is written");
    bytes
}

/// Returns a parquet file like those of the hub: each row has a group with the bytes and the path of an image,
/// and a label; a row group has a thousand rows. Images may be missing.
pub(crate) fn parquet_file(column: &str, images: &[Option<Vec<u8>>], labels: &[i64]) -> Vec<u8> {
    let schema = format!(
        "message schema {{ optional group {column} {{ optional binary bytes; optional binary path (STRING); }} \
         optional int64 label; }}"
    );
    let schema = Arc::new(parse_message_type(&schema).expect("it is a schema"));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("it is written");
    for (images, labels) in images.chunks(1000).zip(labels.chunks(1000)) {
        let mut group = writer.next_row_group().expect("it is written");
        let paths: Vec<_> = images.iter().map(|_| Some(b"a.png".to_vec())).collect();
        write_bytes(&mut group, images);
        write_bytes(&mut group, &paths);
        let mut labels_writer = group
            .next_column()
            .expect("it is written")
            .expect("a third");
        let levels = vec![1; labels.len()];
        let typed = labels_writer.typed::<Int64Type>();
        typed
            .write_batch(labels, Some(&levels), None)
            .expect("it is written");
        labels_writer.close().expect("it is written");
        group.close().expect("it is written");
    }
    writer.into_inner().expect("it is written")
}

fn write_bytes(group: &mut SerializedRowGroupWriter<'_, Vec<u8>>, values: &[Option<Vec<u8>>]) {
    let levels: Vec<i16> = values
        .iter()
        .map(|v| if v.is_some() { 2 } else { 1 })
        .collect();
    let values: Vec<ByteArray> = values.iter().flatten().map(|v| v.clone().into()).collect();
    let mut writer = group
        .next_column()
        .expect("it is written")
        .expect("there is one more");
    let typed = writer.typed::<ByteArrayType>();
    typed
        .write_batch(&values, Some(&levels), None)
        .expect("it is written");
    writer.close().expect("it is written");
}
