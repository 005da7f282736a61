"""A recorded-contract test harness around a strict mock of the OpenAI Responses API."""

TYPE_CHECKING = False  # what `typing` calls so, without the time it takes to import it
if TYPE_CHECKING:
    from harness.comparison import surfaced as surfaced
    from harness.counting import counted as counted

_LAZY = {"counted": "harness.counting", "surfaced": "harness.comparison"}
"""What is loaded when it is first asked for: a test run that does not need it starts faster."""


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
