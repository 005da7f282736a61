"""Errors of the API are filled with facts; errors for the user say what, where and how to fix it."""

import json
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cli.serve_options import check_observers
from harness.core.errors import (
    MAX_FRAMES,
    REQUEST_ID,
    ApiError,
    ConfigError,
    HarnessError,
    NoTurn,
    Place,
    Problem,
    ScriptError,
    describe_code,
    describe_raised,
    error_chain,
    find_calling_place,
    install_command,
    missing_extra,
    require_extra,
)
from harness.core.limits import paused_collection


def test_every_text_of_an_error_may_have_facts() -> None:
    error = ApiError(429, "{n} of {most}", "input[{n}]", "over_{most}", "{kind}_error", {"x-{kind}": "{n}"})
    filled = error.fill({"n": 3, "most": 2, "kind": "limit"})
    told = {"message": "3 of 2", "type": "limit_error", "param": "input[3]", "code": "over_2"}
    assert filled.body() == {"error": told}
    assert (filled.status, filled.headers) == (429, {"x-limit": "3"})


def test_a_fact_that_is_missing_is_no_empty_text() -> None:
    with pytest.raises(KeyError, match="most"):
        ApiError(400, "{n} of {most}").fill({"n": 3})


def test_a_body_of_another_form_has_facts_as_they_are() -> None:
    form = {"error": {"code": "{status}", "text": "{status}: {message}", "id": "{request_id}", "more": {"n": "{n}"}}}
    filled = ApiError(404, "No {n}.", body_template=form).fill({"n": 3})
    assert filled.body() == {"error": {"code": 404, "text": "404: No 3.", "id": REQUEST_ID, "more": {"n": 3}}}
    assert filled.members()["message"] == "No 3."


def test_an_error_for_the_user_is_its_parts_in_lines() -> None:
    raised = ScriptError("no item 'mesage'.", ["  at line 3"], "Write `message`.")
    assert str(raised) == "no item 'mesage'.\n  at line 3\nWrite `message`."
    assert raised.problem == Problem("no item 'mesage'.", ("  at line 3",), "Write `message`.")
    assert str(ConfigError("only this")) == "only this"


def test_each_kind_leads_to_its_section_of_the_manual() -> None:
    sections = ["options-and-files", "options-and-files", "scripts", "a-request-could-not-be-answered"]
    assert [kind.section for kind in (HarnessError, ConfigError, ScriptError, NoTurn)] == sections


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    said = str(HarnessError("What. " + "x" * 60_000 + " Fix it."))
    assert len(said) < 4096
    assert said.startswith("What. xxx")
    assert said.endswith("xxx Fix it.")


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.core.errors.find_spec", lambda _: None)


CameFrom = Callable[..., None]


@pytest.fixture
def came_from(monkeypatch: pytest.MonkeyPatch) -> CameFrom:
    """Sets from where the distribution was installed: the content of its `direct_url.json`, if it has one."""

    def come_from(origin: dict[str, Any] | None, installer: str = "pip\n") -> None:
        files = {"INSTALLER": installer, "direct_url.json": origin and json.dumps(origin)}
        # A backport of `importlib.metadata`, where one is installed, finds distributions of a class of its own.
        monkeypatch.setattr(metadata, "distribution", lambda name: SimpleNamespace(read_text=files.get))

    return come_from


def test_the_message_says_what_needs_which_package_and_how_to_install_it(came_from: CameFrom) -> None:
    came_from(None)
    told = '--tls needs cryptography: pip install "responses-harness[tls]"'
    assert str(missing_extra("--tls", "cryptography", "tls")) == told


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, 'pip install "responses-harness[tls]"'),
        ({"url": "file:///src/a%20b", "dir_info": {}}, 'pip install "/src/a b[tls]"'),
        ({"url": "file:///C:/src", "dir_info": {}}, 'pip install "C:/src[tls]"'),
        ({"url": "file:///src", "dir_info": {"editable": True}}, 'pip install -e "/src[tls]"'),
        ({"url": "file:///mono", "dir_info": {}, "subdirectory": "mock"}, 'pip install "/mono/mock[tls]"'),
        ({"url": "file:///dist/x.whl", "archive_info": {"hash": "…"}}, 'pip install "/dist/x.whl[tls]"'),
        (
            {"url": "https://host/x.whl", "archive_info": {}},
            'pip install "responses-harness[tls] @ https://host/x.whl"',
        ),
        (
            {
                "url": "https://host/x.git",
                "vcs_info": {"vcs": "git", "requested_revision": "main", "commit_id": "1a2b"},
            },
            'pip install "responses-harness[tls] @ git+https://host/x.git@1a2b"',
        ),
        (
            {"url": "file:///x", "vcs_info": {"vcs": "git", "commit_id": "1a2b"}, "subdirectory": "mock"},
            'pip install "responses-harness[tls] @ git+file://localhost/x@1a2b#subdirectory=mock"',
        ),
    ],
)
def test_an_extra_is_installed_from_where_the_distribution_came(
    origin: dict[str, Any] | None, command: str, came_from: CameFrom
) -> None:
    came_from(origin)
    assert install_command("tls") == command
    came_from(origin, installer="uv\n")
    assert install_command("tls") == f"uv {command}"


def test_without_a_distribution_the_name_is_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is imported from a folder on PYTHONPATH."""
    monkeypatch.setattr(metadata.Distribution, "discover", lambda **_: iter(()))
    assert install_command("tls") == 'pip install "responses-harness[tls]"'


def test_an_installed_package_is_no_error() -> None:
    require_extra("this test", "pytest", "dev")
    require_extra("this test", "the standard library", "dev", "json", "zlib")


def test_one_missing_module_of_several_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^this test needs both: "):
        require_extra("this test", "both", "dev", "json", "no_such_module")


@pytest.mark.usefixtures("nothing_installed")
def test_a_server_that_counts_needs_metrics() -> None:
    with pytest.raises(ConfigError, match=r'^--metrics needs prometheus-client: .*pip install .*\[metrics\]"$'):
        check_observers("", metrics=True, otel=False)


HERE = Path(__file__).name


def fail(depth: int) -> None:
    with paused_collection():  # a frame of `contextlib` between those of the user, when it raises
        if depth:
            fail(depth - 1)
        raise KeyError("city")


def test_the_last_frames_of_the_user_are_shown_with_their_code() -> None:
    with pytest.raises(KeyError) as caught:
        fail(9)
    told = describe_raised(caught.value)
    line = fail.__code__.co_firstlineno
    assert told.what == f"KeyError: 'city', at {__file__}:{line + 4}"
    assert told.shown == [
        *[f"  at {HERE}:{line + 3}, in fail: fail(depth - 1)"] * (MAX_FRAMES - 1),
        f'  at {HERE}:{line + 4}, in fail: raise KeyError("city")',
    ]


def test_an_error_of_the_harness_says_itself_what_it_is_and_further_lines_follow() -> None:
    told = describe_raised(ScriptError("no turn", ["at line 3"], "Add one."))
    assert told == ("no turn", ["  | at line 3", "  | Add one."], "")
    assert describe_raised(ValueError()).what == "ValueError"


def test_code_is_named_with_its_place() -> None:
    def talk() -> Iterator[str]:
        yield "hi"

    line = talk.__code__.co_firstlineno
    assert describe_code(talk) == describe_code(talk()) == f"talk ({HERE}:{line})"
    assert describe_code(len) == "len"
    assert describe_code(3) == "int"


def test_what_led_to_an_error_is_yielded_once_the_nearest_first() -> None:
    cause, context, member = KeyError("cause"), OSError("context"), TypeError("member")
    group = ExceptionGroup("group", [member])
    group.__cause__, group.__context__, cause.__context__ = cause, context, group
    assert [*error_chain(group)] == [group, member, cause, context]
    assert [*error_chain(None)] == []


def test_a_place_is_that_of_the_user_who_calls() -> None:
    place = find_calling_place()
    assert (place.file, place.short) == (__file__, f"{HERE}:{place.line}")
    assert [str(place) for place in (Place("/a/b.py", 3), Place("/a/b.py"), Place())] == ["/a/b.py:3", "/a/b.py", ""]
