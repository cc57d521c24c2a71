"""nbgrader's cycle: an assignment is generated, released, fetched, submitted, collected, graded and returned.

A right, a half-right and a wrong submission get the points that they should. The wrong one tries in vain to read the
gradebook, to reach the network and to load a package, which is refused before it runs (tests/hub/sandbox.py tries it in
the sandbox), and to fill the memory.
"""

import csv
import json
import pwd
import shutil
import subprocess
from pathlib import Path

from run import HERE, PREFIX, ROOT

COURSE, ASSIGNMENT = "rust101", "areas"
RIGHT = {"area": "width * height", "doubled": "x * 2.0"}
HALF = {"area": "width * height", "doubled": "x * 3.0"}
WRONG = {"area": "width + height", "doubled": "todo!()"}
POINTS = {"student1": 5.0, "student2": 3.0, "student3": 0.0}
# A cell of the wrong submission. It may not print `stolen`.
THEFT = """
for path in ["{course}/gradebook.db", "{course}/nbgrader_config.py", "{course}/submitted/student1/areas/areas.ipynb"] {{
    if let Ok(content) = std::fs::read(path) {{ println!("stolen {{}} bytes of {{path}}", content.len()); }}
}}
for folder in ["{course}/submitted", "{exchange}", "/root", "/var"] {{
    if std::fs::read_dir(folder).is_ok() {{ println!("stolen: a look at {{folder}}"); }}
}}
if std::fs::write("areas.ipynb", "changed").is_ok() {{ println!("stolen: the submission"); }}
if std::net::TcpStream::connect("127.0.0.1:8000").is_ok() {{ println!("stolen: the network"); }}
println!("tried all");
"""


def graded(name: str) -> None:
    """Runs the whole cycle, with `name` as the instructor's user."""
    subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", name], check=True, capture_output=True)
    exchange = Path("/home/exchange")
    course = Path(pwd.getpwnam(name).pw_dir) / COURSE
    # nbgrader needs a folder that all can write.
    exchange.mkdir(exist_ok=True)
    exchange.chmod(0o777)
    source = course / "source" / ASSIGNMENT
    source.mkdir(parents=True)
    shutil.copy(HERE / "assignment/areas.ipynb", source)
    config = (ROOT / "packaging/nbgrader/nbgrader_config.py").read_text()
    shared = f'c.CourseDirectory.course_id = "{COURSE}"\nc.Exchange.root = "{exchange}"\n'
    (course / "nbgrader_config.py").write_text(config + shared)
    shutil.copytree(ROOT / "packaging/nbgrader", PREFIX / "nbgrader", dirs_exist_ok=True)
    subprocess.run(["chown", "-R", f"{name}:", course.parent], check=True)

    for step in ["generate_assignment", "release_assignment"]:
        nbgrader(name, course, step, ASSIGNMENT)
    for student, solution in zip(POINTS, [RIGHT, HALF, WRONG]):
        submit(student, shared, solution, THEFT.format(course=course, exchange=exchange) if solution is WRONG else "")
    nbgrader(name, course, "collect", ASSIGNMENT)
    run_as(name, course, str(PREFIX / "nbgrader/grade"), ASSIGNMENT)
    for step in ["generate_feedback", "release_feedback"]:
        nbgrader(name, course, step, ASSIGNMENT)
    nbgrader(name, course, "export")

    with open(course / "grades.csv") as table:
        points = {row["student_id"]: float(row["score"]) for row in csv.DictReader(table)}
    if points != POINTS:
        for file in sorted((course / "autograded").rglob("*.ipynb")):
            print(file, *texts(file.read_text()), sep="\n")
        raise AssertionError(f"the points are {points}, expected {POINTS}")
    outputs = (course / "autograded/student3" / ASSIGNMENT / "areas.ipynb").read_text()
    printed = "".join(texts(outputs))
    assert "stolen" not in printed and "tried all" not in printed, outputs
    assert printed.count("grading does not run this cell") == 2 and "Out of memory" in printed, outputs
    assert list((course / "feedback/student1" / ASSIGNMENT).glob("*.html")), "there is feedback"
    nbgrader("student1", Path(pwd.getpwnam("student1").pw_dir), "fetch_feedback", ASSIGNMENT, "--course", COURSE)
    print(f"graded: {points}", flush=True)


def texts(notebook: str) -> list[str]:
    """Returns the texts that the cells of a notebook printed, and their errors."""
    cells = json.loads(notebook)["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return ["".join(output.get("text", output.get("evalue", ""))) for output in outputs]


def submit(student: str, config: str, solution: dict[str, str], more: str) -> None:
    """Fetches the assignment, writes the solution over the stubs, and submits it."""
    home = Path(pwd.getpwnam(student).pw_dir)
    (home / "nbgrader_config.py").write_text("c = get_config()\n" + config)
    nbgrader(student, home, "fetch_assignment", ASSIGNMENT)
    file = home / ASSIGNMENT / "areas.ipynb"
    notebook = json.loads(file.read_text())
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
        assert "BEGIN" not in cell["source"], cell
        stub = "todo!() // YOUR CODE HERE"
        if cell["id"] in solution:
            assert stub in cell["source"], cell
            cell["source"] = cell["source"].replace(stub, solution[cell["id"]])
    if more:
        for number, code in enumerate([more, ':dep rand = "0.9"', "let large = vec![1_u8; 8 << 30];"]):
            cell = dict(cell_type="code", id=f"more{number}", metadata={}, execution_count=None, outputs=[], source=code)
            notebook["cells"].insert(1 + number, cell)
    file.write_text(json.dumps(notebook))
    nbgrader(student, home, "submit", ASSIGNMENT)


def nbgrader(name: str, folder: Path, *arguments: str) -> None:
    run_as(name, folder, str(PREFIX / "hub/bin/nbgrader"), *arguments)


def run_as(name: str, folder: Path, *command: str) -> None:
    user = pwd.getpwnam(name)
    environment = {
        "PATH": f"{PREFIX}/hub/bin:{PREFIX}/rust/bin:/usr/bin:/bin",
        "HOME": user.pw_dir,
        "USER": name,
        "LANG": "C.UTF-8",
        "TAPER_STORE": str(PREFIX / "store"),
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, user=user.pw_uid, group=user.pw_gid, extra_groups=[],
        text=True, capture_output=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, f"{name}: {' '.join(command)}\n{done.stdout}\n{done.stderr}"
