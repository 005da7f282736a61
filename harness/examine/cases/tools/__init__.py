"""How a model calls the tools of a client."""

from harness.core.registry import import_modules

import_modules(__name__, ("calls", "arguments", "results", "kinds"))
