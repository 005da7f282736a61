"""Which data of a picture can be decoded, and that hostile ones cost little."""

from __future__ import annotations

import subprocess
import sys
import zlib
from base64 import b64encode
from io import BytesIO
from struct import pack

import pytest
from PIL import Image

from harness.api import images
from harness.api.images import is_valid_image
from tests.support.cpu_time import cpu_time


def encoded(format: str, size: tuple[int, int] = (4, 4), frames: int = 1) -> bytes:
    pictures = [Image.new("RGB", size, (number, 0, 0)) for number in range(frames)]
    file = BytesIO()
    more = {"save_all": True, "append_images": pictures[1:]} if frames > 1 else {}
    pictures[0].save(file, format, **more)
    return file.getvalue()


def valid(picture: bytes) -> bool:
    return is_valid_image(b64encode(picture).decode())


def png_of(width: int, height: int, data: bytes) -> bytes:
    """Return a PNG with these dimensions and this data, its check sums right."""
    chunks = [(b"IHDR", pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", data), (b"IEND", b"")]
    written = (pack(">I", len(body)) + name + body + pack(">I", zlib.crc32(name + body)) for name, body in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_what_the_api_takes_decodes(format: str) -> None:
    assert valid(encoded(format))


@pytest.mark.parametrize("format", ["GIF", "WEBP"])
def test_an_animation_counts_by_its_first_picture(format: str) -> None:
    assert valid(encoded(format, frames=3))


@pytest.mark.parametrize("format", ["BMP", "TIFF", "ICO", "PPM"])
def test_another_format_is_none(format: str) -> None:
    assert not valid(encoded(format, (16, 16)))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP"])
def test_a_picture_that_ends_early_is_none(format: str) -> None:
    whole = encoded(format, (64, 64))
    assert not valid(whole[: len(whole) // 2])


def test_a_broken_chunk_makes_it_none() -> None:
    whole = bytearray(encoded("PNG"))
    whole[whole.index(b"IDAT") + 6] ^= 255
    assert not valid(bytes(whole))
    assert not valid(png_of(1, 1, b"no zlib"))
    assert not valid(b"")
    assert not valid(b"hello")


def test_lines_and_a_missing_padding_do_not_matter() -> None:
    text = b64encode(encoded("PNG")).decode()
    assert is_valid_image("\r\n".join(text[number : number + 76] for number in range(0, len(text), 76)))
    assert is_valid_image(text.rstrip("="))


def test_what_is_no_base64_is_not_judged() -> None:
    assert is_valid_image("iVBORw0KGgo…[cut 70 chars]")


def test_a_bomb_costs_little() -> None:
    bombs = [png_of(60_000, 60_000, b""), png_of(9_000, 9_000, zlib.compress(bytes(9_001 * 9_000)))]
    with cpu_time() as spent:
        assert all(map(valid, bombs))
    assert spent.seconds < 0.25


@pytest.mark.slow
def test_data_of_50_megabytes_is_not_looked_at() -> None:
    assert is_valid_image("A" * (70 << 20))


def test_a_picture_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    monkeypatch.setattr(images, "_is_decodable", lambda picture: not asked.append(picture))
    picture = encoded("PNG", (5, 7))
    assert valid(picture)
    assert valid(picture)
    assert len(asked) == 1


@pytest.mark.slow
def test_without_a_picture_no_decoder_is_loaded() -> None:
    code = (
        "import sys\nfrom harness.contract.check import check\nfrom harness.core.exchange import Request\n"
        "from harness.world.world import World\n"
        "body = {'model': 'gpt-4.1', 'input': [{'role': 'user', 'content': 'hi'}]}\n"
        "headers = {'authorization': 'Bearer sk-1'}\n"
        "sent = Request('POST', '/responses', headers, {}, body, operation='POST /responses', schema='CreateResponse')\n"
        "assert check(sent, World()) is None\nassert 'PIL' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
