"""How a session is kept: by the client, by a chain of responses, by a conversation; in the background, compacted."""

from harness.core.registry import import_modules

import_modules(__name__, ("sessions", "background", "compactions"))
