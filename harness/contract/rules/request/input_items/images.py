"""Images in the request: their data must decode and not be too large, their URLs be valid; URLs that cannot be fetched."""

import binascii
import re
import struct
import warnings
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import blake2b
from io import BytesIO
from itertools import islice
from threading import Lock

from harness.api.models import Model
from harness.contract.rule import LIMITED_ACCOUNT, Case, RuleScope, WorldView, assumed, reported, rule
from harness.contract.rules.request.input_items.media import (
    CHECKED_CHARACTERS,
    body_with_part,
    find_data_urls,
    find_part_texts,
    find_parts,
    image_body,
    mime_type,
)
from harness.core.account import Organization
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.items.hosted import ONE_PIXEL_PNG

SCOPE = RuleScope(area="media", when="input[]")

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
MAX_DECODED_PIXELS = 4_000_000
"""Larger images are not decoded, only their headers and checksums: a few bytes can stand for many pixels."""
MAX_DECODED_BYTES = 50 << 20
"""Larger data is not checked; the API's own limit applies to the whole request."""
MAX_DECODED_IMAGES = 32
"""The number of images checked per request; further ones are not."""
MAX_KEPT = 4096
"""The number of cached digests."""
PATCH = 32
MAX_PATCHES = 30_000

_LINE_ENDS = re.compile(r"[\r\n]")
_known: dict[bytes, int | None] = {}
_decoding = Lock()


def count_patches(data: str) -> int | None:
    """Return the number of 32-pixel squares of an image in base64, possibly broken into lines.

    None if it is no complete image in a format that the API accepts. What is not base64 is not judged here: 0.
    """
    digest = blake2b(data.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if digest not in _known:
        if len(_known) >= MAX_KEPT:
            _known.clear()
        _known[digest] = _measure(data)
    return _known[digest]


def _measure(data: str) -> int | None:
    if len(data) > MAX_DECODED_BYTES * 4 // 3:
        return 0
    plain = _LINE_ENDS.sub("", data).rstrip("=")
    try:
        picture = b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return 0  # invalid base64 is refused elsewhere; a recorder may have cut it
    return _decode(picture)


def _decode(picture: bytes) -> int | None:
    from PIL import Image, ImageFile

    with _decoding, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A program under test may have told Pillow, in this process, to load what is cut off.
        lenient, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
        try:
            with Image.open(BytesIO(picture), formats=FORMATS) as image:
                width, height = image.size
                image.verify()
            if width * height <= MAX_DECODED_PIXELS:
                with Image.open(BytesIO(picture), formats=FORMATS) as image:
                    image.load()
        except (MemoryError, Image.DecompressionBombError):
            return 0
        except Exception:  # decoders raise many kinds of errors
            return None
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = lenient
    return -(-width // PATCH) * -(-height // PATCH)


_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
PNG = f"data:image/png;base64,{ONE_PIXEL_PNG}"
GIF = "data:image/gif;base64,R0lGODdhAQABAIEAAAAAAAAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAOw=="
BROKEN_PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)


@rule(
    bad_request(
        "Invalid '{path}'. Expected a base64-encoded data URL with an image MIME type (e.g. "
        "'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got {what}.",
        "{path}",
        "invalid_value",
    ),
    reported("public reports of four origins", "2026"),
    mentions="image_url",
    rejects={
        ("input[0].content[1].image_url", "an invalid base64-encoded value"): image_body("data:image/png;base64,@@"),
        ("input[0].content[1].image_url", "empty base64-encoded bytes"): image_body("data:image/png;base64,"),
        ("input[0].content[1].image_url", "unsupported MIME type 'text/plain'"): image_body(
            "data:text/plain;base64,SGVsbG8="
        ),
        ("input[0].content[1].image_url", "a value without the ';base64' separator"): image_body(
            "data:image/png,iVBORw0KGgo="
        ),
    },
    accepts=[image_body(PNG), image_body(PNG[:40] + "\n" + PNG[40:]), image_body("https://example.org/cat.png")],
    fix="Encode the picture as `data:image/png;base64,…`, or give an address.",
)
def image_data_url(request: Request) -> Iterator[Json]:
    """An image given as a data URL must be declared as an image, in base64, and not be empty."""
    for path, url in find_data_urls(request, "image_url"):
        head, _, data = url.partition(",")
        if not mime_type(url).startswith("image/"):
            yield {"path": path, "what": f"unsupported MIME type '{mime_type(url)}'"}
        elif not head.endswith(";base64"):
            yield {"path": path, "what": "a value without the ';base64' separator"}
        elif not data:
            yield {"path": path, "what": "empty base64-encoded bytes"}
        # An image may have megabytes; an error in it shows at the beginning.
        elif not _BASE64.fullmatch(_join_lines(data)[:CHECKED_CHARACTERS]):
            yield {"path": path, "what": "an invalid base64-encoded value"}


@rule(
    bad_request(
        "The image data you provided does not represent a valid image. Please check your input and try again with one of "
        "the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
        "input",
        "invalid_image",
    ),
    reported("public reports of three origins", "2026"),
    reported("public probe, project smg: a PNG whose data chunk is broken", "2026-10-09"),
    mentions="image_url",
    rejects=[image_body(BROKEN_PNG)],
    accepts=[image_body(PNG), image_body(GIF)],
    fix="Send the bytes of a JPEG, PNG, GIF or WebP file.",
)
def image_not_valid(request: Request) -> bool:
    """An image's data must decode as a JPEG, PNG, GIF or WebP file; of very large ones only the header is read."""
    return any(find_invalid_images(request))


def find_invalid_images(request: Request) -> Iterator[str]:
    """Find the places of the images whose data does not decode; the error names only `input`."""
    for place, url in islice(find_data_urls(request, "image_url"), MAX_DECODED_IMAGES):
        if count_patches(url.partition(",")[2]) is None:
            yield place


def _large(width: int = 8_000, height: int = 6_000, model: str = "gpt-5.6-sol", **part: str) -> Json:
    """Make an example with a PNG that has a header of this size, and no pixels."""
    chunks = ((b"IHDR", struct.pack(">2I5B", width, height, 1, 0, 0, 0, 0)), (b"IDAT", b""), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    url = f"data:image/png;base64,{b64encode(b''.join((bytes.fromhex('89504e470d0a1a0a'), *packed))).decode()}"
    return {"model": model, **body_with_part({"type": "input_image", "image_url": url, **part})}


@rule(
    bad_request(
        "The image you provided requires {patches} patches after processing, exceeding the limit of 30000. Please resize "
        "the image and try again.",
        "input",
        "invalid_value",
    ),
    reported("public notes of two origins with the whole error: gpt-5.6-sol, gpt-6-sol, without `detail`", "2026-09"),
    reported("public notes and tests of five more origins, one of an image in a tool's output; gpt-6-luna", "2026-10"),
    mentions="image_url",
    rejects={"47000": _large(), "41334": _large(7_952, 5_304, "gpt-6-sol", detail="original")},
    accepts=[_large(detail="high"), _large(model="gpt-5.5"), _large(7_680, 3_840)],
    fix="Make the picture smaller, or send `detail: high`, which does.",
)
def image_too_large(request: Request, family: Model | None) -> Iterator[Json]:
    """From gpt-5.6 on an image keeps its size unless `detail` says otherwise: at most 30,000 squares of 32 pixels."""
    if family and family.name.startswith(("gpt-5.6", "gpt-6")):
        for _, part in islice(find_parts(request, "input_image"), MAX_DECODED_IMAGES):
            head, _, data = str(part.get("image_url")).partition(",")
            patches = count_patches(data) if head.startswith("data:") else None
            if (patches or 0) > MAX_PATCHES and part.get("detail") not in ("low", "high"):
                yield {"patches": patches}


def _with_computer(*parts: Json) -> Json:
    return {"model": "gpt-5.5", "tools": [{"type": "computer"}], "input": [{"role": "user", "content": [*parts]}]}


_SHOWN: Json = {"type": "input_image", "image_url": PNG}


@rule(
    bad_request("Computer tool cannot use multiple image inputs.", "input"),
    reported("a public benchmark with the whole error: gpt-5.5", "2026-06-09"),
    reported("a public project: probed, of all messages of a request; screenshots do not count", "2026-10-08"),
    when="tools",
    mentions="input_image",
    reads="input",
    rejects=[_with_computer(_SHOWN, _SHOWN)],
    accepts=[_with_computer(_SHOWN), {**_with_computer(_SHOWN, _SHOWN), "tools": []}],
    fix="Send one picture; what the computer shows belongs in `computer_call_output`.",
)
def computer_images(request: Request) -> bool:
    """With the tool `computer`, the messages of a request may have one image."""
    shown = sum("].content[" in path for path, _ in find_parts(request, "input_image"))
    return shown > 1 and any(tool["type"] == "computer" for tool in request.body.get("tools") or ())


def _join_lines(data: str) -> str:
    """Join the beginning of base64 that may be broken into lines, as in MIME: recorded in 2025-08."""
    return re.sub(r"[\r\n]", "", data[: 2 * CHECKED_CHARACTERS])


@rule(
    bad_request("Failed to download file.", "url", "invalid_value"),
    reported("https://github.com/strands-agents/harness-sdk/issues/3576: Azure", "2026"),
    reported("public recordings of two origins: api.openai.com", "2026"),
    assumed("that a Foundry project has the same error"),
    mentions="file_url",
    rejects=[body_with_part({"type": "input_file", "file_url": "data:application/pdf;base64,JVBERi0xLjQ="})],
    fix="Send the file itself as `file_data`, or give an `http` or `https` address.",
)
def file_url_with_data(request: Request) -> bool:
    """A file's URL is fetched even if it is a data URL."""
    return any(url.startswith("data:") for _, url in find_part_texts(request, "file_url"))


@rule(
    bad_request(
        "Invalid '{path}'. Expected a valid URL, but got a value with an invalid format.", "{path}", "invalid_value"
    ),
    reported("public reports of eight origins, one with the whole error", "2026"),
    mentions="image_url",
    rejects={
        "input[0].content[1].image_url": image_body("file:///tmp/cat.png"),
        "input[0].output.image_url": [
            {
                "type": "computer_call_output",
                "call_id": "call_1",
                "output": {"type": "computer_screenshot", "image_url": ""},
            }
        ],
    },
    accepts=[image_body("http://example.org/cat")],
    fix="Give an `http` or `https` address, or the picture itself as `data:image/png;base64,…`; a file as `file_data`.",
)
def image_url_format(request: Request) -> Iterator[Json]:
    """An image's URL must begin with `http` or `https`, or be a data URL."""
    yield from ({"path": path} for path, url in find_part_texts(request, "image_url") if not _URL_START.match(url))


_URL_START = re.compile(r"https?://|data:", re.IGNORECASE)
_CAT, _PDF = "https://example.org/cat.png", "https://example.org/a.pdf"


def _without(unreachable: str, body: Json) -> Case:
    return Case(body, account=Organization(unreachable=frozenset([unreachable])))


@rule(
    bad_request("Error while downloading {url}. Upstream status code: 404.", "url", "invalid_value"),
    reported("public report, of a file and of an address", "2026"),
    when=LIMITED_ACCOUNT,
    rejects={
        _CAT: _without(_CAT, image_body(_CAT)),
        _PDF: _without(_PDF, body_with_part({"type": "input_file", "file_url": _PDF})),
    },
    accepts=[_without(_CAT, image_body("https://example.org/dog.png"))],
    fix="Scripted: `mock.organization(unreachable=…)`. The real API must be able to fetch the address itself.",
)
def download_failed(request: Request, world: WorldView) -> Iterator[Json]:
    """The API fetches images and files itself; the mock fetches nothing, and fails only for those in `unreachable`."""
    for member in ("image_url", "file_url"):
        yield from ({"url": url} for _, url in find_part_texts(request, member) if url in world.account.unreachable)
