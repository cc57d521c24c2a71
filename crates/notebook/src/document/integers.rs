//! Keeps integers that fit in neither `u64` nor `i64`: Python writes them unchanged, whereas `serde_json`
//! would round them.

/// The first character of a string that represents a large integer while a document is in memory: a
/// private-use character of Unicode.
const MARK: char = '\u{f8ff}';

/// Replaces each large integer in the text of a JSON document with a string that [`restore`] recognises.
pub(super) fn keep(json: &str) -> String {
    let mut kept = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, token) = rest.split_at(at);
        let (token, after) = match token.starts_with('"') {
            true => token.split_at(string_length(token)),
            false => token.split_at(number_length(token)),
        };
        kept += before;
        match is_large_integer(token) {
            true => kept += &format!("\"{MARK}{token}\""),
            false => kept += token,
        }
        rest = after;
    }
    kept + rest
}

/// Replaces the strings that [`keep`] has inserted with their integers.
pub(super) fn restore(json: String) -> String {
    let begin = format!("\"{MARK}");
    let mut parts = json.split(&begin);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('"') {
            Some((integer, after)) if is_large_integer(integer) => {
                text += integer;
                text += after;
            }
            _ => {
                text += &begin;
                text += part;
            }
        }
    }
    text
}

/// Returns the length of the string with which the text begins, with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

fn number_length(text: &str) -> usize {
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c)));
    end.unwrap_or(text.len())
}

fn is_large_integer(token: &str) -> bool {
    let digits = token.strip_prefix('-').unwrap_or(token);
    !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && token.parse::<u64>().is_err()
        && token.parse::<i64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integers_come_back_as_they_were() {
        let json = r#"{"a\"1": [12345678901234567890123, -1, -98765432109876543210, 1.5e300, 18446744073709551615],
            "text": "99999999999999999999999"}"#;
        let kept = keep(json);
        assert_eq!(kept.matches(MARK).count(), 2, "{kept}");
        let value: serde_json::Value = serde_json::from_str(&kept).unwrap();
        assert_eq!(value["text"], "99999999999999999999999");
        assert_eq!(restore(kept), json);
    }

    #[test]
    fn other_texts_are_not_changed() {
        for json in ["", "{", "\"\\", "-", "[1 2]", "\"\u{f8ff}x\"", "\"\u{f8ff}"] {
            assert_eq!(restore(keep(json)), json);
        }
    }
}
