"""Whether the data of a picture can be decoded: the API decodes each, and refuses what it cannot.

Pillow is imported when the first picture comes. A picture is decoded once in the life of a process: its digest is kept.
"""

from __future__ import annotations

import binascii
import re
import warnings
from base64 import b64decode
from hashlib import blake2b
from io import BytesIO

from harness.core.extras import missing_extra

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
MAX_DECODED_PIXELS = 4_000_000
"""Pictures with more are not decoded, only their head and check sums are read: a few bytes can stand for many pixels."""
MAX_DECODED_BYTES = 50 << 20
"""Data of more bytes is not looked at; the API's own limit is about the whole request."""
MAX_DECODED_IMAGES = 32
"""Of more pictures in one request only the first are looked at."""
MAX_KEPT = 4096
"""How many digests are kept."""

_LINE_ENDS = re.compile(r"[\r\n]")
_known: dict[bytes, bool] = {}


def is_valid_image(data: str) -> bool:
    """Return whether base64, which may be broken into lines, is a whole picture of a format that the API takes.

    What is no base64 counts as one: it is not judged here.
    """
    digest = blake2b(data.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    known = _known.get(digest)
    if known is None:
        if len(_known) >= MAX_KEPT:
            _known.clear()
        known = _known[digest] = _decodes(data)
    return known


def _decodes(data: str) -> bool:
    if len(data) > MAX_DECODED_BYTES * 4 // 3:
        return True
    plain = _LINE_ENDS.sub("", data).rstrip("=")
    try:
        picture = b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return True  # that it is no base64 is another refusal; a recorder may have cut it
    return _is_decodable(picture)


def _is_decodable(picture: bytes) -> bool:
    try:
        from PIL import Image
    except ImportError as problem:
        raise missing_extra("a request with a picture", "pillow", "images") from problem

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(BytesIO(picture), formats=FORMATS) as image:
                pixels = image.width * image.height
                image.verify()
            if pixels <= MAX_DECODED_PIXELS:
                with Image.open(BytesIO(picture), formats=FORMATS) as image:
                    image.load()
        except (MemoryError, Image.DecompressionBombError):
            return True
        except Exception:  # decoders fail in many ways
            return False
    return True
