"""Every endpoint, one module a resource; importing this package registers them all."""

from harness.operations import conversations, models, responses

__all__ = ["conversations", "models", "responses"]
