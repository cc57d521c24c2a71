//! Downloads a file: goes on where an interrupted download stopped, and compares the SHA-256.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use taper_host::digest;
use taper_host::progress::{Progress, Step, at_the_same_speed};
use ureq::http::header::{self, HeaderMap};
use ureq::http::{Response, StatusCode};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Proxy};

/// How many times an interrupted download is resumed automatically.
const RESUMES: usize = 5;
/// The most redirects that are followed: a hub redirects to the server that sends the file.
const REDIRECTS: usize = 5;
const MEGABYTE: u64 = 1_000_000;

/// A client with the settings of the connection.
pub(crate) struct Client(Agent);

/// What the user can do when a download fails.
#[derive(Clone, Copy)]
pub(crate) struct Advice {
    /// If the server cannot be reached.
    pub(crate) unreachable: &'static str,
    /// If the server has no such file, or does not send it to this user.
    pub(crate) missing: &'static str,
    /// If the file has another SHA-256.
    pub(crate) other: &'static str,
}

/// How a transfer ended.
enum Ended {
    Complete,
    /// The connection was lost; what has arrived is on disk.
    Interrupted(std::io::Error),
}

impl Client {
    /// Reads the settings from `HTTPS_PROXY` (and similar) and `SSL_CERT_FILE`.
    pub(crate) fn from_environment() -> Result<Self> {
        Self::new(Proxy::try_from_env(), Duration::from_secs(30))
    }

    /// Creates a client whose requests fail when the server sends nothing for `timeout`.
    pub(crate) fn new(proxy: Option<Proxy>, timeout: Duration) -> Result<Self> {
        let tls = TlsConfig::builder()
            .root_certs(root_certificates()?)
            .build();
        let agent = Agent::config_builder()
            .tls_config(tls)
            .proxy(proxy)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(timeout))
            .timeout_per_read(Some(timeout))
            .user_agent(concat!("taper/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Client(agent))
    }

    /// Returns a small file as text.
    pub(crate) fn text(&self, url: &str, advice: Advice) -> Result<String> {
        let (mut response, _) = self.request(url, 0, advice)?;
        let text = response.body_mut().read_to_string();
        text.with_context(|| format!("cannot read {url}"))
    }

    /// Downloads a file to `path`; resumes if a part of it is there already. Without `sha256`, compares with the checksum
    /// that the server sends, if it sends one.
    pub(crate) fn download(
        &self,
        url: &str,
        sha256: Option<&str>,
        path: &Path,
        advice: Advice,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let mut checksum = sha256.map(str::to_ascii_lowercase);
        for resumes in 0.. {
            let before = size(path);
            let (response, sent) = self.request(url, before, advice)?;
            checksum = checksum.or(sent);
            match receive(response, path, progress)? {
                Ended::Complete => break,
                Ended::Interrupted(error) if resumes == RESUMES || size(path) <= before => bail!(
                    "the connection to {url} was lost: {error}\n\
                     Run the same command again: it resumes the download"
                ),
                Ended::Interrupted(_) => progress.line("The connection was lost; resuming."),
            }
        }
        match checksum {
            Some(checksum) => verify(path, &checksum, url, advice),
            None => Ok(()),
        }
    }

    /// Requests a file from this byte on. Also returns its checksum, if the server sends one with a redirect.
    fn request(
        &self,
        url: &str,
        from: u64,
        advice: Advice,
    ) -> Result<(Response<Body>, Option<String>)> {
        let mut address = url.to_owned();
        let mut checksum = None;
        for _ in 0..=REDIRECTS {
            let mut request = self.0.get(&address);
            if from > 0 {
                request = request.header(header::RANGE, format!("bytes={from}-"));
            }
            let response = request.call().map_err(|error| {
                let server = &url[..end_of_host(url)];
                anyhow::anyhow!("cannot reach {server}: {error}\n{}", advice.unreachable)
            })?;
            checksum = checksum.or_else(|| sent_checksum(response.headers()));
            if !response.status().is_redirection() {
                check_status(&response, url, advice)?;
                return Ok((response, checksum));
            }
            address = redirected(&address, response.headers())
                .with_context(|| format!("{address} redirects to no address"))?;
        }
        bail!("{url} redirects more than {REDIRECTS} times\nTry again later");
    }
}

fn receive(response: Response<Body>, path: &Path, progress: &mut dyn Progress) -> Result<Ended> {
    // The file on disk has all bytes already.
    if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
        return Ok(Ended::Complete);
    }
    let resumed = response.status() == StatusCode::PARTIAL_CONTENT;
    let mut file = File::options()
        .create(true)
        .append(resumed)
        .write(true)
        .truncate(!resumed)
        .open(path)
        .with_context(|| format!("opening {}", path.display()))?;
    let mut have = size(path);
    let length = response.body().content_length();
    let total = length.map(|length| have + length);
    let mut body = response.into_body().into_reader();
    let mut buffer = vec![0; 1 << 16];
    let start = Instant::now();
    loop {
        let read = match body.read(&mut buffer) {
            Ok(0) if total.is_none_or(|total| have >= total) => return Ok(Ended::Complete),
            Ok(0) => return Ok(Ended::Interrupted(std::io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => read,
            Err(error) => return Ok(Ended::Interrupted(error)),
        };
        file.write_all(&buffer[..read])
            .with_context(|| format!("writing {}", path.display()))?;
        have += read as u64;
        progress.step(&step(path, have, total.unwrap_or(have), start));
    }
}

fn step(path: &Path, have: u64, total: u64, start: Instant) -> Step {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    let (done, total) = (have / MEGABYTE, total.div_ceil(MEGABYTE));
    let (done, total, elapsed) = (done as usize, total as usize, start.elapsed());
    Step {
        verb: "Downloading".into(),
        name: folder.to_string_lossy().into_owned(),
        done,
        total,
        unit: " MB".into(),
        elapsed,
        remaining: at_the_same_speed(done, total, elapsed),
    }
}

/// Returns the certificates in `SSL_CERT_FILE`, for networks that have their own; else Mozilla's.
fn root_certificates() -> Result<RootCerts> {
    let Some(file) = std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty()) else {
        return Ok(RootCerts::WebPki);
    };
    let pem = std::fs::read(&file).with_context(|| {
        let file = file.display();
        format!("cannot read {file}, which SSL_CERT_FILE names: correct the variable, or unset it")
    })?;
    let certificates: Vec<Certificate> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        bail!("SSL_CERT_FILE ({}) contains no certificate", file.display());
    }
    Ok(RootCerts::new_with_certs(&certificates))
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

/// Returns a hub's checksum of a large file: SHA-256, in quotes.
fn sent_checksum(headers: &HeaderMap) -> Option<String> {
    let sent = headers
        .get("x-linked-etag")?
        .to_str()
        .ok()?
        .trim_matches('"');
    let is_sha256 = sent.len() == 64 && sent.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_sha256.then(|| sent.to_ascii_lowercase())
}

/// Returns the address of a redirect, which may be another path on the same server.
fn redirected(from: &str, headers: &HeaderMap) -> Option<String> {
    let to = headers.get(header::LOCATION)?.to_str().ok()?;
    Some(match to.starts_with('/') {
        true => format!("{}{to}", &from[..end_of_host(from)]),
        false => to.to_owned(),
    })
}

/// Returns where the name of the server ends in an address.
fn end_of_host(url: &str) -> usize {
    let host = url.find("://").map_or(0, |at| at + 3);
    url[host..].find('/').map_or(url.len(), |end| host + end)
}

fn check_status(response: &Response<Body>, url: &str, advice: Advice) -> Result<()> {
    let status = response.status();
    let advice = match status.as_u16() {
        200 | 206 | 416 => return Ok(()),
        401 | 403 | 404 | 410 => advice.missing,
        407 => {
            "The proxy requires a user name and a password: HTTPS_PROXY=http://name:password@host:port"
        }
        _ => "Try again later; what has arrived is kept",
    };
    bail!("{url}: the server answers {status}\n{advice}");
}

/// Compares the checksum of a file with the expected one; deletes the file if they differ.
fn verify(path: &Path, checksum: &str, url: &str, advice: Advice) -> Result<()> {
    let found = digest::of_file(path)?;
    if found == checksum {
        return Ok(());
    }
    std::fs::remove_file(path)?;
    bail!(
        "the file from {url} is not the expected one: its SHA-256 is {found} instead of {checksum}\n{}",
        advice.other
    )
}
