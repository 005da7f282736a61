"""A hosted agent that asks a model: `python agent_server.py PORT`, by azure-ai-agentserver-responses alone."""

import asyncio
import json
import os
import sys
from urllib.request import Request, urlopen

from azure.ai.agentserver.responses import InMemoryResponseProvider, ResponsesAgentServerHost, TextResponse

app = ResponsesAgentServerHost(prefix="/v1", store=InMemoryResponseProvider())


@app.response_handler
async def answer(request, context, cancellation_signal):
    text = await context.get_input_text()
    return TextResponse(context, request, text=await asyncio.to_thread(ask, text))


def ask(text):
    body = json.dumps({"model": "gpt-4.1", "input": text or "Hello."}).encode()
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "content-type": "application/json"}
    with urlopen(Request(f"{os.environ['OPENAI_BASE_URL']}/responses", body, headers)) as answered:
        response = json.load(answered)
    return "".join(part["text"] for item in response["output"] for part in item.get("content") or ())


app.run("127.0.0.1", int(sys.argv[1]))
