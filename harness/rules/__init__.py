"""Every rule, in order of precedence: the API reports one error, the first, so the order of AREAS is contract.

Measured with pairs of faults (public probe, 2026-08-30): the key, the transport, the schema of the body field by field,
stored state, the transcript, an empty input, what the model can do. Within a module, source order is precedence.
"""

from importlib import import_module

AREAS = (
    "access",
    "transport",
    "shape",
    "content",
    "ids",
    "media",
    "model",
    "tools",
    "text",
    "state",
    "reasoning",
    "pairing",
    "input",
    "capability",
)

for _area in AREAS:
    import_module(f"harness.rules.{_area}")
