"""Mutants of the area `dialects`."""

import httpx

from harness.core.exchange import Json
from tests.examine.mutants.errors import words
from tests.examine.mutants.mutant import R, http_mutant, mutant, output_without
from tests.examine.mutants.streams import text_in_pieces
from tests.examine.reference.http import ReferenceClientError

PLAIN = "plain,replay,azure"
STREAMED = "stream,replay,azure"


def no_tools(self: R, output: list[Json]) -> list[Json]:
    return [] if self.task.tools and self.task.dialect != "openai" else R.react(self, output)


def cut_is_end(self: R, problem: ReferenceClientError) -> Json | None:
    return None if isinstance(problem.__cause__, httpx.RemoteProtocolError) else R.describe(self, problem)


mutant("dialects/tool", PLAIN, react=no_tools)
mutant("dialects/session", PLAIN, remember=output_without(lambda item: item["type"] == "message"))
mutant(
    "dialects/citation", PLAIN, note=lambda self, response: (R.note(self, response), self.shown.update(annotations=[]))
)
http_mutant("dialects/bytes", STREAMED, read_lines=text_in_pieces)
mutant("dialects/cut", STREAMED, describe=cut_is_end)
http_mutant("dialects/401", PLAIN, refused=words(401))
http_mutant("dialects/content-filter", PLAIN, refused=words(400))
