"""Submissions in every state in which students and tools leave them, and what each of them must earn.

    python3 tests/grading/damaged.py FOLDER [quick]

Writes `source/ASSIGNMENT/ASSIGNMENT.ipynb` and `submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb` as nbgrader expects them, and
prints what is expected as JSON. `quick` leaves out most of the submissions. `tests/grading.rs` grades them with
`taper test --grade`, and `tests/hub/agreement.py` with nbgrader, which must find the same points and reasons.
"""

import json
import sys
from pathlib import Path

# The time limit of a cell, in seconds, and the memory of the process of the cells.
LIMIT, MEMORY = 15, "2G"
TAPER = {"kernelspec": {"display_name": "Rust (Taper)", "language": "rust", "name": "taper"}}
PYTHON = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def given(name: str, source: str, kind: str = "code", **mark) -> dict:
    """Returns a cell of an assignment."""
    metadata = {}
    if mark:
        grade, solution = "points" in mark, mark.get("solution", False)
        flags = {"grade": grade, "solution": solution, "locked": not solution, "task": False}
        metadata["nbgrader"] = {"schema_version": 3, "grade_id": name, **flags, **mark}
    return cell(name, source, kind, metadata)


def cell(name: str, source: str, kind: str = "code", metadata: dict | None = None) -> dict:
    outputs = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": metadata or {}, "source": source, **outputs}


def notebook(cells: list[dict], metadata: dict = TAPER) -> str:
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)


TITLE = given("title", "# Averages", "markdown")
SETUP = given(
    "setup",
    "let sample = vec![1.0, 3.0];\nfn near(a: f64, b: f64) -> bool {\n    (a - b).abs() < 1e-9\n}",
    locked=True,
)
AVERAGE = given(
    "average",
    "fn average(x: &[f64]) -> f64 {\n    // BEGIN SOLUTION\n    x.iter().sum::<f64>() / x.len() as f64\n"
    "    // END SOLUTION\n}",
    solution=True,
)
AVERAGE_TEST = given("average-test", 'assert!(near(average(&sample), 2.0), "the average is wrong");', points=2)
SQUARE = given(
    "square", "fn square(x: f64) -> f64 {\n    // BEGIN SOLUTION\n    x * x\n    // END SOLUTION\n}", solution=True
)
# One of its two halves is hidden.
SQUARE_TEST = given(
    "square-test",
    "let right = sample.iter().filter(|x| near(square(**x), **x * **x)).count();\n"
    "// BEGIN HIDDEN TESTS\nassert!(near(square(7.0), 49.0));\n// END HIDDEN TESTS\nright as f64 / 2.0",
    points=1,
)
ESSAY = given("essay", "It is the sum of all values, divided by their number.", "markdown", solution=True, points=4)

VALUES = [
    given("value", "fn value() -> f64 {\n    // BEGIN SOLUTION\n    2.0\n    // END SOLUTION\n}", solution=True),
    given("part", "value() - 0.5", points=2),
    given("whole", "2", points=2),
    given("none", "0", points=2),
    given("negative", "-1.0", points=2),
    given("negative-zero", "-0.0", points=2),
    given("too-many", "7.5", points=2),
    given("infinite", "f64::INFINITY", points=2),
    given("nan", "f64::NAN", points=2),
    given("right", "value() == 2.0", points=2),
    given("wrong", "value() == 3.0", points=2),
    given("text", '"1"', points=2),
    given("option", "Some(1.0)", points=2),
    given("printed", 'println!("1");', points=2),
    given("worth-nothing", "assert_eq!(value(), 3.0)", points=0),
    given("panic", 'assert_eq!(value(), 3.0, "the value is wrong")', points=2),
    given("tenth", "0.1", points=0.3),
]
ASSIGNMENTS = {
    "damaged": [TITLE, SETUP, AVERAGE, AVERAGE_TEST, SQUARE, SQUARE_TEST, ESSAY],
    "values": VALUES,
}


def released(cell: dict) -> dict:
    """Returns a cell as nbgrader releases it."""
    kept, hidden = [], False
    for line in cell["source"].split("\n"):
        if "BEGIN" in line:
            hidden = True
            kept += ["    todo!() // YOUR CODE HERE"] if "SOLUTION" in line else []
        elif "END" in line:
            hidden = False
        elif not hidden:
            kept.append(line)
    source = "YOUR ANSWER HERE" if cell is ESSAY else "\n".join(kept)
    return cell | {"source": source}


def with_source(cell: dict, source: str, kind: str | None = None) -> dict:
    """Returns a cell in which a student has written this."""
    kind = kind or cell["cell_type"]
    changed = {**cell, "cell_type": kind, "source": source}
    if kind != "code":
        changed = {key: value for key, value in changed.items() if key not in ("outputs", "execution_count")}
    return changed


def marked(cell: dict, mark) -> dict:
    """Returns a cell whose metadata `nbgrader` is this, or is missing."""
    return cell | {"metadata": {} if mark is None else {"nbgrader": mark}}


def old(cell: dict, version: int | None, **others) -> dict:
    mark = {key: value for key, value in cell["metadata"]["nbgrader"].items() if key != "task"} | others
    del mark["schema_version"]
    return marked(cell, mark if version is None else mark | {"schema_version": version})


RIGHT_AVERAGE = with_source(AVERAGE, "fn average(x: &[f64]) -> f64 { x.iter().sum::<f64>() / x.len() as f64 }")
RIGHT_SQUARE = with_source(SQUARE, "fn square(x: f64) -> f64 { x * x }")
ANSWER = with_source(ESSAY, "All values together, shared equally.")
SOLVED = [TITLE, SETUP, RIGHT_AVERAGE, released(AVERAGE_TEST), RIGHT_SQUARE, released(SQUARE_TEST), ANSWER]


def solved_but(old: dict, *new: dict) -> list[dict]:
    """Returns the solved cells with others in the place of one."""
    at = next(at for at, cell in enumerate(SOLVED) if cell["id"] == old["id"])
    return [*SOLVED[:at], *new, *SOLVED[at + 1 :]]


def body(code: str) -> list[dict]:
    """Returns the solved cells with another function `average`."""
    return solved_but(AVERAGE, with_source(AVERAGE, "fn average(x: &[f64]) -> f64 {\n" + code + "\n}"))


DEEP = "fn deep(n: u64) -> u64 { if n == 0 { 0 } else { 1 + deep(n + 1) * 2 } }\n"
LOST = "square-test: 0 of 1, "
ALL, NONE = {"average-test": 2, "square-test": 1}, {"average-test": 0, "square-test": 0}
NO_AVERAGE, NO_SQUARE = {"average-test": 0, "square-test": 1}, {"average-test": 2, "square-test": 0}


def case(cells: list[dict] | str, points: dict, *says: str, metadata: dict = TAPER, quick=False, failed=False) -> dict:
    """Describes a submission: its cells or its text, the points of its tests, and parts of lines that explain them."""
    text = cells if isinstance(cells, str) else notebook(unique(cells), metadata)
    return {"text": text, "points": points, "says": says, "quick": quick, "failed": failed}


def unique(cells: list[dict]) -> list[dict]:
    """Sets an id of its own for each copy of a cell, as JupyterLab does."""
    seen, copies = set(), []
    for number, one in enumerate(cells):
        copies.append(one | {"id": f"copy-{number}"} if one["id"] in seen else one)
        seen.add(one["id"])
    return copies


def unreadable(text: str, says: str, quick=True) -> dict:
    return case(text, NONE, f"average-test: 0 of 2, Refused: grading does not run this cell: {says}", failed=True)


SUBMISSIONS = {
    "a-solved": case(SOLVED, ALL, "essay: up to 4, by hand", quick=True),
    "untouched": case(
        [released(cell) for cell in ASSIGNMENTS["damaged"]],
        NONE,
        "average-test: 0 of 2, Panic: not yet implemented",
        "essay: 0 of 4, the cell is as in the assignment",
    ),
    # Cells that are split, copied, converted, deleted or moved.
    "split-solution": case(
        solved_but(
            AVERAGE,
            with_source(AVERAGE, "fn sum(x: &[f64]) -> f64 { x.iter().sum() }"),
            with_source(AVERAGE, "fn average(x: &[f64]) -> f64 { sum(x) / x.len() as f64 }"),
        ),
        ALL,
    ),
    "split-test": case(
        solved_but(
            SQUARE_TEST,
            with_source(SQUARE_TEST, "let right = sample.iter().filter(|x| near(square(**x), **x * **x)).count();"),
            with_source(SQUARE_TEST, "right as f64 / 2.0"),
        ),
        ALL,
        "`square-test` occurs 2 times",
        quick=True,
    ),
    "split-essay": case(
        solved_but(ESSAY, ANSWER, released(ESSAY)),
        ALL,
        "essay: up to 4, by hand",
    ),
    "test-with-notes": case(
        solved_but(AVERAGE_TEST, released(AVERAGE_TEST), with_source(AVERAGE_TEST, "// my notes\nlet a = average(&[2.0]);")),
        ALL,
    ),
    "locked-cell-copied-to-the-end": case([*SOLVED, SETUP], ALL),
    "solution-in-a-copy-of-the-test": case(
        [*SOLVED[:4], with_source(AVERAGE_TEST, RIGHT_SQUARE["source"]), *SOLVED[5:]],
        ALL,
        "The solution `square` is missing",
        quick=True,
    ),
    "solution-as-markdown": case(
        solved_but(AVERAGE, with_source(RIGHT_AVERAGE, RIGHT_AVERAGE["source"], "markdown")),
        ALL,
        "`average` was a markdown cell",
        quick=True,
    ),
    "solution-as-raw": case(solved_but(AVERAGE, with_source(RIGHT_AVERAGE, RIGHT_AVERAGE["source"], "raw")), ALL),
    "test-as-markdown": case(solved_but(AVERAGE_TEST, with_source(AVERAGE_TEST, "Tests", "markdown")), ALL),
    "test-as-raw": case(solved_but(AVERAGE_TEST, with_source(AVERAGE_TEST, "Tests", "raw")), ALL),
    "essay-as-code": case(
        solved_but(ESSAY, cell("essay", "my answer", "code", ESSAY["metadata"])), ALL, "essay: up to 4, by hand"
    ),
    "tests-deleted": case([TITLE, RIGHT_AVERAGE, RIGHT_SQUARE], ALL, "`square-test` was missing: it was added back", quick=True),
    "solution-deleted": case(solved_but(AVERAGE), NO_AVERAGE, "The solution `average` is missing"),
    "moved": case([ANSWER, RIGHT_SQUARE, TITLE, SETUP, released(SQUARE_TEST), RIGHT_AVERAGE], ALL),
    # Metadata of other versions, of others, and none.
    "old-metadata": case(
        [
            TITLE,
            old(SETUP, 1),
            old(RIGHT_AVERAGE, 0),
            old(released(AVERAGE_TEST), 2),
            old(RIGHT_SQUARE, None),
            old(released(SQUARE_TEST), None, points="1"),
            ANSWER,
        ],
        ALL,
    ),
    "metadata-from-the-future": case(solved_but(AVERAGE_TEST, old(released(AVERAGE_TEST), 9)), ALL),
    "odd-metadata": case(
        [
            TITLE,
            marked(SETUP, {}),
            marked(RIGHT_AVERAGE, {"grade_id": 7}),
            marked(released(AVERAGE_TEST), "none"),
            old(RIGHT_SQUARE, 3, grade_id="other"),
            marked(released(SQUARE_TEST), []),
            ANSWER,
        ],
        ALL,
        quick=True,
    ),
    "no-metadata": case([marked(one, None) for one in SOLVED], ALL),
    "no-metadata-and-no-ids": case(
        [cell("own-1", RIGHT_AVERAGE["source"]), cell("own-2", RIGHT_SQUARE["source"])], ALL,
        quick=True,
    ),
    "points-claimed": case(
        solved_but(AVERAGE, released(AVERAGE))[:3]
        + [old(with_source(AVERAGE_TEST, "100.0"), 3, points=100, solution=True, task=False)]
        + SOLVED[4:],
        NO_AVERAGE,
        "average-test: 0 of 2, Panic: not yet implemented",
    ),
    # Code that fails.
    "wrong": case(body("1.0"), NO_AVERAGE, "average-test: 0 of 2, Panic: the average is wrong"),
    "does-not-compile": case(
        body("x.iter().summ()"),
        NO_AVERAGE,
        "average-test: 0 of 2, CompileError: [E0425] cannot find function `average` in this scope; "
        "the cell `average` failed: CompileError: [E0599] ",
        quick=True,
    ),
    "another-signature": case(
        solved_but(AVERAGE, with_source(AVERAGE, "fn average(x: Vec<f64>) -> f64 { 2.0 }")),
        NO_AVERAGE,
        "the cell `average` failed: Refused: grading does not run this cell: `average` must be `",
    ),
    "exit": case(
        body("std::process::exit(0)"),
        NO_AVERAGE,
        "The cell `average` was not run: it uses `process`, which the assignment does not use.",
    ),
    "own-cell-fails": case([*SOLVED[:2], cell("own", "sample[7]"), *SOLVED[2:]], ALL),
    "nested-too-deeply": case(
        body("!" * 3000 + "0.0"), NO_AVERAGE, "The cell `average` was not run: it nests its expressions too deeply."
    ),
    # The end of the process takes the variable `sample` along.
    "overflow": case(
        body(DEEP + "deep(1) as f64"),
        NONE,
        "average-test: 0 of 2, ProcessEnded: ",
        LOST,
        "lost, because the cell `average-test` failed: ProcessEnded: ",
    ),
    "memory": case(
        body("vec![0_u8; 1 << 40].len() as f64"),
        NONE,
        "average-test: 0 of 2, ProcessEnded: Out of memory",
        LOST,
    ),
    "loop": case(
        body("let mut y = 0_u64;\nloop { y = std::hint::black_box(y + 1); }"),
        NONE,
        f"average-test: 0 of 2, TimeLimit: the cell was stopped after {LIMIT} s",
        LOST,
        "lost, because the cell `average-test` failed: TimeLimit",
    ),
    "sleep": case(
        body("loop { std::thread::sleep(std::time::Duration::from_secs(1)); }"),
        NO_AVERAGE,
        f"average-test: 0 of 2, TimeLimit: the cell was stopped after {LIMIT} s",
    ),
    "endless-output": case(
        body('loop { println!("again and again"); }'),
        NO_AVERAGE,
        f"average-test: 0 of 2, TimeLimit: the cell was stopped after {LIMIT} s",
    ),
    "many-lines": case(body('for line in 0..1_000_000 { println!("{line}"); }\n2.0'), ALL),
    "a-huge-line": case(body('print!("{}", "x".repeat(100_000_000));\n2.0'), ALL),
    # Files that are not a notebook, or not one for Rust.
    "no-json": unreadable('{"cells": [{"cell_type": "code",', "the file is not JSON"),
    "no-content": unreadable("", "the file is not JSON"),
    "merge-conflict": unreadable("<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other", "the file is not JSON"),
    "no-notebook": unreadable("[1, 2]", "the file is JSON but not a notebook"),
    "no-cells": unreadable('{"metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "the file is JSON but not a notebook"),
    "format-3": unreadable(
        '{"metadata": {}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": []}]}',
        "the file is a notebook in format 3",
    ),
    "empty-notebook": case([], NONE, "The solution `average` is missing", "essay: 0 of 4", quick=True),
    "one-empty-cell": case([cell("own", "")], NONE, "The solution `average` is missing"),
    "broken-cells": case(
        '{"cells": [null, 7, {"cell_type": "code"}, {"cell_type": "poem", "source": "x", "metadata": {}}, '
        '{"cell_type": "code", "metadata": null, "source": ["fn average(x: &[f64]) -> f64 {", " 2.0 }"]}], '
        '"metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
        {"average-test": 2, "square-test": 0},
        quick=True,
    ),
    "python-kernel": case(SOLVED, ALL, "The notebook was for the kernel `Python 3`", metadata=PYTHON, quick=True),
    "no-kernel": case(SOLVED, ALL, metadata={}),
    "z-solved": case(SOLVED, ALL),
}
SUBMISSIONS_OF_VALUES = {
    "values": case(
        [released(one) if one is not VALUES[0] else with_source(one, "fn value() -> f64 { 2.0 }") for one in VALUES],
        {
            **{"part": 1.5, "whole": 2, "none": 0, "negative": 0, "negative-zero": 0, "too-many": 2, "infinite": 2},
            **{"nan": 0, "right": 2, "wrong": 0, "text": 2, "option": 2, "printed": 2, "worth-nothing": 0},
            **{"panic": 0, "tenth": 0.1},
        },
        "part: 1.5 of 2, its value is 1.5",
        "negative: 0 of 2, its value -1.0 is not between 0 and 2",
        "negative-zero: 0 of 2",
        "too-many: 2 of 2, its value 7.5 is not between 0 and 2",
        "infinite: 2 of 2, its value inf is not between 0 and 2",
        "nan: 0 of 2, its value NaN is not between 0 and 2",
        "wrong: 0 of 2, its value is false",
        'text: 2 of 2, its value "1" is not a number',
        "option: 2 of 2, its value Some(1.0) is not a number",
        "panic: 0 of 2, Panic: assertion `left == right` failed: the value is wrong",
    )
}
# The tests whose values are not points.
ODD = ["infinite", "nan", "negative", "option", "text", "too-many"]


def chosen(quick: bool) -> dict[str, dict[str, dict]]:
    """Returns the submissions by assignment and student."""
    of_damaged = {name: one for name, one in SUBMISSIONS.items() if one["quick"] or not quick}
    return {"damaged": of_damaged, "values": SUBMISSIONS_OF_VALUES}


def write(folder: Path, quick: bool = False) -> dict[str, dict[str, dict]]:
    """Writes the assignments and the submissions into a course."""
    for assignment, students in chosen(quick).items():
        put(folder / "source" / assignment / f"{assignment}.ipynb", notebook(ASSIGNMENTS[assignment]))
        for student, one in students.items():
            put(folder / "submitted" / student / assignment / f"{assignment}.ipynb", one["text"])
    return chosen(quick)


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


if __name__ == "__main__":
    written = write(Path(sys.argv[1]), "quick" in sys.argv[2:])
    print(json.dumps({"limit": LIMIT, "memory": MEMORY, "odd": ODD, "submissions": written}))
