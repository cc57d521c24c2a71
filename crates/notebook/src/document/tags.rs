//! A cell's tags and comments that control its execution, as nbclient and nbval define them.

/// The settings by which a cell is executed and compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tags {
    /// `skip-execution` (nbclient): is never run.
    pub(crate) skip: bool,
    /// `nbval-skip`, `NBVAL_SKIP`: is not run by a test.
    pub(crate) skip_in_test: bool,
    /// `raises-exception` (nbclient), `nbval-raises-exception`, `NBVAL_RAISES_EXCEPTION`: is expected
    /// to fail.
    pub(crate) raises: bool,
    /// `nbval-ignore-output`, `NBVAL_IGNORE_OUTPUT`: is run, and its outputs are not compared.
    pub(crate) ignore_output: bool,
    /// `other-on-gpu`: its outputs on a GPU are others; those of a log are not compared with the stored ones.
    pub(crate) other_on_gpu: bool,
    /// `rust-1.95`: its outputs depend on the release of Rust; those of other releases are not compared.
    rust: Option<[u32; 2]>,
}

impl Tags {
    /// Reads a cell's tags, then nbval's comments such as `// NBVAL_SKIP`, each alone on its line. A later
    /// tag or comment overrides an earlier one.
    pub(crate) fn read(tags: &[String], source: &str) -> Tags {
        let comments = source
            .lines()
            .filter_map(|line| line.trim().strip_prefix("//"))
            .map(str::trim)
            .filter(|comment| comment.starts_with("NBVAL_"));
        let mut read = Tags::default();
        for tag in tags
            .iter()
            .map(|tag| normal(tag))
            .chain(comments.map(normal))
        {
            match tag.as_str() {
                "skip-execution" => read.skip = true,
                "nbval-skip" => read.skip_in_test = true,
                "raises-exception" | "nbval-raises-exception" => read.raises = true,
                "nbval-ignore-output" => read.ignore_output = true,
                "nbval-check-output" => read.ignore_output = false,
                "other-on-gpu" => read.other_on_gpu = true,
                tag => read.rust = tag.strip_prefix("rust-").and_then(minor).or(read.rust),
            }
        }
        read
    }

    /// Returns whether the stored outputs are those of another release of Rust than this one, such as `1.95.0`.
    pub(crate) fn is_of_other_rust(self, release: &str) -> bool {
        self.rust.is_some_and(|rust| minor(release) != Some(rust))
    }
}

/// Converts `NBVAL_SKIP` to `nbval-skip`, which means the same.
fn normal(tag: &str) -> String {
    if tag.starts_with("NBVAL_") {
        tag.to_ascii_lowercase().replace('_', "-")
    } else {
        tag.into()
    }
}

/// Returns the major and the minor number of a release.
fn minor(release: &str) -> Option<[u32; 2]> {
    let mut numbers = release.split('.').map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(names: &[&str], source: &str) -> Tags {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        Tags::read(&names, source)
    }

    #[test]
    fn tags_of_nbclient_and_nbval() {
        assert_eq!(tags(&[], "let x = 1;"), Tags::default());
        assert!(tags(&["other", "skip-execution"], "").skip);
        assert!(tags(&["nbval-skip"], "").skip_in_test);
        assert!(tags(&["raises-exception"], "").raises);
        assert!(tags(&["nbval-raises-exception"], "").raises);
        assert!(tags(&["nbval-ignore-output"], "").ignore_output);
        assert!(tags(&["other-on-gpu"], "").other_on_gpu);
        assert!(!tags(&["other-on-gpu"], "").ignore_output);
        assert!(tags(&["NBVAL_IGNORE_OUTPUT"], "").ignore_output);
        assert_eq!(tags(&["nbval-check-output"], ""), Tags::default());
    }

    #[test]
    fn outputs_of_a_release_of_rust() {
        let tagged = tags(&["hide-input", "rust-1.95"], "");
        assert!(!tagged.ignore_output);
        assert!(!tagged.is_of_other_rust("1.95.0"));
        assert!(!tagged.is_of_other_rust("1.95.2"));
        assert!(tagged.is_of_other_rust("1.96.0-beta.3"));
        assert!(tagged.is_of_other_rust("1.9.5"));
        for other in ["rust", "rust-like", "rust-1"] {
            assert!(!tags(&[other], "").is_of_other_rust("1.96.0"), "{other}");
        }
    }

    #[test]
    fn comments_of_nbval() {
        assert!(tags(&[], "// NBVAL_IGNORE_OUTPUT\nprint 1").ignore_output);
        assert!(tags(&[], "//NBVAL_SKIP").skip_in_test);
        assert!(tags(&[], "  // NBVAL_RAISES_EXCEPTION").raises);
        assert!(!tags(&["nbval-ignore-output"], "// NBVAL_CHECK_OUTPUT").ignore_output);
        let unchanged = tags(&[], "// about NBVAL_SKIP\nlet s = \"NBVAL_SKIP\";");
        assert_eq!(unchanged, Tags::default());
    }
}
