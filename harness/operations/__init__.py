"""Every endpoint, one module a resource; importing this package registers them all."""

from harness.operations import conversations, responses

__all__ = ["conversations", "responses"]
