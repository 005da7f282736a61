"""How a mutant is made: methods of the reference client replaced by broken ones."""

from collections.abc import Callable
from typing import Any, NamedTuple

import httpx

from harness.core.exchange import Json
from harness.examine.task import Task
from tests.examine.reference.client import ReferenceSession
from tests.examine.reference.http import ReferenceClientError, ReferenceHttp

R = ReferenceSession
H = ReferenceHttp


class Mutant(NamedTuple):
    """A broken client, and the mode in which its case catches it."""

    case: str
    session: type[ReferenceSession]
    mode: str


MUTANTS: dict[str, Mutant] = {}
"""The mutant of each case."""


def mutant(case: str, mode: str = "plain,replay", **methods: Any) -> None:
    """A client whose session has these methods."""
    MUTANTS[case] = Mutant(case, type("MutantSession", (ReferenceSession,), methods), mode)


def http_mutant(case: str, mode: str = "plain,replay", **methods: Any) -> None:
    """A client whose requests have these methods."""
    mutant(case, mode, http_class=type("MutantHttp", (ReferenceHttp,), methods))


def impatient(case: str, mode: str, seconds: float) -> None:
    """A client that waits for bytes so long."""

    class ImpatientHttp(ReferenceHttp):
        def __init__(self, task: Task) -> None:
            super().__init__(task)
            self.http.timeout = httpx.Timeout(seconds)

    mutant(case, mode, http_class=ImpatientHttp)


def gives_up(why: str = "broken") -> Any:
    """Raise the client's own error."""
    raise ReferenceClientError(why)


def output_without(
    dropped: Callable[[Json], bool], when: Callable[[Json], bool] = lambda response: True
) -> Callable[..., None]:
    """Return a `remember` that loses some items of the output of some responses."""

    def remember(self: R, thread: Any, new: list[Json], response: Json) -> None:
        kept = [item for item in response["output"] if not (when(response) and dropped(item))]
        R.remember(self, thread, new, {**response, "output": kept})

    return remember


def output_changed(change: Callable[[Json], Json]) -> Callable[..., None]:
    """Return a `remember` that changes the items of the output."""

    def remember(self: R, thread: Any, new: list[Json], response: Json) -> None:
        R.remember(self, thread, new, {**response, "output": list(map(change, response["output"]))})

    return remember


def dies(case: str, reason: Callable[[Json], Any], mode: str = "plain,replay") -> None:
    """A client that cannot read some responses."""

    def check_response(self: R, response: Json) -> None:
        R.check_response(self, response)
        if reason(response):
            gives_up()

    mutant(case, mode, check_response=check_response)


def without_annotations(lost: Callable[[Json], bool]) -> Callable[..., None]:
    """Return a `note` that loses annotations."""

    def note(self: R, response: Json) -> None:
        R.note(self, response)
        self.shown["annotations"] = [annotation for annotation in self.shown["annotations"] if not lost(annotation)]

    return note
