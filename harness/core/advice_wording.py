"""The wording of advice: Python for tests in pytest, JavaScript for tests in vitest and jest, otherwise JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from re import Match, Pattern
from typing import Any, Literal

from harness.core.errors import COMMAND
from harness.core.text import MAX_QUOTED, excerpt, shorten, show

_ACCOUNT_CALL = re.compile(r"mock\.organization\((\w+)=(.*?)\)(?=`)")
_PLURALS = {
    **{name: f"{name}s" for name in ("file", "connection", "deployment", "dataset", "memory_store", "skill", "agent")},
    "vector_store": "vector_stores",
    "index": "indexes",
    "toolbox": "toolboxes",
}
_MAKER_CALLS = {
    f"mock.{name}({argument})": f'{{"{key}": {{…}}}}' for name, key in _PLURALS.items() for argument in ("", "…")
}
"""Calls by which a test creates something, and the same in a script document."""
_VERBOSE_REPORT = "GET /_harness/report?verbose=true"
_ALLOWED = "GET /_harness/report?{}=allow"
_JSON_TYPES = {"a list of str": "a list of strings", "Pass a str": "Pass a string"}
_PYTHON_VALUES = {"None": "null", "True": "true", "False": "false"}
_PYTHON_VALUE = re.compile(r" is (None|True|False)\b")
_JSON_WORDS = {"True": "true", "False": "false", "()": "[]", "{…}": "[…]"}

MAX_NAMED = 100
"""The maximum length of rule names listed in advice; beyond it the advice covers all refusals."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words for what a reader can do about a failure; empty for what they cannot do.

    `add_turn` and `add_open_turn` add a turn to a script, for this request or for any; `mark` is a test's marker, with
    `{}` for its arguments. `base_url` and `api_key` name those of this mock, `too_early` says when a client is created
    too early, `show_more` says how to show all causes in full. With `runs_command` the advice is read after a
    `responses-harness serve -- COMMAND`.
    """

    language: Literal["python", "javascript", "json"]
    add_turn: str
    add_open_turn: str
    base_url: str
    api_key: str
    show_more: str = _VERBOSE_REPORT
    mark: str = ""
    too_early: str = ""
    runs_command: bool = False

    def for_command(self) -> Vocabulary:
        """Return the wording for `responses-harness serve -- COMMAND`, whose server has ended when the advice is read."""
        return replace(self, runs_command=True, show_more=f"`{COMMAND} serve --report FILE.html -- …`")

    @property
    def allow_unused(self) -> str:
        """How to allow unused turns."""
        if self.language == "javascript":
            return 'useMock({ unused: "allow" })'
        if self.runs_command:
            return f"{COMMAND} serve --unused allow -- …"
        if not self.mark:
            return _ALLOWED.format("unused")
        return self.mark.format('unused="allow"')

    def allow_losses(self, ids: Sequence[str]) -> str:
        """Return how to allow these losses; without ids, all losses."""
        named = ", ".join(map(json.dumps, ids))
        if self.language == "javascript":
            return f"useMock({{ losses: [{named}] }})" if named else 'useMock({ losses: "allow" })'
        if self.runs_command:
            return f"{COMMAND} serve --losses {','.join(ids) or 'allow'} -- …"
        if not self.mark:
            return _ALLOWED.format("losses")
        return self.mark.format(f"losses=[{named}]" if named else 'losses="allow"')

    def allow_webhooks(self, ids: Sequence[str]) -> str:
        """Return how to allow these mistakes of a webhook receiver."""
        if self.language == "javascript":
            return 'useMock({ webhooks: "allow" })'
        if self.mark:
            return self.mark.format(f"webhooks={json.dumps(ids)}")
        if self.runs_command:
            return f'{{"webhooks": {{…, "allow": {json.dumps(ids)}}}}} in the script'
        return _ALLOWED.format("webhooks")

    def allow_client(self, ids: Sequence[str]) -> str:
        """Return how to allow these mistakes of a client."""
        named = ", ".join(map(json.dumps, ids))
        if self.language == "javascript":
            return f"useMock({{ client: [{named}] }})"
        if self.runs_command:
            return f"{COMMAND} serve --client {','.join(ids)} -- …"
        if self.mark:
            return f"with mock.allows({named}): …, or for a whole test\n{self.mark.format(f'client=[{named}]')}"
        return f'{{"client": [{named}]}}'

    def expect_refusals(self, ids: Sequence[str]) -> str:
        """Return how to expect refusals by these rules: the first where it occurs, or all for a whole test."""
        if self.language == "javascript":
            return f'await mock.refuses("{ids[0]}", …), or for a whole file\nuseMock({{ refusals: {json.dumps(ids)} }})'
        if self.mark:
            whole = self.mark.format(f"refusals={json.dumps(ids)}")
            return f'with mock.refuses("{ids[0]}"): …, or for a whole test\n{whole}'
        is_short = sum(map(len, ids)) < MAX_NAMED
        if self.runs_command:
            return f"{COMMAND} serve --refusals {','.join(ids) if is_short else 'allow'} -- …"
        return f'POST /_harness/expect {{"refusals": {json.dumps(ids if is_short else "allow")}}}, before the request'

    def word_fix(self, fix: str) -> str:
        """Reword the fix of a rule, which is in Python, for this language."""
        if self.language == "python":
            return fix
        for call, document in _MAKER_CALLS.items():
            fix = fix.replace(call, document)
        return _ACCOUNT_CALL.sub(_account_document, fix)

    def render_value(self, value: Any) -> str:
        """Render a value in this language."""
        return show(value) if self.language == "python" else render_json(value)

    def name_call(self, type: str, name: str) -> str:
        """Name a tool call without its arguments; `name` is empty for a tool that exists only once."""
        if not name:
            return type
        return f"{type}({name!r})" if self.language == "python" else f"{type} {json.dumps(name, ensure_ascii=False)}"

    def off_schema_call(self, type: str) -> str:
        """Return how to script a call that the tools of its request need not allow."""
        return (
            f"{type}(…, off_schema=True)" if self.language == "python" else f'{{"{type}": {{…, "off_schema": true}}}}'
        )

    def off_schema_turn(self, type: str) -> str:
        """Return how to script a turn with an item of this type that its request need not allow."""
        if self.language == "python":
            return f"[{type}(…), completed(off_schema=True)]"
        return f'[{{"{type}": …}}, {{"completed": {{"off_schema": true}}}}]'

    def name_route(self, conditions: Mapping[str, Any]) -> str:
        """Name a route by its conditions; without conditions it is the script."""
        if not conditions:
            return "script"
        if self.language == "python":
            return f"when({', '.join(f'{name}={wanted!r}' for name, wanted in conditions.items())})"
        return f"when {render_json(conditions)}"


def word_in_json(problem: str) -> str:
    """Reword an error about a builder's arguments with the values and types of JSON."""
    for python, words in _JSON_TYPES.items():
        problem = problem.replace(python, words)
    return _PYTHON_VALUE.sub(lambda found: f" is {_PYTHON_VALUES[found[1]]}", problem)


def render_json(value: Any, width: int = MAX_QUOTED) -> str:
    """Render an excerpt of a value as JSON; a pattern becomes `{"pattern": "…"}`, and anything else its `repr`."""
    value = excerpt(value)
    try:
        text = json.dumps(value, ensure_ascii=False, default=_plain_value)
        return shorten(text if text.isprintable() else json.dumps(value, default=_plain_value), width)
    except (TypeError, ValueError):
        return show(value, width)


def _plain_value(value: Any) -> Any:
    return {"pattern": value.pattern} if isinstance(value, Pattern) else str(value)


def _account_document(call: Match[str]) -> str:
    name, value = call.groups()
    if value.startswith("{'"):
        value = f"[{value[1:-1]}]"
    shown = value if name == "agents" else _JSON_WORDS.get(value, value).replace("'", '"')
    return f'{{"organization": {{"{name}": {shown}}}}}'


_LOOSEN = "Loosen that condition, or add a turn that answers every request: {}."
PYTHON = Vocabulary(
    language="python",
    add_turn="Add one: mock.script(message('…')).",
    add_open_turn=_LOOSEN.format("mock.script(…)"),
    base_url="mock.base_url",
    api_key="mock.api_key",
    show_more="-v",
    mark="@pytest.mark.harness({})",
    too_early=" while the test runs (a client created at import reads them too early)",
)
"""For tests in pytest."""
PYTHON_FILE = replace(
    PYTHON,
    add_turn="Add one to the file: `script = [message('…')]`.",
    add_open_turn=_LOOSEN.format("`script = [message('…')]`"),
    base_url="the address of this server",
    api_key="the key",
    show_more=_VERBOSE_REPORT,
    mark="",
    too_early="",
)
"""For script files in Python that a server reads."""
_DOCUMENT = '{"script": [{"message": "…"}]}'
JSON = Vocabulary(
    language="json",
    add_turn=f"Add one: {_DOCUMENT}.",
    add_open_turn=_LOOSEN.format(_DOCUMENT),
    base_url="the address of this server",
    api_key="the key",
)
"""For the control plane and script files in YAML."""
JAVASCRIPT = replace(
    JSON,
    language="javascript",
    add_turn='Add one: await mock.script("…").',
    add_open_turn=_LOOSEN.format('await mock.script("…")'),
    base_url="mock.baseURL",
    api_key="mock.apiKey",
)
"""For tests in vitest and jest."""
VOCABULARIES = {vocabulary.language: vocabulary for vocabulary in (PYTHON, JAVASCRIPT, JSON)}
