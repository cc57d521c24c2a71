//! What a record says. Cells send some of them (display, panic, …), the relay adds the rest.

use crate::event::{Event, MimeBundle, Stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Begins every record; no printable text contains it by accident.
pub const MARK: char = '\x1e';

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Record {
    /// Plain output of the cell.
    Text { stream: Stream, text: String },
    /// A figure, a table, …
    Display {
        data: MimeBundle,
        #[serde(default)]
        metadata: Map<String, Value>,
        #[serde(default)]
        id: Option<String>,
    },
    /// New content for the displays with this id.
    Update {
        data: MimeBundle,
        #[serde(default)]
        metadata: Map<String, Value>,
        id: String,
    },
    /// Remove the cell's outputs.
    Clear {
        #[serde(default)]
        wait: bool,
    },
    /// The value of the cell.
    Result {
        data: MimeBundle,
        #[serde(default)]
        metadata: Map<String, Value>,
    },
    /// The cell's thread panicked; `line` counts in the source that was compiled.
    Panic {
        message: String,
        file: Option<String>,
        line: Option<usize>,
    },
    /// A failing `?` ended the cell.
    Failed { message: String },
    /// An exported program begins with this cell.
    Cell { id: String, digest: String },
    /// The cells process is done with this cell.
    Complete,
}

impl Record {
    /// The record as one line for evcxr's reader, which looks in every line for its own marks:
    /// they are written with an escape.
    pub fn to_line(&self) -> String {
        let json = serde_json::to_string(self).expect("a record has only string keys");
        format!("{MARK}{}\n", json.replace("EVCXR_", "EVCXR\\u005f"))
    }

    /// Reads what [`Self::to_line`] wrote, without the newline.
    pub fn from_line(line: &str) -> Option<Record> {
        serde_json::from_str(line.strip_prefix(MARK)?).ok()
    }
}

/// What a front hears of a record; nothing where it tells how the cell ended.
pub fn events_of(record: Record) -> Option<Event> {
    Some(match record {
        Record::Text { stream, text } => Event::Text { stream, text },
        Record::Display { data, metadata, id } => Event::Display {
            data,
            metadata,
            display_id: id,
        },
        Record::Update { data, metadata, id } => Event::UpdateDisplay {
            data,
            metadata,
            display_id: id,
        },
        Record::Clear { wait } => Event::Clear { wait },
        Record::Result { data, metadata } => Event::Result { data, metadata },
        Record::Panic { .. } | Record::Failed { .. } | Record::Complete | Record::Cell { .. } => {
            return None;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_the_line_and_hides_evcxrs_marks() {
        let record = Record::Text {
            stream: Stream::Stdout,
            text: "EVCXR_BEGIN_CONTENT text/plain\n\x1e \\ é".into(),
        };
        let line = record.to_line();
        assert_eq!(line.matches('\n').count(), 1);
        assert!(!line.contains("EVCXR_"));
        assert_eq!(Record::from_line(line.trim_end_matches('\n')), Some(record));
    }

    #[test]
    fn ordinary_text_is_no_record() {
        assert_eq!(Record::from_line("{\"op\":\"complete\"}"), None);
        assert_eq!(Record::from_line("\x1e{\"op\":\"unknown\"}"), None);
    }
}
