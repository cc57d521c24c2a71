//! Byte-pair encoding.

use super::unknown;
use crate::error;
use crate::notebook::Show;
use candle_core::Result;
use std::fmt;
use std::path::Path;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::tokenizer::Tokenizer;

/// Splits text into frequent groups of bytes, as GPT-2's tokenizer does: byte-pair encoding, in
/// Hugging Face's implementation and file format.
///
/// Any text can be encoded, because each byte is a token.
///
/// ```
/// use taper::prelude::*;
///
/// let text = "low lower lowest slow slower slowest ".repeat(20);
/// let tokenizer = BpeTokenizer::train(&text, 270)?; // 256 bytes, and 14 groups
/// let indices = tokenizer.encode("slowest flow")?;
/// assert!(indices.len() < "slowest flow".len());
/// assert_eq!(tokenizer.decode(&indices)?, "slowest flow");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct BpeTokenizer {
    tokenizer: Box<Tokenizer>,
}

impl BpeTokenizer {
    /// Learns the most frequent groups of bytes in a text: `vocab_size` tokens, with the 256 bytes, or
    /// fewer if the text does not have that many.
    ///
    /// # Errors
    /// If `vocab_size` is below 256.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = BpeTokenizer::train("to be or not to be", 100).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "BpeTokenizer: expected a vocabulary of at least 256 tokens, one for each byte, found 100\n\
    ///      Choose some hundreds or thousands; a CharTokenizer has one for each character"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn train(text: &str, vocab_size: usize) -> Result<Self> {
        if vocab_size < 256 {
            return Err(error::argument(
                "BpeTokenizer",
                "a vocabulary of at least 256 tokens, one for each byte",
                vocab_size,
                "Choose some hundreds or thousands; a CharTokenizer has one for each character",
            ));
        }
        let trainer = BpeTrainer::builder()
            .show_progress(false)
            .min_frequency(2)
            // More tokens than this, no text has; the trainer allocates them in advance.
            .vocab_size(vocab_size.min(text.len() + 256))
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .build();
        let mut tokenizer = Tokenizer::new(BPE::default());
        tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
        tokenizer.with_decoder(Some(ByteLevel::default()));
        tokenizer
            .train(
                &mut TrainerWrapper::BpeTrainer(trainer),
                text.split_inclusive('\n'),
            )
            .map_err(failed)?;
        Ok(Self::of(tokenizer))
    }

    /// Loads a `tokenizer.json`, which [`save`](Self::save) or Hugging Face's library has written, such
    /// as that of GPT-2.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a tokenizer.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = BpeTokenizer::load("missing.json").unwrap_err().to_string();
    /// assert!(error.starts_with("cannot read the tokenizer missing.json: "));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|reason| {
            error::file(
                "read the tokenizer",
                path,
                reason,
                "Give the path of a tokenizer.json",
            )
        })?;
        let tokenizer = Tokenizer::from_bytes(bytes).map_err(|reason| {
            error::file(
                "read the tokenizer",
                path,
                reason,
                "Give a tokenizer.json of Hugging Face's format",
            )
        })?;
        Ok(Self::of(tokenizer))
    }

    /// Saves the tokenizer as a `tokenizer.json`, which Hugging Face's library reads too.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let path = std::env::temp_dir().join(format!("taper_bpe_{}.json", std::process::id()));
    /// let tokenizer = BpeTokenizer::train(&"to be or not to be ".repeat(9), 260)?;
    /// tokenizer.save(&path)?;
    /// assert_eq!(BpeTokenizer::load(&path)?.encode("to be")?, tokenizer.encode("to be")?);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        self.tokenizer.save(path, false).map_err(|reason| {
            error::file(
                "write the tokenizer",
                path,
                reason,
                "Give a path in a folder that exists and can be written",
            )
        })
    }

    /// Returns the number of tokens.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(BpeTokenizer::train("", 300)?.vocab_size(), 256); // no groups to learn
    /// # Ok::<(), Error>(())
    /// ```
    pub fn vocab_size(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// Returns the indices of the tokens of a text.
    ///
    /// # Errors
    /// If a tokenizer that was loaded cannot encode the text.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let tokenizer = BpeTokenizer::train("", 256)?;
    /// assert_eq!(tokenizer.encode("Rust")?.len(), 4); // bytes
    /// # Ok::<(), Error>(())
    /// ```
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.encode_fast(text, false);
        Ok(encoding.map_err(failed)?.get_ids().to_vec())
    }

    /// Returns the text of these indices. Bytes that are not UTF-8, as those of a part of a character,
    /// become `�`.
    ///
    /// # Errors
    /// If an index is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let tokenizer = BpeTokenizer::train("", 256)?;
    /// assert_eq!(tokenizer.decode(&tokenizer.encode("Wörter 🦀")?)?, "Wörter 🦀");
    /// assert!(tokenizer.decode(&[256]).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn decode(&self, indices: &[u32]) -> Result<String> {
        let known = |index: &&u32| self.tokenizer.id_to_token(**index).is_some();
        if let Some(&index) = indices.iter().find(|index| !known(index)) {
            return Err(unknown("BpeTokenizer", index, self.vocab_size()));
        }
        self.tokenizer.decode(indices, false).map_err(failed)
    }

    fn of(tokenizer: Tokenizer) -> Self {
        let tokenizer = Box::new(tokenizer);
        Self { tokenizer }
    }
}

/// Returns the error of Hugging Face's library as Taper's.
fn failed(reason: impl fmt::Display) -> candle_core::Error {
    error::state(
        "BpeTokenizer",
        reason,
        "Use a tokenizer that was trained, or one loaded from a file that Hugging Face's library has written",
    )
}

impl Show for BpeTokenizer {
    fn show_text(&self) -> String {
        format!("BpeTokenizer({} tokens)", self.vocab_size())
    }
}

impl fmt::Debug for BpeTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_pairs_are_merged_and_training_is_repeatable() -> Result<()> {
        let text = "hug pug pun bun hugs ".repeat(50);
        let tokenizer = BpeTokenizer::train(&text, 260)?;
        assert_eq!(tokenizer.vocab_size(), 260);
        let again = BpeTokenizer::train(&text, 260)?;
        assert_eq!(tokenizer.encode(&text)?, again.encode(&text)?);
        assert_eq!(tokenizer.encode("ug")?.len(), 1);
        Ok(())
    }

    #[test]
    fn sizes_out_of_range_and_other_files_are_refused() {
        assert!(BpeTokenizer::train("a", 0).is_err());
        let all = BpeTokenizer::train("abab abab", usize::MAX).unwrap();
        assert!(all.vocab_size() < 270);
        let path = std::env::temp_dir().join(format!("taper_bpe_other_{}", std::process::id()));
        std::fs::write(&path, "{}").unwrap();
        let message = BpeTokenizer::load(&path).unwrap_err().to_string();
        assert_eq!(message.lines().count(), 2, "{message}");
        std::fs::remove_file(path).unwrap();
    }
}
