"""The endpoints of OpenAI's API, one module per resource; importing this registers them."""

from pkgutil import iter_modules

from harness.core.registry import import_modules

import_modules(__name__, (module.name for module in iter_modules(__path__)))
