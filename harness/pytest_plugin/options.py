"""The options of the marker `harness`: what a test allows, and which provider its mock is."""

from __future__ import annotations

from typing import Any

import pytest

from harness.core.errors import ConfigError

UNUSED_VALUES = ("fail", "allow")
LOSSES_VALUES = ("fail", "allow", "strict")
MARKER_VALUES: dict[str, tuple[str, ...]] = {
    "unused": UNUSED_VALUES,
    "losses": LOSSES_VALUES,
    "dialect": ("openai", "azure", "foundry"),
    "key": (),
}
"""The options of the marker `harness` with their values; without a dialect the mock has the paths of all of them.

`losses` may also be a list, the ids of the losses to allow. `key` is any text: one more API key of the test.
"""


def read_marker_options(node: pytest.Item) -> dict[str, Any]:
    """The options of the `harness` markers of a test, the closest first; ConfigError for an invalid one."""
    chosen: dict[str, Any] = {"unused": UNUSED_VALUES[0], "losses": LOSSES_VALUES[0]}
    for marker in reversed(list(node.iter_markers("harness"))):
        unknown = [*map(repr, marker.args), *(f"{name}=…" for name in marker.kwargs if name not in MARKER_VALUES)]
        if unknown:
            raise ConfigError(
                f"@pytest.mark.harness({', '.join(unknown)}): it knows {', '.join(MARKER_VALUES)}, as in unused='allow'."
            )
        chosen |= marker.kwargs
    for name, value in chosen.items():
        if name == "key":
            _check_key(value)
            continue
        ids = _loss_ids() if name == "losses" and isinstance(value, list) else ()
        if not (all(id in ids for id in value) if ids else value in MARKER_VALUES[name]):
            known = ", ".join(map(repr, ids or MARKER_VALUES[name]))
            some, also = ("some", "") if ids else ("one", " or a list of losses to allow" if name == "losses" else "")
            raise ConfigError(f"@pytest.mark.harness({name}={value!r}): give {some} of {known}{also}.")
    return chosen


def _check_key(value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(
            f"@pytest.mark.harness(key={value!r}): give the API key that the program sends, as in key='sk-test'."
        )


def _loss_ids() -> tuple[str, ...]:
    import harness.analysis.losses  # noqa: F401  (registers every loss)
    from harness.analysis.loss import LOSSES

    return tuple(LOSSES)
