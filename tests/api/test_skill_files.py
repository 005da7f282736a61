"""Packages of skills are read as far as they can be, whatever their bytes are."""

import pytest

from harness.api.skill_files import LARGEST_SKILL_FILE, SKILL_FILE, read_header, read_skill_file, zip_files

TEXT = b'---\r\nname: sums\r\ndescription: "Adds."\r\n---\r\n\r\nAdd the numbers.\r\n'


def test_a_package_has_the_same_bytes_each_time():
    files = [(f"sums/{SKILL_FILE}", TEXT)]
    assert zip_files(files) == zip_files(files)


def test_the_header_is_that_of_the_outermost_file():
    package = zip_files([(f"sums/old/{SKILL_FILE}", b"---\nname: old\n---\n"), (f"sums/{SKILL_FILE}", TEXT)])
    assert read_header(package) == {"name": "sums", "description": "Adds."}


def test_a_large_file_is_read_in_part():
    package = zip_files([(SKILL_FILE, b"a" * (LARGEST_SKILL_FILE + 1))])
    assert len(read_skill_file(package)) == LARGEST_SKILL_FILE


@pytest.mark.parametrize("package", [b"", b"PK", zip_files([]), zip_files([("README.md", TEXT)])])
def test_without_a_file_nothing_is_read(package):
    assert read_skill_file(package) == ""
    assert read_header(package) == {}
