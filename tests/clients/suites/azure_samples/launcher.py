"""Runs samples one after the other, each in a process forked from this one, which has imported their packages once.

`python launcher.py`: for each line of JSON on its input (`sample`, `variables`, `output`, `seconds`) it writes
one to its output: how the sample's process ended. To import the packages takes seconds, to fork milliseconds.
"""

import atexit
import faulthandler
import gc
import importlib
import json
import os
import runpy
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path

PRELOADED = (
    "aiohttp",
    "anyio._backends._asyncio",
    "azure.ai.agents.aio",
    "azure.ai.agents.models",
    "azure.ai.agents.telemetry",
    "azure.ai.projects.aio",
    "azure.ai.projects.models",
    "azure.core.tracing.ext.opentelemetry_span",
    "azure.monitor.opentelemetry",
    "azure.storage.blob.aio",
    "dotenv",
    "httpx",
    "jsonref",
    "mcp",
    "openai",
    "opentelemetry.sdk.trace.export",
)
USED = ("responses", "conversations", "files", "vector_stores", "chat", "evals", "fine_tuning")
"""What a client of `openai` imports when it is first used."""


def main():
    """Run what is asked for until the input ends."""
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    _use_openai()
    import replacements

    replacements.install()
    gc.collect()
    gc.freeze()  # a collection in a child would copy all of its pages
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _end(_run(json.loads(line)))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    _end(0)


def _use_openai():
    """Have it import and build what it leaves until then."""
    import openai
    from openai.types.conversations import Conversation
    from openai.types.responses import Response, ResponseStreamEvent
    from pydantic import TypeAdapter

    for client in (openai.OpenAI(api_key="none"), openai.AsyncOpenAI(api_key="none")):
        for name in USED:
            dir(getattr(client, name))
    for model in (Response, Conversation):
        model.model_rebuild()
    TypeAdapter(ResponseStreamEvent)


def _run(told):
    """Become the sample; the result is the exit code of `python SAMPLE`, unless its time is over before: see its stack."""
    sample = Path(told["sample"])
    os.setsid()
    os.chdir(sample.parent)
    os.environ.update(told["variables"])
    written = os.open(told["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number, opened in ((0, os.open(os.devnull, os.O_RDONLY)), (1, written), (2, written)):
        os.dup2(opened, number)
    sys.stdout.reconfigure(line_buffering=True)
    sys.path[0] = str(sample.parent)
    faulthandler.dump_traceback_later(told["seconds"], exit=True)
    try:
        runpy.run_path(str(sample), run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code):
    """End this process as Python does, but for taking down what was imported, which takes longer than most samples."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
