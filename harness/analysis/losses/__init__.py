"""Every loss; importing this registers them."""

from harness.core.registry import import_modules

AREAS = ("calls", "outputs", "history", "text", "citations", "reasoning", "order", "endings")

import_modules(__name__, AREAS)
