"""What the tasks and scripts of many cases have in common."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

from harness.core.exchange import Request
from harness.examine.case import Script
from harness.examine.task import Task, Tool, string_parameters
from harness.world.mock import Mock
from harness.world.route import Turn

ASKED = Task(prompts=("How is the weather?",))
ASKED_TWICE = Task(prompts=("How is the weather?", "And tomorrow?"))
REASONING_MODEL = "gpt-5"
WEATHER = Tool("get_weather", "The weather of a city.", string_parameters("city"), returns="18 °C")
DEPLOY = Tool("deploy", "Deploy a version.", string_parameters("ref"), returns="live")
WITH_TOOL = Task(prompts=("How is the weather?",), tools=(WEATHER,))


def always(*every: Turn) -> Script:
    """A script that begins with these turns and repeats the last of them for as long as the client asks."""

    def model(request: Request) -> Iterator[Any]:
        turns = chain(every, repeat(every[-1]))
        while True:
            yield next(turns)

    def script(mock: Mock) -> None:
        mock.script(model)

    return script
