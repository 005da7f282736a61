"""Encrypted content: how a World creates that of reasoning, and validates what a client sends back.

The API's ciphertexts are Fernet tokens bound to an organization and an item. The mock's have the same form and name the
same owner, readable instead of encrypted, so that no World has to remember the ciphertexts of another.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import NamedTuple

UNREADABLE = "Encrypted content could not be decrypted or parsed."
OTHER_ITEM = "Encrypted content item_id did not match the target item id."
OTHER_ORGANIZATION = "Encrypted content organization_id did not match the target organization."

_VERSION = b"\x80"  # Fernet's: with the time after it, every token begins with gAAAAA
_DIGEST_SIZE = 15
_HEAD_SIZE = len(_VERSION) + 8 + _DIGEST_SIZE  # a multiple of 3, so that the mark is encoded the same in all
_MARK = b"harness:\0"
_ENCODED_MARK = urlsafe_b64encode(_MARK).decode()
_MARK_OFFSET = _HEAD_SIZE // 3 * 4
_FERNET = re.compile(r"gAAAA[A-Za-z0-9_\-=+/]*")
_CHECKED_LENGTH = 64
"""How many characters of a foreign ciphertext are checked, as histories can contain many long ones."""
_REDACTED = re.compile(r"redact|encrypt|scrub|saniti[sz]ed|…|\.\.\.|\*\*\*|\[.*\]|<.*>|\{.*\}", re.IGNORECASE)


class ContentOwner(NamedTuple):
    """The item and the organization that a ciphertext belongs to."""

    organization: str
    item: str


def make_encrypted_content(owner: ContentOwner, now: int) -> str:
    """Make the ciphertext of an item for an organization; `now` is unix seconds."""
    head, payload = _VERSION + now.to_bytes(8, "big"), _MARK + "\0".join(owner).encode("utf-8", "surrogatepass")
    return urlsafe_b64encode(head + _digest(head + payload) + payload).decode()


def make_announced_content(text: str) -> str:
    """Make the ciphertext with which a stream adds reasoning that will end with the ciphertext `text`.

    Recorded: it differs from the final one in each of 347 streams. It has the same owner, so it is accepted, but it
    holds nothing of the finished item.
    """
    if owner := owner_of_content(text):
        return make_encrypted_content(owner, 0)
    return f"{text[:8]}{text[8:].swapcase()}="


def owner_of_content(text: str) -> ContentOwner | None:
    """Return the owner of an unchanged ciphertext of `make_encrypted_content`; None for any other string."""
    if not _is_ours(text):
        return None
    try:
        raw = urlsafe_b64decode(text)
    except ValueError:
        return None
    head, digest, payload = (
        raw[: _HEAD_SIZE - _DIGEST_SIZE],
        raw[_HEAD_SIZE - _DIGEST_SIZE : _HEAD_SIZE],
        raw[_HEAD_SIZE:],
    )
    if digest != _digest(head + payload):
        return None
    return ContentOwner(*payload.removeprefix(_MARK).decode("utf-8", "surrogatepass").split("\0", 1))


def rejection_reason(text: str, item: str | None, organization: str) -> str | None:
    """Return the API's reason for rejecting a ciphertext in the item of this id; None if it accepts it.

    Foreign tokens of the right form are accepted, as nothing is known about them, and so are the placeholders of
    recorders (`REDACTED`, `<…>`). Without an item id, only the organization is compared.
    """
    if bond := owner_of_content(text):
        if bond.organization != organization:
            return OTHER_ORGANIZATION
        # A ciphertext is also bound to its item: under another id it is refused.
        return OTHER_ITEM if item and item != bond.item else None
    foreign = not _is_ours(text) and _FERNET.fullmatch(text[:_CHECKED_LENGTH])
    return None if foreign or _REDACTED.search(text) else UNREADABLE


def _is_ours(text: str) -> bool:
    return text.startswith(_ENCODED_MARK, _MARK_OFFSET)


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_SIZE, person=b"harness seal").digest()
