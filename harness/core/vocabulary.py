"""How advice is worded: in Python for tests in pytest, in JSON for those who script a server or write YAML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from re import Pattern
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words for what its reader can do; those that he cannot do are empty.

    `add_turn` and `add_open_turn` give a script a turn, for this request or for any; `allow_unused` permits unused turns,
    `mark` is the form of a mark with a `{}` for its arguments. `base_url` and `api_key` name the values of this mock.
    """

    language: Literal["python", "json"]
    add_turn: str
    add_open_turn: str
    mark: str
    base_url: str
    api_key: str
    too_early: str

    @property
    def allow_unused(self) -> str:
        """How unused turns are permitted."""
        return self.mark.format('unused="allow"')

    def allow_losses(self, ids: Iterable[str]) -> str:
        """How these losses are permitted."""
        return self.mark.format(f"losses=[{', '.join(json.dumps(id) for id in ids)}]")

    def render_value(self, value: Any) -> str:
        """A value as its reader would write it."""
        if self.language == "python":
            return repr(value)
        if isinstance(value, Pattern):
            value = {"pattern": value.pattern}
        return json.dumps(value, ensure_ascii=False, default=lambda each: getattr(each, "__name__", str(each)))

    def name_route(self, conditions: Mapping[str, Any]) -> str:
        """A route by its conditions; the one without any is the script."""
        if not conditions:
            return "script"
        if self.language == "python":
            return f"when({', '.join(f'{name}={wanted!r}' for name, wanted in conditions.items())})"
        pairs = (f"{json.dumps(name)}: {self.render_value(wanted)}" for name, wanted in conditions.items())
        return f"when {{{', '.join(pairs)}}}"


PYTHON = Vocabulary(
    language="python",
    add_turn="Add one: mock.script(message('…')).",
    add_open_turn="Loosen that condition, or add a turn that answers every request: mock.script(…).",
    mark="@pytest.mark.harness({})",
    base_url="mock.base_url",
    api_key="mock.api_key",
    too_early=" while the test runs (a client made at import is too early)",
)
"""For tests in pytest."""
JSON = Vocabulary(
    language="json",
    add_turn='Add one: {"script": [{"message": "…"}]}.',
    add_open_turn='Loosen that condition, or add a turn that answers every request: {"script": [{"message": "…"}]}.',
    mark="",
    base_url="the address of this server",
    api_key="the key of this World",
    too_early="",
)
"""For the control plane and script files in YAML."""
