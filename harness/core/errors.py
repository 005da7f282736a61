"""The two kinds of errors.

ApiError                what the real API would answer: data for the client under test, never raised past the mock
HarnessError            a mistake of the harness's own user: what, where, how to fix
├── ScriptError         an unreadable script or an invalid turn
│   └── NoTurn          a request that no turn answers
├── RegistrationError   an invalid declaration of a rule, item or operation
├── SchemaError         schemas missing, stale or not what an overlay expects
└── ConfigError         an invalid option, key or marker
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from harness.core.headers import quote_header
from harness.core.manual import Section

REQUEST_ID = "{request_id}"
"""The placeholder for the request's id in an error, until the answer has one."""


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error in the API's own words; all its strings may contain `{fact}` fields.

    On the wire it is `{"error": {"message", "type", "param", "code"}}` with the HTTP status `status`. `body_template`
    is the body for a provider with another form: JSON whose strings may contain the same fields, and `{message}` …
    `{status}`. `{request_id}` remains until the answer has an id (`api.project.errors`).
    """

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    type: str = "invalid_request_error"
    headers: Mapping[str, str] | None = None
    body_template: Mapping[str, Any] | None = None

    def fill(self, facts: Mapping[str, Any]) -> ApiError:
        """Return this error with its fields replaced by `facts`; KeyError for a field without a fact."""
        facts = {"request_id": REQUEST_ID, **facts}
        param, code = (text and text.format_map(facts) for text in (self.param, self.code))
        headers = self.headers and {
            name.format_map(facts): quote_header(value.format_map(facts)) for name, value in self.headers.items()
        }
        message, kind = self.message.format_map(facts), self.type.format_map(facts)
        filled = ApiError(self.status, message, param, code, kind, headers)
        if self.body_template is None:
            return filled
        return replace(
            filled,
            body_template=_fill_template(self.body_template, {**facts, **filled.members(), "status": self.status}),
        )

    def members(self) -> dict[str, Any]:
        """Return `message`, `type`, `param` and `code`, whatever the form of the body."""
        return {"message": self.message, "type": self.type, "param": self.param, "code": self.code}

    def body(self) -> dict[str, Any]:
        """Return the JSON body that the API sends."""
        return {"error": self.members()} if self.body_template is None else dict(self.body_template)


def _fill_template(form: Any, facts: Mapping[str, Any]) -> Any:
    """Replace the fields of a template with facts; a string that is exactly one field becomes the fact itself."""
    if isinstance(form, str):
        name = form[1:-1]
        return facts[name] if form == f"{{{name}}}" and name in facts else form.format_map(facts)
    if isinstance(form, Mapping):
        return {name: _fill_template(value, facts) for name, value in form.items()}
    return form


class Problem(NamedTuple):
    """A problem that only the user of the harness can fix: what is wrong, lines that show details, the fix."""

    what: str
    shown: Sequence[str] = ()
    fix: str = ""

    def __str__(self) -> str:
        return "\n".join([self.what, *self.shown, *filter(None, [self.fix])])


MAX_MESSAGE = 4_000
"""The maximum length of what an error says is wrong; beyond it the middle is left out, which quotes a long value."""


class HarnessError(Exception):
    """An error that only the user of the harness can fix.

    The message says what is wrong, where and how to fix it; `problem` has its parts, `section` is the manual's section
    on it.
    """

    section: ClassVar[Section] = "options-and-files"

    def __init__(self, what: str = "", shown: Sequence[str] = (), fix: str = "") -> None:
        if len(what) > MAX_MESSAGE:
            what = f"{what[: MAX_MESSAGE // 2]} … {what[-MAX_MESSAGE // 4 :]}"
        self.problem = Problem(what, tuple(shown), fix)
        super().__init__(str(self.problem))


class ScriptError(HarnessError):
    """An unusable script file or an invalid turn."""

    section: ClassVar[Section] = "scripts"


class NoTurn(ScriptError):
    """A request that no turn of the script answers."""

    section = "a-request-could-not-be-answered"


class RegistrationError(HarnessError):
    """An invalid declaration of a rule, an item kind or an operation; raised at import."""

    section = "the-installation"


class SchemaError(HarnessError):
    """A missing or stale schema, or an overlay that no longer fits it."""

    section = "the-installation"


class ConfigError(HarnessError):
    """An invalid option, key or marker."""


class Malformed(Exception):
    """Invalid content; the message names the place (`line 3`, `interactions[2]`) and the problem, no content."""
