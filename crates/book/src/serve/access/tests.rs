//! Requests of the reader's browser, of other sites and of other users of the machine.

use super::*;
use Verdict::{Allowed, Exchanged, Refused};

fn access() -> Access {
    Access::new(3000).expect("random bytes")
}

fn request(method: &str, target: &str, headers: &[(&str, &str)]) -> Request {
    Request::of(method, target, headers)
}

const HOST: (&str, &str) = ("Host", "127.0.0.1:3000");
const ORIGIN: (&str, &str) = ("Origin", "http://127.0.0.1:3000");

fn cookie_of(access: &Access) -> String {
    let address = access.address();
    let target = address.strip_prefix("http://127.0.0.1:3000").expect("ours");
    match access.check(&request("GET", target, &[HOST])) {
        Exchanged { cookie } => cookie,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_token_is_exchanged_once_for_a_cookie_that_scripts_cannot_read() {
    let access = access();
    let first = access.address();
    let cookie = cookie_of(&access);
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"));
    let again = request("GET", &first["http://127.0.0.1:3000".len()..], &[HOST]);
    assert!(matches!(access.check(&again), Refused(_)));
    assert_ne!(
        access.address(),
        first,
        "another browser needs another address"
    );
    let pair = cookie.split(';').next().expect("a pair");
    let page = request(
        "GET",
        "/a.html",
        &[HOST, ("Cookie", &format!("x=1; {pair}"))],
    );
    assert_eq!(access.check(&page), Allowed);
}

#[test]
fn only_pages_of_this_server_change_something() {
    let access = access();
    let cookie = cookie_of(&access);
    let cookie = ("Cookie", cookie.split(';').next().expect("a pair"));
    let check = |headers: &[(&str, &str)]| access.check(&request("POST", "/_taper/run", headers));
    assert_eq!(check(&[HOST, ORIGIN, cookie]), Allowed);
    assert_eq!(
        check(&[HOST, ORIGIN, cookie, ("Sec-Fetch-Site", "same-origin")]),
        Allowed
    );
    for headers in [
        &[HOST, cookie][..],
        &[HOST, ORIGIN],
        &[ORIGIN, cookie],
        &[HOST, ("Origin", "null"), cookie],
        &[HOST, ("Origin", "http://127.0.0.1:3001"), cookie],
        &[HOST, ("Origin", "http://localhost:3000"), cookie],
        &[HOST, ORIGIN, ORIGIN, cookie],
        &[HOST, ORIGIN, cookie, ("Sec-Fetch-Site", "same-site")],
        &[
            ("Host", "evil.example:3000"),
            ("Origin", "http://evil.example:3000"),
            cookie,
        ],
        &[HOST, ORIGIN, ("Cookie", "taper-book-3000=")],
        &[HOST, ORIGIN, ("Cookie", "taper-book-3000=wrong")],
        &[HOST, ORIGIN, ("Cookie", &cookie.1.replace("3000", "3001"))],
    ] {
        assert!(matches!(check(headers), Refused(_)), "{headers:?}");
    }
}

#[test]
fn pages_are_for_the_readers_browser_too() {
    let access = access();
    for target in [
        "/",
        "/a.html",
        "/?token=",
        "/?token=wrong",
        "/a.html?token=x",
    ] {
        let request = request("GET", target, &[HOST]);
        assert!(matches!(access.check(&request), Refused(_)), "{target}");
    }
}
