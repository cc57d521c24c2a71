//! Compares what an answer returns with what the cases expect.

use super::answer::{Call, Fault, Outcome};
use super::library::{Exercise, Expected};
use super::value::Value;
use crate::error::{self, attempt};
use std::fmt::{self, Display, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Mutex;

/// The largest length of a value that is shown as a whole, in characters.
const LONG: usize = 160;

/// The result of a check.
pub(super) struct Verdict {
    name: String,
    result: Judged,
}

enum Judged {
    Right(usize),
    NotWritten,
    Wrong {
        right: usize,
        of: usize,
        why: String,
    },
}

/// Calls the answer for each case and returns the verdict.
pub(super) fn judge(exercise: &Exercise, answer: &Call<'_>) -> Verdict {
    let result = judged(exercise, answer).unwrap_or_else(|other| other);
    Verdict {
        name: exercise.name.clone(),
        result,
    }
}

/// Calls the answer for each case and compares the outcomes. Returns early, with an error, where the number
/// of right cases has no meaning: for an answer of another type, and for an answer that is not written
/// yet.
fn judged(exercise: &Exercise, answer: &Call<'_>) -> Result<Judged, Judged> {
    let (mut right, mut of, mut first) = (0, 0, None);
    for case in &exercise.cases {
        let outcome = called(answer, &case.inputs).ok_or(Judged::NotWritten)?;
        if let Err(Fault::Type(why)) = outcome {
            let (right, of) = (0, exercise.cases.len());
            return Err(Judged::Wrong { right, of, why });
        }
        let mut parts = compare(exercise, &case.expected, &outcome);
        if case.inputs.is_empty() {
            hide_expected(&mut parts);
        }
        of += parts.len();
        right += parts.iter().filter(|part| part.is_ok()).count();
        if let Some(Err(why)) = parts.into_iter().find(Result::is_err) {
            first.get_or_insert_with(|| with_input(&case.inputs, &why));
        }
    }
    Ok(match first {
        None => Judged::Right(right),
        Some(why) => Judged::Wrong { right, of, why },
    })
}

/// Removes the expected values from the messages: in a case without inputs, they would be the answer.
fn hide_expected(parts: &mut [Result<(), String>]) {
    for part in parts {
        if let Err(why) = part {
            let shown = why.lines().filter(|line| !line.starts_with("expected  "));
            *why = shown.collect::<Vec<_>>().join("\n");
        }
    }
}

fn with_input(inputs: &[Value], why: &str) -> String {
    match inputs {
        [] => why.to_owned(),
        _ => {
            let inputs: Vec<String> = inputs.iter().map(short).collect();
            format!("input     {}\n{why}", inputs.join(", "))
        }
    }
}

/// Calls the answer. A panic counts as an error, and its message is not printed. That of a wrong shape or type
/// is the error itself.
fn called(answer: &Call<'_>, inputs: &[Value]) -> Option<Outcome> {
    static HOOK: Mutex<()> = Mutex::new(());
    let caught = {
        let _one_at_a_time = HOOK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let hook = take_hook();
        set_hook(Box::new(|_| {}));
        let caught = catch_unwind(AssertUnwindSafe(|| attempt(|| answer(inputs))));
        set_hook(hook);
        caught
    };
    let fault = match caught {
        Ok(Ok(outcome)) => return Some(outcome),
        Ok(Err(error)) => Fault::Error(error.to_string()),
        Err(payload) => match error::panic_text(&*payload).unwrap_or_default() {
            text if text.starts_with("not yet implemented") => return None,
            text => Fault::Error(format!("a panic: {text}")),
        },
    };
    Some(Err(fault))
}

/// Returns what is wrong with each part of an outcome; most have one part.
fn compare(exercise: &Exercise, expected: &Expected, outcome: &Outcome) -> Vec<Result<(), String>> {
    let found = match (expected, outcome) {
        (Expected::Error, Err(_)) => return vec![Ok(())],
        (Expected::Error, Ok(found)) => {
            return vec![Err(format!(
                "expected  an error\nfound     {}",
                short(found)
            ))];
        }
        (_, Ok(found)) => found,
        (_, Err(fault)) => {
            let (Fault::Error(text) | Fault::Type(text)) = fault;
            let first = text.lines().next().unwrap_or_default();
            let expected = match expected {
                Expected::Value(expected) => format!("expected  {}\n", short(expected)),
                _ => String::new(),
            };
            return vec![Err(format!("{expected}found     the error “{first}”"))];
        }
    };
    match expected {
        Expected::Value(expected) => vec![compare_values(expected, found, exercise.tolerance)],
        Expected::Hashes { hashes, is_list } => {
            compare_hashes(&exercise.name, hashes, *is_list, found)
        }
        Expected::Error => unreachable!("it was handled above"),
    }
}

fn compare_hashes(
    name: &str,
    hashes: &[String],
    is_list: bool,
    found: &Value,
) -> Vec<Result<(), String>> {
    let parts = match found {
        found if !is_list => std::slice::from_ref(found),
        Value::List(parts) if parts.len() == hashes.len() => parts,
        _ => {
            let why = format!("{} instead of {} elements", short(found), hashes.len());
            return vec![Err(format!("found     {why}")); hashes.len()];
        }
    };
    let part = |(i, (part, expected)): (usize, (&Value, &String))| {
        let place = match is_list {
            true => format!(" as element {i}, counted from 0"),
            false => String::new(),
        };
        let why = || format!("found     {}{place}", short(part));
        (hash(name, i, part) == *expected)
            .then_some(())
            .ok_or_else(why)
    };
    parts.iter().zip(hashes).enumerate().map(part).collect()
}

fn compare_values(expected: &Value, found: &Value, tolerance: f64) -> Result<(), String> {
    if let (Some(e), Some(f)) = (expected.shape(), found.shape())
        && e != f
    {
        let both = format!("expected  {}\nfound     {}", short(expected), short(found));
        return Err(format!("{both}\n(shape {f:?} instead of {e:?})"));
    }
    let Some((path, e, f)) = difference(expected, found, tolerance, &mut Vec::new()) else {
        return Ok(());
    };
    let is_long = |value: &Value| value.to_string().len() > LONG;
    let exact = exact(e, f);
    if exact.is_none() && !is_long(expected) && !is_long(found) {
        return Err(format!("expected  {expected}\nfound     {found}"));
    }
    let [e, f] = exact.unwrap_or_else(|| [e, f].map(short));
    let at = match path[..] {
        [] => String::new(),
        _ => format!(" at {path:?}"),
    };
    Err(format!("expected  {e}{at}\nfound     {f}"))
}

/// Returns two floating-point numbers with all digits if they are the same when rounded; else `None`.
fn exact(expected: &Value, found: &Value) -> Option<[String; 2]> {
    let floats = [expected.float()?, found.float()?];
    let [e, f] = floats.map(|float| Value::Float(float).to_string());
    (e == f).then(|| floats.map(|float| format!("{float:?}")))
}

type Difference<'a> = (Vec<usize>, &'a Value, &'a Value);

/// Returns the first difference, and the indices of the element that differs.
fn difference<'a>(
    expected: &'a Value,
    found: &'a Value,
    tolerance: f64,
    path: &mut Vec<usize>,
) -> Option<Difference<'a>> {
    let is_same = match (expected, found) {
        (Value::List(e), Value::List(f)) if e.len() == f.len() => {
            return e.iter().zip(f).enumerate().find_map(|(i, (e, f))| {
                path.push(i);
                let found = difference(e, f, tolerance, path);
                path.pop();
                found
            });
        }
        (Value::Integer(e), Value::Integer(f)) => e == f,
        _ => match (expected.float(), found.float()) {
            // Near an infinity, every number would be within a relative tolerance.
            (Some(e), Some(f)) if e.is_finite() => (e - f).abs() <= tolerance * (1.0 + e.abs()),
            (Some(e), Some(f)) => e == f,
            _ => expected == found,
        },
    };
    (!is_same).then(|| (path.clone(), expected, found))
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONG) {
        None => text,
        Some((end, _)) => match value.shape() {
            Some(shape) => format!("{}… (shape {shape:?})", &text[..end]),
            None => format!("{}…", &text[..end]),
        },
    }
}

/// Hashes an integer, a text or a list of these (FNV-1a, as in `tests/exercises/make.py`), so that the file
/// of cases does not show the answer. The name and the index keep equal answers from having equal hashes.
fn hash(name: &str, index: usize, value: &Value) -> String {
    let whole = |value: &Value| match value.float() {
        Some(float) if float.fract() == 0.0 => Some(Value::Integer(float as i64)),
        _ => None,
    };
    let text = match value {
        Value::Text(text) => text.trim().to_lowercase(),
        value => whole(value).unwrap_or_else(|| value.clone()).to_string(),
    };
    format!("{:016x}", fnv(&format!("{name}/{index}/{text}")))
}

/// Returns the FNV-1a hash of a text.
pub(super) fn fnv(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

impl Verdict {
    /// Returns whether the answer is right; `None` if it is not written yet.
    pub(super) fn is_right(&self) -> Option<bool> {
        match self.result {
            Judged::Right(_) => Some(true),
            Judged::Wrong { .. } => Some(false),
            Judged::NotWritten => None,
        }
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.result {
            Judged::Right(of) => write!(f, "✓ {name}: {of}/{of}"),
            Judged::NotWritten => write!(f, "○ {name}: not written yet"),
            Judged::Wrong { right, of, why } => write!(f, "✗ {name}: {right}/{of}\n{why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infinity_is_equal_to_itself_alone() {
        let differ = |e: f64, f: f64| {
            difference(&Value::Float(e), &Value::Float(f), 1e-3, &mut Vec::new()).is_some()
        };
        assert!(!differ(f64::INFINITY, f64::INFINITY));
        assert!(differ(f64::INFINITY, f64::NEG_INFINITY));
        assert!(differ(1.0, f64::INFINITY) && differ(1.0, f64::NAN));
    }

    #[test]
    fn a_difference_that_rounding_hides_is_shown() {
        let differ = |e: Value, f: Value| compare_values(&e, &f, 1e-6).unwrap_err();
        let float = Value::Float;
        assert_eq!(
            differ(float(1.00001), float(1.000006)),
            "expected  1.00001\nfound     1.000006"
        );
        assert_eq!(
            differ(Value::Integer(1), float(1.000003)),
            "expected  1.0\nfound     1.000003"
        );
        let list = |last| Value::List(vec![float(2.0), float(last)]);
        assert_eq!(
            differ(list(1.00001), list(1.000006)),
            "expected  1.00001 at [1]\nfound     1.000006"
        );
        assert_eq!(
            differ(list(0.5), list(0.25)),
            "expected  [2.0, 0.5]\nfound     [2.0, 0.25]"
        );
    }
}
