"""An MCP server over stdio with one tool, which the coding agents start: `add` returns a sum."""

import json
import sys

TOOL = {
    "name": "add",
    "description": "Add two numbers.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
}


def answer(method, params):
    if method == "initialize":
        info = {"name": "sums", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        given = params["arguments"]
        return {"content": [{"type": "text", "text": f"the sum is {given['a'] + given['b']}"}]}
    return {}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = answer(asked["method"], asked.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
