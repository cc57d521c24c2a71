//! Serves the book to one reader on this machine, with a Run button for each code cell.
//!
//! # The path of a request
//!
//! 1. `http` reads the request, and `access` decides whether it is allowed: only the browser that has opened
//!    the address from the terminal can read the book, and only a page of this server can run a cell.
//! 2. `site` returns a file of the book. mdBook builds the book again when a notebook is saved; the script
//!    `run.js`, which `site` adds to the pages, then reloads the page. A book that is hosted elsewhere has
//!    neither the script nor the buttons.
//! 3. `kernels` runs a cell in the evaluator of its chapter, which the caller of [`serve`] starts. `live`
//!    renders the outputs like those of the book: HTML is sanitised, SVG reduced. The response is a stream
//!    of JSON, one change in each line.

mod access;
mod http;
mod kernels;
mod lab;
mod live;
mod site;

use anyhow::{Context, Result};
pub use kernels::StartEvaluator;

use crate::api::Links;
use crate::highlight;
use access::{Access, Verdict};
use http::{Head, Request, Status};
use kernels::Kernels;
use serde_json::{Value, json};
use site::Site;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// The options of [`serve`].
pub struct Options {
    /// The folder with `book.toml`.
    pub book: PathBuf,
    /// The folder of the notebooks.
    pub notebooks: PathBuf,
    /// The port on the loopback interface; 0 for a free one.
    pub port: u16,
    /// Returns the command that starts mdBook, without arguments.
    pub mdbook: Box<dyn Fn() -> Command + Send>,
    /// Starts the evaluator of a chapter.
    pub start: Box<StartEvaluator>,
    /// Shows an address to the user. A browser can open each address only once.
    pub announce: Box<dyn Fn(&str) + Send>,
}

const NO_RANDOM: &str = "expected random bytes from the system, but it has none";

/// Builds the book and serves it until the process ends.
///
/// # Errors
///
/// When the port is in use, or when the first build fails.
pub fn serve(options: Options) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port));
    let bound = listener.and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
    let (port, listener) = bound.with_context(|| {
        let port = options.port;
        format!("expected port {port} to be free; choose another one with --port")
    })?;
    let output = options.book.join("output").join(format!("serve-{port}"));
    let server = Arc::new(Server {
        access: Access::new(port).context(NO_RANDOM)?,
        site: Site::new(options.book, options.notebooks.clone(), output),
        root: options.notebooks.with_file_name(""),
        kernels: Kernels::new(options.notebooks, options.start),
    });
    server.site.build(&*options.mdbook)?;
    let watching = server.clone();
    std::thread::spawn(move || watching.site.watch(&*options.mdbook));
    (options.announce)(&server.access.address());
    let announcing = server.clone();
    std::thread::spawn(move || {
        // Enter in the terminal requests an address for another browser.
        for _ in io::stdin().lines().map_while(Result::ok) {
            (options.announce)(&announcing.access.address());
        }
    });
    for stream in listener.incoming().flatten() {
        let server = server.clone();
        std::thread::spawn(move || {
            // A browser may close the connection at any time.
            let _ = server.answer(stream);
        });
    }
    Ok(())
}

struct Server {
    access: Access,
    site: Site,
    kernels: Kernels,
    /// The folder of the folder of the notebooks.
    root: PathBuf,
}

impl Server {
    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let request = match Request::read(&mut stream) {
            Ok(request) => request,
            Err(status) => return Head::new(status, TEXT).send(&mut stream, b""),
        };
        match self.access.check(&request) {
            Verdict::Allowed => {}
            Verdict::Refused(reason) => {
                let page = refusal(reason);
                return Head::new(Status::Forbidden, HTML).send(&mut stream, page.as_bytes());
            }
            Verdict::Exchanged { cookie } => {
                let mut head = Head::new(Status::Ok, HTML);
                head.cookie = Some(cookie);
                return head.send(&mut stream, ENTER);
            }
        }
        match (&*request.method, request.path.as_str()) {
            ("GET", "/_taper/run.js") => Head::new(Status::Ok, "text/javascript; charset=utf-8")
                .send(&mut stream, include_bytes!("run.js")),
            ("GET", "/_taper/run.css") => Head::new(Status::Ok, "text/css; charset=utf-8")
                .send(&mut stream, include_bytes!("run.css")),
            ("GET", "/_taper/build") => {
                let number = self.site.build_number().to_string();
                Head::new(Status::Ok, TEXT).send(&mut stream, number.as_bytes())
            }
            ("GET", address) => match self.site.get(address) {
                Some((head, content)) => head.send(&mut stream, &content),
                None => Head::new(Status::NotFound, TEXT).send(&mut stream, b"no such page"),
            },
            (_, command) => match self.chapter(&request) {
                Some((page, body)) => self.command(command, &page, &body, &mut stream),
                None => Head::new(Status::BadRequest, TEXT).send(&mut stream, b"no such chapter"),
            },
        }
    }

    /// Reads a command about a chapter: `{"page": "gpus", …}`.
    fn chapter(&self, request: &Request) -> Option<(String, Value)> {
        let body: Value = serde_json::from_slice(&request.body).ok()?;
        let page = body["page"].as_str()?.to_owned();
        self.site.has_chapter(&page).then_some((page, body))
    }

    fn command(
        &self,
        command: &str,
        page: &str,
        body: &Value,
        stream: &mut TcpStream,
    ) -> io::Result<()> {
        let head = Head::new(Status::Ok, JSON_LINES);
        match command {
            "/_taper/run" => {
                head.write(stream)?;
                let mut send = |line: &Value| writeln!(stream, "{line}").is_ok();
                let code = body["code"].as_str().unwrap_or_default();
                self.kernels.run(page, code, &mut send);
                return Ok(());
            }
            "/_taper/highlight" => {
                let code = body["code"].as_str().unwrap_or_default();
                let html = highlight::cell(code, &Links::none());
                return Head::new(Status::Ok, HTML).send(stream, html.as_bytes());
            }
            "/_taper/lab" => {
                let notebook = body["notebook"].as_str().unwrap_or_default();
                let address = lab::address(&self.root.join(notebook));
                let answer = json!({ "address": address }).to_string();
                return head.send(stream, answer.as_bytes());
            }
            "/_taper/interrupt" => self.kernels.interrupt(page),
            "/_taper/restart" => self.kernels.restart(page),
            "/_taper/state" => {}
            _ => return Head::new(Status::NotFound, TEXT).send(stream, b"no such command"),
        }
        let state = json!({"busy": self.kernels.is_busy(page)});
        head.send(stream, format!("{state}\n").as_bytes())
    }
}

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const JSON_LINES: &str = "application/x-ndjson";

/// The page after the exchange of the token, which leads on to the book. After a redirect, the browser would not
/// send the cookie: the request would count as one of the site or file from which the reader came. The empty icon
/// keeps the browser from requesting an icon.
const ENTER: &[u8] = b"<!DOCTYPE html>\n<html lang=\"en\"><head><title>Taper</title>\n\
    <link rel=\"icon\" href=\"data:,\">\n\
    <meta http-equiv=\"refresh\" content=\"0; url=/\"></head>\n\
    <body><a href=\"/\">Open the book</a></body></html>\n";

fn refusal(reason: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Taper</title>\n<link rel=\"icon\" href=\"data:,\"></head>\n\
         <body><h1>Not open</h1>\n\
         <p>{reason}</p>\n<p>Press Enter in the terminal where <code>taper book serve</code> runs: it prints \
         an address that this browser can open once.</p></body></html>\n"
    )
}
