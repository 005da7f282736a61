"""All losses, one module per area; importing the package registers them."""

from harness.core.registry import import_modules

AREAS = (
    *(
        "calls",
        "outputs",
        "tools",
        "hosted",
        "history",
        "turns",
        "repeated_prompts",
        "prompts",
        "attachments",
        "chains",
    ),
    *("instructions", "text", "citations", "citation_places", "reasoning", "withheld", "order", "endings", "sent"),
)

import_modules(__name__, AREAS)
