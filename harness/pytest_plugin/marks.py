"""Reads the markers and the ini file: what a test allows, and which provider the mock is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness.analysis.client_mistakes
import harness.analysis.losses  # noqa: F401  (registers every loss)
from harness.analysis.client_mistake import CLIENT_MISTAKES
from harness.analysis.judgement import PATIENCE, AllowedMistakes, ClientJudgement
from harness.analysis.loss import LOSSES
from harness.analysis.receivers import RECEIVER_MISTAKES
from harness.contract.overrides import Overrides
from harness.core.dates import parse_as_of
from harness.core.errors import ConfigError
from harness.core.registry import suggest_name
from harness.overrides.project_file import find_project_file, read_overrides
from harness.pytest_plugin.options import CONTRACT_INI, CONTRACT_OPTION, REFUSALS_INI, REQUESTS_INI
from harness.world.refusals import ANY, describe_unknown_rule
from harness.world.world import World

FAIL, ALLOW, STRICT, REQUIRED = "fail", "allow", "strict", "required"
MARKER_VALUES: dict[str, tuple[str, ...]] = {
    "unused": (FAIL, ALLOW),
    "losses": (FAIL, ALLOW, STRICT),
    "refusals": (FAIL, ALLOW),
    "webhooks": (FAIL, ALLOW),
    "client": (FAIL, ALLOW, STRICT),
    "requests": ("list", ALLOW, REQUIRED),
    "patience": (),
    "dialect": ("openai", "azure", "foundry"),
    "key": (),
    "as_of": (),
    "contract": (),
    "tls": (),
}
"""The options of the marker `harness` with their values; without a dialect the mock has the paths of all of them.

`losses`, `webhooks`, `client` and `refusals` also take a list of what to allow: ids of losses, of mistakes of receivers
and of clients, rules and areas. `patience` is how many seconds a client may wait. `key` is any string: one more API key
of the test. `as_of` is a day or a month, `contract` a file that `responses-harness learn` wrote, below the root of the
project. With `tls` (True or False) the mock speaks TLS.
"""
_CONTRACTS_STASH_KEY = pytest.StashKey[dict[Path, "Overrides"]]()


def overrides_of(node: pytest.Item) -> Overrides | None:
    """Return the overrides of a test: of its marker, else of the command line, else of the project.

    Read once per run.
    """
    config, marked = node.config, read_marker_options(node).get("contract")
    option = config.getoption(CONTRACT_OPTION)
    if marked:
        file = config.rootpath / marked
    elif option:
        file = Path(config.invocation_params.dir, option)
    elif found := find_project_file(config.rootpath, config.getini(CONTRACT_INI)):
        file = found
    else:
        return None
    known = config.stash.setdefault(_CONTRACTS_STASH_KEY, {})
    if file not in known:
        read = read_overrides(file)
        known[file] = replace(read, file=read.file.replace(f"{config.rootpath.as_posix()}/", ""))
    return known[file]


def read_marker_options(node: pytest.Item) -> dict[str, Any]:
    """Read the options of a test's `harness` markers, of which the closest takes precedence; ConfigError if invalid."""
    chosen: dict[str, Any] = {
        "unused": FAIL,
        "losses": FAIL,
        "refusals": _read_refusals_ini(node.config),
        "requests": _read_requests_ini(node.config),
    }
    for marker in reversed(list(node.iter_markers("harness"))):
        unknown = [*map(repr, marker.args), *(f"{name}=…" for name in marker.kwargs if name not in MARKER_VALUES)]
        if unknown:
            near = next((name for name in marker.kwargs if name not in MARKER_VALUES), "")
            raise ConfigError(
                f"@pytest.mark.harness({', '.join(unknown)}): the options are {', '.join(MARKER_VALUES)}, as in "
                f"unused='allow'.{_suggest(near, MARKER_VALUES)}"
            )
        for name, value in marker.kwargs.items():
            if problem := _explain_invalid(name, value):
                raise ConfigError(f"@pytest.mark.harness({name}={value!r}): {problem}")
        chosen |= marker.kwargs
    return chosen


def allowed_refusals(node: pytest.Item) -> Sequence[str]:
    """Return the rules and areas by which requests of a test may be refused."""
    return _allowed_names(read_marker_options(node)["refusals"])


def allowed_mistakes(node: pytest.Item) -> Sequence[str]:
    """Return the mistakes that webhook receivers may make in a test, or `allow` for all of them."""
    option = read_marker_options(node).get("webhooks", FAIL)
    return option if isinstance(option, list) else [option] if option != FAIL else []


def judge_client(world: World, options: Mapping[str, Any]) -> None:
    """Make a World judge its client as the options of its test say."""
    option = options.get("client", FAIL)
    named = option if isinstance(option, list) else []
    allowed = (AllowedMistakes(named, world.exchanges, always=True),) if named else ()
    if option != FAIL or "patience" in options:
        world.client = ClientJudgement(
            FAIL if named or isinstance(option, list) else option, allowed, options.get("patience", PATIENCE)
        )


def project_refusals(config: pytest.Config) -> Sequence[str]:
    """Return the rules and areas by which requests that belong to no test may be refused."""
    return _allowed_names(_read_refusals_ini(config))


def _allowed_names(option: Any) -> Sequence[str]:
    return option if isinstance(option, list) else [ANY] if option == "allow" else []


def _read_refusals_ini(config: pytest.Config) -> Any:
    """Read the ini option: `fail`, `allow`, or a list; ConfigError for anything else."""
    words: list[str] = config.getini(REFUSALS_INI)
    value = words[0] if len(words) == 1 and words[0] in MARKER_VALUES["refusals"] else words
    if problem := _explain_invalid("refusals", value):
        raise ConfigError(f"{REFUSALS_INI} = {' '.join(words)}: {problem}")
    return value


def _read_requests_ini(config: pytest.Config) -> str:
    """Read the ini option: what the marker takes; ConfigError for anything else."""
    value: str = config.getini(REQUESTS_INI)
    if problem := _explain_invalid("requests", value):
        raise ConfigError(f"{REQUESTS_INI} = {value}: {problem}")
    return value


def _explain_invalid(name: str, value: Any) -> str:
    """Describe what is wrong with the value of an option; empty if it is valid."""
    if name == "key":
        is_text = isinstance(value, str) and value.strip()
        return "" if is_text else "pass the API key that the program sends, as in key='sk-test'."
    if name == "patience":
        is_positive = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
        return "" if is_positive else "pass the seconds that a client may wait for an answer, as in patience=2."
    if name == "contract":
        return "" if isinstance(value, str) and value else "pass the name of a file, as in contract='contract.yaml'."
    if name == "tls":
        return "" if isinstance(value, bool) else "use True or False."
    if name == "as_of":
        return _explain_invalid_date(value)
    if name == "refusals" and isinstance(value, list):
        return describe_unknown_rule(value)
    # These options take a single word or a list of ids.
    ids = _ids_of(name) if name in ("losses", "webhooks", "client") and isinstance(value, list) else ()
    if all(id in ids for id in value) if ids else value in MARKER_VALUES[name]:
        return ""
    known = ", ".join(map(repr, ids or MARKER_VALUES[name]))
    listed = {"losses": "losses", "webhooks": "mistakes", "client": "mistakes", "refusals": "rules and areas"}
    lists = {option: f" or a list of {names} to allow" for option, names in listed.items()}
    wrong = next((id for id in value if id not in ids), "") if ids else value
    near = _suggest(wrong, ids or MARKER_VALUES[name])
    return f"use {'some' if ids else 'one'} of {known}{'' if ids else lists.get(name, '')}.{near}"


def _suggest(name: object, known: Iterable[str]) -> str:
    """Suggest the nearest of the known names, as a sentence to append; empty if none is near."""
    suggestion = suggest_name(name, known)
    return f" {suggestion}" if suggestion.startswith("Did") else ""


def _explain_invalid_date(value: object) -> str:
    try:
        parse_as_of(value)
    except ConfigError as problem:
        return str(problem).partition(": ")[2]
    return ""


def _ids_of(option: str) -> tuple[str, ...]:
    """Return the ids that an option may list: losses, or mistakes of webhook receivers or of clients."""
    if option == "webhooks":
        return tuple(RECEIVER_MISTAKES)
    if option == "client":
        return tuple(CLIENT_MISTAKES)
    return tuple(LOSSES)
