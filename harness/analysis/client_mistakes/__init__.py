"""Every mistake of a client, a module an area; importing the package registers them."""

from harness.core.registry import import_modules

AREAS = ("retries", "streams", "waiting")

import_modules(__name__, AREAS)
