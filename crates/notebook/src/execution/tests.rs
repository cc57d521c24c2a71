//! Running cells with the fake language, without the commands.

use super::execute::{CellRun, End, Execution, Purpose, execute, store};
use crate::document::layout::layout;
use crate::document::notebook::Notebook;
use crate::testing::{Fake, Folder, code, load, notebook, stdout, tagged};
use serde_json::{Value, json};
use std::cell::Cell;

const RUN: Purpose = Purpose::Run {
    allow_errors: false,
};
const ALLOW: Purpose = Purpose::Run { allow_errors: true };

fn run(notebook: &Notebook, purpose: Purpose) -> Execution {
    execute(
        notebook,
        &mut Fake::default(),
        purpose,
        &|| false,
        &mut |_| {},
    )
}

/// Runs these cells, and returns the result and the document after the run.
fn after(cells: &[Value], purpose: Purpose) -> (Execution, Value) {
    let mut notebook = load(&Folder::new(), &notebook(cells));
    let execution = run(&notebook, purpose);
    store(&mut notebook, &execution);
    (execution, notebook.document)
}

fn counts(document: &Value) -> Vec<Value> {
    let cells = document["cells"].as_array().unwrap();
    cells
        .iter()
        .map(|cell| cell["execution_count"].clone())
        .collect()
}

#[test]
fn cells_run_in_order_and_are_counted() {
    let markdown = json!({"cell_type": "markdown", "id": "m", "metadata": {}, "source": "print 0"});
    let cells = [
        code("a", "count", json!([])),
        markdown,
        code("b", "count\nvalue 7", json!([])),
    ];
    let (execution, document) = after(&cells, RUN);
    assert_eq!(execution.end, End::Finished);
    assert_eq!(counts(&document), [json!(1), Value::Null, json!(2)]);
    let outputs = &document["cells"][2]["outputs"];
    assert_eq!(outputs[0]["text"], json!(["cell 2\n"]));
    assert_eq!(outputs[1]["execution_count"], 2);
    assert_eq!(document["cells"][0]["id"], "a");
    assert_eq!(document["metadata"]["language_info"]["name"], "rust");
}

#[test]
fn stale_outputs_and_timing_go_other_fields_stay() {
    let mut stale = code("a", "print new", json!([stdout("old"), stdout("older")]));
    stale["execution_count"] = json!(99);
    stale["metadata"] = json!({"execution": {"iopub.status.busy": "2026"}, "ExecuteTime": {},
                               "tags": ["t"], "own": {"x": 1}, "collapsed": true});
    let mut empty = code("b", " \n", json!([stdout("stale")]));
    empty["execution_count"] = json!(7);
    let raw = json!({"cell_type": "raw", "id": "r", "metadata": {}, "source": "x",
                     "attachments": {"a.txt": {"text/plain": "x"}}, "foreign": [1]});
    let (execution, document) = after(&[stale, empty, raw.clone()], RUN);
    let cells = &document["cells"];
    assert_eq!(
        cells[0]["outputs"],
        json!([{"output_type": "stream", "name": "stdout", "text": ["new\n"]}])
    );
    assert_eq!(
        cells[0]["metadata"],
        json!({"tags": ["t"], "own": {"x": 1}, "collapsed": true})
    );
    assert_eq!(cells[1]["outputs"], json!([]));
    assert_eq!(cells[1]["execution_count"], Value::Null);
    assert_eq!(cells[2], raw);
    assert!(matches!(execution.cells[1], CellRun::Empty));
}

#[test]
fn the_first_failing_cell_ends_the_run() {
    let cells = [
        code("a", "print 1", json!([])),
        code("b", "print 2\nfail@2:6 Error no", json!([])),
        code("c", "print 3", json!([stdout("stays")])),
    ];
    for purpose in [RUN, Purpose::Test] {
        let (execution, document) = after(&cells, purpose);
        assert_eq!(execution.end, End::Failed(1));
        assert_eq!(counts(&document), [json!(1), json!(2), Value::Null]);
        assert_eq!(document["cells"][1]["outputs"][1]["ename"], "Error");
        assert_eq!(document["cells"][2]["outputs"][0]["text"], "stays");
    }
    let (execution, document) = after(&cells, ALLOW);
    assert_eq!(execution.end, End::Finished);
    assert_eq!(counts(&document), [json!(1), json!(2), json!(3)]);
    assert_eq!(execution.ran().filter(|(_, ran)| ran.unexpected).count(), 1);
}

#[test]
fn tags_decide_what_runs() {
    let kept = json!([stdout("kept")]);
    let cells = [
        tagged("skip-execution", "fail Error no", kept.clone()),
        tagged("nbval-skip", "print b", kept.clone()),
        tagged("raises-exception", "fail Error meant", json!([])),
        tagged("raises-exception", "print no error", json!([])),
    ];
    let unexpected = |execution: &Execution| -> Vec<usize> {
        execution
            .ran()
            .filter(|(_, ran)| ran.unexpected)
            .map(|(index, _)| index)
            .collect()
    };
    let (tested, document) = after(&cells, Purpose::Test);
    assert_eq!(
        counts(&document),
        [Value::Null, Value::Null, json!(1), json!(2)]
    );
    assert_eq!(document["cells"][0]["outputs"], kept);
    assert_eq!(
        unexpected(&tested),
        [3],
        "a test expects the error that the tag names"
    );
    let (ran, document) = after(&cells, RUN);
    assert_eq!(
        counts(&document),
        [Value::Null, json!(1), json!(2), json!(3)]
    );
    assert_eq!(
        unexpected(&ran),
        Vec::<usize>::new(),
        "a run, as in Jupyter, does not"
    );
}

#[test]
fn displays_are_stored_in_their_final_state() {
    let cells = [
        code(
            "a",
            "show #board text/plain 0%\nshow text/html <b>\\nx</b>",
            json!([]),
        ),
        code(
            "b",
            "show #board text/plain 0%\nupdate #board text/plain 100%",
            json!([]),
        ),
        code("c", "print old\nclear wait\nprint new\nwrite er", json!([])),
    ];
    let (_, document) = after(&cells, RUN);
    let data =
        |cell: usize, output: usize| document["cells"][cell]["outputs"][output]["data"].clone();
    assert_eq!(data(0, 0), json!({"text/plain": ["100%"]}));
    assert_eq!(data(0, 1), json!({"text/html": ["<b>\n", "x</b>"]}));
    assert_eq!(data(1, 0), json!({"text/plain": ["100%"]}));
    assert_eq!(
        document["cells"][2]["outputs"][0]["text"],
        json!(["new\n", "er"])
    );
}

#[test]
fn a_request_for_input_fails() {
    let (_, document) = after(&[code("a", "input Name?", json!([]))], RUN);
    assert_eq!(
        document["cells"][0]["outputs"][0]["text"],
        json!(["None\n"])
    );
}

#[test]
fn an_interrupt_ends_the_run_between_cells_too() {
    let cells = [
        code("a", "print 1", json!([])),
        code("b", "print 2", json!([])),
    ];
    let notebook = load(&Folder::new(), &notebook(&cells));
    let looks = Cell::new(0);
    let stop = || {
        looks.set(looks.get() + 1);
        looks.get() > 1
    };
    let mut seen = Vec::new();
    let execution = execute(
        &notebook,
        &mut Fake::default(),
        ALLOW,
        &stop,
        &mut |index| seen.push(index),
    );
    assert_eq!(
        execution.end,
        End::Interrupted,
        "even where errors are allowed"
    );
    assert_eq!(seen, [0]);
    assert!(matches!(execution.cells[1], CellRun::Untouched));
}

#[test]
fn a_second_run_gives_the_same_bytes() {
    let folder = Folder::new();
    let cells = [
        code("a", "print 1\nshow text/html <b>", json!([])),
        code("b", "value 2", json!([])),
    ];
    let mut first = load(&folder, &notebook(&cells));
    let execution = run(&first, RUN);
    store(&mut first, &execution);
    let path = folder.write_text("first.ipynb", layout(&first));
    let mut second = Notebook::load(&path).unwrap();
    let execution = run(&second, RUN);
    store(&mut second, &execution);
    assert_eq!(layout(&second), layout(&first));
}
