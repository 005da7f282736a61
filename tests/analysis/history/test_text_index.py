"""Which messages hold a text: as a search through all of them says, without one for each question."""

from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.history.text_index import TextIndex

TEXTS = st.text("ab", max_size=3)


@given(st.lists(st.tuples(TEXTS, st.frozensets(TEXTS, max_size=4)), max_size=12))
def test_it_says_what_a_search_says(questions: list[tuple[str, frozenset[str]]]) -> None:
    holders = TextIndex()
    for text, messages in questions:
        assert holders.appears_in(text, messages) == any(text in message for message in messages)


class NotedText(str):
    """A text that counts how often it was looked through."""

    searches = 0

    def __contains__(self, text: object) -> bool:
        NotedText.searches += 1
        return super().__contains__(text)  # type: ignore[operator]


def test_each_pair_is_looked_at_once() -> None:
    holders, messages = TextIndex(), [NotedText(f"message {number}") for number in range(40)]
    for length in range(1, 41):
        request = frozenset(messages[:length])
        for number in range(10):
            assert not holders.appears_in(f"answer {number}", request)
    assert NotedText.searches == 40 * 10
