//! Addresses: percent-encoding, and whether an address leads out of the book.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters that JupyterLab encodes in an address.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'!')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';')
    .remove(b':')
    .remove(b'@')
    .remove(b'/')
    .remove(b'=')
    .remove(b'+')
    .remove(b'&')
    .remove(b'$')
    .remove(b'?');

/// Encodes a path or an anchor for an address.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Decodes a path or an anchor of an address.
pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns whether an address leads out of the book: it has a scheme or a host.
pub(crate) fn is_external(address: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    };
    let scheme = address.split_once(':').map(|(scheme, _)| scheme);
    address.starts_with("//") || scheme.is_some_and(is_scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_reverses_encoding() {
        for text in ["Data,-memory", "größe", "a%b", "cell-id=x"] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(encode("a \"b\""), "a%20%22b%22");
        assert_eq!(decode("100%"), "100%");
    }

    #[test]
    fn addresses_with_a_scheme_or_a_host_are_external() {
        assert!(is_external("https://x") && is_external("mailto:a@b") && is_external("//x/y"));
        assert!(!is_external("a/b:c") && !is_external("#x") && !is_external("x.ipynb"));
    }
}
