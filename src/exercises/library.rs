//! The exercises with their cases, read when the first is checked.

use super::value::Value;
use crate::error::{self, Result};
use serde_json::{Map, Value as Json};
use std::sync::LazyLock;

static ALL: LazyLock<Map<String, Json>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("cases.json")).expect("a test reads all exercises")
});

/// The cases of an exercise.
pub(super) struct Exercise {
    pub(super) name: String,
    /// The largest allowed difference of a floating-point number, relative to its size plus 1.
    pub(super) tolerance: f64,
    pub(super) cases: Vec<Case>,
    hints: Vec<String>,
}

/// One call of the answer.
pub(super) struct Case {
    pub(super) inputs: Vec<Value>,
    pub(super) expected: Expected,
}

/// What an answer must return.
pub(super) enum Expected {
    Value(Value),
    Error,
    /// Hashes of the elements of a list, or of the single value.
    Hashes {
        hashes: Vec<String>,
        is_list: bool,
    },
}

impl Exercise {
    pub(super) fn find(name: &str) -> Result<Exercise> {
        let Some(json) = ALL.get(name) else {
            let chapter = name.split('.').next().unwrap_or_default();
            let of_chapter: Vec<&String> = names().filter(|n| is_of(n, chapter)).collect();
            return Err(match of_chapter.is_empty() {
                true => error::name("exercise", name, names()),
                false => error::name("exercise", name, of_chapter),
            });
        };
        Ok(Exercise::from_json(name, json).expect("a test reads all exercises"))
    }

    fn from_json(name: &str, json: &Json) -> Option<Exercise> {
        let case = |json: &Json| {
            Some(Case {
                inputs: list(json, "in", Value::from_json)?,
                expected: expected(&json["out"])?,
            })
        };
        Some(Exercise {
            name: name.to_owned(),
            tolerance: json["tolerance"].as_f64().unwrap_or(1e-4),
            cases: list(json, "cases", case)?,
            hints: list(json, "hints", |hint| hint.as_str().map(str::to_owned))?,
        })
    }

    /// Returns the hints to show after this many wrong answers.
    pub(super) fn hints(&self, failures: u64) -> &[String] {
        &self.hints[..((failures / 2) as usize).min(self.hints.len())]
    }
}

fn expected(json: &Json) -> Option<Expected> {
    let Some(object) = json.as_object() else {
        return Some(Expected::Value(Value::from_json(json)?));
    };
    let text = |json: &Json| json.as_str().map(str::to_owned);
    let (hashes, is_list) = match object.get("hash") {
        Some(Json::Array(_)) => (list(json, "hash", text)?, true),
        Some(hash) => (vec![text(hash)?], false),
        None => return object.get("error").map(|_| Expected::Error),
    };
    Some(Expected::Hashes { hashes, is_list })
}

/// Reads the items of a list; `None` if there is no list, or one of them cannot be read.
fn list<T>(json: &Json, key: &str, read: impl Fn(&Json) -> Option<T>) -> Option<Vec<T>> {
    json.get(key)?.as_array()?.iter().map(read).collect()
}

fn names() -> impl Iterator<Item = &'static String> {
    ALL.keys()
}

fn is_of(name: &str, chapter: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(of, _)| of == chapter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercises::answer::{Fault, Outcome};
    use crate::exercises::judge::judge;

    /// Returns the outcomes of each wrong program, one for each case.
    fn wrong_outcomes(name: &str) -> Vec<Vec<Outcome>> {
        let list = |json: &Json| json.as_array().expect("wrong answers").clone();
        let outcome = |json: &Json| match Value::from_json(json) {
            Some(value) => Ok(value),
            None => Err(Fault::Error(
                json["error"].as_str().expect("an error").to_owned(),
            )),
        };
        let programs = list(&ALL[name]["wrong"]).into_iter();
        programs
            .map(|program| list(&program).iter().map(outcome).collect())
            .collect()
    }

    #[test]
    fn every_exercise_refuses_its_wrong_answers() {
        assert!(ALL.len() >= 230, "{} exercises", ALL.len());
        let mut programs = 0;
        for name in names() {
            let exercise = Exercise::find(name).expect("it exists");
            assert_eq!(exercise.hints.len(), 2, "{name} has two hints");
            assert!(!exercise.cases.is_empty(), "{name} has cases");
            for outcomes in wrong_outcomes(name) {
                assert_eq!(outcomes.len(), exercise.cases.len(), "{name}");
                let asked = std::cell::RefCell::new(outcomes.into_iter());
                let next = |_: &[Value]| asked.borrow_mut().next().expect("one for each case");
                let verdict = judge(&exercise, &next);
                assert_eq!(verdict.is_right(), Some(false), "{name}: {verdict}");
                programs += 1;
            }
        }
        assert!(programs >= ALL.len() + 20, "{programs} wrong programs");
    }

    #[test]
    fn hints_come_after_the_second_and_the_fourth_wrong_answer() {
        let exercise = Exercise::find(names().next().expect("one")).expect("it exists");
        let shown = [0, 1, 2, 3, 4, 9].map(|failures| exercise.hints(failures).len());
        assert_eq!(shown, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_of_the_chapter() {
        let error = Exercise::find("tensors.0")
            .err()
            .expect("no such exercise")
            .to_string();
        assert!(
            error.contains("tensors.7") && !error.contains("welcome"),
            "{error}"
        );
    }
}
