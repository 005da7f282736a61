"""How a stream of events arrives, and how it breaks."""

from harness.core.registry import import_modules

import_modules(__name__, ("delivery", "breaks"))
