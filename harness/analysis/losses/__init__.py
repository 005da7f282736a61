"""Every loss; importing this registers them."""

from importlib import import_module

AREAS = ("calls", "outputs", "history", "text", "citations", "reasoning", "order", "endings")

for _area in AREAS:
    import_module(f"{__name__}.{_area}")
