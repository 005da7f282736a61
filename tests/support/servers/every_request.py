"""A request of every kind, one after another, to one server or to several by turns."""

from harness.foundry.blobs import sign
from tests.support.servers.json_client import Said, ask

WEATHER = {"type": "function", "name": "get_weather", "parameters": {}, "strict": False}
CALL = {"function_call": {"name": "get_weather", "arguments": {"city": "Paris"}}}
FORM = "multipart/form-data; boundary=x"
FILE = (
    b'--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--x\r\nContent-Disposition: form-data; '
    b'name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nParis is the capital.\r\n--x--\r\n'
)


class Conversation:
    """Requests one after another, each to the next of some servers; `said` are the answers."""

    def __init__(self, *ports: int) -> None:
        self.ports = ports
        self.said: list[Said] = []

    def ask(self, method, path, body=None, **more):
        more["OpenAI-Beta"] = "assistants=v2"
        answer = ask(self.ports[len(self.said) % len(self.ports)], method, path, body, **more)
        self.said.append(answer)
        try:
            return answer.json
        except ValueError:
            return {}

    def post(self, path, body=None, **more):
        return self.ask("POST", path, {} if body is None else body, **more)

    def get(self, path):
        return self.ask("GET", path)

    def respond(self, input="hi", **more):
        return self.post("/v1/responses", {"model": "gpt-4.1", "input": input, **more})


def resources(talk: Conversation) -> None:
    """What a Foundry project has, made by a script and by requests; blobs are asked for without a key."""

    def project(method, path, body=None):
        shown = {"Foundry-Features": "MemoryStores=V1Preview, Skills=V1Preview", "Host": "harness.test"}
        return talk.ask(method, f"/api/projects/p{path}?api-version=v1", body, **shown)

    told = {"datasets": {"faq": {"files": {"a.txt": "Paris"}}}, "connections": {"search": {"credentials": "secret"}}}
    talk.post("/_harness/script", {**told, "memory_stores": {"m": {"scope": "s", "memories": ["Likes tea."]}}})
    project("POST", "/connections/search/getConnectionWithCredentials")
    project("POST", "/toolboxes/box/versions", {"tools": []})
    content = {"description": "Helps.", "instructions": "Help."}
    project("POST", "/skills/helper/versions", {"inline_content": content})
    project("GET", "/skills/helper/content")
    project("PATCH", "/indexes/docs/versions/1", {"type": "AzureSearch"})
    update = project("POST", "/memory_stores/m:update_memories", {"scope": "s", "items": "I like cats."})
    for _ in range(2):
        project("GET", f"/memory_stores/m/updates/{update['update_id']}")
    project("POST", "/memory_stores/m:search_memories", {"scope": "s", "items": "cats and tea"})
    blob = project("GET", "/datasets/faq/versions/1")["dataUri"].partition("localhost")[2]
    for method in ("GET", "PUT", "GET"):
        talk.ask(method, f"{blob}?sig={sign('sk-team')}", b"Rome" if method == "PUT" else None, key="")


def agents(talk: Conversation) -> None:
    """An agent of each kind that stores something: versions, traffic, sessions with files, what users have begun."""

    def project(method, path, body=None, user=""):
        shown = {"Foundry-Features": "WorkflowAgents=V1Preview", **({"x-ms-user-identity": user} if user else {})}
        return talk.ask(method, f"/api/projects/p{path}", body, **shown)

    for kind, more in (("prompt", {"model": "gpt-4.1"}), ("hosted", {"cpu": "1"}), ("workflow", {})):
        project("POST", f"/agents/{kind}/versions?api-version=v1", {"definition": {"kind": kind, **more}})
    rules = [{"type": "FixedRatio", "agent_version": "1", "traffic_percentage": 100}]
    endpoint = {"version_selector": {"version_selection_rules": rules}}
    project("PATCH", "/agents/prompt?api-version=v1", {"agent_endpoint": endpoint})
    project("POST", "/agents/prompt:disable?api-version=v1")
    sessions = "/agents/hosted/endpoint/sessions"
    project("POST", f"{sessions}?api-version=v1", {"agent_session_id": "mine"})
    project("PUT", f"{sessions}/mine/files/content?api-version=v1&path=a.txt", b"Paris")
    talk.post("/_harness/script", {"script": ["From a prompt agent.", "From a hosted agent."]})
    for agent in ("prompt", "hosted"):
        asked = f"/agents/{agent}/endpoint/protocols/openai/responses?api-version=v1"
        project("POST", asked, {"input": "hi", "agent_session_id": "mine"}, user="alice" if agent == "prompt" else "")
    project("GET", f"{sessions}?api-version=v1")


def everything(talk: Conversation) -> None:
    """A request of every kind, with refusals and strays in between."""
    talk.post("/_harness/script", {"script": ["one", CALL, "sunny", "in the background", "said"], "files": {"b": "B"}})
    first = talk.respond()
    talk.respond(stream=True, tools=[WEATHER], previous_response_id=first["id"])
    talk.post("/v1/responses", {"model": "gpt-4.1"}, key="")
    talk.respond(previous_response_id="resp_unknown")
    call = talk.get("/_harness/calls")[0]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
    called = [exchange["answer"]["id"] for exchange in talk.get("/_harness/exchanges") if exchange["status"] == 200][-1]
    talk.respond([output], previous_response_id=called, tools=[WEATHER])
    queued = talk.respond(background=True)
    for _ in range(3):
        talk.get(f"/v1/responses/{queued['id']}")
    held = talk.post("/v1/conversations", {"items": [{"role": "user", "content": "hello"}]})
    talk.respond(conversation=held["id"])
    talk.get(f"/v1/conversations/{held['id']}/items")
    talk.respond("no turn is left")
    file = talk.post("/v1/files", FILE, kind=FORM)
    store = talk.post("/v1/vector_stores", {"file_ids": [file["id"]], "name": "docs"})
    talk.get(f"/v1/vector_stores/{store['id']}")
    talk.post(f"/v1/vector_stores/{store['id']}/search", {"query": "capital"})
    box = talk.post("/v1/containers", {"name": "box", "file_ids": [file["id"]]})
    talk.get(f"/v1/containers/{box['id']}/files")
    talk.post("/_harness/script", {"turns": [[{"message": "From a thread."}]]})
    helper = talk.post("/v1/assistants", {"model": "gpt-4.1"})
    thread = talk.post("/v1/threads", {"messages": [{"role": "user", "content": "hi"}]})
    run = talk.post(f"/v1/threads/{thread['id']}/runs", {"assistant_id": helper["id"]})
    for _ in range(3):
        talk.get(f"/v1/threads/{thread['id']}/runs/{run['id']}")
    talk.get(f"/v1/threads/{thread['id']}/messages")
    resources(talk)
    agents(talk)
    talk.post("/_harness/skip", {"seconds": 3600})
    talk.post("/_harness/expect", {"refusals": "call_needs_output"})
    talk.post("/_harness/script", {"organization": {"zdr": True}, "mcp": {"prod": {"deploy": "v2 is live"}}})
    for path in ("report?verbose=true", "unused", "exchanges", "losses", "flow", "said", "calls", "approvals"):
        talk.get(f"/_harness/{path}")
    talk.post("/_harness/world", {"name": "again"})
    talk.respond()
    talk.get("/_harness/report")
    refusals = [answer for answer in talk.said if answer.status >= 300]
    assert [answer.status for answer in refusals] == [401, 400, 418], refusals
