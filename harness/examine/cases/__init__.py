"""The catalogue of cases. Importing this package registers them in this order; ids begin with the area."""

from harness.core.registry import import_modules

import_modules(
    __name__,
    (
        *("texts", "endings", "items"),  # answers
        *("calls", "tools", "state", "agents", "kept_reasoning", "streams", "errors"),
        "dialects",
    ),
)
