//! `taper data`, the real command, with a local hub: killed, run twice at the same time, behind a proxy.

mod common;
#[path = "common/hub.rs"]
mod hub;

use common::{Said, run_within, taper};
use hub::{FakeHub, Fault, parquet_file, png};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(120);
const TRAIN: &str = "fashion_mnist/train-00000-of-00001.parquet";
const TEST: &str = "fashion_mnist/test-00000-of-00001.parquet";

/// Returns a parquet file with as many images as the real set, of ten kinds.
fn full(count: usize) -> Vec<u8> {
    let kinds: Vec<_> = (0..10u8)
        .map(|class| Some(png([1, 28, 28], &[class * 20; 784])))
        .collect();
    let images: Vec<_> = (0..count).map(|i| kinds[i % 10].clone()).collect();
    let labels: Vec<i64> = (0..count as i64).map(|i| i % 10).collect();
    parquet_file("image", &images, &labels)
}

fn hub() -> FakeHub {
    FakeHub::start([(TRAIN, full(60_000)), (TEST, full(10_000))])
}

/// Returns a call without a proxy or another hub in its environment.
fn data(folder: &Path, endpoint: &str, arguments: &[&str]) -> Command {
    let mut command = taper(&[&["data"], arguments].concat());
    for name in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command
        .env("TAPER_DATA", folder)
        .env("HF_ENDPOINT", endpoint);
    command
}

fn get(folder: &Path, endpoint: &str) -> Command {
    data(folder, endpoint, &["get", "fashion-mnist"])
}

fn assert_complete(folder: &Path, said: &Said) {
    assert!(said.status.success(), "{}", said.all());
    for (part, count) in [("train", 60_000u64), ("test", 10_000)] {
        let file = folder
            .join("fashion-mnist")
            .join(format!("{part}.safetensors"));
        let size = std::fs::metadata(file).expect("it is there").len();
        assert!(
            (count * 785..count * 785 + 500).contains(&size),
            "{part}: {size}"
        );
    }
    let left = std::fs::read_dir(folder.join("fashion-mnist"))
        .expect("it is there")
        .count();
    assert_eq!(left, 3, "two files and the lock");
}

fn list(folder: &Path) -> String {
    let said = run_within(LIMIT, data(folder, "", &["list"]));
    assert!(said.status.success(), "{}", said.all());
    said.stdout
}

#[test]
fn a_downloaded_set_is_listed_as_ready() {
    let (hub, folder) = (hub(), TempDir::new().unwrap());
    let before = list(folder.path());
    let line =
        "fashion-mnist -      36 MB  60,000 + 10,000 images: clothes and shoes, 28 x 28, grey\n";
    assert!(before.contains(line), "{before}");
    let said = run_within(LIMIT, get(folder.path(), &hub.endpoint));
    assert_complete(folder.path(), &said);
    let after = list(folder.path());
    assert!(after.contains("fashion-mnist ready "), "{after}");
    // There is nothing more to do, so no hub is needed.
    let said = run_within(LIMIT, get(folder.path(), "http://127.0.0.1:9"));
    assert_complete(folder.path(), &said);
}

#[test]
fn a_killed_download_is_resumed() {
    let (hub, folder) = (hub(), TempDir::new().unwrap());
    hub.fail([Fault::Stall(20_000)]);
    let mut first = get(folder.path(), &hub.endpoint)
        .spawn()
        .expect("it starts");
    let part = folder
        .path()
        .join("fashion-mnist/train-531be5e2.parquet.part");
    let start = Instant::now();
    while std::fs::metadata(&part).map_or(0, |file| file.len()) < 20_000 {
        assert!(start.elapsed() < LIMIT, "nothing is downloaded");
        std::thread::sleep(Duration::from_millis(10));
    }
    first.kill().expect("it is there");
    first.wait().expect("it has ended");
    let said = run_within(LIMIT, get(folder.path(), &hub.endpoint));
    assert_complete(folder.path(), &said);
    assert_eq!(hub.transfers()[1], (TRAIN.to_owned(), 20_000));
}

#[test]
fn one_of_two_processes_waits() {
    let (hub, folder) = (hub(), TempDir::new().unwrap());
    let both = [(); 2].map(|()| get(folder.path(), &hub.endpoint));
    let both = std::thread::scope(|scope| {
        let running = both.map(|command| scope.spawn(|| run_within(LIMIT, command)));
        running.map(|one| one.join().expect("it ends"))
    });
    for said in &both {
        assert_complete(folder.path(), said);
    }
    let waited = both
        .iter()
        .filter(|said| said.stderr.contains("Another Taper is at work"));
    assert_eq!(waited.count(), 1, "{both:?}");
    assert_eq!(hub.transfers().len(), 2);
}

#[test]
fn a_proxy_from_the_environment_is_used() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut connection, _) = proxy.accept().unwrap();
        let first = BufReader::new(&connection).lines().next().unwrap().unwrap();
        let _ = connection.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        first
    });
    let folder = TempDir::new().unwrap();
    let mut command = get(folder.path(), "https://hub.example");
    let said = run_within(LIMIT, {
        command.env("HTTPS_PROXY", address);
        command
    });
    assert!(!said.status.success(), "{}", said.all());
    assert_eq!(asked.join().unwrap(), "CONNECT hub.example:443 HTTP/1.1");
    assert!(
        said.stderr
            .starts_with("error: cannot reach https://hub.example: "),
        "{}",
        said.stderr
    );
}

#[test]
fn an_unknown_name_is_refused_with_the_known_ones() {
    let folder = TempDir::new().unwrap();
    let said = run_within(LIMIT, data(folder.path(), "", &["get", "imagenet"]));
    assert!(!said.status.success());
    assert!(
        said.stderr.contains("mnist, fashion-mnist, cifar10"),
        "{}",
        said.stderr
    );
}
