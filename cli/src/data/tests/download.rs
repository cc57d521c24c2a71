//! The way from the hub: cut, wrong, absent, side by side.

use super::hub::{FakeHub, Fault};
use super::*;
use crate::data::Hub;
use std::net::TcpListener;

const PART: &str = "small/train-01234567.parquet.part";

fn from_hub() -> (FakeHub, TempDir, DataSet) {
    (good_hub(1), temporary(), small(1))
}

#[test]
fn pictures_come_from_the_hub_grey_and_coloured() {
    for channels in [1, 3] {
        let (hub, folder) = (good_hub(channels), temporary());
        got(&small(channels), &source(&hub), &folder).unwrap();
        assert_good(folder.path(), channels);
        assert_eq!(
            files(&folder),
            ["lock", "test.safetensors", "train.safetensors"]
        );
    }
}

#[test]
fn a_cut_download_goes_on_by_itself() {
    let (hub, folder, set) = from_hub();
    hub.fail([Fault::Cut(100), Fault::Cut(50)]);
    let mut heard = Heard::default();
    get(&set, &source(&hub), folder.path(), &mut heard).unwrap();
    let starts: Vec<_> = hub.transfers().into_iter().map(|(_, from)| from).collect();
    assert_eq!(starts, [0, 100, 150, 0]);
    assert_eq!(heard.0[..2], ["The connection was cut; going on."; 2]);
    assert_good(folder.path(), 1);
}

#[test]
fn a_second_try_goes_on_where_the_first_one_ended() {
    let (hub, folder, set) = from_hub();
    hub.fail([Fault::Cut(100), Fault::Cut(0)]);
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(message.contains("train.parquet was cut: "), "{message}");
    assert!(
        message.contains("\nRun the same command again: it goes on"),
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
fn a_server_that_falls_silent_is_given_up() {
    let (hub, folder, set) = from_hub();
    hub.fail([Fault::Stall(100), Fault::Stall(0)]);
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(message.contains("was cut: "), "{message}");
    got(&set, &source(&hub), &folder).unwrap();
    assert_good(folder.path(), 1);
}

#[test]
fn a_server_that_cannot_resume_begins_anew() {
    let (hub, folder, set) = from_hub();
    hub.fail([Fault::Cut(100), Fault::IgnoreRange]);
    got(&set, &source(&hub), &folder).unwrap();
    assert_good(folder.path(), 1);
}

#[test]
fn a_download_that_was_complete_already_is_used() {
    let (hub, folder, set) = from_hub();
    std::fs::create_dir(folder.path().join("small")).unwrap();
    std::fs::write(folder.path().join(PART), good(5, 1)).unwrap();
    got(&set, &source(&hub), &folder).unwrap();
    assert_good(folder.path(), 1);
}

#[test]
fn a_file_with_another_checksum_is_deleted() {
    let (hub, folder, mut set) = from_hub();
    hub.tell_checksum(Some(&"ab".repeat(32)));
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(
        message.contains("is not the file that it should be"),
        "{message}"
    );
    assert!(
        message.contains("\nIt was deleted. Run the same command again"),
        "{message}"
    );
    assert_eq!(files(&folder), ["lock"]);
    // What came with Taper counts more than what the server says.
    hub.tell_checksum(None);
    set.parts[0].sha256 = Some("00");
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(message.contains("instead of 00\n"), "{message}");
    set.parts[0].sha256 = None;
    got(&set, &source(&hub), &folder).unwrap();
}

#[test]
fn a_resumed_file_of_other_bytes_is_noticed() {
    let (hub, folder, set) = from_hub();
    std::fs::create_dir(folder.path().join("small")).unwrap();
    std::fs::write(folder.path().join(PART), [0; 100]).unwrap();
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(
        message.contains("is not the file that it should be"),
        "{message}"
    );
    got(&set, &source(&hub), &folder).unwrap();
    assert_good(folder.path(), 1);
}

#[test]
fn a_file_that_is_not_there_and_a_server_in_trouble_are_told_apart() {
    let (folder, set) = (temporary(), small(1));
    let message = got(&set, &source(&FakeHub::start([])), &folder).unwrap_err();
    assert!(
        message.contains("the server answers 404 Not Found\nIf HF_ENDPOINT is set"),
        "{message}"
    );
    let hub = good_hub(1);
    hub.fail([Fault::Status("503 Service Unavailable")]);
    let message = got(&set, &source(&hub), &folder).unwrap_err();
    assert!(
        message.contains("answers 503 Service Unavailable\nTry again later"),
        "{message}"
    );
}

#[test]
fn a_server_that_is_absent_is_named() {
    let (folder, set) = (temporary(), small(1));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let hub = Hub::new(&endpoint, None, Duration::from_secs(5)).unwrap();
    let message = got(&set, &Source::Hub(hub), &folder).unwrap_err();
    assert!(
        message.starts_with(&format!("cannot reach {endpoint}: ")),
        "{message}"
    );
    assert!(message.contains("\nCheck the connection"), "{message}");
}

#[test]
fn of_two_at_once_one_downloads() {
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
