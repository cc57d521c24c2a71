"""Lets nbval compare what notebooks of Taper hold: a live display in its last state, which is the one in the notebook,
and numbers within the tolerance that a cell or its notebook states, without measured times if it says so, and the outputs of
one release of Rust with that release only. nbval alone ignores updates, and compares to the letter."""

import copy
import functools
import re
import subprocess

from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile

receive = IPyNbFile.get_kernel_message
compare = IPyNbCell.compare_outputs

# A floating-point number that is not a part of a word, and an integer, which counts things: it is text unless there is a
# tolerance of counts.
FLOAT = r"\d*\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+"
NUMBER = re.compile(rf"(?<![\w.])([+-]?(?:{FLOAT}))(?![\d_.])")
NUMBER_OR_COUNT = re.compile(rf"(?<![\w.])([+-]?(?:{FLOAT}|\d+(?!\w)))(?![\d_.])")
# A measured time, a rate, or the quotient of two times; and the number that such a unit follows, or stands above.
WORD = r"(?:ns|µs|ms|s|s/it|min|h|seconds|minutes|hours|\w+/s)(?![\w/])"
UNIT = re.compile(rf"(?<![\w/]){WORD}")
ANY = re.compile(r"(?<![\w.])[+-]?(?:\d*\.)?\d+(?:[eE][+-]?\d+)?(?![\d_])")
ONE = rf"{ANY.pattern}(?: ?{WORD}| times as (?:long|fast))"
# `2 min 56 s` is one time.
TIME = re.compile(rf"{ONE}(?: {ONE})*")


def get_kernel_message(self, timeout=None, stream="iopub"):
    """Returns the next message that is not an update, and applies the updates before it to what nbval has kept."""
    displays = self.__dict__.setdefault("displays", {})
    while True:
        message = receive(self, timeout, stream)
        kind, content = message["msg_type"], message["content"]
        display = (content.get("transient") or {}).get("display_id")
        if kind == "update_display_data":
            if display in displays:
                displays[display].clear()
                displays[display].update(content["data"])
            continue
        if kind == "display_data" and display:
            # nbval keeps this very object, because it is of the type that notebooks consist of.
            content["data"] = displays[display] = NotebookNode(content["data"])
        return message


def compare_outputs(self, test, ref, skip_compare=None):
    """Compares the outputs of a cell as `taper test` does if the cell or the notebook states a tolerance, or the cell a
    release of Rust."""
    releases = [tag.removeprefix("rust-") for tag in self.cell.metadata.get("tags", []) if re.fullmatch(r"rust-\d+\.\d+", tag)]
    if releases and rust() not in releases:
        return True
    if (tolerance := tolerance_of(self.parent.nb, self.cell)) is not None:
        test = copy.deepcopy(test)
        for now, stored in zip(test, ref):
            accept(now, stored, tolerance)
    return compare(self, test, ref, skip_compare)


@functools.cache
def rust():
    """Returns the release of Rust, such as `1.95`."""
    said = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"\d+\.\d+", said)[0]


def tolerance_of(notebook, cell):
    """Returns the relative and the absolute tolerance in the metadata `taper`, with the defaults of `taper test` for one
    that is missing, whether times are ignored, and the relative tolerance of counts; None if nothing is stated."""
    stated = {**notebook.metadata.get("taper", {}), **cell.metadata.get("taper", {})}
    if not {"rtol", "atol", "ignore", "counts"} & stated.keys():
        return None
    return stated.get("rtol", 1e-5), stated.get("atol", 1e-8), stated.get("ignore") == "times", stated.get("counts", 0)


def accept(now, stored, tolerance):
    """Takes over what is stored where it differs by no more than the tolerance, and figures, which show such values."""
    if is_same(stored.get("text"), now.get("text"), tolerance):
        now["text"] = stored["text"]
    kept, new = stored.get("data", {}), now.get("data", {})
    for kind in kept.keys() & new.keys():
        # The page of a progress bar or a table says the same as its text.
        is_page = tolerance[2] and kind == "text/html" and "text/plain" in kept
        if is_page or kind.startswith("image/") or is_same(kept[kind], new[kind], tolerance):
            new[kind] = kept[kind]


def is_same(stored, now, tolerance):
    """Returns whether two texts differ at most in numbers, by no more than the tolerance."""
    if not isinstance(stored, str) or not isinstance(now, str):
        return False
    rtol, atol, ignores_times, counts = tolerance
    if ignores_times:
        stored, now = without_times(stored), without_times(now)
    # Texts and values in turn. A column is padded to its widest value.
    number = NUMBER_OR_COUNT if counts else NUMBER
    old, new = number.split(stored), number.split(now)
    if [text.strip(" ") for text in old[::2]] != [text.strip(" ") for text in new[::2]]:
        return False
    return all(
        abs(float(b) - float(a)) <= (counts * abs(float(a)) if is_count(a) and is_count(b) else atol + rtol * abs(float(a)))
        for a, b in zip(old[1::2], new[1::2])
    )


def is_count(number):
    return number.lstrip("+-").isdigit()


def without_times(text):
    """Takes measured times out of a text: those with a unit, and those below a unit in a table."""
    ends, kept = set(), []
    for line in text.split("\n"):
        heads = set() if ANY.search(line) else {unit.end() for unit in UNIT.finditer(line)}
        if heads or not line.strip():
            ends = heads
        line = ANY.sub(lambda number: "0.0" if number.end() in ends else number[0], line)
        kept.append(TIME.sub("0.0", line))
    return "\n".join(kept)


IPyNbFile.get_kernel_message = get_kernel_message
IPyNbCell.compare_outputs = compare_outputs
