"""The catalogue: importing this package registers every case, one module or folder an area; Assistants is a dialect."""

from harness.core.registry import import_modules

import_modules(
    __name__, ("answers", "tools", "state", "agents", "streams", "errors", "dialects", "project_agents", "assistants")
)
