from harness.core.cached import cached_property


class Request:
    """Counts how often its members are computed."""

    def __init__(self) -> None:
        self.computed = 0

    @cached_property
    def members(self) -> int:
        """The number of members."""
        self.computed += 1
        return 3


def test_a_value_is_computed_when_it_is_first_read() -> None:
    request = Request()
    assert (request.computed, request.members, request.members, request.computed) == (0, 3, 3, 1)


def test_a_value_that_is_set_is_not_computed() -> None:
    request = Request()
    request.members = 4
    assert (request.members, request.computed) == (4, 0)


def test_the_class_has_what_documents_it() -> None:
    assert Request.members.__doc__ == "The number of members."
