"""The story as a case of the catalogue: a citation in a history that the client sends."""

import pytest
from catalogue import meets


@pytest.mark.parametrize("mode", ["plain,stateless", "stream,stateless"])
def test_case(mock, mode):
    meets(mock, "answers/file-citation-sent-back", mode, "agent-framework")
