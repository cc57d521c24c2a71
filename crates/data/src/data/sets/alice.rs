//! A novel that comes with Taper.

/// *Alice's Adventures in Wonderland*, the novel by Lewis Carroll (1865): a text for language models that needs
/// no download.
///
/// It has 142,206 characters of 65 kinds, all of them ASCII. A paragraph or a line of a poem is one line, and an empty
/// line separates the twelve chapters. It is in the public domain, in the edition of Standard Ebooks.
///
/// ```
/// use taper::prelude::*;
///
/// let words = ALICE.split_whitespace().take(4);
/// assert_eq!(Vec::from_iter(words), ["Chapter", "I.", "Down", "the"]);
/// assert_eq!(ALICE.split("\n\n").count(), 12);
/// assert_eq!(CharTokenizer::new(ALICE).vocab_size(), 65);
/// ```
pub const ALICE: &str = include_str!("alice/alice.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_complete() {
        assert_eq!(ALICE.len(), 142_206);
        assert!(ALICE.is_ascii());
        assert!(ALICE.ends_with("remembering her own child-life, and the happy summer days.\n"));
        for (chapter, number) in ALICE.split("\n\n").zip(["I.", "II.", "III.", "IV.", "V."]) {
            assert!(
                chapter.starts_with(&format!("Chapter {number} ")),
                "{number}"
            );
        }
    }
}
