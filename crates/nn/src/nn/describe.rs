//! A model as text.

use crate::nn::visitor::Visitor;
use std::fmt::Debug;

/// Returns the description of the model that `visit` walks through. It is empty for a value that is
/// not a model, such as an integer or a `Vec<f64>`.
pub(super) fn text(visit: &dyn Fn(&mut dyn Visitor)) -> String {
    let mut description = Description {
        open: vec![Level::default()],
    };
    visit(&mut description);
    let level = description.open.pop();
    level.and_then(Level::model).unwrap_or_default()
}

/// A visitor that collects the description of a model.
struct Description {
    /// The model and the nested fields that the walk is in, the outermost first.
    open: Vec<Level>,
}

/// The part of the description that belongs to a field, or to the model itself.
#[derive(Default)]
struct Level {
    field: String,
    name: String,
    is_collection: bool,
    /// Whether the settings are complete, so that further plain fields are left out.
    is_settled: bool,
    settings: Vec<String>,
    parts: Vec<String>,
    value: Option<String>,
}

impl Visitor for Description {
    fn model(&mut self, name: &str) {
        let level = self.level();
        if level.name.is_empty() {
            level.name = name.to_owned();
        }
    }

    fn collection(&mut self, name: &str) {
        let level = self.level();
        if level.name.is_empty() {
            level.name = name.to_owned();
            level.is_collection = true;
        }
    }

    fn settings(&mut self, settings: &dyn Fn(&mut dyn Visitor)) {
        if !self.level().is_settled {
            self.level().settings.clear();
            settings(self);
            self.level().is_settled = true;
        }
    }

    fn enter(&mut self, name: &str) {
        self.open.push(Level {
            field: name.to_owned(),
            ..Level::default()
        });
    }

    fn leave(&mut self) {
        if let Some(field) = self.open.pop() {
            self.level().add(field);
        }
    }

    fn value(&mut self, value: &dyn Debug) {
        self.level().value = Some(format!("{value:?}"));
    }
}

impl Description {
    fn level(&mut self) -> &mut Level {
        self.open.last_mut().expect("the model's own level is open")
    }
}

impl Level {
    fn add(&mut self, mut field: Level) {
        let name = std::mem::take(&mut field.field);
        match field.value.take() {
            // Plain data in a list is left out: there may be many elements.
            Some(_) if self.is_collection || self.is_settled => {}
            Some(value) if is_position(&name) => self.settings.push(value),
            Some(value) => self.settings.push(format!("{name}={value}")),
            None => {
                let part = field.model().map(|text| text.replace('\n', "\n  "));
                self.parts
                    .extend(part.map(|part| format!("  ({name}): {part}\n")));
            }
        }
    }

    /// Returns the text of a model; `None` for plain data, and for a collection without models.
    fn model(self) -> Option<String> {
        if self.name.is_empty() || (self.is_collection && self.parts.is_empty()) {
            return None;
        }
        let (name, settings) = (self.name, self.settings.join(", "));
        Some(match (settings.is_empty(), self.parts.is_empty()) {
            (_, true) => format!("{name}({settings})"),
            (true, false) => format!("{name}(\n{})", self.parts.concat()),
            (false, false) => format!("{name}(\n  {settings}\n{})", self.parts.concat()),
        })
    }
}

/// Returns whether a field's name is its index in a tuple.
fn is_position(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::nn::{Mode, Parameters, ReLU};

    #[derive(Parameters)]
    #[describe(size = Some(1), unknown = None::<usize>, "data")]
    struct Listed {
        unlisted: f64,
        layer: ReLU,
    }

    #[derive(Parameters)]
    struct Wrapper {
        lr: f64,
        #[parameters(flatten)]
        inner: Listed,
        mode: Mode,
        data: Vec<f64>,
    }

    fn listed() -> Listed {
        Listed {
            unlisted: 0.1,
            layer: ReLU,
        }
    }

    #[test]
    fn listed_settings_replace_the_plain_fields() {
        let text = "Listed(\n  size=1, \"data\"\n  (layer): ReLU()\n)";
        assert_eq!(listed().describe(), text);
        let wrapper = Wrapper {
            lr: 0.5,
            inner: listed(),
            mode: Mode::new(),
            data: vec![1.0],
        };
        assert_eq!(
            format!("{wrapper:?}"),
            text.replace("Listed", "Wrapper"),
            "the fields of the inner model are the wrapper's own"
        );
        assert!(wrapper.lr > wrapper.inner.unlisted);
    }

    #[test]
    fn plain_data_is_not_a_model() {
        assert_eq!((1.5.describe(), vec![1.5].describe()), Default::default());
        assert_eq!((vec![listed()],).describe().lines().count(), 8);
    }
}
