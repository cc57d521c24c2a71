//! HTTP/1.1, as far as one reader's browser needs it: one request and one response on each connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const MAX_HEAD: usize = 32 << 10;
const MAX_BODY: usize = 1 << 20;
/// How long to wait for the next bytes of a request: browsers send a request at once, and a connection without data
/// would occupy a thread.
const TO_ARRIVE: Duration = Duration::from_secs(30);

/// A request.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path of the address, without the query.
    pub(crate) path: String,
    pub(crate) query: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Reads a request; the error is the status with which to refuse it.
    pub(crate) fn read(stream: &mut TcpStream) -> Result<Request, Status> {
        let timeout = stream.set_read_timeout(Some(TO_ARRIVE));
        timeout.map_err(|_| Status::BadRequest)?;
        let mut bytes = Vec::new();
        let (mut request, head) = loop {
            if let Some(parsed) = parse(&bytes)? {
                break parsed;
            }
            read_more(stream, &mut bytes, MAX_HEAD)?;
        };
        let length = match (
            request.header("content-length"),
            request.header("transfer-encoding"),
        ) {
            (None, None) => 0,
            (Some(length), None) => length.parse().map_err(|_| Status::BadRequest)?,
            _ => return Err(Status::BadRequest),
        };
        if length > MAX_BODY {
            return Err(Status::TooLarge);
        }
        while bytes.len() < head + length {
            read_more(stream, &mut bytes, head + length)?;
        }
        request.body = bytes[head..head + length].to_vec();
        Ok(request)
    }

    /// Returns a request without a body, as a browser would send it.
    #[cfg(test)]
    pub(crate) fn of(method: &str, target: &str, headers: &[(&str, &str)]) -> Request {
        let headers = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"));
        let text = format!(
            "{method} {target} HTTP/1.1\r\n{}\r\n",
            headers.collect::<String>()
        );
        let parsed = parse(text.as_bytes()).expect("valid");
        parsed.expect("complete").0
    }

    /// Returns the value of a header; `None` if it is missing or given twice.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self
            .headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let (_, value) = values.next()?;
        values.next().is_none().then_some(value.as_str())
    }

    /// Returns whether the request has a header, once or more often.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|(n, _)| n.eq_ignore_ascii_case(name))
    }

    /// Returns a parameter of the query, whose values need no decoding.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        pairs.find(|(n, _)| *n == name).map(|(_, value)| value)
    }
}

fn read_more(stream: &mut TcpStream, bytes: &mut Vec<u8>, limit: usize) -> Result<(), Status> {
    let mut buffer = [0; 8192];
    if bytes.len() >= limit {
        return Err(Status::TooLarge);
    }
    match stream.read(&mut buffer) {
        Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
        _ => return Err(Status::BadRequest),
    }
    Ok(())
}

/// Parses the head of a request, and also returns its length; returns `None` while its end is missing.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, Status> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut headers);
    let status = parsed.parse(bytes).map_err(|_| Status::BadRequest)?;
    let httparse::Status::Complete(head) = status else {
        return Ok(None);
    };
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_owned();
    let headers = parsed.headers.iter();
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: headers
            .map(|header| (header.name.to_owned(), text(header.value)))
            .collect(),
        body: Vec::new(),
    };
    Ok(Some((request, head)))
}

/// The status codes of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    Forbidden,
    NotFound,
    TooLarge,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::Forbidden => "403 Forbidden",
            Status::NotFound => "404 Not Found",
            Status::TooLarge => "413 Content Too Large",
        }
    }
}

/// The headers of all responses: no other site may frame a page, read it or learn its address.
const ALWAYS: &str = "Connection: close\r\n\
    Cache-Control: no-store\r\n\
    Referrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n";

/// The head of a response: its status and headers.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: Status,
    pub(crate) media_type: &'static str,
    /// The scripts that the page may run besides the book's files, as sources of its Content-Security-Policy.
    pub(crate) scripts: String,
    pub(crate) cookie: Option<String>,
}

impl Head {
    pub(crate) fn new(status: Status, media_type: &'static str) -> Head {
        Head {
            status,
            media_type,
            scripts: String::new(),
            cookie: None,
        }
    }

    /// Writes the head; the content follows, until the connection is closed.
    pub(crate) fn write(&self, stream: &mut impl Write) -> io::Result<()> {
        let cookie = self.cookie.as_ref();
        let cookie = cookie.map_or(String::new(), |cookie| format!("Set-Cookie: {cookie}\r\n"));
        write!(
            stream,
            "HTTP/1.1 {}\r\nContent-Type: {}\r\n{ALWAYS}{cookie}\
             Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'{}; \
             style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; \
             connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n\r\n",
            self.status.line(),
            self.media_type,
            self.scripts,
        )
    }

    /// Writes the head and the content.
    pub(crate) fn send(&self, stream: &mut impl Write, content: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(content.len() + 1024);
        self.write(&mut bytes)?;
        bytes.extend_from_slice(content);
        stream.write_all(&bytes)?;
        stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_parsed_when_its_head_is_complete() {
        assert!(
            parse(b"GET / HTTP/1.1\r\nHost: a")
                .expect("valid")
                .is_none()
        );
        let request = Request::of(
            "GET",
            "/a/b.html?token=x&y=1",
            &[("HOST", "a:1"), ("b", "1"), ("B", "2")],
        );
        assert_eq!((&*request.method, &*request.path), ("GET", "/a/b.html"));
        assert_eq!(request.parameter("token"), Some("x"));
        assert_eq!(request.header("host"), Some("a:1"));
        assert_eq!(
            (request.header("b"), request.has("b")),
            (None, true),
            "given twice"
        );
        assert_eq!(parse(b"GET\r\n\r\n").err(), Some(Status::BadRequest));
    }

    #[test]
    fn no_response_can_be_framed() {
        let mut bytes = Vec::new();
        let head = Head::new(Status::Ok, "text/html");
        head.send(&mut bytes, b"page").expect("it is written");
        let text = String::from_utf8(bytes).expect("text");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\npage"));
        assert!(text.contains("frame-ancestors 'none'") && text.contains("X-Frame-Options: DENY"));
    }
}
