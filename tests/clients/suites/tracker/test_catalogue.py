"""The story as a case of the catalogue: many calls for each of several prompts, in a conversation that the API keeps."""

from catalogue import meets


def test_case(mock):
    meets(mock, "tools/turns-of-many-calls", "stream,conversation", "openai-agents")
