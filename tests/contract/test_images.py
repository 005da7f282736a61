"""Which data of a picture can be decoded, and that hostile ones cost little."""

import subprocess
import sys
from base64 import b64encode
from io import BytesIO
from struct import pack
from typing import Any
from zlib import compress, crc32

import pytest
from PIL import Image, ImageFile

from harness.contract.rules.request.input_items import images
from harness.contract.rules.request.input_items.images import count_patches
from tests.support.cpu_time import cpu_time


def encoded(format: str, size: tuple[int, int] = (4, 4), frames: int = 1, mode: str = "RGB", **more: Any) -> bytes:
    """Return a file of pictures whose pixels differ, so that each half of it has some."""
    pictures = [Image.effect_noise(size, 50 + number).convert("I").convert(mode) for number in range(frames)]
    file = BytesIO()
    if frames > 1:
        more |= {"save_all": True, "append_images": pictures[1:]}
    pictures[0].save(file, format, **more)
    return file.getvalue()


def valid(picture: bytes) -> bool:
    return count_patches(b64encode(picture).decode()) is not None


def png_of(width: int, height: int, data: bytes, interlaced: bool = False) -> bytes:
    """Return a grey PNG with these dimensions and this data, its check sums right."""
    chunks = [(b"IHDR", pack(">IIBBBBB", width, height, 8, 0, 0, 0, interlaced)), (b"IDAT", data), (b"IEND", b"")]
    written = (pack(">I", len(body)) + name + body + pack(">I", crc32(name + body)) for name, body in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


SIZE = (64, 64)
KINDS = {
    "PNG": encoded("PNG", SIZE),
    "PNG with a palette": encoded("PNG", SIZE, mode="P"),
    "PNG of 1 bit": encoded("PNG", SIZE, mode="1"),
    "PNG of 16 bits": encoded("PNG", SIZE, mode="I;16"),
    "PNG with transparency": encoded("PNG", SIZE, mode="RGBA"),
    "PNG, interlaced": png_of(8, 8, compress(bytes(79), level=0), interlaced=True),  # 64 pixels and 15 filters of rows
    "JPEG": encoded("JPEG", SIZE),
    "JPEG, grey": encoded("JPEG", SIZE, mode="L"),
    "JPEG, progressive": encoded("JPEG", SIZE, progressive=True),
    "JPEG in CMYK": encoded("JPEG", SIZE, mode="CMYK"),
    "GIF": encoded("GIF", SIZE),
    "WebP": encoded("WEBP", SIZE),
    "WebP without loss": encoded("WEBP", SIZE, lossless=True),
    "WebP with transparency": encoded("WEBP", SIZE, mode="RGBA"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_api_takes_decodes(kind: str) -> None:
    assert valid(KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_that_ends_early_is_none(kind: str) -> None:
    whole = KINDS[kind]
    assert not [eighth for eighth in range(8) if valid(whole[: len(whole) * eighth // 8])]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WebP"])
def test_nor_for_a_program_that_tells_pillow_to_load_such_pictures(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    assert not valid(KINDS[kind][: len(KINDS[kind]) * 2 // 3])
    assert ImageFile.LOAD_TRUNCATED_IMAGES


@pytest.mark.parametrize("format", ["GIF", "WEBP"])
def test_an_animation_counts_by_its_first_picture(format: str) -> None:
    assert valid(encoded(format, frames=3))


@pytest.mark.parametrize("format", ["BMP", "TIFF", "ICO", "PPM"])
def test_another_format_is_none(format: str) -> None:
    assert not valid(encoded(format, (16, 16)))


def test_a_broken_chunk_makes_it_none() -> None:
    whole = bytearray(encoded("PNG"))
    whole[whole.index(b"IDAT") + 6] ^= 255
    assert not valid(bytes(whole))
    assert not valid(png_of(1, 1, b"no zlib"))
    assert not valid(b"")
    assert not valid(b"hello")


def test_lines_and_a_missing_padding_do_not_matter() -> None:
    text = b64encode(encoded("PNG")).decode()
    assert count_patches("\r\n".join(text[number : number + 76] for number in range(0, len(text), 76)))
    assert count_patches(text.rstrip("="))


def test_what_is_no_base64_is_not_judged() -> None:
    assert count_patches("iVBORw0KGgo…[cut 70 chars]") == 0


def test_a_bomb_costs_little() -> None:
    bombs = [png_of(60_000, 60_000, b""), png_of(9_000, 9_000, compress(bytes(9_001 * 9_000)))]
    with cpu_time() as spent:
        assert all(map(valid, bombs))
    assert spent.seconds < 0.25


@pytest.mark.slow
def test_data_of_50_megabytes_is_not_looked_at() -> None:
    assert count_patches("A" * (70 << 20)) == 0


def test_a_picture_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    monkeypatch.setattr(images, "_decode", lambda picture: asked.append(picture) or 1)
    picture = encoded("PNG", (5, 7))
    assert valid(picture)
    assert valid(picture)
    assert len(asked) == 1


@pytest.mark.slow
def test_without_a_picture_no_decoder_is_loaded() -> None:
    code = (
        "import sys\nfrom harness.contract.call import WorldCall\nfrom harness.contract.check import check\n"
        "from harness.core.exchange import Request\n"
        "from harness.world.world import World\n"
        "body = {'model': 'gpt-4.1', 'input': [{'role': 'user', 'content': 'hi'}]}\n"
        "headers = {'authorization': 'Bearer sk-1'}\n"
        "sent = Request('POST', '/responses', headers, {}, body, operation='POST /responses', schema='CreateResponse')\n"
        "assert check(WorldCall(sent, World())).violation is None\nassert 'PIL' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
