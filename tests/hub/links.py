"""Submissions that are links, as `nbgrader collect` copies them with our configuration: of what is behind them, nothing.

nbgrader's modules are stand-ins; `tests/hub/run.py` uses the real ones.
"""

import logging
import runpy
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

CONFIG = Path(__file__).resolve().parents[2] / "packaging/nbgrader/nbgrader_config.py"


class Any(ModuleType):
    """A module whose names are all classes."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


for module in ["nbformat", "jupyter_core", "jupyter_core.paths", "nbclient", "nbclient.exceptions", "nbconvert",
               "nbconvert.exporters", "nbconvert.preprocessors", "nbgrader", "nbgrader.apps", "nbgrader.converters",
               "nbgrader.converters.base", "nbgrader.exchange", "nbgrader.exchange.default", "nbgrader.preprocessors", "nbgrader.utils"]:  # fmt: skip
    sys.modules[module] = Any(module)
sys.modules["jupyter_core.paths"].jupyter_runtime_dir = lambda: "/tmp"
sys.modules["nbgrader.utils"].ignore_patterns = lambda exclude, log, **_: shutil.ignore_patterns(*exclude)


class Settings(SimpleNamespace):
    def __getattr__(self, name: str) -> "Settings":
        setattr(self, name, Settings())
        return vars(self)[name]


settings = Settings()
config = runpy.run_path(str(CONFIG), {"get_config": lambda: settings})
assert settings.ExchangeFactory.collect is config["CollectFiles"]
logging.disable()
collect = config["CollectFiles"]()
collect.log = logging.getLogger()
collect.coursedir = SimpleNamespace(ignore=["*.part"], include=["*"], max_file_size=100, max_dir_size=1000)
collect.get_size = lambda folder: sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())

with tempfile.TemporaryDirectory() as folder:
    secret, sent, got = (Path(folder, name) for name in ("secret", "sent", "got"))
    secret.mkdir()
    (secret / "areas.ipynb").write_text("the solution")
    (sent / "more").mkdir(parents=True)
    (sent / "own.txt").write_text("mine")
    (sent / "own.part").write_text("left out")
    (sent / "areas.ipynb").symlink_to(secret / "areas.ipynb")
    (sent / "folder").symlink_to(secret)
    (sent / "more/.hidden").symlink_to("/etc/passwd")
    collect.do_copy(str(sent), str(got))
    files = {str(path.relative_to(got)): path.read_text() for path in got.rglob("*") if path.is_file()}
    assert files == {"own.txt": "mine", "areas.ipynb": "", "folder": "", "more/.hidden": ""}, files
    sent.rename(sent.with_name("old"))
    sent.symlink_to(secret)
    collect.do_copy(str(sent), str(got / "again"))
    assert list((got / "again").iterdir()) == []
