"""All endpoints, one module per resource, and Azure's form of their answers; importing this registers the endpoints."""

from pkgutil import iter_modules

from harness.core.registry import import_modules

import_modules(__name__, (module.name for module in iter_modules(__path__)))
