"""Searching without a model: chunks, scores, filters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.api.resources.files import (
    DEFAULT_CHUNKING,
    VectorStore,
    file_text,
    matches_filter,
    new_file,
    new_store,
    search_files,
    split_chunks,
)
from harness.core.exchange import InMemory


def strategy(size: int, overlap: int) -> dict:
    return {"type": "static", "static": {"max_chunk_size_tokens": size, "chunk_overlap_tokens": overlap}}


def store(*texts: str, **members) -> tuple[VectorStore, list]:
    made = new_store("vs_1", 0, {})
    contents = [InMemory(text.encode().decode("latin-1")) for text in texts]
    files = [new_file(f"file-{n}", f"{n}.txt", content, "assistants", 0) for n, content in enumerate(contents)]
    return made, [(made.attach(file, 0, members), file) for file in files]


def scores(body: dict, *texts: str) -> list[tuple[str, float]]:
    return [(result["file_id"], result["score"]) for result in search_files(body, store(*texts)[1])]


class TestChunks:
    @pytest.mark.parametrize(
        ("text", "size", "chunks"),
        [
            ("Paris", (800, 400), ["Paris"]),
            ("abcdefghijklmnop", (2, 1), ["abcdefgh", "efghijkl", "ijklmnop"]),
            (" \n", (2, 1), []),
            ("x" * 20, (2, 2), ["x" * 8] * 13),
        ],
    )
    def test_each_begins_with_the_end_of_the_one_before(self, text, size, chunks):
        assert split_chunks(text, strategy(*size)) == chunks

    @given(st.text(max_size=200), st.integers(1, 10), st.integers(0, 5))
    def test_all_of_the_text_is_in_some_chunk(self, said, size, overlap):
        cut = split_chunks(said.replace(" ", "x"), strategy(size, min(overlap, size // 2)))
        assert all(len(chunk) <= 4 * size for chunk in cut)
        assert set("".join(cut)) >= set("".join(said.replace(" ", "x").split()))

    def test_bytes_that_are_no_text_have_none(self):
        assert file_text(new_file("file-1", "a", InMemory("\xff\xfe"), "assistants", 0)) == ""


class TestScores:
    def test_a_score_is_the_share_of_the_words_that_a_chunk_holds(self):
        found = scores({"query": "the red fox"}, "A red fox.", "The red fox!", "Nothing.")
        assert found == [("file-1", 1.0), ("file-0", 0.6667)]

    def test_no_words_find_nothing(self):
        assert scores({"query": "?!"}, "What?!") == scores({"query": []}, "What?!") == []

    def test_there_are_ten_results_in_the_order_of_the_files_unless_asked_otherwise(self):
        for asked, count in ({}, 10), ({"max_num_results": 2}, 2), ({"max_num_results": 2.0}, 2):
            found = scores({"query": "a", **asked}, *["a"] * 12)
            assert [id for id, _ in found] == [f"file-{number}" for number in range(count)]

    def test_a_threshold_leaves_out_what_is_below_it(self):
        body = {"query": "red fox", "ranking_options": {"score_threshold": 0.6}}
        assert scores(body, "red", "red fox") == [("file-1", 1.0)]

    def test_each_chunk_is_a_result_of_its_own(self):
        _, files = store("fox " * 2000, chunking_strategy={"type": "static", "static": DEFAULT_CHUNKING})
        results = search_files({"query": "fox"}, files)
        assert len(results) == 4
        assert {result["file_id"] for result in results} == {"file-0"}

    def test_attributes_are_filtered_and_shown(self):
        _, files = store("a", attributes={"lang": "fr"})
        wanted = {"type": "eq", "key": "lang", "value": "fr"}
        (found,) = search_files({"query": "a", "filters": wanted}, files)
        assert found["attributes"] == {"lang": "fr"}
        assert search_files({"query": "a", "filters": {**wanted, "value": "de"}}, files) == []


def where(type: str, value, key: str = "n") -> dict:
    return {"type": type, "key": key, "value": value}


@pytest.mark.parametrize(
    ("asked", "passes"),
    [
        (where("eq", 2), True),
        (where("ne", 2), False),
        (where("gt", 1), True),
        (where("gt", 2), False),
        (where("gte", 2), True),
        (where("lt", 2), False),
        (where("lte", 2), True),
        (where("in", [1, 2]), True),
        (where("nin", [1, 2]), False),
        (where("gt", "1"), False),
        (where("in", 2), False),
        (where("eq", 2, "other"), False),
        (where("ne", 2, "other"), True),
        (where("nin", [2], "other"), True),
        ({"type": "and", "filters": [where("gt", 1), where("lt", 3)]}, True),
        ({"type": "and", "filters": [where("gt", 1), where("lt", 2)]}, False),
        ({"type": "or", "filters": [where("gt", 5), where("lt", 3)]}, True),
        ({"type": "or", "filters": [where("gt", 5), {"type": "and", "filters": [where("lt", 1)]}]}, False),
    ],
)
def test_a_filter_compares_attributes(asked, passes) -> None:
    assert matches_filter({"n": 2}, asked) is passes
