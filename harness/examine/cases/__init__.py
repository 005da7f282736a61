"""The catalogue: importing this package registers every case, in this order; the id of a case begins with its area."""

from harness.core.registry import import_modules

import_modules(
    __name__,
    (
        *("texts", "endings", "items"),  # answers
        *("calls", "tools", "state", "agents", "approvals", "streams", "errors"),
        *("azure", "assistants"),  # dialects
    ),
)
