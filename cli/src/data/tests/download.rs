//! Downloads: interrupted, wrong, missing, at the same time.

use super::hub::{FakeHub, Fault};
use super::*;
use crate::data::Hub;
use std::net::TcpListener;

const PART: &str = "small/train-01234567.parquet.part";

fn from_hub() -> (FakeHub, TempDir, DataSet) {
    (valid_hub(1), temporary(), small(1))
}

#[test]
fn grey_and_colour_images_are_downloaded() {
    for channels in [1, 3] {
        let (hub, folder) = (valid_hub(channels), temporary());
        got(&small(channels), &source(&hub), &folder).unwrap();
        assert_good(folder.path(), channels);
        assert_eq!(
            files(&folder),
            ["lock", "test.safetensors", "train.safetensors"]
        );
    }
}

#[test]
fn an_interrupted_download_is_resumed() {
    let (hub, folder, set) = from_hub();
    hub.fail([Fault::Cut(100), Fault::Cut(50)]);
    let mut lines = Lines::default();
    get(&set, &source(&hub), folder.path(), &mut lines).unwrap();
    let starts: Vec<_> = hub.transfers().into_iter().map(|(_, from)| from).collect();
    assert_eq!(starts, [0, 100, 150, 0]);
    assert_eq!(lines.0[..2], ["The connection was lost; resuming."; 2]);
    assert_good(folder.path(), 1);
}

#[test]
fn a_second_command_resumes_the_download() {
    let (hub, folder, set) = from_hub();
    hub.fail([Fault::Cut(100), Fault::Cut(0)]);
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(message.contains("train.parquet was lost: "), "{message}");
    assert!(
        message.contains("\nRun the same command again: it resumes"),
        "{message}"
    );
    assert_eq!(
        std::fs::metadata(folder.path().join(PART)).unwrap().len(),
        100
    );
    got(&set, &source(&hub), &folder).unwrap();
    assert_eq!(hub.transfers()[2], ("plain/train.parquet".to_owned(), 100));
    assert_good(folder.path(), 1);
}

#[test]
fn a_server_that_stops_sending_times_out() {
    let (hub, folder, set) = from_hub();
    hub.fail([Fault::Stall(100), Fault::Stall(0)]);
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(message.contains("was lost: "), "{message}");
    got(&set, &source(&hub), &folder).unwrap();
    assert_good(folder.path(), 1);
}

#[test]
fn a_server_that_cannot_resume_sends_the_whole_file() {
    let (hub, folder, set) = from_hub();
    hub.fail([Fault::Cut(100), Fault::IgnoreRange]);
    got(&set, &source(&hub), &folder).unwrap();
    assert_good(folder.path(), 1);
}

#[test]
fn a_complete_download_is_used() {
    let (hub, folder, set) = from_hub();
    std::fs::create_dir(folder.path().join("small")).unwrap();
    std::fs::write(folder.path().join(PART), valid_parquet(5, 1)).unwrap();
    got(&set, &source(&hub), &folder).unwrap();
    assert_good(folder.path(), 1);
}

#[test]
fn a_file_with_another_checksum_is_deleted() {
    let (hub, folder, mut set) = from_hub();
    hub.tell_checksum(Some(&"ab".repeat(32)));
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(message.contains("is not the expected one"), "{message}");
    assert!(
        message.contains("\nIt was deleted. Run the same command again"),
        "{message}"
    );
    assert_eq!(files(&folder), ["lock"]);
    // Taper's own checksum takes precedence over the server's.
    hub.tell_checksum(None);
    set.parts[0].sha256 = Some("00");
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(message.contains("instead of 00\n"), "{message}");
    set.parts[0].sha256 = None;
    got(&set, &source(&hub), &folder).unwrap();
}

#[test]
fn a_resumed_file_of_other_bytes_is_deleted() {
    let (hub, folder, set) = from_hub();
    std::fs::create_dir(folder.path().join("small")).unwrap();
    std::fs::write(folder.path().join(PART), [0; 100]).unwrap();
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(message.contains("is not the expected one"), "{message}");
    got(&set, &source(&hub), &folder).unwrap();
    assert_good(folder.path(), 1);
}

#[test]
fn a_missing_file_and_a_failing_server_have_different_messages() {
    let (folder, set) = (temporary(), small(1));
    let message = got(&set, &source(&FakeHub::start([])), &folder).unwrap_err();
    assert!(
        message.contains("the server answers 404 Not Found\nIf HF_ENDPOINT is set"),
        "{message}"
    );
    let hub = valid_hub(1);
    hub.fail([Fault::Status("503 Service Unavailable")]);
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(
        message.contains("answers 503 Service Unavailable\nTry again later"),
        "{message}"
    );
}

#[test]
fn an_unreachable_server_is_named() {
    let (folder, set) = (temporary(), small(1));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let hub = Hub::new(
        &endpoint,
        Client::new(None, Duration::from_secs(5)).unwrap(),
    );
    let message = got(&set, &Source::Hub(hub), &folder).unwrap_err();
    assert!(
        message.starts_with(&format!("cannot reach {endpoint}: ")),
        "{message}"
    );
    assert!(message.contains("\nCheck the connection"), "{message}");
}

#[test]
fn only_one_of_two_processes_downloads() {
    let (hub, folder, set) = from_hub();
    std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| got(&set, &source(&hub), &folder)));
        for one in both {
            one.join().unwrap().unwrap();
        }
    });
    assert_eq!(hub.transfers().len(), 2);
    assert_good(folder.path(), 1);
}
