//! The outputs of a notebook while it runs, as Jupyter would keep them.

use super::late::LateEvents;
use crate::document::notebook::read_output;
use nbformat::v4::{MultilineString, Output};
use std::sync::Arc;
use taper_evaluator::CellOutputs;
use taper_evaluator::evaluator::Late;
use taper_evaluator::event::Event;

/// The outputs of all cells: an update of a display changes every output with its id, in any cell.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    /// The outputs of each cell, and its execution count.
    cells: Vec<(CellOutputs, usize)>,
    /// Events of cells that have ended, which are not stored yet.
    late: Arc<LateEvents>,
}

impl Outputs {
    /// Begins the next cell; the events that follow belong to it.
    pub(super) fn begin_cell(&mut self, execution_count: usize) {
        self.cells.push((CellOutputs::default(), execution_count));
    }

    /// Returns what receives the events of cells that have ended.
    pub(super) fn late(&self) -> Arc<dyn Late> {
        self.late.clone()
    }

    /// Adds one event of the current cell.
    pub(super) fn event(&mut self, event: Event) {
        self.store_late();
        self.add(self.cells.len(), event);
    }

    /// Stores the events of cells that have ended.
    fn store_late(&mut self) {
        for (cell, event) in self.late.take() {
            self.add(cell, event);
        }
    }

    /// Adds an event of a cell, counted from 1.
    fn add(&mut self, cell: usize, event: Event) {
        if let Event::UpdateDisplay {
            data,
            metadata,
            display_id,
        } = &event
        {
            let cells = self.cells.iter_mut();
            cells.for_each(|(cell, _)| cell.update(display_id, data, metadata));
        } else if let Some(cell) = cell.checked_sub(1)
            && let Some((cell, count)) = self.cells.get_mut(cell)
        {
            cell.event(event, *count);
        }
    }

    /// Returns the final outputs, one list for each cell begun.
    pub(super) fn finish(mut self) -> Vec<Vec<Output>> {
        self.store_late();
        let outputs = |(cell, _): &(CellOutputs, usize)| {
            let read = cell.shown().map(|shown| read_output(shown.content.clone()));
            read.map(|output| settle(output.expect("an output of the format")))
                .collect()
        };
        self.cells.iter().map(outputs).collect()
    }
}

/// Removes the text that a carriage return has overwritten, as JupyterLab does when it saves.
fn settle(output: Output) -> Output {
    match output {
        Output::Stream { name, text } if text.0.contains('\r') => {
            let lines = text.0.split_inclusive('\n').map(overwrite).collect();
            Output::Stream {
                name,
                text: MultilineString(lines),
            }
        }
        other => other,
    }
}

fn overwrite(line: &str) -> String {
    let (line, end) = match line.strip_suffix('\n') {
        Some(line) => (line.trim_end_matches('\r'), "\n"),
        None => (line, ""),
    };
    let mut seen: Vec<char> = Vec::new();
    for part in line.split('\r') {
        let part: Vec<char> = part.chars().collect();
        let kept = seen.split_off(part.len().min(seen.len()));
        seen = part.into_iter().chain(kept).collect();
    }
    seen.into_iter().collect::<String>() + end
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};
    use taper_evaluator::evaluator::CellName;
    use taper_evaluator::event::{CellError, Stream};

    fn text(stream: Stream, text: &str) -> Event {
        Event::Text {
            stream,
            text: text.into(),
        }
    }

    fn out(line: &str) -> Event {
        Event::stdout(line)
    }

    fn plain(text: &str) -> Map<String, Value> {
        Map::from_iter([("text/plain".to_string(), json!(text))])
    }

    fn display(content: &str, id: Option<&str>) -> Event {
        let (data, display_id) = (plain(content), id.map(String::from));
        Event::Display {
            data,
            metadata: Map::new(),
            display_id,
        }
    }

    fn update(content: &str, id: &str) -> Event {
        let (data, display_id) = (plain(content), id.to_string());
        Event::UpdateDisplay {
            data,
            metadata: Map::new(),
            display_id,
        }
    }

    /// Returns the outputs of cells with these events, as the JSON of a notebook.
    fn after(cells: Vec<Vec<Event>>) -> Vec<Value> {
        let mut outputs = Outputs::default();
        for (index, events) in cells.into_iter().enumerate() {
            outputs.begin_cell(index + 1);
            events.into_iter().for_each(|event| outputs.event(event));
        }
        outputs
            .finish()
            .iter()
            .map(|cell| serde_json::to_value(cell).unwrap())
            .collect()
    }

    fn stdout(lines: &[&str]) -> Value {
        json!({"output_type": "stream", "name": "stdout", "text": lines})
    }

    fn shown(lines: &[&str]) -> Value {
        json!({"output_type": "display_data", "metadata": {}, "data": {"text/plain": lines}})
    }

    #[test]
    fn streams_are_joined_while_nothing_comes_between() {
        let cell = vec![
            out("a"),
            out("b\nc"),
            text(Stream::Stderr, "e\n"),
            out("d"),
            display("x", None),
            out("f"),
        ];
        let stderr = json!({"output_type": "stream", "name": "stderr", "text": ["e\n"]});
        let expected = json!([
            stdout(&["ab\n", "c"]),
            stderr,
            stdout(&["d"]),
            shown(&["x"]),
            stdout(&["f"])
        ]);
        assert_eq!(after(vec![cell]), [expected]);
    }

    #[test]
    fn every_kind_of_output() {
        let error = CellError {
            name: "Panic".into(),
            message: "boom".into(),
            traceback: vec!["at 1".into(), "boom".into()],
            location: None,
        };
        let result = Event::Result {
            data: plain("5"),
            metadata: Map::new(),
        };
        let cells = after(vec![vec![], vec![result, Event::Error(error)]]);
        assert_eq!(cells[0], json!([]));
        assert_eq!(
            cells[1],
            json!([
                {"output_type": "execute_result", "execution_count": 2, "metadata": {},
                 "data": {"text/plain": ["5"]}},
                {"output_type": "error", "ename": "Panic", "evalue": "boom",
                 "traceback": ["at 1", "boom"]},
            ])
        );
    }

    #[test]
    fn an_update_changes_all_displays_with_its_id() {
        let cells = after(vec![
            vec![
                display("old", Some("board")),
                display("other", Some("b")),
                display("x", None),
            ],
            vec![
                display("old", Some("board")),
                update("new", "board"),
                update("y", "nobody"),
            ],
        ]);
        assert_eq!(
            cells[0],
            json!([shown(&["new"]), shown(&["other"]), shown(&["x"])])
        );
        assert_eq!(cells[1], json!([shown(&["new"])]));
    }

    #[test]
    fn what_comes_after_the_end_of_a_cell_is_stored_there() {
        let mut outputs = Outputs::default();
        let late = outputs.late();
        let cell = |number| CellName { id: None, number };
        outputs.begin_cell(1);
        outputs.event(out("a"));
        outputs.begin_cell(2);
        late.event(&cell(1), out("b"));
        outputs.event(out("c"));
        late.event(&cell(2), out("d"));
        late.event(&cell(3), out("of no cell"));
        let finished = outputs.finish();
        let text = |cell: usize| serde_json::to_value(&finished[cell]).unwrap();
        assert_eq!(text(0), json!([stdout(&["ab"])]));
        assert_eq!(text(1), json!([stdout(&["cd"])]));
    }

    #[test]
    fn clearing() {
        let now = || Event::Clear { wait: false };
        let wait = || Event::Clear { wait: true };
        let cells = after(vec![
            vec![out("old"), now()],
            vec![out("old"), now(), out("new")],
            vec![out("old"), wait(), out("new"), out("er")],
            vec![out("kept"), wait()],
            vec![out("next cell")],
            vec![out("old"), wait(), now(), out("a"), display("b", None)],
            vec![display("old", Some("i")), wait(), update("still", "i")],
        ]);
        assert_eq!(cells[0], json!([]));
        assert_eq!(cells[1], json!([stdout(&["new"])]));
        assert_eq!(cells[2], json!([stdout(&["newer"])]));
        assert_eq!(
            cells[3],
            json!([stdout(&["kept"])]),
            "a waiting clear without an output"
        );
        assert_eq!(cells[4], json!([stdout(&["next cell"])]));
        assert_eq!(cells[5], json!([stdout(&["a"]), shown(&["b"])]));
        assert_eq!(
            cells[6],
            json!([shown(&["still"])]),
            "an update is not a new output"
        );
    }

    #[test]
    fn carriage_returns_overwrite() {
        let bar = vec![
            out("10%\r"),
            out("50%\r100%"),
            out("\nlong line\rshort\r\nend\r"),
        ];
        assert_eq!(
            after(vec![bar]),
            [json!([stdout(&["100%\n", "shortline\n", "end"])])]
        );
    }
}
