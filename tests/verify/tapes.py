"""Exchanges that are read as a script."""

from typing import Any

from harness.cassettes.format.interaction import Interaction
from harness.core.exchange import Json
from harness.verify.recorded_script import RecordedScript, read_script
from tests.support.recordings import over_http

HOST = "https://api.openai.com/v1"


EMBEDDINGS = {"object": "list", "data": [{"embedding": [0.1], "index": 0, "object": "embedding"}], "model": "m"}


def said(text: str, **members: Any) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part], **members}


CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"x":1}'}
CALL |= {"status": "completed"}


def script(*interactions: Interaction) -> RecordedScript:
    """These exchanges as a script."""
    return read_script(interactions, "tape")


def posted(path: str, answer: Any, request: Any = None, status: int = 200, **members: Any) -> Interaction:
    return over_http(request or {"model": "m"}, answer, uri=f"{HOST}{path}", status=status, **members)
