//! Prefixes of names: a model that is a part of another one has longer names there.

use std::collections::HashSet;

/// The number of missing names that are compared with the unexpected names, and of pairs for each.
const SAMPLE: usize = 8;

/// How the names of a file begin, and those of the model instead; the rest is the same. One may be empty.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prefixes {
    pub(super) file: String,
    pub(super) model: String,
    /// How many of the missing names it finds.
    pub(super) found: usize,
}

impl Prefixes {
    /// Returns the prefixes with which most of the missing names are in the file; `None` if they are too few for a
    /// prefix that all names have in common. `fits` returns whether a tensor of the model, by its name, can hold one of
    /// the file.
    pub(super) fn of<'a>(
        missing: &'a [String],
        unexpected: &'a [String],
        fits: &dyn Fn(&str, &str) -> bool,
    ) -> Option<Self> {
        let known: HashSet<&str> = unexpected.iter().map(String::as_str).collect();
        let candidates: HashSet<(&str, &str)> = missing
            .iter()
            .take(SAMPLE)
            .flat_map(|name| closest(name, unexpected))
            .collect();
        let all = candidates.into_iter().map(|(file, model)| {
            let is_found = |name: &&String| {
                let rest = name.strip_prefix(model);
                rest.is_some_and(|rest| {
                    let other = format!("{file}{rest}");
                    known.contains(other.as_str()) && fits(name, &other)
                })
            };
            Prefixes {
                file: file.to_owned(),
                model: model.to_owned(),
                found: missing.iter().filter(is_found).count(),
            }
        });
        // The shorter ones first, so that the answer does not depend on the order of the set.
        let length = |it: &Prefixes| usize::MAX - it.file.len() - it.model.len();
        let best = all.max_by_key(|it| (it.found, length(it), it.file.clone()))?;
        let most_of = |names: &[String]| best.found * 2 > names.len();
        let enough = match best.file.is_empty() || best.model.is_empty() {
            true => most_of(missing) || most_of(unexpected),
            false => best.found == missing.len(), // numbers of layers may differ by chance
        };
        enough.then_some(best)
    }

    /// Returns the sentence about the names.
    pub(super) fn sentence(&self) -> String {
        let origin = match self.file.as_str() {
            "module." => " (PyTorch's DataParallel adds it)",
            "_orig_mod." => " (torch.compile adds it)",
            _ => "",
        };
        match (self.file.as_str(), self.model.as_str()) {
            (file, "") => {
                format!("its names begin with {file:?}{origin}, those of the model do not")
            }
            ("", model) => format!("the names of the model begin with {model:?}, its own do not"),
            (file, model) => {
                format!("its names begin with {file:?}{origin}, those of the model with {model:?}")
            }
        }
    }

    /// Returns the calls of `LoadOptions` that change the names of a file.
    pub(super) fn calls(&self) -> String {
        let call = |method: &str, prefix: &str| match prefix {
            "" => String::new(),
            prefix => format!(".{method}({prefix:?})"),
        };
        call("strip_prefix", &self.file) + &call("add_prefix", &self.model)
    }
}

/// Returns how some names and this one begin, for the names that have the most in common with it at their ends.
fn closest<'a>(name: &'a str, names: &'a [String]) -> Vec<(&'a str, &'a str)> {
    let all = names.iter().filter_map(|other| beginnings(other, name));
    let mut all: Vec<_> = all.collect();
    let shortest = all.iter().map(|(_, own)| own.len()).min();
    all.retain(|(_, own)| Some(own.len()) == shortest);
    all.truncate(SAMPLE);
    all
}

/// Returns how two names begin before the last parts that they have in common; `None` if there are none.
fn beginnings<'a, 'b>(a: &'a str, b: &'b str) -> Option<(&'a str, &'b str)> {
    let same = a.bytes().rev().zip(b.bytes().rev());
    let count = same.take_while(|(a, b)| a == b).count();
    let common = &a.as_bytes()[a.len() - count..];
    // From the first whole part on: each name begins there, or has a dot before it.
    let starts = |name: &str, rest: usize| {
        name.len() == rest || name.as_bytes()[name.len() - rest - 1] == b'.'
    };
    let skipped = (0..count).find(|skipped| {
        let rest = common.len() - skipped;
        starts(a, rest) && starts(b, rest)
    })?;
    let rest = count - skipped;
    Some((&a[..a.len() - rest], &b[..b.len() - rest]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &[&str], model: &[&str]) -> Option<[String; 2]> {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| name.to_string())
                .collect::<Vec<_>>()
        };
        let found = Prefixes::of(&names(model), &names(file), &|_, _| true)?;
        Some([found.file, found.model])
    }

    #[test]
    fn a_prefix_is_found_on_either_side() {
        let bare = ["0.weight", "0.bias", "1.weight"];
        let pair = |file: &str, model: &str| Some([file.to_owned(), model.to_owned()]);
        for prefix in ["model.", "module.", "_orig_mod.", "a.b.", "é."] {
            let long = bare.map(|name| format!("{prefix}{name}"));
            let long = long.each_ref().map(String::as_str);
            assert_eq!(of(&long, &bare), pair(prefix, ""));
            assert_eq!(of(&bare, &long), pair("", prefix));
            let other = bare.map(|name| format!("net.{name}"));
            let other = other.each_ref().map(String::as_str);
            assert_eq!(of(&long, &other), pair(prefix, "net."));
        }
        // The file and the model have different heads.
        let file = ["bert.a.weight", "bert.a.bias", "cls.weight"];
        assert_eq!(
            of(&file, &["a.weight", "a.bias", "head.weight"]),
            pair("bert.", "")
        );
        // Within the names.
        let file = ["net._orig_mod.a.weight", "net._orig_mod.b.weight"];
        assert_eq!(
            of(&file, &["net.a.weight", "net.b.weight"]),
            pair("net._orig_mod.", "net.")
        );
    }

    #[test]
    fn other_names_have_no_prefix_in_common() {
        assert_eq!(of(&["scale", "shift"], &["weight", "bias"]), None);
        assert_eq!(of(&["reweight", "debias"], &["weight", "bias"]), None);
        assert_eq!(
            of(&["x.weight"], &["a.weight", "b.weight", "c.weight"]),
            None
        );
        assert_eq!(of(&[], &["weight"]), None);
        assert_eq!(of(&["weight"], &[]), None);
    }

    #[test]
    fn tensors_that_do_not_fit_do_not_count() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| name.to_string())
                .collect::<Vec<_>>()
        };
        let (file, model) = (names(&["a.weight", "b.weight"]), names(&["weight"]));
        let found = Prefixes::of(&model, &file, &|_, other| other == "b.weight").unwrap();
        assert_eq!(found.file, "b.");
        assert_eq!(Prefixes::of(&model, &file, &|_, _| false), None);
    }
}
