//! What a translation must have in common with its source, and the terms of the glossary.

/// Returns what differs: code, formulas, the targets of links, values, and the mark at the beginning.
pub(crate) fn differences(source: &str, translation: &str) -> Vec<String> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, of: fn(&str) -> Vec<String>| {
        let (expected, found) = (sorted(of(source)), sorted(of(translation)));
        if expected != found {
            differences.push(format!("{what}: expected {expected:?}, found {found:?}"));
        }
    };
    compare("code", |text| between(text, "`", "`"));
    compare("formulas", |text| between(&without_code(text), "$", "$"));
    compare("links", |text| between(&without_code(text), "](", ")"));
    compare("numbers", numbers);
    compare("the mark at the beginning", mark);
    differences
}

fn sorted(mut parts: Vec<String>) -> Vec<String> {
    parts.sort();
    parts
}

fn between(text: &str, open: &str, close: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((_, after)) = rest.split_once(open) {
        let Some((inside, after)) = after.split_once(close) else {
            break;
        };
        found.push(inside.into());
        rest = after;
    }
    found
}

fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Returns the values in the prose, with their decimals. A French comma would not be what the outputs show.
fn numbers(text: &str) -> Vec<String> {
    let mut prose = without_code(text);
    for part in between(&prose, "](", ")")
        .into_iter()
        .chain(between(&prose, "$", "$"))
    {
        prose = prose.replace(&part, " ");
    }
    let parts = prose.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let number = |part: &str| part.trim_matches('.').to_owned();
    parts.map(number).filter(|part| !part.is_empty()).collect()
}

/// Returns what makes a line a heading, a list item or a row.
fn mark(text: &str) -> Vec<String> {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_mark = ["-", "*", "|"].contains(&first) || first.starts_with('#');
    is_mark.then(|| first.to_owned()).into_iter().collect()
}

/// The terms of a language: the English term, its translations separated by `/`, and where they come from.
pub(crate) struct Glossary(Vec<(String, Vec<String>)>);

impl Glossary {
    pub(crate) fn read(text: &str) -> Glossary {
        let line = |line: &str| {
            let mut columns = line.split('\t');
            let (Some(term), Some(translations), Some(_source)) =
                (columns.next(), columns.next(), columns.next())
            else {
                panic!(
                    "expected a term, its translations and their source, separated by tabs: {line}"
                );
            };
            let translations = translations.split('/').map(|it| it.trim().to_lowercase());
            (term.to_lowercase(), translations.collect())
        };
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        Glossary(lines.map(line).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the terms of the source that the translation does not have.
    pub(crate) fn missing(&self, source: &str, translation: &str) -> Vec<String> {
        let (source, translation) = (prose(source), prose(translation));
        let (mut rest, mut missing) = (source, Vec::new());
        let mut terms: Vec<_> = self.0.iter().collect();
        // A longer term first: "loss function" is not a "function".
        terms.sort_by_key(|(term, _)| std::cmp::Reverse(term.len()));
        for (term, translations) in terms {
            let found = take(&mut rest, term);
            if found
                && !translations
                    .iter()
                    .any(|it| translation.contains(it.as_str()))
            {
                missing.push(format!("`{term}` is {}", translations.join(" or ")));
            }
        }
        missing
    }
}

/// Returns the words of a text without code, addresses and what is in italics: menus, titles and quotations.
fn prose(text: &str) -> String {
    let mut prose = without_code(text).replace("**", "");
    prose = prose.split('*').step_by(2).collect();
    for link in between(&prose, "](", ")") {
        prose = prose.replace(&format!("({link})"), "");
    }
    prose.to_lowercase()
}

/// Removes a term, also in the plural, where it is whole words; returns whether it was there.
fn take(text: &mut String, term: &str) -> bool {
    let is_letter = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let mut found = false;
    for form in [format!("{term}s"), term.to_owned()] {
        let mut from = 0;
        while let Some(at) = text[from..].find(&form).map(|at| from + at) {
            let end = at + form.len();
            if is_letter(text[..at].chars().next_back()) || is_letter(text[end..].chars().next()) {
                from = end;
                continue;
            }
            text.replace_range(at..end, "·");
            found = true;
            from = at;
        }
    }
    found
}

#[test]
fn differences_are_found_and_other_words_are_not() {
    let source = "- The loss of `net` is [0.31](#cell-id=a) after 5 epochs: $x^2$.";
    let good = "- La perte de `net` vaut [0.31](#cell-id=a) après 5 époques : $x^2$.";
    assert!(
        differences(source, good).is_empty(),
        "{:?}",
        differences(source, good)
    );
    let wrong = [
        ("`net`", "`réseau`", "code"),
        ("$x^2$", "$x^3$", "formulas"),
        ("#cell-id=a", "#cell-id=b", "links"),
        ("0.31", "0,31", "numbers"),
        ("5 époques", "cinq époques", "numbers"),
        ("- La", "La", "the mark"),
    ];
    for (part, other, what) in wrong {
        let found = differences(source, &good.replace(part, other));
        assert!(
            found.iter().any(|it| it.starts_with(what)),
            "{other}: {found:?}"
        );
    }
}

#[test]
fn a_term_needs_its_translation() {
    let glossary =
        Glossary::read("loss\tperte\td2l\nloss function\tperte totale / coût total\td2l\n");
    assert!(
        glossary.missing("The losses fall.", "Rien.").is_empty(),
        "losses is another word"
    );
    assert_eq!(glossary.missing("The loss falls.", "Rien.").len(), 1);
    assert!(
        glossary
            .missing("A loss function.", "Un coût total.")
            .is_empty()
    );
    assert!(
        glossary
            .missing("The `loss` falls, *Loss functions*.", "Rien.")
            .is_empty()
    );
    assert_eq!(glossary.missing("The **loss** falls.", "Rien.").len(), 1);
}
