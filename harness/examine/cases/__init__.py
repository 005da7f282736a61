"""The catalogue: importing this package registers every case, one module or folder an area."""

from harness.core.registry import import_modules

import_modules(__name__, ("answers", "tools", "state", "agents", "streams", "errors", "dialects"))
