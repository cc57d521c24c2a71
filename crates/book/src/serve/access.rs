//! Who may read the book and run its cells: the browser that has opened the address from the terminal.
//!
//! The address has a token that works once. It is exchanged for a cookie that scripts cannot read and other
//! sites cannot use. A request must name this server as its host, which a site that resolves its own name to
//! this machine cannot do, and a request that changes something must come from a page of this server.

use super::http::Request;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::Mutex;
use taper_host::mutex::lock;

/// The secrets of one run of the server.
#[derive(Debug)]
pub(crate) struct Access {
    port: u16,
    cookie: String,
    /// The token in the next address.
    token: Mutex<String>,
}

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The request is from the reader's browser.
    Allowed,
    /// The request has a token that was not used before; the browser gets this cookie.
    Exchanged {
        /// The value of `Set-Cookie`.
        cookie: String,
    },
    /// The request is refused, for this reason.
    Refused(&'static str),
}

impl Access {
    /// Creates the secrets of the server on a port; returns `None` if the system has no random bytes.
    pub(crate) fn new(port: u16) -> Option<Access> {
        Some(Access {
            port,
            cookie: secret()?,
            token: Mutex::new(secret()?),
        })
    }

    /// Returns the address with the token of the next browser.
    pub(crate) fn address(&self) -> String {
        let token = lock(&self.token);
        format!("http://127.0.0.1:{}/?token={token}", self.port)
    }

    /// Returns the decision about a request.
    pub(crate) fn check(&self, request: &Request) -> Verdict {
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let Some(host) = hosts
            .iter()
            .find(|host| request.header("host") == Some(host))
        else {
            return Verdict::Refused("The request names another host.");
        };
        let is_own = request.header("origin") == Some(&format!("http://{host}"));
        let changes = request.method != "GET";
        if (changes || request.has("origin")) && !is_own {
            return Verdict::Refused("The request comes from another site.");
        }
        if changes && !matches!(request.header("sec-fetch-site"), None | Some("same-origin")) {
            return Verdict::Refused("The request comes from another site.");
        }
        match request.parameter("token") {
            Some(token) if !changes && request.path == "/" => self.exchange(token),
            _ if self.has_cookie(request) => Verdict::Allowed,
            _ => Verdict::Refused("This browser has not opened the address from the terminal."),
        }
    }

    fn exchange(&self, token: &str) -> Verdict {
        let mut expected = lock(&self.token);
        if !is_same(token, &expected) {
            return Verdict::Refused("This address was used before.");
        }
        let Some(next) = secret() else {
            return Verdict::Refused("The system has no random bytes.");
        };
        *expected = next;
        let (name, value) = (self.cookie_name(), &self.cookie);
        Verdict::Exchanged {
            cookie: format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict"),
        }
    }

    fn has_cookie(&self, request: &Request) -> bool {
        let name = self.cookie_name();
        let cookies = request.header("cookie").unwrap_or_default().split(';');
        let mut values =
            cookies.filter_map(|cookie| cookie.trim().strip_prefix(&name)?.strip_prefix('='));
        values.any(|value| is_same(value, &self.cookie))
    }

    /// Returns the name of the cookie. Browsers send a cookie to all ports of a host, so two books need two names.
    fn cookie_name(&self) -> String {
        format!("taper-book-{}", self.port)
    }
}

fn secret() -> Option<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// Compares two texts in constant time, which does not depend on where they differ.
fn is_same(given: &str, expected: &str) -> bool {
    let pairs = given.bytes().zip(expected.bytes());
    given.len() == expected.len() && pairs.fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests;
