"""Which messages of a journal hold a text within theirs, each pair looked at once."""

from __future__ import annotations

from collections.abc import Set


class TextHolders:
    """Remembers the messages that were asked about, and for each text that was looked for those that hold it."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._known: set[str] = set()
        self._last: Set[str] = frozenset()
        self._holders: dict[str, set[str]] = {}
        self._compared: dict[str, int] = {}

    def is_held(self, text: str, messages: Set[str]) -> bool:
        """Whether one of these messages, which do not change, holds a text."""
        if messages is not self._last:
            self._messages += messages - self._known
            self._known |= messages
            self._last = messages
        holders = self._holders.setdefault(text, set())
        holders.update(each for each in self._messages[self._compared.get(text, 0) :] if text in each)
        self._compared[text] = len(self._messages)
        return not holders.isdisjoint(messages)


class JoinedTexts:
    """Texts that a longer one may begin or end with; what a search has found is kept."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, str]] = []
        self._known: set[str] = set()
        self._found: dict[str, list[str]] = {}
        self._compared: dict[str, int] = {}

    def add(self, text: str, letters: str) -> None:
        """Remember a text and its letters."""
        if text not in self._known:
            self._known.add(text)
            self._texts.append((text, letters))

    def find(self, letters: str) -> list[str]:
        """The texts, shorter than this one, with which it begins or ends."""
        found = self._found.setdefault(letters, [])
        for text, own in self._texts[self._compared.get(letters, 0) :]:
            if len(own) < len(letters) and (letters.startswith(own) or letters.endswith(own)):
                found.append(text)
        self._compared[letters] = len(self._texts)
        return found
