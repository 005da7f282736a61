"""What an answer of the model may consist of."""

from harness.core.registry import import_modules

import_modules(__name__, ("texts", "citations", "endings", "reasoning", "hosted_tools", "novelties"))
