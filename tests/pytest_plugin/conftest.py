"""How these tests run pytest inside pytest: with every warning an error, and a script's builders at hand."""

import ast
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import ModuleType

import anyio.pytest_plugin
import pytest
import pytest_asyncio.plugin
from _pytest._code.source import Source, getstatementrange_ast

import harness.pytest_plugin.plugin
from tests.support.inner_run import InnerRun, Run

APART_SECONDS = 200
"""How long a run in another process may take, on a machine that is busy."""
INI = """
[pytest]
filterwarnings =
    error
    ignore:Module already imported:pytest.PytestAssertRewriteWarning
asyncio_default_fixture_loop_scope = function
"""
HEAD = '''
import asyncio, contextlib, os, threading
import openai, pytest
from concurrent.futures import ThreadPoolExecutor
from harness.items import function_call, message

def swallow(client=None, **members):
    """Ask as an application that goes on when the API refuses."""
    with contextlib.suppress(openai.OpenAIError):
        (client or openai.OpenAI(max_retries=0)).responses.create(**{"model": "gpt-4.1", "input": "x", **members})
'''
"""What all tests have at hand that are given as source."""


def _find_statement(line: int, source: Source, astnode: ast.AST | None = None) -> tuple[ast.AST, int, int]:
    """What a traceback asks of each source, which may be a large one of the SDK: it is parsed once, not in every run."""
    return getstatementrange_ast(line, source, astnode=astnode or _parse(str(source)))


@lru_cache(100)
def _parse(source: str) -> ast.AST:
    return ast.parse(source)


PLUGINS = (harness.pytest_plugin.plugin, pytest_asyncio.plugin, anyio.pytest_plugin)
"""What a run inside loads; to look through all that is installed, as `-p` does, would take longer than its tests."""
WITHOUT = [
    f"-pno:{name}"
    for name in ("doctest", "faulthandler", "legacypath", "pastebin", "setuponly", "setupplan", "stepwise")
]
"""Plugins of pytest that it does without: each would be searched for fixtures in every run."""


class KeptModules:
    """A plugin of runs inside: what they import stays imported, which pytester would forget and import each time."""

    def __init__(self, temporary: str) -> None:
        self._temporary = temporary  # the folder of all their tests, which are forgotten
        self._kept: dict[str, ModuleType] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and not file.startswith(self._temporary):
                self._kept[name] = module

    def restore(self) -> None:
        """Put the modules back that were forgotten."""
        for name, module in self._kept.items():
            sys.modules.setdefault(name, module)


@pytest.fixture(scope="session")
def kept_modules(tmp_path_factory: pytest.TempPathFactory) -> KeptModules:
    return KeptModules(str(tmp_path_factory.getbasetemp()))


@pytest.fixture(autouse=True)
def _no_second_copy(kept_modules: KeptModules) -> Iterator[None]:
    """Put the modules back after `pytester`, which forgets them once more: the next test would import them again."""
    yield
    kept_modules.restore()


@pytest.fixture
def write(pytester: pytest.Pytester) -> Callable[[str], None]:
    """Write tests given as source, and the configuration of pytest."""

    def write(source: str) -> None:
        pytester.makeini(INI)
        pytester.makepyfile(HEAD + source)

    return write


@pytest.fixture
def run(
    pytester: pytest.Pytester,
    write: Callable[[str], None],
    kept_modules: KeptModules,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Run tests given as source in this process, or `apart` in another; the lines of output are the result's."""

    def run(source: str, *args: str, apart: bool = False) -> InnerRun:
        write(source)
        options = ("-p", "no:cacheprovider", *args)
        if apart:  # hypothesis costs seconds each time
            apart_run = ("-p", "no:hypothesispytest", *options)
            return InnerRun(pytester.runpytest_subprocess(*apart_run, timeout=APART_SECONDS))
        kept_modules.restore()
        with monkeypatch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            patch.setattr(pytest.PytestPluginManager, "load_setuptools_entrypoints", lambda *_, **__: 0)
            patch.setattr("_pytest._code.code.getstatementrange_ast", _find_statement)
            return InnerRun(pytester.runpytest_inprocess(*WITHOUT, *options, plugins=[*PLUGINS, kept_modules]))

    return run
