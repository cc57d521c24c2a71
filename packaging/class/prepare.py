"""Prepare a folder for a class on this machine: JupyterHub, nbgrader and the compiled packages.

Asks in a terminal for each value that no option sets. A second call updates the class, and keeps earlier answers.
"""

import argparse
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
# `taper class` sets them: the command, rustc, and whether the command carries its sources.
TAPER, RUSTC, CARRIED = (os.environ.get(name, "") for name in ("TAPER_PROGRAM", "TAPER_RUSTC", "TAPER_CARRIED"))


class Question(NamedTuple):
    help: str
    text: str
    default: str
    expected: str
    is_answer: Callable[[str], object]


def is_name(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]*", text) is not None


def is_address(text: str) -> bool:
    found = re.fullmatch(r"http://([A-Za-z0-9.:\[\]-]+)(/[A-Za-z0-9.:\[\]/-]*)?", text)
    # JupyterHub and its proxy speak to each other there.
    return found is not None and not found[1].endswith((":8001", ":8081"))


QUESTIONS = {
    "course": Question("the name of the course", "The name of the course", "rust101", "letters, digits, `-` and `_`", is_name),
    "group": Question(
        "the group of this machine's users who are students",
        "The group of the users who are students",
        "students",
        "the name of a group",
        is_name,
    ),
    "teacher": Question(
        "the user of this machine who grades",
        "The user who grades",
        "teacher",
        "the name of a user who is not root",
        lambda answer: is_name(answer) and answer != "root",
    ),
    "address": Question(
        "the address at which the hub listens",
        "The address of the hub",
        "http://127.0.0.1:8000",
        "an address such as http://127.0.0.1:8000, not of the ports 8001 and 8081, which JupyterHub uses itself; a server in "
        "front of it speaks HTTPS",
        is_address,
    ),
    "memory": Question(
        "the memory of a student's cells",
        "The memory of a student's cells",
        "2G",
        "an integer with the unit `M` or `G`, such as 2G",
        lambda answer: re.fullmatch(r"0*[1-9][0-9]*[MG]", answer),
    ),
}
Answers = dict[str, str]


class Problem(Exception):
    """What prevents the class, with the next step."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="taper class", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the class, such as /opt/class")
    for name, question in QUESTIONS.items():
        parser.add_argument(f"--{name}", help=question.help)
    attempt = "try the class with two students and an assignment that exist only for this check"
    parser.add_argument("--check", action="store_true", help=attempt)
    options = vars(parser.parse_args())
    folder, is_check = options.pop("folder").resolve(), options.pop("check")
    if is_check and any(options.values()):
        parser.error("--check takes no other option")
    try:
        if sys.platform != "linux":
            raise Problem("a class needs Linux")
        if os.geteuid() != 0:
            raise Problem("a class serves all users of this machine: run the same command as root")
        check(folder) if is_check else prepare(folder, options)
    except (Problem, OSError) as problem:
        sys.exit(f"error: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)


def prepare(folder: Path, options: dict[str, str | None]) -> None:
    if not CARRIED:
        raise Problem(
            "students use an installed Taper: build one with `packaging/wheel dist`, install it with pip, and run "
            "`taper class` instead of `cargo taper class`"
        )
    if not all(path.stat().st_mode & 1 for path in [Path(RUSTC), *Path(RUSTC).parents]):
        raise Problem(
            f'only you can run {RUSTC}: `cp -r "$(rustc --print sysroot)" /opt/rust` copies Rust to where students can; then '
            "run the same command again with `PATH=/opt/rust/bin:$PATH`"
        )
    folder.mkdir(parents=True, exist_ok=True)
    answers = answers_of(options, earlier(folder))
    exists("group", answers["group"], "groupadd")
    exists("passwd", answers["teacher"], "useradd --create-home")
    write(folder / "class.json", json.dumps(answers, indent=2))
    if subprocess.call(["bash", HERE.parent / "jupyterhub/install", TAPER, folder]):
        raise Problem("the class is not complete: fix the problems above, then run the same command again")
    add_course(folder, answers["course"], answers["teacher"])
    write(folder / "teacher.sh", environment(folder, answers["course"]))
    print(next_steps(folder, answers))


def check(folder: Path) -> None:
    python = folder / "hub/bin/python"
    if not (python.exists() and (folder / "class.json").exists()):
        raise Problem(f"there is no class in {folder}: run `taper class {folder}` first")
    if subprocess.call([python, HERE / "check.py", folder]):
        raise Problem("the class does not work yet: see above")


def earlier(folder: Path) -> Answers:
    """Returns the answers of an earlier call."""
    file = folder / "class.json"
    try:
        return json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise Problem(f"{file} is damaged: delete it, then run the same command again") from None


def answers_of(options: dict[str, str | None], known: Answers) -> Answers:
    """Returns the answers: from the options, an earlier call, or the user at a terminal, or else the defaults."""
    answers = {}
    for name, question in QUESTIONS.items():
        answer = known.get(name) if options.get(name) is None else options[name]
        if answer is None and sys.stdin.isatty():
            answer = ask(name, question)
        answers[name] = checked(name, question.default if answer is None else answer)
    return answers


def ask(name: str, question: Question) -> str:
    while True:
        try:
            return checked(name, input(f"{question.text} [{question.default}]: ").strip() or question.default)
        except EOFError:
            raise Problem("no answer") from None
        except Problem as problem:
            print(problem)


def checked(name: str, answer: str) -> str:
    if not QUESTIONS[name].is_answer(answer):
        raise Problem(f'{name} is "{answer}": expected {QUESTIONS[name].expected}')
    return answer


def exists(database: str, name: str, create: str) -> None:
    """Checks that a group or a user of the system exists."""
    if subprocess.call(["getent", database, name], stdout=subprocess.DEVNULL):
        kind = "group" if database == "group" else "user"
        raise Problem(f"there is no {kind} {name}: `{create} {name}` adds it; then run the same command again")


def add_course(folder: Path, course: str, teacher: str) -> None:
    """Writes what nbgrader needs: its configuration for all, the exchange, and the course of the teacher."""
    exchange, own = folder / "exchange", folder / "course" / course
    # Every user may add files to the exchange, and remove only their own: nbgrader needs that.
    for path, mode in [(folder / "etc", 0o755), (exchange, 0o1777), (folder / "course", 0o755), (own, 0o700)]:
        path.mkdir(exist_ok=True)
        path.chmod(mode)
    shared = f'c = get_config()\nc.CourseDirectory.course_id = "{course}"\nc.Exchange.root = {json.dumps(str(exchange))}\n'
    write(folder / "etc/nbgrader_config.py", shared)
    configuration = shutil.copy(HERE.parent / "nbgrader/nbgrader_config.py", own)
    for path in [own, configuration]:
        shutil.chown(path, teacher, pwd.getpwnam(teacher).pw_gid)


def environment(folder: Path, course: str) -> str:
    """Returns the script that sets what the teacher's commands need, and goes to the course."""
    return f"""# nbgrader's commands in the course, and JupyterLab: `source {folder}/teacher.sh`
export PATH="{folder}/hub/bin:{folder}/nbgrader:{Path(RUSTC).parent}:$PATH"
export TAPER_STORE="{folder}/store" JUPYTER_CONFIG_PATH="{folder}/etc"
export JUPYTER_PATH="{folder}/store/share/jupyter"
cd "{folder}/course/{course}" && mkdir -p source
"""


def write(file: Path, text: str) -> None:
    """Writes a file that all users can read, in one step."""
    part = file.with_name(f".{file.name}.part")
    part.write_text(text)
    part.chmod(0o644)
    part.replace(file)


def next_steps(folder: Path, answers: Answers) -> str:
    return f"""
The class is ready.

Try it:             taper class {folder} --check
Start the hub:      {folder}/hub/bin/jupyterhub -f {folder}/jupyterhub_config.py
Students:           users of the group {answers["group"]}, with a password (`passwd NAME`), at {answers["address"]}
Assignments:        as {answers["teacher"]}: source {folder}/teacher.sh

Back up, so that nothing is lost with this machine:
    {folder}/class.json   the answers
    {folder}/course       assignments, submissions and the gradebook
    {folder}/exchange     what is released and submitted
    {folder}/state        the hub's users and secrets
    the homes of the students
`taper class {folder}` makes all other folders again."""


if __name__ == "__main__":
    main()
