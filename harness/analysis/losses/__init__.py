"""All losses, one module per area; importing the package registers them."""

from harness.core.registry import import_modules

AREAS = (
    *("calls", "outputs", "tools", "hosted", "history", "turns", "partial", "user_messages", "prompts"),
    *("instructions", "text", "citations", "reasoning", "withheld", "order", "sent"),
)

import_modules(__name__, AREAS)
