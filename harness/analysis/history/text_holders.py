"""Which messages of a journal hold a text, or begin or end with one; each pair is looked at once."""

from __future__ import annotations

from collections.abc import Set

from harness.analysis.history.similar_text import SHORTEST, letters_of


class TextHolders:
    """Remembers messages, and for each text that was looked for the messages with it."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._known: set[str] = set()
        self._last: Set[str] = frozenset()
        self._holders: dict[str, set[str]] = {}
        self._compared: dict[str, int] = {}

    def is_held(self, text: str, messages: Set[str]) -> bool:
        """Return whether one of these messages, which do not change, holds a text."""
        if messages is not self._last:
            self._messages += messages - self._known
            self._known |= messages
            self._last = messages
        holders = self._holders.setdefault(text, set())
        holders.update(message for message in self._messages[self._compared.get(text, 0) :] if text in message)
        self._compared[text] = len(self._messages)
        return not holders.isdisjoint(messages)


class JoinedTexts:
    """Texts that a longer one may begin or end with; what a search has found is kept."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, str]] = []
        self._known: set[str] = set()
        self._found: dict[str, list[str]] = {}
        self._compared: dict[str, int] = {}

    def add(self, text: str) -> None:
        """Remember a text, unless it is too short to be known again."""
        if text not in self._known and len(letters := letters_of(text)) >= SHORTEST:
            self._known.add(text)
            self._texts.append((text, letters))

    def find(self, whole: str) -> list[str]:
        """Find the texts with which the letters of a longer one begin or end."""
        found = self._found.setdefault(whole, [])
        for text, letters in self._texts[self._compared.get(whole, 0) :]:
            if len(letters) < len(whole) and (whole.startswith(letters) or whole.endswith(letters)):
                found.append(text)
        self._compared[whole] = len(self._texts)
        return found
