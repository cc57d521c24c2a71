//! [`Show`] for JSON: indented text, and a tree whose branches can be folded.

use super::Show;
use crate::notebook::MimeBundle;
use serde_json::{Map, Value};

/// How many lines of the text are shown. The tree is whole.
const MOST_LINES: usize = 100;

impl Show for Value {
    fn show_text(&self) -> String {
        let text = format!("{self:#}");
        let count = text.lines().count();
        if count <= MOST_LINES {
            return text;
        }
        let shown: Vec<&str> = text.lines().take(MOST_LINES).collect();
        format!("{}\n… {} more lines", shown.join("\n"), count - MOST_LINES)
    }

    fn show_bundle(&self) -> MimeBundle {
        let text = Value::String(self.show_text());
        let mut data = Map::from_iter([("text/plain".to_owned(), text)]);
        // Other values are as short as their text.
        if matches!(self, Value::Array(_) | Value::Object(_)) {
            data.insert("application/json".to_owned(), self.clone());
        }
        MimeBundle::from(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_a_tree_and_indented_text() {
        let value = json!({"a": [1, {"b": null}]});
        let bundle = value.show_bundle();
        assert_eq!(bundle.data()["application/json"], value);
        let text = "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ]\n}";
        assert_eq!(bundle.get("text/plain"), Some(text));
        assert_eq!(json!(1.5).show_bundle(), MimeBundle::text("1.5"));
    }

    #[test]
    fn long_text_is_shortened_and_the_tree_is_whole() {
        let value: Value = (0..1000).collect();
        let bundle = value.show_bundle();
        assert!(value.show_text().ends_with("\n… 902 more lines"));
        assert_eq!(bundle.data()["application/json"], value);
    }
}
