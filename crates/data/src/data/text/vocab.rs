//! The tokens of a corpus and their indices.

use super::unknown::unknown;
use crate::error::{Result, refuse};
use crate::notebook::Show;
use std::collections::HashMap;

/// The tokens of a corpus, each with an index: the unknown token first, then the reserved ones, then
/// the others, the most frequent first. From d2l's chapter *Converting Raw Text into Sequence Data*.
///
/// ```
/// use taper::prelude::*;
///
/// let text = "the cat and the dog and the bird";
/// let vocab = Vocab::new(text.split_whitespace());
/// assert_eq!(vocab.tokens(), ["<unk>", "the", "and", "bird", "cat", "dog"]);
/// assert_eq!(vocab.indices(["the", "dog", "sings"]), [1, 5, 0]);
/// assert_eq!(vocab.token(2)?, "and");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Vocab {
    tokens: Vec<String>,
    indices: HashMap<String, u32>,
    /// How often each token occurs in the corpus.
    counts: Vec<usize>,
}

impl Vocab {
    /// The token for all tokens that are not in the vocabulary, at index 0.
    pub const UNKNOWN: &str = "<unk>";

    /// Creates the vocabulary of all tokens of a corpus.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Vocab::new(["a", "b", "a"]).len(), 3);
    /// ```
    pub fn new<T: Into<String>>(corpus: impl IntoIterator<Item = T>) -> Self {
        Self::with_reserved(corpus, 0, &[])
    }

    /// Creates the vocabulary of the tokens that occur at least `min_freq` times, and of reserved tokens,
    /// such as `"<pad>"` and `"<eos>"`, which have the indices from 1 on.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let vocab = Vocab::with_reserved(["a", "b", "a"], 2, &["<pad>", "<eos>"]);
    /// assert_eq!(vocab.tokens(), ["<unk>", "<pad>", "<eos>", "a"]);
    /// ```
    pub fn with_reserved<T: Into<String>>(
        corpus: impl IntoIterator<Item = T>,
        min_freq: usize,
        reserved: &[&str],
    ) -> Self {
        let mut corpus = corpus.into_iter().map(Into::into);
        Self::of_tokens(&mut corpus, min_freq, reserved)
    }

    fn of_tokens(
        corpus: &mut dyn Iterator<Item = String>,
        min_freq: usize,
        reserved: &[&str],
    ) -> Self {
        let mut counts = HashMap::new();
        for token in corpus {
            *counts.entry(token).or_insert(0) += 1;
        }
        Self::counted(counts, min_freq, reserved)
    }

    fn counted(mut of: HashMap<String, usize>, min_freq: usize, reserved: &[&str]) -> Self {
        let (mut tokens, mut counts) = (vec![], vec![]);
        for token in [Self::UNKNOWN].iter().chain(reserved) {
            if !tokens.iter().any(|there| there == token) {
                tokens.push((*token).to_owned());
                counts.push(of.remove(*token).unwrap_or(0));
            }
        }
        let mut rest: Vec<(String, usize)> = of.into_iter().collect();
        rest.retain(|(_, count)| *count >= min_freq);
        rest.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        for (token, count) in rest {
            tokens.push(token);
            counts.push(count);
        }
        let indices = tokens.iter().cloned().zip(0..).collect();
        Self {
            tokens,
            indices,
            counts,
        }
    }

    /// Returns the number of tokens, including the unknown token and the reserved ones.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Vocab::new(["to", "be"]).len(), 3);
    /// ```
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the index of a token; 0 if the vocabulary does not have it.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let vocab = Vocab::new(["to", "be", "to"]);
    /// assert_eq!((vocab.index("to"), vocab.index("not")), (1, 0));
    /// ```
    pub fn index(&self, token: &str) -> u32 {
        self.indices.get(token).copied().unwrap_or(0)
    }

    /// Returns the indices of tokens.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let vocab = Vocab::new(["to", "be", "to"]);
    /// assert_eq!(vocab.indices("to be or".split(' ')), [1, 2, 0]);
    /// ```
    pub fn indices<'a>(&self, tokens: impl IntoIterator<Item = &'a str>) -> Vec<u32> {
        tokens.into_iter().map(|token| self.index(token)).collect()
    }

    /// Returns the token at an index.
    ///
    /// # Errors
    /// If the index is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let vocab = Vocab::new(["to", "be"]);
    /// assert_eq!(vocab.token(0)?, "<unk>");
    /// let error = vocab.token(3).unwrap_err().to_string();
    /// assert!(error.starts_with("Vocab: token 3 is out of range: there are 3, counted from 0\n"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn token(&self, index: u32) -> Result<&str> {
        let token = self.tokens.get(index as usize);
        token
            .map(String::as_str)
            .ok_or_else(|| unknown("Vocab", index, self.len()))
    }

    /// Returns all tokens, in the order of their indices.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Vocab::new(["b", "a"]).tokens(), ["<unk>", "a", "b"]);
    /// ```
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Returns how often a token occurs in the corpus.
    ///
    /// # Errors
    /// If the vocabulary does not have the token.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let vocab = Vocab::new(["to", "be", "to"]);
    /// assert_eq!(vocab.count("to")?, 2);
    /// assert!(vocab.count("not").is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn count(&self, token: &str) -> Result<usize> {
        match self.indices.get(token) {
            Some(&index) => Ok(self.counts[index as usize]),
            None => refuse!(argument("Vocab", format_args!("{token:?}"));
                ("one of its {} tokens", self.len()),
                "Look at .tokens(); index() returns 0 for a token that is not there"),
        }
    }
}

impl Show for Vocab {
    fn show_text(&self) -> String {
        let first: Vec<&str> = self.tokens.iter().take(10).map(String::as_str).collect();
        let more = if self.len() > 10 { ", …" } else { "" };
        format!("Vocab({} tokens: {}{more})", self.len(), first.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_tokens_occur_once_and_keep_their_order() {
        let corpus = ["<eos>", "a", "<unk>", "<eos>"];
        let vocab = Vocab::with_reserved(corpus, 1, &["<pad>", "<eos>", "<pad>"]);
        assert_eq!(vocab.tokens(), ["<unk>", "<pad>", "<eos>", "a"]);
        assert_eq!(vocab.count("<eos>").unwrap(), 2);
        assert_eq!(vocab.count("<pad>").unwrap(), 0);
        assert_eq!(vocab.show_text(), "Vocab(4 tokens: <unk>, <pad>, <eos>, a)");
    }

    #[test]
    fn an_empty_corpus_has_the_unknown_token() {
        assert_eq!(Vocab::new([""; 0]).tokens(), ["<unk>"]);
    }
}
