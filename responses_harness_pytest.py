"""Where pytest finds the plugin of responses-harness, by a name that no project has of its own.

The package is called `harness`, and so may be one of the user's. A run that has its own is left in peace: nothing of the
mock is loaded then, one line says so, and the mock's fixtures explain it to a test that asks for one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

NAME = "harness"
_OWN = Path(__file__).resolve().with_name(NAME)
_MAX_READ = 200
"""How many files of a folder of tests are read for what they import, the first ones."""
_OPTIMIZED = (
    "Python runs with -OO, which removes the docstrings that it shows. To use the mock, run without -OO (unset "
    "PYTHONOPTIMIZE); -O is supported."
)
_OFF_MARKER = "(…): of responses-harness, which is off"


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Load the plugin, unless the run has another package of its name."""
    config = pluginmanager.get_plugin("pytestconfig")
    assert isinstance(config, pytest.Config)
    foreign = _find_foreign(config)
    if foreign or sys.flags.optimize > 1:
        pluginmanager.register(_Off(_explain_foreign(foreign) if foreign else _OPTIMIZED), "responses-harness-off")
    else:
        plugin = f"{NAME}.pytest_plugin.plugin"
        pluginmanager.register(import_module(plugin), plugin)  # `import_plugin` would rewrite its assertions


class _Off:
    """Stands in for the plugin: a line, and fixtures and markers that fail a test which needs the mock."""

    def __init__(self, why: str) -> None:
        self._line = f"responses-harness is off: {why} The manual: `responses-harness manual the-installation`."

    def pytest_report_header(self) -> str:
        """Say why."""
        return self._line

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        """Declare what the configuration of a project may set; the options are unknown, and refused with the line."""
        parser.extra_info["responses-harness"] = self._line
        for name in ("harness_env", "harness_refusals", "harness_contract", "harness_cassettes"):
            parser.addini(name, "of responses-harness, which is off", default="")

    def pytest_configure(self, config: pytest.Config) -> None:
        """Declare the markers; UsageError when clients that are made at import would reach the live API, not the mock."""
        if config.getini("harness_env") == "session":
            raise pytest.UsageError(f"harness_env = session: {self._line}")
        for marker in ("harness", "cassette"):
            config.addinivalue_line("markers", f"{marker}{_OFF_MARKER}")

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Fail a test that a cassette would answer, unless the marker is one of the project's own."""
        declared = [line for line in item.config.getini("markers") if re.match(r"cassette\b", line)]
        if item.get_closest_marker("cassette") and declared == [f"cassette{_OFF_MARKER}"]:
            pytest.fail(self._line, pytrace=False)

    @pytest.fixture(scope="session")
    def mock(self) -> None:
        """Fail each test that requests it, with the line."""
        pytest.fail(self._line, pytrace=False)

    mock_server = openai_client = async_openai_client = openai_mock = cassette = foundry_credential = mock


def _explain_foreign(foreign: Path) -> str:
    return (
        f"`{NAME}` is {foreign} here, and Python has room for one of that name. To use the mock, rename that file or "
        "folder; without it, `-p no:responses_harness` leaves this line out."
    )


def _find_foreign(config: pytest.Config) -> Path | None:
    """Find the user's own package or module `harness`; None without one."""
    if NAME in sys.modules:
        loaded = getattr(sys.modules[NAME], "__file__", None)
        return None if loaded is None or _is_own(Path(loaded)) else Path(loaded)
    first = PathFinder.find_spec(NAME)
    if first and first.origin and not _is_own(Path(first.origin)):
        return Path(first.origin)
    root = config.rootpath
    certain = [*(root / name for name in config.getini("pythonpath")), root, root / "src", Path.cwd()]
    for folder in certain:
        if file := next(_harness_in(folder), None):
            return file
    return next((file for folder in _test_folders(config) for file in _harness_in(folder, read=True)), None)


def _is_own(file: Path) -> bool:
    """Whether a file is of the installed package, or of another copy of it."""
    folder = file.resolve().parent
    return folder == _OWN or (folder / "pytest_plugin" / "plugin.py").exists()


def _test_folders(config: pytest.Config) -> Iterator[Path]:
    """List the folders that pytest may put on the path: those of tests, without a package around them."""
    given = [arg.partition("::")[0] for arg in config.invocation_params.args if not arg.startswith("-")]
    for name in [*given, *config.getini("testpaths"), "tests", "test"]:
        for base in dict.fromkeys((config.invocation_params.dir, config.rootpath)):
            folder = base / name
            folder = folder.parent if folder.suffix == ".py" else folder
            if folder.is_dir() and not (folder / "__init__.py").exists():
                yield folder


def _harness_in(folder: Path, *, read: bool = False) -> Iterator[Path]:
    """Find a `harness` in a folder that is not ours; with `read` only one that a file beside it imports."""
    for file in (folder / NAME / "__init__.py", folder / f"{NAME}.py"):
        if file.is_file() and not _is_own(file) and (not read or _is_imported(file, folder)):
            yield file


def _is_imported(file: Path, folder: Path) -> bool:
    """Whether a file of a folder imports a `harness` that is not ours, or the tests are in it."""
    ours = "|".join(sorted(file.stem for file in _OWN.iterdir()))
    theirs = re.compile(rf"^\s*(?:from|import) {NAME}(?!\.(?:{ours})\b)\b", re.M)
    if file.name == "__init__.py" and any(file.parent.glob("test_*.py")):
        return True
    beside = sorted(folder.glob("*.py"))[:_MAX_READ]
    return any(theirs.search(module.read_text(errors="replace")) for module in beside)
