"""Finds the messages that contain a text, or begin or end with one; each pair is compared only once."""

from __future__ import annotations

from collections.abc import Set

from harness.analysis.history.similar_text import SHORTEST, letters_of


class TextHolders:
    """Remembers messages, and for each text that was searched for the messages that contain it."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._known: set[str] = set()
        self._last: Set[str] = frozenset()
        self._holders: dict[str, set[str]] = {}
        self._compared: dict[str, int] = {}

    def is_held(self, text: str, messages: Set[str]) -> bool:
        """Return whether one of these messages contains a text; the set `messages` must not change."""
        if messages is not self._last:
            self._messages += messages - self._known
            self._known |= messages
            self._last = messages
        holders = self._holders.setdefault(text, set())
        holders.update(message for message in self._messages[self._compared.get(text, 0) :] if text in message)
        self._compared[text] = len(self._messages)
        return not holders.isdisjoint(messages)


class JoinedTexts:
    """Texts that a longer one may begin or end with; the results of searches are cached."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, str]] = []
        self._known: set[str] = set()
        self._found: dict[str, list[str]] = {}
        self._compared: dict[str, int] = {}

    def add(self, text: str) -> None:
        """Remember a text, unless it is too short to be recognized."""
        if text not in self._known and len(letters := letters_of(text)) >= SHORTEST:
            self._known.add(text)
            self._texts.append((text, letters))

    def find(self, whole: str) -> list[str]:
        """Find the texts with which `whole`, the letters of a longer one, begins or ends."""
        found = self._found.setdefault(whole, [])
        for text, letters in self._texts[self._compared.get(whole, 0) :]:
            if len(letters) < len(whole) and (whole.startswith(letters) or whole.endswith(letters)):
                found.append(text)
        self._compared[whole] = len(self._texts)
        return found
