//! Versions of programs, compared by their major and minor version.

/// The major and the minor version.
pub type Version = (u32, u32);

/// Reads the version with which a text begins, as in `1.95.0-nightly` and `13.0, V13.0.88`.
pub(crate) fn parse(text: &str) -> Option<Version> {
    let (major, rest) = text.split_once('.')?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    Some((major.trim().parse().ok()?, rest[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse("1.100.0-nightly"), Some((1, 100)));
        assert_eq!(parse("13.0, V13.0.88"), Some((13, 0)));
        assert!(parse("3.9.18") < parse("3.10.0"));
        assert_eq!(parse("unknown"), None);
    }
}
