"""The two kinds of errors.

ApiError                what the real API would answer: data for the client under test, never raised past the mock
HarnessError            a mistake of the harness's own user: what, where, how to fix
├── ScriptError         an unreadable script or an invalid turn
│   └── NoTurn          a request that no turn answers
├── RegistrationError   an invalid declaration of a rule, item or operation
├── SchemaError         schemas missing, stale or not what an overlay expects
└── ConfigError         an invalid option, key or marker
    └── MissingExtra    a package that is not installed
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from traceback import StackSummary, walk_tb
from types import FrameType
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn
from urllib.parse import unquote, urlsplit

from harness.core.headers import quote_header
from harness.core.text import MAX_QUOTED, shorten

Section = Literal[
    "no-request-came",
    "a-request-was-refused",
    "an-expected-refusal-did-not-come",
    "a-request-could-not-be-answered",
    "turns-are-left",
    "something-was-lost",
    "the-client-hung-up",
    "another-key",
    "the-live-api",
    "scripts",
    "options-and-files",
    "recordings",
    "a-shared-store",
    "the-installation",
    "another-server",
    "a-webhook",
    "how-the-client-asks",
    "a-claim-does-not-hold",
]
"""The headings of the manual's page "Troubleshooting" as URL fragments."""


def name_section(section: Section) -> str:
    """Return the command that shows a section of the manual."""
    return f"{COMMAND} manual {section}"


def add_section(text: str, section: Section) -> str:
    """Append a line with the manual's section to a message that ends a run."""
    return f"{text}\nmanual: {name_section(section)}"


REQUEST_ERROR = "invalid_request_error"
REQUEST_ID = "{request_id}"
"""The placeholder for the request's id in an error, until the answer has one."""
MAX_MESSAGE = 4_000
"""The maximum length of what an error says is wrong; beyond it the middle is left out, which quotes a long value."""


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error in the API's own words; all its strings may contain `{fact}` fields.

    On the wire it is `{"error": {"message", "type", "param", "code"}}` with the HTTP status `status`. `body_template`
    is the body for a provider with another form: JSON whose strings may contain the same fields, and `{message}` …
    `{status}`. `{request_id}` remains until the answer has an id (`foundry.resources`).
    """

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    type: str = REQUEST_ERROR
    headers: Mapping[str, str] | None = None
    body_template: Mapping[str, Any] | None = None

    def fill(self, facts: Mapping[str, Any]) -> ApiError:
        """Return this error with its fields replaced by `facts`; KeyError for a field without a fact.

        If its message or its `param` became longer than MAX_MESSAGE, they quote only the ends of long facts.
        """
        facts = {"request_id": REQUEST_ID, **facts}
        if max(len(text.format_map(facts)) for text in (self.message, self.param or "")) > MAX_MESSAGE:
            facts = {
                name: shorten(fact, MAX_QUOTED, tail=MAX_QUOTED // 4) if isinstance(fact, str) else fact
                for name, fact in facts.items()
            }
        param, code = (text and text.format_map(facts) for text in (self.param, self.code))
        headers = self.headers and {
            name.format_map(facts): quote_header(value.format_map(facts)) for name, value in self.headers.items()
        }
        message, kind = shorten(self.message.format_map(facts), MAX_MESSAGE), self.type.format_map(facts)
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


def bad_request(
    message: str, param: str | None = None, code: str | None = None, type: str = REQUEST_ERROR, **more: Any
) -> ApiError:
    """Return an error with the status 400, as most have; the other members are those of ApiError."""
    return ApiError(400, message, param, code, type, **more)


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


class HarnessError(Exception):
    """An error that only the user of the harness can fix.

    The message says what is wrong, where and how to fix it; `problem` has its parts, `section` is the manual's section
    on it.
    """

    section: ClassVar[Section] = "options-and-files"

    def __init__(self, what: str = "", shown: Sequence[str] = (), fix: str = "") -> None:
        self.problem = Problem(shorten(what, MAX_MESSAGE, tail=MAX_QUOTED, mark=" … "), tuple(shown), fix)
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


DISTRIBUTION = "responses-harness"
COMMAND = DISTRIBUTION
"""The name of the command in messages, however it was called: another vendor's CLI may be the `harness` of a reader."""


class MissingExtra(ConfigError):
    """A package that is not installed."""

    section = "the-installation"


def missing_extra(needed_by: str, package: str, extra: str) -> ConfigError:
    """Return the error for a missing package; it says what needs the package and how to install it."""
    return MissingExtra(f"{needed_by} needs {package}: {install_command(extra)}")


def require_extra(needed_by: str, package: str, extra: str, *modules: str) -> None:
    """Raise ConfigError unless the modules of a package are installed; the default is the module of the same name."""
    if not all(find_spec(module) for module in modules or (package,)):
        raise missing_extra(needed_by, package, extra)


def install_command(extra: str) -> str:
    """Return the command that adds an extra, from where this distribution was installed: its name, folder, file or URL."""
    from importlib.metadata import PackageNotFoundError, distribution  # late: only for an error

    try:
        installed = distribution(DISTRIBUTION)
    except PackageNotFoundError:  # imported from a folder
        return f'pip install "{DISTRIBUTION}[{extra}]"'
    installer = "uv pip" if (installed.read_text("INSTALLER") or "").strip() == "uv" else "pip"
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f'{installer} install {editable}"{_requirement(origin, extra)}"'


def _requirement(origin: dict[str, Any], extra: str) -> str:
    """Return the requirement of an extra; `origin` is the record of what was installed, empty for an index."""
    url, folder = origin.get("url", ""), origin.get("subdirectory", "")
    if url.startswith("file:") and "vcs_info" not in origin:
        path = re.sub(r"^/(?=[A-Za-z]:)", "", unquote(urlsplit(url).path))  # /C:/Users is C:/Users
        return f"{path}{folder and f'/{folder}'}[{extra}]"
    if vcs := origin.get("vcs_info"):
        named = url.replace("file:///", "file://localhost/")  # which the syntax of requirements asks for
        url = f"{vcs['vcs']}+{named}@{vcs['commit_id']}"
    return f"{DISTRIBUTION}[{extra}]{url and f' @ {url}'}{folder and f'#subdirectory={folder}'}"


INTERRUPTS = (KeyboardInterrupt, GeneratorExit)
"""What ends the harness itself; any other exception of user code is its mistake, even from `sys.exit`."""
MAX_FRAMES = 4
"""The number of innermost frames shown."""
_PACKAGE = __file__[: -len("core/errors.py")]
"""The folder of the harness, whose frames are not shown; frames of its `with` blocks belong to `contextlib`."""


class Place(NamedTuple):
    """A line of the user's code; an empty `file` means no place."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def short(self) -> str:
        """The place without the directory: `test_x.py:12`."""
        return f"{_file_name(self.file)}:{self.line}"


NOWHERE = Place()


def find_calling_place() -> Place:
    """Return the line of user code that is calling the harness."""
    frame: FrameType | None = sys._getframe(1)
    while frame and (frame.f_code.co_filename.startswith(_PACKAGE) or frame.f_code.co_filename == contextlib.__file__):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame else NOWHERE


def describe_raised(problem: BaseException) -> Problem:
    """Describe an exception, `KeyError: 'city', at /app/test_x.py:12`, with a line for each of the last frames.

    The place is the last line in the file where the user's code began. An error of the harness keeps its own message,
    without the name of its class.
    """
    kind = "" if isinstance(problem, HarnessError) else type(problem).__name__
    first, *more = ": ".join(filter(None, [kind, str(problem)])).splitlines() or [""]
    frames = user_frames(problem)
    place = next((frame for frame in reversed(frames) if frame.filename == frames[0].filename), None)
    head = f"{first}, at {place.filename}:{place.lineno}" if place else first
    shown = [
        f"at {_file_name(frame.filename)}:{frame.lineno}, in {frame.name}{f': {frame.line}' if frame.line else ''}"
        for frame in frames[-MAX_FRAMES:]
    ]
    return Problem(head, [*(f"  {line}" for line in shown), *(f"  | {line}" for line in more)])


def raise_as_script_error(problem: BaseException, what: str, where: str = "") -> NoReturn:
    """Raise an exception of user code as a ScriptError with its place and frames; `what` precedes `KeyError: …`.

    Interrupts, and errors of the harness that user code did not cause, are raised unchanged; `where` precedes an error
    of the harness that user code did cause, which says itself how to fix it.
    """
    if isinstance(problem, INTERRUPTS) or (isinstance(problem, HarnessError) and not user_frames(problem)):
        raise problem
    said, frames, _ = describe_raised(problem)
    if isinstance(problem, HarnessError):
        raise ScriptError(f"{where}{said}", frames) from problem
    raise ScriptError(f"{what}{said}", frames, "Correct that line, or what it expects of the request.") from problem


def error_chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, its causes and contexts, and the members of exception groups, each once; the nearest first."""
    waiting, seen = [error], set[int]()
    for failed in waiting:
        if failed is not None and id(failed) not in seen:  # some clients make cycles of causes
            seen.add(id(failed))
            yield failed
            waiting += failed.exceptions if isinstance(failed, BaseExceptionGroup) else ()
            waiting += (failed.__cause__, failed.__context__)


def describe_code(code: Any) -> str:
    """Describe a function or generator by name and place: `model (test_x.py:12)`."""
    own = getattr(code, "__code__", None) or getattr(code, "gi_code", None)
    name = getattr(code, "__name__", type(code).__name__)
    return f"{name} ({_file_name(own.co_filename)}:{own.co_firstlineno})" if own else name


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def user_frames(problem: BaseException) -> StackSummary:
    """Return the frames between the harness and the line that raised, outermost first."""
    frames = StackSummary.extract(walk_tb(problem.__traceback__))
    return StackSummary.from_list(
        [frame for frame in frames if not frame.filename.startswith(_PACKAGE) and frame.filename != contextlib.__file__]
    )
