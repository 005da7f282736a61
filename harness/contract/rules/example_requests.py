"""Example requests with which the examples of several areas begin."""

from typing import Any

from harness.api.http.multipart import CONTENT_TYPE
from harness.contract.rule import Case
from harness.core.exchange import Json

AUTH_HEADERS = {"authorization": "Bearer sk-harness-example"}
JSON_HEADERS = {**AUTH_HEADERS, "content-type": "application/json"}
TERRA = "gpt-5.6-terra"
HI: Json = {"role": "user", "content": "hi"}
ASK: Json = {"input": "hi"}
CALL: Json = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
ASYNC_GUIDE = "https://developers.openai.com/api/docs/guides/async-tool-calling.md"
ASYNC_TOOL: Json = {"type": "function", "name": "f", "parameters": {}, "strict": False, "async": True}
OUTPUT: Json = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
CREATE_CONVERSATION = Case({}, on="POST /conversations")
ADD_ITEM = Case({"items": [HI]}, on="POST /conversations/{0.id}/items")
"""The second of two steps: create a conversation, add an item."""

# Azure OpenAI, and a project in Azure AI Foundry
VALID_BODY: Json = {"model": "gpt-4.1", "input": "hi"}
KEY_HEADERS = {"api-key": "sk-harness-example", "content-type": "application/json"}
ON_AZURE = "POST !/openai/v1/responses"
ON_CLASSIC = "POST !/openai/responses"
PROJECT_PATH = "/api/projects/p"
ON_FOUNDRY, ON_PREVIEW = f"POST !{PROJECT_PATH}/openai/v1/responses", f"POST !{PROJECT_PATH}/openai/responses"
ON_AGENT = f"POST !{PROJECT_PATH}/agents/helper/endpoint/protocols/openai/responses?api-version=v1"
HELPER_REFERENCE: Json = {"type": "agent_reference", "name": "helper"}
CREATE_PROJECT_CONVERSATION = Case({}, on=f"POST !{PROJECT_PATH}/openai/v1/conversations")

# The Assistants API
CREATE_THREAD = Case({}, on="POST /threads")
ADD_MESSAGE = Case(HI, on="POST /threads/{0.id}/messages")
"""The second of two steps: create a thread, add a message."""
CREATE_ASSISTANT = Case({"model": "gpt-4o", "instructions": "Be brief."}, on="POST /assistants")
CREATE_GREETED_THREAD = Case({"messages": [HI]}, on="POST /threads")
START_RUN = Case({"assistant_id": "{0.id}"}, on="POST /threads/{1.id}/runs")
"""The third of three steps: create an assistant, a thread, a run."""
STARTED_RUN = (CREATE_ASSISTANT, CREATE_GREETED_THREAD, START_RUN)

# Files, vector stores, containers
FORM_HEADERS = {**AUTH_HEADERS, "content-type": f"{CONTENT_TYPE}; boundary=x"}


def upload(*fields: str, data: str | None = "Paris", name: str = "a.txt", **members: Any) -> Case:
    """Make an example that uploads a file: `fields` are `name=value`; without `data` the form has no file."""
    parts = [f'name="{field.partition("=")[0]}"\r\n\r\n{field.partition("=")[2]}' for field in fields]
    if data is not None:
        parts.insert(0, f'name="file"; filename="{name}"\r\ncontent-type: text/plain\r\n\r\n{data}')
    raw = "".join(f"--x\r\ncontent-disposition: form-data; {part}\r\n" for part in parts) + "--x--\r\n"
    return Case(raw=raw.encode(), headers=FORM_HEADERS, on="POST /files", **members)


ANY_UPLOAD = upload("purpose=user_data")
UPLOAD_FILE = upload("purpose=assistants")
CREATE_STORE = Case({}, on="POST /vector_stores")
CREATE_FILLED_STORE = Case({"file_ids": ["{0.id}"]}, on="POST /vector_stores")
CREATE_CONTAINER = Case({"name": "data"}, on="POST /containers")
CREATE_WEBHOOK = Case(
    {"name": "jobs", "url": "https://example.org/hook", "event_types": ["response.completed"]},
    on="POST /webhook_endpoints",
)
