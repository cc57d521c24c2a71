//! Byte-pair encoding.

use super::unknown::unknown;
use crate::erased::{Erased, outlined};
use crate::error::{self, Result, problem, refuse};
use crate::notebook::{Show, debug_as_shown};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;
use std::{fmt, iter};
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::tokenizer::{
    AddedToken, Model, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, Tokenizer,
};

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
pub struct BpeTokenizer {
    tokenizer: Erased<Box<Tokenizer>>,
    /// Whether the tokens of a text are those of its [`words`], encoded one by one.
    by_words: bool,
}

outlined!(Clone for BpeTokenizer { tokenizer, by_words });

impl BpeTokenizer {
    /// Learns the most frequent groups of bytes in a text. The vocabulary has `vocab_size` tokens,
    /// including the 256 bytes, or fewer if the text does not have enough groups that occur twice.
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
    ///      Choose hundreds or thousands of tokens, or use a CharTokenizer, with a token for each character"
    /// );
    /// ```
    pub fn train(text: &str, vocab_size: usize) -> Result<Self> {
        refuse!(if vocab_size < 256; argument("BpeTokenizer", vocab_size);
            "a vocabulary of at least 256 tokens, one for each byte",
            "Choose hundreds or thousands of tokens, or use a CharTokenizer, with a token for each character");
        let trainer = BpeTrainer::builder()
            .show_progress(false)
            .min_frequency(2)
            // No text has more tokens than this; the trainer allocates memory for all of them in advance.
            .vocab_size(vocab_size.min(text.len() + 256))
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .build();
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for word in text.split_inclusive('\n').flat_map(words) {
            *counts.entry(word).or_default() += 1;
        }
        let pattern = ByteLevel::new(false, true, true);
        let mut groups: HashMap<String, u64> = HashMap::new();
        for (word, count) in counts {
            let mut parts = PreTokenizedString::from(word);
            pattern.pre_tokenize(&mut parts).map_err(failed)?;
            for (part, ..) in parts.get_splits(OffsetReferential::Normalized, OffsetType::None) {
                *groups.entry(part.to_owned()).or_default() += count;
            }
        }
        let groups = groups.into_iter().map(|(part, count)| (part.into(), count));
        let mut model = BPE::default();
        trainer
            .do_train(&groups.collect(), &mut model)
            .map_err(failed)?;
        let mut tokenizer = Tokenizer::new(model);
        tokenizer.with_pre_tokenizer(Some(pattern));
        tokenizer.with_decoder(Some(ByteLevel::default()));
        Ok(Self::of(tokenizer))
    }

    /// Adds special tokens, such as `"<|end|>"`, after the others: where a text contains one, it becomes this token.
    ///
    /// # Errors
    /// If one of them is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let tokenizer = BpeTokenizer::train("", 256)?.special_tokens(&["<|user|>", "<|end|>"])?;
    /// assert_eq!(tokenizer.encode("a<|end|>")?, [tokenizer.token("a").unwrap(), 257]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn special_tokens(&self, tokens: &[&str]) -> Result<Self> {
        if tokens.contains(&"") {
            let advice = "Choose a text that no other text contains: <|end|>";
            refuse!(argument("BpeTokenizer", "an empty one");
                "special tokens with characters", advice);
        }
        let mut tokenizer = (**self.tokenizer).clone();
        let new = tokens.iter().map(|token| AddedToken::from(*token, true));
        tokenizer
            .add_special_tokens(new.collect::<Vec<_>>())
            .map_err(failed)?;
        Ok(Self::of(tokenizer))
    }

    /// Returns the index of a token, if there is one with this text.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let tokenizer = BpeTokenizer::train("", 256)?.special_tokens(&["<|end|>"])?;
    /// assert_eq!(tokenizer.token("<|end|>"), Some(256));
    /// assert_eq!(tokenizer.token("word"), None);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn token(&self, text: &str) -> Option<u32> {
        let model = self.tokenizer.get_model();
        let letters = || {
            let mut parts = PreTokenizedString::from(text);
            ByteLevel::new(false, true, false)
                .pre_tokenize(&mut parts)
                .ok()?;
            let splits = parts.get_splits(OffsetReferential::Normalized, OffsetType::None);
            Some(
                splits
                    .into_iter()
                    .map(|(part, ..)| part)
                    .collect::<String>(),
            )
        };
        // The tokens of a byte-level tokenizer are written in letters that stand for bytes.
        let bytes = letters().and_then(|letters| model.token_to_id(&letters));
        self.tokenizer.token_to_id(text).or(bytes)
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
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_from(path.as_ref())
    }

    fn load_from(path: &Path) -> Result<Self> {
        let bytes = crate::input::read(path).map_err(|reason| {
            problem!(file("read the tokenizer", path, reason);
                "Give the path of a tokenizer.json")
        })?;
        let advice = "Give a tokenizer.json of Hugging Face's format";
        let unreadable =
            |reason: &dyn Display| error::file("read the tokenizer", path, reason, advice);
        let text = String::from_utf8(bytes).map_err(|reason| unreadable(&reason))?;
        // The library panics where a text in the file is not valid JSON.
        serde_json::from_str::<Json>(&text).map_err(|reason| unreadable(&reason))?;
        // `from_bytes` is generic: with it, the library's whole reader would be compiled in this crate again.
        let tokenizer: Tokenizer = text.parse().map_err(|reason| unreadable(&reason))?;
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
        self.save_to(path.as_ref())
    }

    fn save_to(&self, path: &Path) -> Result<()> {
        self.tokenizer.save(path, false).map_err(|reason| {
            problem!(file("write the tokenizer", path, reason);
                "Give a path in a folder that exists and can be written")
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
        let encoded = |part: &str| -> Result<Vec<u32>> {
            let encoding = self.tokenizer.encode_fast(part, false);
            Ok(encoding.map_err(failed)?.get_ids().to_vec())
        };
        if !self.by_words {
            return encoded(text);
        }
        // Most words of a long text are repetitions, so each word is encoded once.
        let mut known: HashMap<&str, Vec<u32>> = HashMap::new();
        let mut indices = Vec::new();
        for word in words(text) {
            match known.get(word) {
                Some(found) => indices.extend_from_slice(found),
                None => {
                    let new = encoded(word)?;
                    indices.extend_from_slice(&new);
                    known.insert(word, new);
                }
            }
        }
        Ok(indices)
    }

    /// Returns the text of these indices. Bytes that are not UTF-8, such as a part of a character, become
    /// `�`.
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
        let is_pattern = match tokenizer.get_pre_tokenizer() {
            Some(PreTokenizerWrapper::ByteLevel(level)) => {
                level.use_regex && !level.add_prefix_space
            }
            _ => false,
        };
        Self {
            by_words: is_pattern
                && tokenizer.get_normalizer().is_none()
                && tokenizer.get_post_processor().is_none()
                && tokenizer.get_truncation().is_none()
                && tokenizer.get_padding().is_none()
                && tokenizer.get_added_vocabulary().is_empty(),
            tokenizer: Box::new(tokenizer).into(),
        }
    }
}

/// Splits a text before each whitespace character that follows a character of another kind. No match of
/// GPT-2's pattern extends or looks across such a position.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let mut in_space = true;
        let end = rest.find(|letter: char| {
            let begins = letter.is_whitespace() && !in_space;
            in_space = letter.is_whitespace();
            begins
        });
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// Converts an error of Hugging Face's library to one of Taper's.
fn failed(reason: impl fmt::Display) -> crate::error::Error {
    problem!(state("BpeTokenizer");
        reason,
        "Use a tokenizer that was trained, or one loaded from a file that Hugging Face's library has written")
}

impl Show for BpeTokenizer {
    fn show_text(&self) -> String {
        format!("BpeTokenizer({} tokens)", self.vocab_size())
    }
}

debug_as_shown!(BpeTokenizer);

#[cfg(test)]
mod tests {
    use super::*;
    use tokenizers::models::TrainerWrapper;

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
    fn words_have_the_tokens_of_the_whole_text() -> Result<()> {
        let part =
            "Don't  stop\n\n   at\u{a0}\u{3000}１２ a\t\tb's\r\n   x\u{301} , \u{2028}é_1 🦀 ";
        let text =
            format!("{part}{part}  {part}\n") + &"fn f(&self) -> u8 {\n    0\n}\n\n".repeat(9);
        let tokenizer = BpeTokenizer::train(&text, 330)?;
        assert!(tokenizer.by_words);
        assert!(tokenizer.vocab_size() > 280, "{}", tokenizer.vocab_size());
        let whole = tokenizer
            .tokenizer
            .encode_fast(&*text, false)
            .map_err(failed)?;
        assert_eq!(tokenizer.encode(&text)?, whole.get_ids());
        assert_eq!(tokenizer.decode(whole.get_ids())?, text);
        assert_eq!(words(&text).collect::<String>(), text);
        assert_eq!(words("").count() + words(" \n").count(), 1);
        Ok(())
    }

    #[test]
    fn training_by_words_is_that_of_hugging_face() -> Result<()> {
        let text = "let mut x = 1;\n    let y = x + 1;\n\n\n  x  y\n".repeat(7);
        let ours = BpeTokenizer::train(&text, 280)?;
        let trainer = BpeTrainer::builder()
            .show_progress(false)
            .min_frequency(2)
            .vocab_size(280)
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect());
        let mut theirs = Tokenizer::new(BPE::default());
        theirs.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
        let mut trainer = TrainerWrapper::BpeTrainer(trainer.build());
        let lines = text.split_inclusive('\n');
        theirs.train(&mut trainer, lines).map_err(failed)?;
        assert_eq!(ours.tokenizer.get_vocab(true), theirs.get_vocab(true));
        Ok(())
    }

    #[test]
    fn special_tokens_are_found_in_a_text_and_kept_in_a_file() -> Result<()> {
        let path = std::env::temp_dir().join(format!("taper_special_{}", std::process::id()));
        let text = "to be or not to be ".repeat(9);
        let tokenizer =
            BpeTokenizer::train(&text, 262)?.special_tokens(&["<|user|>", "<|end|>"])?;
        tokenizer.save(&path)?;
        let loaded = BpeTokenizer::load(&path)?;
        for tokenizer in [tokenizer, loaded] {
            let [user, end] = ["<|user|>", "<|end|>"].map(|token| tokenizer.token(token).unwrap());
            let chat = "<|user|>to be<|end|>\n or <|end|>";
            let tokens = tokenizer.encode(chat)?;
            assert_eq!(tokens[0], user);
            assert_eq!(tokens.iter().filter(|token| **token == end).count(), 2);
            assert_eq!(tokenizer.decode(&tokens)?, chat);
            assert_eq!(tokenizer.token(" "), Some(tokenizer.encode(" ")?[0]));
        }
        assert!(BpeTokenizer::train("", 256)?.special_tokens(&[""]).is_err());
        std::fs::remove_file(path).unwrap();
        Ok(())
    }

    #[test]
    fn sizes_out_of_range_and_other_files_are_refused() {
        assert!(BpeTokenizer::train("a", 0).is_err());
        let all = BpeTokenizer::train("abab abab", usize::MAX).unwrap();
        assert!(all.vocab_size() < 270);
        let path = std::env::temp_dir().join(format!("taper_bpe_other_{}", std::process::id()));
        for content in [&b"{}"[..], b"", b"\xff\xfe{\x00}"] {
            std::fs::write(&path, content).unwrap();
            let message = BpeTokenizer::load(&path).unwrap_err().to_string();
            assert_eq!(message.lines().count(), 2, "{message}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
