"""Writes papermill's parameters as Rust. papermill itself has no translator for Rust."""

import json
import subprocess

from jupyter_client.kernelspec import KernelSpecManager
from papermill.engines import NBClientEngine
from papermill.exceptions import PapermillException
from papermill.models import Parameter
from papermill.translators import Translator, papermill_translators


class RustTranslator(Translator):
    """Sets variables of the cell with the tag `parameters`. The program of the kernel converts each value to the type of
    its default, as `taper run -p` does, and refuses one that has another type."""

    # The cell with the defaults: papermill shows it to `inspect` before it calls `codify`.
    defaults = ""

    @classmethod
    def inspect(cls, parameters_cell):
        cls.defaults = parameters_cell["source"]
        parameters = ask(cls.defaults)["parameters"]
        kind = lambda it: "None" if "_" in it["type"] else it["type"]
        return [Parameter(it["name"], kind(it), it["default"], it["help"]) for it in parameters]

    @classmethod
    def codify(cls, parameters, comment="Parameters"):
        # The next notebook may have no such cell.
        defaults, cls.defaults = cls.defaults, ""
        return ask(defaults, parameters, comment)["cell"] + "\n"


def ask(source, values={}, comment=""):
    """Returns the parameters of a cell, and the source of the cell that sets them to other values."""
    request = json.dumps({"source": source, "values": values, "comment": comment}, default=str)
    done = subprocess.run([program(), "parameters"], input=request, capture_output=True, text=True)
    if done.returncode:
        raise PapermillException(done.stderr.removeprefix("error: ").strip())
    return json.loads(done.stdout)


def program():
    """Returns the program that Jupyter starts as the kernel."""
    for spec in KernelSpecManager().get_all_specs().values():
        spec = spec["spec"]
        if spec["language"] == "rust" and spec["argv"][1:2] == ["kernel"]:
            return spec["argv"][0]
    raise PapermillException("Jupyter has no kernel of Taper: install it with `taper setup --jupyter`")


class Engine(NBClientEngine):
    """The usual engine; papermill loads this module because of it."""


papermill_translators.register("rust", RustTranslator)
