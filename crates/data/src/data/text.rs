//! Conversion of text to integers, the input of a model, and back.

mod bpe;
mod unknown;
mod vocab;

pub use bpe::BpeTokenizer;
pub use vocab::Vocab;

use crate::error::{Result, problem};
use crate::notebook::Show;

/// Text to tokens and back.
///
/// ```
/// use taper::prelude::*;
///
/// fn count(tokenizer: &dyn Tokenizer, text: &str) -> Result<usize> {
///     Ok(tokenizer.encode(text)?.len())
/// }
///
/// assert_eq!(count(&CharTokenizer::new("abc"), "abba")?, 4);
/// # Ok::<(), Error>(())
/// ```
pub trait Tokenizer {
    /// Returns the indices of the tokens of a text.
    ///
    /// # Errors
    /// If there are no tokens for the text.
    fn encode(&self, text: &str) -> Result<Vec<u32>>;

    /// Returns the text of these indices.
    ///
    /// # Errors
    /// If an index is out of range.
    fn decode(&self, indices: &[u32]) -> Result<String>;
}

/// Implements [`Tokenizer`] with the type's own methods.
macro_rules! tokenizers {
    ($($tokenizer:ty)*) => {$(
        impl Tokenizer for $tokenizer {
            fn encode(&self, text: &str) -> Result<Vec<u32>> {
                self.encode(text)
            }

            fn decode(&self, indices: &[u32]) -> Result<String> {
                self.decode(indices)
            }
        }
    )*};
}

tokenizers!(CharTokenizer BpeTokenizer);

/// Splits text into characters and maps each one to an index: its position among the sorted characters
/// of a training text.
///
/// ```
/// use taper::prelude::*;
///
/// let tokenizer = CharTokenizer::new("hello world");
/// let indices = tokenizer.encode("hold")?;
/// assert_eq!(indices, [3, 5, 4, 1]);
/// assert_eq!(tokenizer.decode(&indices)?, "hold");
/// assert_eq!(tokenizer.vocab_size(), 8);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CharTokenizer {
    /// The characters, sorted and without repetitions.
    chars: Vec<char>,
}

impl CharTokenizer {
    /// Creates a tokenizer from the characters of a text.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(CharTokenizer::new("abba").vocab_size(), 2);
    /// ```
    pub fn new(text: &str) -> Self {
        let mut chars: Vec<char> = text.chars().collect();
        chars.sort_unstable();
        chars.dedup();
        Self { chars }
    }

    /// Returns the number of different characters.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(CharTokenizer::new("to be").vocab_size(), 5);
    /// ```
    pub fn vocab_size(&self) -> usize {
        self.chars.len()
    }

    /// Returns the index of each character.
    ///
    /// # Errors
    /// If the training text does not have one of the characters.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = CharTokenizer::new("abc").encode("bad").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "CharTokenizer: expected one of its 3 characters, found 'd'\n\
    ///      Create the tokenizer from a text with all characters, or leave this one out"
    /// );
    /// ```
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let index = |char| match self.chars.binary_search(&char) {
            Ok(index) => Ok(index as u32),
            Err(_) => Err(
                problem!(argument("CharTokenizer", format_args!("{char:?}"));
                ("one of its {} characters", self.chars.len()),
                "Create the tokenizer from a text with all characters, or leave this one out"),
            ),
        };
        text.chars().map(index).collect()
    }

    /// Returns the text of these indices.
    ///
    /// # Errors
    /// If an index is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(CharTokenizer::new("abc").decode(&[2, 0, 1])?, "cab");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn decode(&self, indices: &[u32]) -> Result<String> {
        let char = |&index: &u32| {
            let char = self.chars.get(index as usize).copied();
            char.ok_or_else(|| unknown::unknown("CharTokenizer", index, self.chars.len()))
        };
        indices.iter().map(char).collect()
    }
}

impl Show for CharTokenizer {
    fn show_text(&self) -> String {
        let chars: String = self.chars.iter().collect();
        format!("CharTokenizer({} characters: {chars:?})", self.chars.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_comes_back() {
        let text = "zażółć\ngęślą 🦀 jaźń";
        let tokenizer = CharTokenizer::new(text);
        let indices = tokenizer.encode(text).unwrap();
        assert_eq!(tokenizer.decode(&indices).unwrap(), text);
        assert!(tokenizer.decode(&[tokenizer.vocab_size() as u32]).is_err());
        assert!(CharTokenizer::new("").encode("").unwrap().is_empty());
        let message = CharTokenizer::new("").decode(&[0]).unwrap_err().to_string();
        assert!(
            message.ends_with("\nCreate it from a text with tokens: it has none"),
            "{message}"
        );
    }
}
