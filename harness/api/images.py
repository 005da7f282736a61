"""Checks whether image data can be decoded: the API decodes every image, and refuses those that it cannot.

Pillow is imported with the first image. Each image is decoded once per process; its digest is cached.
"""

from __future__ import annotations

import binascii
import re
import warnings
from base64 import b64decode
from hashlib import blake2b
from io import BytesIO
from threading import Lock

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
MAX_DECODED_PIXELS = 4_000_000
"""Larger images are not decoded, only their headers and checksums: a few bytes can stand for many pixels."""
MAX_DECODED_BYTES = 50 << 20
"""Larger data is not checked; the API's own limit applies to the whole request."""
MAX_DECODED_IMAGES = 32
"""The number of images checked per request; further ones are not."""
MAX_KEPT = 4096
"""The number of cached digests."""

_LINE_ENDS = re.compile(r"[\r\n]")
_known: dict[bytes, bool] = {}
_decoding = Lock()


def is_valid_image(data: str) -> bool:
    """Return whether base64, possibly broken into lines, is a complete image in a format that the API accepts.

    Anything that is not base64 counts as valid: it is not judged here.
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
        return True  # invalid base64 is refused elsewhere; a recorder may have cut it
    return _is_decodable(picture)


def _is_decodable(picture: bytes) -> bool:
    from PIL import Image, ImageFile

    with _decoding, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A program under test may have told Pillow, in this process, to load what is cut off.
        lenient, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
        try:
            with Image.open(BytesIO(picture), formats=FORMATS) as image:
                pixels = image.width * image.height
                image.verify()
            if pixels <= MAX_DECODED_PIXELS:
                with Image.open(BytesIO(picture), formats=FORMATS) as image:
                    image.load()
        except (MemoryError, Image.DecompressionBombError):
            return True
        except Exception:  # decoders raise many kinds of errors
            return False
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = lenient
    return True
