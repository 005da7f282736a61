"""`responses-harness serve -- COMMAND`: runs a command with the mock behind its clients, and judges what they did."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from harness.cli.serve_options import TOKEN_VARIABLE, ServeOptions
from harness.cli.support.app import ExitCode, print_note
from harness.cli.support.command_report import CommandReport
from harness.cli.support.run_command import run_command
from harness.cli.support.tls import EVERY_ADDRESS, Secured, context_of, origin_for_clients
from harness.core.garbage import small_collections

if TYPE_CHECKING:
    from harness.server.control_plane.access import ControlAccess
    from harness.server.judgement import Permitted
    from harness.server.mock_api import MockApi

URL_VARIABLE = "HARNESS_URL"
"""The variable with the origin of the server, under which the control plane is."""
NO_REQUEST = (
    "the command sent no request, so nothing was tested. Its clients must read {variables}, or be passed {values}."
    "{more}"
)
PLAIN_PROJECT = " Azure's clients send no token over plain HTTP: serve with --tls."


def run_with_mock(options: ServeOptions, api: MockApi, access: ControlAccess, secured: Secured | None = None) -> int:
    """Run a command against the mock, print the report of each World on stderr, and return the exit code.

    That is the command's own exit code; if it is 0, then 1 if any World has a verdict, or 2 if there is nothing to
    judge.
    """
    from harness.api.http.dialects import OPENAI
    from harness.core.text import pluralize
    from harness.report.formats import is_page
    from harness.server.asgi import serve_in_thread

    command, host, dialect = options.command or [], options.host, options.dialect or OPENAI
    permitted, reports = options.permitted, options.reports or []
    report = None
    if reports or options.trace:
        report = CommandReport(api, command, permitted, any(map(is_page, reports)), options.trace)
    with (
        serve_in_thread(api, host, options.port or 0, access=access, tls=context_of(secured)) as server,
        small_collections(),
    ):
        origin = origin_for_clients(secured, EVERY_ADDRESS.get(host, server.host), server.port)
        environment = {**os.environ, **({TOKEN_VARIABLE: access.token} if access.token else {})}
        environment |= options.webhook_variables
        environment |= secured.variables if secured else {}
        code = run_command(command, _command_environment(origin, dialect, options.key, environment))
    if report:
        report.write(reports)
    if not api.request_count and not api.strays.number:
        print_note(_describe_silence(dialect, is_plain=secured is None))
        return code or ExitCode.NOTHING_JUDGED
    problems = list(_problems(api, permitted))
    end = f"the command ended with {code}" if code else "nothing is wrong"
    for text in problems or [f"{pluralize(api.request_count, 'request')}, {end}"]:
        print_note(text)
    return code or int(bool(problems))


def _command_environment(origin: str, dialect: str, key: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Build the environment of a command whose clients should reach the World of a key."""
    from harness.server.client_environment import environment_changes, server_variables

    changes = environment_changes(server_variables(origin, dialect, key), environment)
    return {
        name: value for name, value in {**environment, **changes, URL_VARIABLE: origin}.items() if value is not None
    }


def _describe_silence(dialect: str, *, is_plain: bool) -> str:
    """Explain why no request may have come."""
    from harness.api.http.dialects import FOUNDRY
    from harness.server.client_environment import READ_BY_CLIENTS

    *first, last = READ_BY_CLIENTS[dialect]
    is_project = dialect == FOUNDRY
    return NO_REQUEST.format(
        variables=f"{', '.join(first)} {'or' if is_project else 'and'} {last}",
        values="its value" if is_project else "their values",
        more=PLAIN_PROJECT if is_project and is_plain else "",
    )


def _problems(api: MockApi, permitted: Permitted) -> Iterator[str]:
    """Yield why a run fails although its command passed, for each World and for requests that reached none."""
    from harness.explain.stray import unknown_key_cause
    from harness.server.judgement import judge_world
    from harness.world.mock import Mock

    if cause := unknown_key_cause(api.strays):
        yield cause.what
    for world in api.worlds.values():
        mock = Mock(world)
        judged = judge_world(mock, permitted)
        if judged.verdict:
            yield f"{world.name}:\n\n{judged.report}\n"
