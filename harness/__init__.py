"""A recorded-contract test harness around a strict mock of the OpenAI Responses API."""

import sys

if sys.flags.optimize > 1:
    # The texts of rules, items and losses are docstrings.
    WITHOUT_DOCSTRINGS = (
        "Python runs with -OO, which removes the docstrings that responses-harness shows. Run it without -OO "
        "(unset PYTHONOPTIMIZE); -O is supported."
    )
    if sys.argv[0].endswith(("harness", "harness.exe", "-m")):
        sys.stderr.write(f"responses-harness: {WITHOUT_DOCSTRINGS}\n")
        sys.exit(2)
    raise ImportError(WITHOUT_DOCSTRINGS)
TYPE_CHECKING = False  # what `typing` calls so, without the time it takes to import it
if TYPE_CHECKING:
    from harness.analysis.surfaced import surfaced as surfaced
    from harness.api.models import Model as Model
    from harness.drive.counted_functions import counted as counted
    from harness.world.mock import Mock as Mock
    from harness.world.world import World as World

_LAZY = {
    "Mock": "harness.world.mock",
    "Model": "harness.api.models",
    "World": "harness.world.world",
    "counted": "harness.drive.counted_functions",
    "surfaced": "harness.analysis.surfaced",
}
"""What is loaded when it is first asked for: a test run that does not need it starts faster."""


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    from importlib import import_module

    if name == "Mock":
        import_module("harness.foundry")  # registers what a mock can create, even one without a server
    return getattr(import_module(_LAZY[name]), name)
