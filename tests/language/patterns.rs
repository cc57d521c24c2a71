//! Patterns of words, with what to write instead.

/// One line of the list.
pub(crate) struct Pattern {
    pub(crate) text: String,
    pub(crate) instead: String,
    words: Vec<Word>,
    /// Contexts in which the words are right.
    exceptions: Vec<Vec<Word>>,
}

/// A word, or the beginning of one.
struct Word {
    letters: String,
    is_prefix: bool,
}

impl Pattern {
    /// Reads the list: `pattern | instead | exceptions` on each line, `#` before comments.
    pub(crate) fn read_all(list: &str) -> Vec<Pattern> {
        let lines = list.lines().map(str::trim);
        lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(Pattern::read)
            .collect()
    }

    fn read(line: &str) -> Pattern {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [text, instead, exceptions] = fields[..] else {
            panic!("a line of the list needs three fields: {line}");
        };
        Pattern {
            text: text.to_owned(),
            instead: instead.to_owned(),
            words: words_of_pattern(text),
            exceptions: exceptions
                .split(',')
                .filter(|e| !e.trim().is_empty())
                .map(words_of_pattern)
                .collect(),
        }
    }

    /// Returns whether the pattern occurs in the [`words`] of a text outside of the exceptions. Occurrences that
    /// end before the word at `from` do not count.
    pub(crate) fn is_in(&self, words: &[String], from: usize) -> bool {
        let at = |position: &usize| matches_at(&self.words, words, *position);
        (from.saturating_sub(self.words.len() - 1)..words.len())
            .filter(at)
            .any(|position| !self.is_excepted(words, position))
    }

    fn is_excepted(&self, words: &[String], position: usize) -> bool {
        let end = position + self.words.len();
        self.exceptions.iter().any(|exception| {
            let first = end.saturating_sub(exception.len());
            (first..=position).any(|start| matches_at(exception, words, start))
        })
    }
}

fn words_of_pattern(text: &str) -> Vec<Word> {
    let words = text.split_whitespace().map(str::to_lowercase);
    let word = |word: String| Word {
        is_prefix: word.ends_with('*'),
        letters: word.trim_end_matches('*').to_owned(),
    };
    words.map(word).collect()
}

/// Returns the words of a text in lower case. Each punctuation mark is a word of its own, so that no pattern
/// matches across it.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in text.chars() {
        if c.is_alphanumeric() || "'-_".contains(c) {
            words
                .last_mut()
                .expect("never empty")
                .extend(c.to_lowercase());
        } else {
            if !c.is_whitespace() {
                words.push(c.to_string());
            }
            words.push(String::new());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn matches_at(pattern: &[Word], words: &[String], position: usize) -> bool {
    let Some(words) = words.get(position..position + pattern.len()) else {
        return false;
    };
    pattern
        .iter()
        .zip(words)
        .all(|(pattern, word)| match pattern.is_prefix {
            true => word.starts_with(&pattern.letters),
            false => *word == pattern.letters,
        })
}

#[test]
fn whole_words_are_found_outside_of_exceptions() {
    let [pattern] = &Pattern::read_all("# a comment\n\ncat* | dog | wild cats, cats of\n")[..]
    else {
        panic!("one pattern");
    };
    for hit in [
        "Cats",
        "a cat.",
        "the (cats)",
        "cats, of which",
        "wild cats and cats",
    ] {
        assert!(pattern.is_in(&words(hit), 0), "{hit}");
    }
    for miss in ["", "concat", "wild cats", "Cats of Rome", "c_at"] {
        assert!(!pattern.is_in(&words(miss), 0), "{miss}");
    }
}

#[test]
fn punctuation_separates_the_words_of_a_pattern() {
    let [pattern] = &Pattern::read_all("has a | owns a | it has a")[..] else {
        panic!("one pattern");
    };
    assert!(pattern.is_in(&words("[3] has a shape"), 0));
    assert!(!pattern.is_in(&words("It has: a shape"), 0));
    assert!(!pattern.is_in(&words("It has a shape"), 0));
}

#[test]
fn a_pattern_and_its_exceptions_may_begin_on_the_line_before() {
    let [pattern] = &Pattern::read_all("has a | owns a | it has a")[..] else {
        panic!("one pattern");
    };
    let both = words("a list has a shape");
    assert!(pattern.is_in(&both, 3));
    assert!(!pattern.is_in(&both, 4));
    assert!(!pattern.is_in(&words("see that it has a shape"), 3));
}
