"""What goes wrong before an answer: refusals, limits, servers and connections that fail."""

from harness.core.registry import import_modules

import_modules(__name__, ("refusals", "retries", "connections"))
