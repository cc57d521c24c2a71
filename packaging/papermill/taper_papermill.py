"""Writes papermill's parameters as Rust. papermill itself has no translator for Rust."""

import json
import re

from papermill.engines import NBClientEngine
from papermill.models import Parameter
from papermill.translators import Translator, papermill_translators

LET = re.compile(r"^\s*let\s+(?:mut\s+)?(?P<name>\w+)\s*(?::\s*(?P<type>[^=]+?))?\s*=\s*(?P<value>[^;]+);(?:\s*//\s*(?P<help>.*))?", re.M)


class RustTranslator(Translator):
    """Sets variables of the cell with the tag `parameters`. A parameter keeps the type of its default."""

    @classmethod
    def translate_str(cls, val):
        return f"{json.dumps(val, ensure_ascii=False)}.into()"

    @classmethod
    def translate_bool(cls, val):
        return "true" if val else "false"

    @classmethod
    def translate_float(cls, val):
        return repr(val)

    @classmethod
    def translate_none(cls, val):
        return "None"

    @classmethod
    def translate_list(cls, val):
        return f"[{', '.join(cls.translate(item) for item in val)}].into()"

    @classmethod
    def inspect(cls, parameters_cell):
        found = LET.finditer(parameters_cell["source"])
        suffix = re.compile(r"[0-9._]+((?:[iu](?:8|16|32|64|128|size))|f32|f64)")
        kind = lambda let: let["type"] or (suffix.fullmatch(let["value"]) or [None, "None"])[1]
        return [Parameter(let["name"], kind(let), let["value"], let["help"] or "") for let in found]

    @classmethod
    def comment(cls, cmt_str):
        return f"// {cmt_str}"

    @classmethod
    def assign(cls, name, str_val):
        return f"#[allow(unused_assignments)]\nlet {name} = {{ let mut value = {name}; value = {str_val}; value }};"


class Engine(NBClientEngine):
    """The usual engine; papermill loads this module because of it."""


papermill_translators.register("rust", RustTranslator)
