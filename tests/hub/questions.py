"""The answers from which `taper class` prepares a class: they become part of paths, of a shell's script and of Python's code."""

import io
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging/class"))
from prepare import QUESTIONS, Problem, answers_of, checked, earlier, environment, next_steps  # noqa: E402


def refused(name: str, answer: str) -> bool:
    try:
        checked(name, answer)
    except Problem as problem:
        assert QUESTIONS[name].expected in str(problem), problem
        return True
    return False


sys.stdin = io.StringIO()
for name, question in QUESTIONS.items():
    assert checked(name, question.default) and refused(name, ""), name
for answer in ["../x", "-x", "x;y", "$(x)", "é", "a b", "a\n", 'a"b']:
    assert refused("course", answer) and refused("group", answer) and refused("teacher", answer), answer
assert refused("teacher", "root")
# JupyterHub without a certificate would serve passwords in the clear at the first one.
for answer in ["https://a", 'http://a"b', "http://a:8001/b", "http://a:8081", "http://"]:
    assert refused("address", answer), answer
for answer in ["http://[::1]:443", "http://a:80/8001"]:
    assert not refused("address", answer), answer
assert all(refused("memory", answer) for answer in ["0G", "G", "2", "2T"]) and not refused("memory", "512M")

# An option comes before an earlier answer, and this before the default.
answers = answers_of({"course": "now", "group": "everybody"}, {"course": "earlier", "memory": "1G"})
assert answers == {name: question.default for name, question in QUESTIONS.items()} | {
    "course": "now", "group": "everybody", "memory": "1G",
}
assert "users of the group everybody, with a password" in next_steps(Path("/opt/class"), answers)
assert 'cd "/opt/class/course/now"' in environment(Path("/opt/class"), "now")

assert answers_of({}, {"memory": "1G"})["memory"] == "1G"
try:
    answers_of({"course": ""}, {})
except Problem:
    pass
else:
    sys.exit("an empty option is taken")

with tempfile.TemporaryDirectory() as folder:
    assert earlier(Path(folder)) == {}
    Path(folder, "class.json").write_text("{")
    try:
        earlier(Path(folder))
    except Problem as problem:
        assert "delete it" in str(problem)
    else:
        sys.exit("a damaged file is read")
