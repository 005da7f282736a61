"""Every loss, a module an area; importing the package registers them."""

from harness.core.registry import import_modules

AREAS = (
    *("calls", "outputs", "tools", "history", "turns", "prompts", "words", "attachments", "chains"),
    *("instructions", "text", "citations", "spans", "reasoning", "order", "endings", "sent"),
)

import_modules(__name__, AREAS)
