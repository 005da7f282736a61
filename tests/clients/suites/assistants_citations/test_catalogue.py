"""The story as a case of the catalogue: a citation of a file in a run."""

import pytest
from catalogue import meets


@pytest.mark.parametrize("mode", ["plain,thread", "stream,thread"])
def test_case(mock, mode):
    meets(mock, "dialects/assistants-citation", mode, "assistants_adapter:AssistantsAdapter")
