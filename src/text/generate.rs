//! Generation of tokens.

mod settings;

use super::continuation::{Continuation, UseOfCache};
use super::sampling::Sampling;
use super::stream::Stream;
use super::{Beam, beams};
use crate::data::Tokenizer;
use crate::erased::Erased;
use crate::error::{OrRaise, Result};
use crate::nn::{Layer, check};
use crate::notebook::{MimeBundle, check_interrupt, display_live};
use crate::tensor::draw_seed;
use rand::SeedableRng;
use rand::distr::{Distribution, StandardUniform};
use rand_chacha::ChaCha12Rng;
use std::fmt;

/// Continues a sequence of tokens with a language model: a model that maps tokens `(batch, steps)` to the logits of the
/// next tokens, `(batch, steps, vocabulary)`.
///
/// Returns the settings, which are an iterator over the new tokens. The model computes in evaluation mode. If it can
/// continue a sequence from a [`KvCache`](crate::nn::KvCache), which the second token shows, each token costs one step;
/// otherwise all steps are computed again for each token.
///
/// ```
/// use taper::prelude::*;
///
/// let tokenizer = CharTokenizer::new("abcd");
/// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
/// for token in generate(&model, &[0, 1]).max_tokens(5).temperature(0.8).top_k(3).seed(7) {
///     assert!(token < 4);
/// }
/// let likely = generate(&model, &[0, 1]).max_tokens(5).temperature(0.0);
/// println!("{}", likely.text(&tokenizer)?);
/// # Ok::<(), Error>(())
/// ```
pub fn generate<'a>(model: &'a dyn Layer, prompt: &[u32]) -> Generate<'a> {
    Generate {
        state: State {
            continuation: Continuation::new(model),
            tokens: prompt.to_vec(),
            prompt: prompt.len(),
            max_tokens: 100,
            sampling: Sampling::default(),
            stop_tokens: vec![],
            stop: vec![],
            length_penalty: 1.0,
            seed: None,
            random: None,
            has_ended: false,
        }
        .into(),
    }
}

/// The settings of a generation, and the iterator over its tokens. Returned by [`generate`].
///
/// ```
/// use taper::prelude::*;
///
/// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
/// let mut tokens = generate(&model, &[0, 1]).max_tokens(2);
/// assert!(tokens.next().is_some() && tokens.next().is_some());
/// assert_eq!(tokens.next(), None);
/// ```
pub struct Generate<'a> {
    state: Erased<State<'a>>,
}

struct State<'a> {
    continuation: Continuation<'a>,
    /// The prompt and what follows.
    tokens: Vec<u32>,
    prompt: usize,
    max_tokens: usize,
    sampling: Sampling,
    stop_tokens: Vec<u32>,
    stop: Vec<String>,
    length_penalty: f64,
    seed: Option<u64>,
    random: Option<ChaCha12Rng>,
    has_ended: bool,
}

impl<'a> Generate<'a> {
    /// Returns whether a token costs one step, because the model continues the sequence from a cache: known after the
    /// second token.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
    /// let mut tokens = generate(&model, &[0, 1]);
    /// (tokens.next(), tokens.next());
    /// assert!(tokens.uses_cache());
    /// ```
    pub fn uses_cache(&self) -> bool {
        matches!(self.state.continuation.use_of_cache, UseOfCache::Tried(_))
    }

    /// Returns the new tokens.
    ///
    /// # Errors
    /// If the user interrupts the cell.
    ///
    /// # Panics
    /// If the model panics, or its logits are NaN or have another shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
    /// let tokens = generate(&model, &[0]).max_tokens(10).tokens()?;
    /// assert_eq!(tokens.len(), 10);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn tokens(mut self) -> Result<Vec<u32>> {
        while self.advance().is_some() {
            check_interrupt()?;
        }
        let prompt = self.state.prompt;
        Ok(self.state.tokens.split_off(prompt))
    }

    /// Returns the new text.
    ///
    /// # Errors
    /// If the tokenizer does not have one of the tokens, or the user interrupts the cell.
    ///
    /// # Panics
    /// As for [`tokens`](Self::tokens).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let tokenizer = CharTokenizer::new("abcd");
    /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
    /// let text = generate(&model, &[0]).max_tokens(10).text(&tokenizer)?;
    /// assert_eq!(text.len(), 10);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn text(self, tokenizer: &dyn Tokenizer) -> Result<String> {
        let mut stream = self.stream(tokenizer);
        let mut text = String::new();
        while let Some(piece) = stream.advance() {
            text.push_str(&piece?);
            check_interrupt()?;
        }
        Ok(text)
    }

    /// Returns an iterator over the pieces of the new text, each as soon as its characters are complete.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let tokenizer = CharTokenizer::new("abcd");
    /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
    /// for piece in generate(&model, &[0]).max_tokens(10).stream(&tokenizer) {
    ///     print!("{}", piece?);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stream<'t>(self, tokenizer: &'t dyn Tokenizer) -> Stream<'a, 't> {
        Stream::new(self, tokenizer)
    }

    /// Shows the prompt and the new text below the cell while it is generated, and returns the new text.
    ///
    /// # Errors
    /// As for [`text`](Self::text).
    ///
    /// # Panics
    /// As for [`tokens`](Self::tokens).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let tokenizer = CharTokenizer::new("abcd");
    /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
    /// let text = generate(&model, &[0]).max_tokens(10).show(&tokenizer)?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn show(self, tokenizer: &dyn Tokenizer) -> Result<String> {
        let mut shown = tokenizer.decode(&self.state.tokens)?;
        let start = shown.len();
        let display = display_live(&MimeBundle::text(&*shown));
        let mut stream = self.stream(tokenizer);
        while let Some(piece) = stream.advance() {
            shown.push_str(&piece?);
            display.update(&MimeBundle::text(&*shown));
            check_interrupt()?;
        }
        Ok(shown.split_off(start))
    }

    /// Returns the most likely texts of a search that keeps `count` of them at each step, the best first. Temperature,
    /// top-k, top-p and the seed have no effect.
    ///
    /// # Errors
    /// If the user interrupts the cell.
    ///
    /// # Panics
    /// If `count` is 0, and as for [`tokens`](Self::tokens).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
    /// let beams = generate(&model, &[0]).max_tokens(5).beams(3)?;
    /// assert!(beams.len() == 3 && beams[0].tokens.len() == 5);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn beams(self, count: usize) -> Result<Vec<Beam>> {
        check::positive("generate", &[("beams", count)]);
        let state = self.state.into_inner();
        let search = beams::Search {
            continuation: state.continuation,
            count,
            max_tokens: state.max_tokens,
            stop_tokens: state.stop_tokens,
            length_penalty: state.length_penalty,
            repetition_penalty: state.sampling.repetition_penalty,
        };
        search.run(&state.tokens)
    }

    /// Returns the next token.
    #[track_caller]
    pub(super) fn advance(&mut self) -> Option<u32> {
        self.state.next_token().or_raise()
    }

    /// Returns the texts before which to end.
    pub(super) fn stops(&self) -> &[String] {
        &self.state.stop
    }

    /// Returns whether a token ends the text.
    pub(super) fn is_stop(&self, token: u32) -> bool {
        self.state.stop_tokens.contains(&token)
    }
}

impl State<'_> {
    fn next_token(&mut self) -> Result<Option<u32>> {
        if self.has_ended || self.tokens.len() - self.prompt >= self.max_tokens {
            return Ok(None);
        }
        let sequences = std::slice::from_ref(&self.tokens);
        let mut logits = self.continuation.logits(sequences)?.swap_remove(0);
        let seed = || self.seed.unwrap_or_else(draw_seed);
        let uniform = || {
            let new = || ChaCha12Rng::seed_from_u64(seed());
            StandardUniform.sample(self.random.get_or_insert_with(new))
        };
        let token = self.sampling.choose(&mut logits, &self.tokens, uniform)?;
        self.tokens.push(token);
        self.has_ended = self.stop_tokens.contains(&token);
        Ok(Some(token))
    }
}

impl Iterator for Generate<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.advance()
    }
}

impl fmt::Debug for Generate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let State {
            tokens,
            prompt,
            max_tokens,
            ..
        } = &*self.state;
        let new = tokens.len() - prompt;
        write!(f, "Generate({new} of {max_tokens} tokens)")
    }
}
