"""The exit codes of every command; the page "The command line" says when each command ends with which."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ends; `harness record -- COMMAND` and other runners end as their command, unless that ended with 0."""

    OK = 0
    """Done, and nothing was found."""
    FOUND = 1
    """Something was found, or a check failed."""
    NOTHING_JUDGED = 2
    """The command line or a file is wrong, or there was nothing to look at; one message on stderr says which."""
    INTERRUPTED = 130
    """Ctrl-C; of `serve` and `record`, which run until then, it is no error."""
