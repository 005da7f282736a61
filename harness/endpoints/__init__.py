"""Every endpoint, one module a resource, and Azure's way of answering; importing this registers the endpoints."""

from pkgutil import iter_modules

from harness.core.registry import import_modules

import_modules(__name__, (module.name for module in iter_modules(__path__)))
