"""Readers of results: `frameworks`, and `wire` for the API's own JSON."""

from harness.analysis.surfaces.base import read as read
from harness.core.registry import import_modules

import_modules(__name__, ("frameworks",))
