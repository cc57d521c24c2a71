//! Text that appears while it is generated.

use super::Generate;
use crate::data::Tokenizer;
use crate::erased::Erased;
use crate::error::Result;

/// The iterator over the pieces of a text. Returned by [`Generate::stream`](super::Generate::stream).
///
/// ```
/// use taper::prelude::*;
///
/// let tokenizer = CharTokenizer::new("abcd");
/// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
/// let mut stream = generate(&model, &[0]).max_tokens(2).stream(&tokenizer);
/// assert_eq!(stream.next().unwrap()?.len(), 1);
/// # Ok::<(), Error>(())
/// ```
pub struct Stream<'a, 't> {
    parts: Erased<Parts<'a, 't>>,
}

struct Parts<'a, 't> {
    generate: Generate<'a>,
    tokenizer: &'t dyn Tokenizer,
    /// The tokens of the text so far.
    found: Vec<u32>,
    /// How many bytes of the text have been returned.
    returned: usize,
    has_ended: bool,
}

impl<'a, 't> Stream<'a, 't> {
    pub(super) fn new(generate: Generate<'a>, tokenizer: &'t dyn Tokenizer) -> Self {
        Self {
            parts: Parts {
                generate,
                tokenizer,
                found: vec![],
                returned: 0,
                has_ended: false,
            }
            .into(),
        }
    }

    /// Returns the next piece.
    #[track_caller]
    pub(super) fn advance(&mut self) -> Option<Result<String>> {
        self.parts.advance().transpose()
    }
}

impl Parts<'_, '_> {
    #[track_caller]
    fn advance(&mut self) -> Result<Option<String>> {
        while !self.has_ended {
            match self.generate.advance() {
                Some(token) if !self.generate.is_stop(token) => self.found.push(token),
                _ => self.has_ended = true,
            }
            let text = self.tokenizer.decode(&self.found);
            let text = text.inspect_err(|_| self.has_ended = true)?;
            let end = self.end_of(&text);
            // A character that is not complete may have been longer than what it is now.
            if let Some(piece) = text
                .get(self.returned..end)
                .filter(|piece| !piece.is_empty())
            {
                self.returned = end;
                return Ok(Some(piece.to_owned()));
            }
        }
        Ok(None)
    }

    /// Returns how much of the text may be returned.
    fn end_of(&mut self, text: &str) -> usize {
        let stops = self.generate.stops();
        let whole = stops.iter().filter_map(|stop| text.find(stop)).min();
        if let Some(end) = whole {
            self.has_ended = true;
            return end;
        }
        if self.has_ended {
            return text.len();
        }
        // What may be the beginning of a text to stop at, or of a character, waits for the next token.
        let begun = |stop: &String| {
            let mut starts = stop.char_indices().map(|(i, _)| i).rev();
            let begun = starts.find(|i| text.ends_with(&stop[..*i]));
            begun.unwrap_or(0)
        };
        let waiting = stops.iter().map(begun).max().unwrap_or(0);
        let complete = text.trim_end_matches('\u{fffd}').len();
        complete.min(text.len() - waiting)
    }
}

impl Iterator for Stream<'_, '_> {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Result<String>> {
        self.advance()
    }
}
