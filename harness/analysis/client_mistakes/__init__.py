"""All mistakes of clients, one module per area; importing the package registers them."""

from harness.core.registry import import_modules

AREAS = ("retries", "streams", "documented")

import_modules(__name__, AREAS)
