"""The story as cases of the catalogue: an approval beside a call that needs none, and after a text."""

import pytest
from catalogue import meets


@pytest.mark.parametrize("case", ["beside-a-free-call", "after-text"])
def test_case(mock, case):
    meets(mock, f"agents/approval-{case}", "stream,chain", "agui_adapter:AGUIAdapter")
