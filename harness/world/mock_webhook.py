"""A test's handle on a webhook, and its creation: `hook = mock.webhooks(app, "/hook")`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.core.errors import ConfigError
from harness.world.webhooks import FAULTS, NO_COURIER, Webhooks, check_names
from harness.world.world import World


class Webhook:
    """A webhook of a test; `secret` verifies its deliveries, `url` is where they are sent."""

    __slots__ = ("_world", "id")

    def __init__(self, world: World, id: str) -> None:
        self._world = world
        self.id = id

    def __repr__(self) -> str:
        return f"<webhook {self.id} to {self.url}>"

    @property
    def url(self) -> str:
        """The URL that deliveries are posted to."""
        return self._webhooks.endpoints[self.id].url

    @property
    def secret(self) -> str:
        """The secret that signs deliveries."""
        return self._webhooks.endpoints[self.id].secret

    @property
    def faults(self) -> tuple[str, ...]:
        """What goes wrong with its deliveries; can be set: `hook.faults = ["doubled"]`."""
        return tuple(self._webhooks.endpoints[self.id].faults)

    @faults.setter
    def faults(self, names: list[str] | tuple[str, ...]) -> None:
        check_names("faults", names, FAULTS)
        endpoints = self._webhooks.endpoints
        endpoints[self.id] = replace(endpoints[self.id], faults=tuple(names))

    def rotate(self, secret: str = "", *, keep_old: bool = False) -> str:
        """Sign with another secret, by default a new one; with `keep_old` the old one also signs for a day."""
        return self._webhooks.rotate(self.id, self._world.now, keep_old=keep_old, secret=secret).secret

    def remove(self) -> None:
        """Stop all deliveries."""
        self._webhooks.endpoints.pop(self.id, None)

    @property
    def _webhooks(self) -> Webhooks:
        webhooks = self._world.webhooks
        if webhooks is None or self.id not in webhooks.endpoints:
            raise ConfigError(f"the webhook {self.id} was removed.")
        return webhooks


def make_webhook(world: World, receiver: Any, path: str, told: str, options: dict[str, Any]) -> Webhook:
    """Add a webhook to a World; ConfigError if nothing delivers webhooks there."""
    if world.courier is None:
        raise ConfigError(NO_COURIER)
    url, call = world.courier.lead(receiver, path, told)
    dates = {"created_at": world.now, "updated_at": world.now}
    endpoint = world.open_webhooks().add_endpoint(url, receiver=call, **dates, **options)
    return Webhook(world, endpoint.id)
