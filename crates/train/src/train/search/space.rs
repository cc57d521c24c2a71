//! The values that hyperparameters may have.

use crate::error::{OrRaise, Result, refuse};
use crate::plot::Values;
use crate::tensor::random_unit;

pub(super) struct Hyperparameter {
    pub(super) name: String,
    pub(super) choices: Choices,
}

pub(super) enum Choices {
    List(Vec<Value>),
    Uniform(f64, f64),
    LogUniform(f64, f64),
}

/// The value of a hyperparameter: a number, or a name and its position in the list.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) number: f64,
    pub(super) name: Option<String>,
}

impl Choices {
    pub(super) fn numbers(values: &dyn Values) -> Self {
        let numbers = values.values().or_raise().into_iter();
        Self::List(numbers.map(Value::of).collect())
    }

    pub(super) fn names(names: &[&str]) -> Self {
        let values = names.iter().enumerate().map(|(i, name)| Value {
            number: i as f64,
            name: Some(name.to_string()),
        });
        Self::List(values.collect())
    }

    pub(super) fn draw(&self) -> Value {
        let between = |low: f64, high: f64| low + random_unit() * (high - low);
        match self {
            Self::List(values) => {
                let place = (random_unit() * values.len() as f64) as usize;
                values[place.min(values.len() - 1)].clone()
            }
            Self::Uniform(low, high) => Value::of(between(*low, *high)),
            Self::LogUniform(low, high) => {
                Value::of(between(low.ln(), high.ln()).exp().clamp(*low, *high))
            }
        }
    }
}

impl Value {
    fn of(number: f64) -> Self {
        Self { number, name: None }
    }
}

impl Hyperparameter {
    pub(super) fn list(&self) -> Result<&[Value]> {
        match &self.choices {
            Choices::List(values) => Ok(values),
            _ => refuse!(argument("Search::grid", "a range");
                ("a list of values for {:?}", self.name),
                "Use .choice(name, &[0.01, 0.1]) for it, or .random(20, …) in place of .grid(…)"),
        }
    }

    fn check(&self) -> Result<()> {
        let (expected, found) = match self.choices {
            Choices::List(ref values) if values.is_empty() => {
                ("at least one value", "none".to_owned())
            }
            Choices::Uniform(low, high) if !(low < high && (high - low).is_finite()) => (
                "a range from a lower to a higher value",
                format!("{low} to {high}"),
            ),
            Choices::LogUniform(low, high) if !(0.0 < low && low < high && high.is_finite()) => {
                ("a range of values above 0", format!("{low} to {high}"))
            }
            _ => return Ok(()),
        };
        refuse!(argument("Search", found);
            ("{expected} for {:?}", self.name),
            "Use .choice(\"lr\", &[0.01, 0.1]) or .log_uniform(\"lr\", 0.001, 1.0), for instance")
    }
}

/// Checks that there are hyperparameters, with different names, and values for each.
pub(super) fn check(space: &[Hyperparameter]) -> Result<()> {
    refuse!(if space.is_empty(); state("Search");
        "there are no hyperparameters", "Add one: .log_uniform(\"lr\", 0.001, 1.0)");
    for (i, it) in space.iter().enumerate() {
        it.check()?;
        refuse!(if space[..i].iter().any(|other| other.name == it.name);
            argument("Search", format_args!("{:?} twice", it.name));
            "a name of its own for each hyperparameter", "Rename one of them");
    }
    Ok(())
}

/// Returns a combination of one value of each list; the last list changes fastest.
pub(super) fn combination(lists: &[&[Value]], mut index: usize) -> Vec<Value> {
    let digits = lists.iter().rev().map(|list| {
        let value = list[index % list.len()].clone();
        index /= list.len();
        value
    });
    let mut setting: Vec<Value> = digits.collect();
    setting.reverse();
    setting
}
