//! The settings of a generation.

use super::Generate;
use crate::nn::check;
use crate::text::continuation::UseOfCache;

impl Generate<'_> {
    setters! {
        /// Sets the largest number of new tokens; 100 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
        /// assert_eq!(generate(&model, &[0]).max_tokens(3).tokens()?.len(), 3);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn max_tokens(self, max_tokens: usize): self.state.max_tokens = max_tokens;

        /// Sets the temperature, by which the logits are divided before the softmax; 1 by default. Below 1, likely tokens
        /// become more likely; 0 always chooses the most likely token.
        ///
        /// # Panics
        /// If it is negative or not finite.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
        /// let likely = || generate(&model, &[0]).max_tokens(5).temperature(0.0).tokens();
        /// assert_eq!(likely()?, likely()?);
        /// # Ok::<(), Error>(())
        /// ```
        #[track_caller]
        pub fn temperature(self, temperature: f64): {
            if temperature != 0.0 {
                check::above_zero("generate", "a temperature", temperature);
            }
            self.state.sampling.temperature = temperature;
        };

        /// Chooses from the `k` most likely tokens only.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
        /// let first = |k| generate(&model, &[0]).top_k(k).next();
        /// assert_eq!(first(1), generate(&model, &[0]).temperature(0.0).next());
        /// ```
        pub fn top_k(self, k: usize): self.state.sampling.top_k = Some(k);

        /// Chooses from the fewest tokens that together have the probability `p`. From Holtzman et al., 2020.
        ///
        /// # Panics
        /// If `p` is not between 0 and 1.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
        /// let token = generate(&model, &[0]).top_p(0.9).next();
        /// assert!(token.is_some());
        /// ```
        #[track_caller]
        pub fn top_p(self, p: f64): {
            check::probability("generate", "top_p", p);
            self.state.sampling.top_p = p;
        };

        /// Makes tokens of the prompt and of the text so far less likely: positive logits are divided by `penalty`, negative
        /// ones multiplied; 1 by default, 1.1 to 1.3 are common. From Keskar et al., 2019.
        ///
        /// # Panics
        /// If `penalty` is not above 0.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
        /// let tokens = generate(&model, &[0]).repetition_penalty(1.2).max_tokens(3).tokens()?;
        /// assert_eq!(tokens.len(), 3);
        /// # Ok::<(), Error>(())
        /// ```
        #[track_caller]
        pub fn repetition_penalty(self, penalty: f64): {
            check::above_zero("generate", "a repetition_penalty", penalty);
            self.state.sampling.repetition_penalty = penalty;
        };

        /// Ends the text at this token, the last of the iterator, which [`text`](Self::text) leaves out.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let model = Llama::new(&LlamaConfig::new(2, 16, 1, 2));
        /// let tokens = generate(&model, &[0]).stop_token(0).stop_token(1).tokens()?;
        /// assert_eq!(tokens.len(), 1);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn stop_token(self, token: u32): self.state.stop_tokens.push(token);

        /// Ends the text of [`text`](Self::text), [`stream`](Self::stream) and [`show`](Self::show) before this text.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let tokenizer = CharTokenizer::new("ab");
        /// let model = Llama::new(&LlamaConfig::new(2, 16, 1, 2));
        /// let text = generate(&model, &[0]).stop("a").text(&tokenizer)?;
        /// assert!(text.chars().all(|letter| letter == 'b'));
        /// # Ok::<(), Error>(())
        /// ```
        pub fn stop(self, text: &str): {
            if !text.is_empty() {
                self.state.stop.push(text.to_owned());
            }
        };

        /// Draws the tokens with a generator of its own, so that the same seed produces the same text. By default, the seed
        /// comes from the generator of [`manual_seed`](crate::tensor::manual_seed).
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
        /// let drawn = || generate(&model, &[0]).seed(3).tokens();
        /// assert_eq!(drawn()?, drawn()?);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn seed(self, seed: u64): self.state.seed = Some(seed);

        /// Sets the most tokens that the model takes, such as the length of its
        /// [`LearnedPositionalEncoding`](crate::nn::LearnedPositionalEncoding). A longer text is cut to its last tokens, and
        /// computed without a cache from then on, because all positions change.
        ///
        /// # Panics
        /// If it is 0.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
        /// assert_eq!(generate(&model, &[0, 1]).context(8).max_tokens(20).tokens()?.len(), 20);
        /// # Ok::<(), Error>(())
        /// ```
        #[track_caller]
        pub fn context(self, context: usize): {
            check::positive("generate", &[("context", context)]);
            self.state.continuation.context = Some(context);
        };

        /// Sets whether a [`KvCache`](crate::nn::KvCache) is used where the model allows it, as by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
        /// let tokens = |cache| generate(&model, &[0]).temperature(0.0).cache(cache).tokens();
        /// assert_eq!(tokens(true)?, tokens(false)?);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn cache(self, cache: bool): {
            if !cache {
                self.state.continuation.use_of_cache = UseOfCache::Off;
            }
        };

        /// Sets the exponent of the length by which [`beams`](Self::beams) divide the logarithm of the probability; 1 by
        /// default. Above 0, longer texts win.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let model = Llama::new(&LlamaConfig::new(4, 16, 1, 2));
        /// let beams = generate(&model, &[0]).max_tokens(3).length_penalty(0.0).beams(2)?;
        /// assert!(beams[0].score >= beams[1].score);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn length_penalty(self, exponent: f64): self.state.length_penalty = exponent;
    }
}
