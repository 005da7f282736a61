"""Mutants of the area `answers`."""

import html
import unicodedata
from collections.abc import Iterator
from typing import Any

from harness.core.exchange import Json
from tests.examine.mutants.mutant import (
    H,
    R,
    dies,
    gives_up,
    http_mutant,
    mutant,
    output_changed,
    output_without,
    without_annotations,
)


def of_type(type: str) -> Any:
    return lambda response: any(item["type"] == type for item in response["output"])


def messages(response: Json) -> list[Json]:
    return [item for item in response["output"] if item["type"] == "message"]


def parts(response: Json) -> list[Json]:
    return [part for item in messages(response) for part in item["content"] if part["type"] == "output_text"]


def cites(response: Json) -> bool:
    return any(part["annotations"] for part in parts(response))


def searched(response: Json) -> bool:
    return any(item.get("action") and item["type"] == "web_search_call" for item in response["output"])


def show_but(blank: Any) -> Any:
    return lambda self, event: None if blank(event) else R.show(self, event)


def split_all(self: H, chunks: Iterator[bytes]) -> Iterator[str]:
    yield from b"".join(chunks).decode().splitlines()


def dedupe(self: R, response: Json) -> None:
    R.note(self, response)
    self.shown["annotations"] = list(
        {annotation.get("url"): annotation for annotation in self.shown["annotations"]}.values()
    )


def uncited(type: str) -> Any:
    def change(item: Json) -> Json:
        if item["type"] != "message":
            return item
        kept = [
            {**part, "annotations": [a for a in part.get("annotations", ()) if a["type"] != type]}
            for part in item["content"]
        ]
        return {**item, "content": kept}

    return output_changed(change)


def cut_text(reason: str) -> Any:
    def text_of(self: R, response: Json) -> str:
        return "" if (response["incomplete_details"] or {}).get("reason") == reason else R.text_of(self, response)

    return text_of


def reason_of(response: Json) -> Any:
    return (response["incomplete_details"] or {}).get("reason")


def silent(when: Any) -> Any:
    """Return a client that takes some of what was cut for whole."""
    return lambda self, response: "" if when(response) else R.ending_of(self, response)


def swallow(code: str) -> dict[str, Any]:
    return {
        "show": show_but(lambda event: event["type"] == "error"),
        "check_response": lambda self, response: (
            None if (response["error"] or {}).get("code") == code else R.check_response(self, response)
        ),
    }


def lenient(self: R, arguments: str) -> Any:
    try:
        return R.parse_arguments(self, arguments)
    except ValueError:
        return {}


def too_many(self: R, *given: Any) -> Json:
    self.count = getattr(self, "count", 0) + 1  # type: ignore[attr-defined]
    return gives_up("too many turns") if self.count > 8 else R.ask(self, *given)  # type: ignore[attr-defined, no-any-return]


def forgets(type: str, beside: str) -> Any:
    return output_without(lambda item: item["type"] == type, when=of_type(beside))


def unseal_after_outputs(self: R, thread: Any, new: list[Json], response: Json) -> None:
    if any(item.get("type") == "function_call_output" for item in new):
        own = [{name: item[name] for name in item if name != "encrypted_content"} for item in response["output"]]
        response = {**response, "output": own}
    R.remember(self, thread, new, response)


def seals_always(self: R, thread: Any) -> Json:
    own = {} if "include" in self.task.options else {"include": ["reasoning.encrypted_content"]}
    return {**own, **R.state_of(self, thread)}


def answer_hosted(type: str, when: Any = lambda item: True) -> Any:
    def answer(self: R, item: Json) -> Json | None:
        if item["type"] == type and when(item):
            return {"type": "function_call_output", "call_id": item.get("call_id") or item["id"], "output": "done"}
        return R.answer(self, item)

    return answer


mutant("answers/text", text_of=lambda self, response: html.escape(R.text_of(self, response), quote=False))
mutant("answers/two-messages", text_of=lambda self, response: R.text_of(self, {"output": messages(response)[-1:]}))
mutant(
    "answers/two-parts",
    text_of=lambda self, response: (
        "".join(part["text"] for number, part in enumerate(parts(response)) if not number or part["annotations"])
        if len(messages(response)) == 1
        else R.text_of(self, response)
    ),
)
mutant("answers/empty-text", text_of=lambda self, response: R.text_of(self, response) or gives_up())
mutant("answers/refusal", note=lambda self, response: (R.note(self, response), self.shown.pop("refusal", None)))
mutant(
    "answers/phases",
    text_of=lambda self, response: R.text_of(
        self, {"output": [item for item in messages(response) if item.get("phase") != "final_answer"]}
    ),
)
mutant("answers/unicode", text_of=lambda self, response: unicodedata.normalize("NFC", R.text_of(self, response)))
http_mutant("answers/odd-characters", "stream,replay", read_lines=split_all)
mutant("answers/one-megabyte", text_of=lambda self, response: R.text_of(self, response)[:100_000])
mutant("answers/white-space-deltas", "stream,replay", show=show_but(lambda event: event.get("delta") == "\n\n"))
mutant("answers/ten-prompts", ask=too_many)
dies("answers/logprobs", lambda response: any(part["logprobs"] for part in parts(response)))
mutant("answers/url-citation", note=without_annotations(lambda note: note.get("start_index")))
mutant("answers/file-citation", note=without_annotations(lambda note: note["type"] == "file_citation"))
mutant("answers/file-path", note=without_annotations(lambda note: note["type"] == "file_path"))
mutant("answers/container-file-citation", note=without_annotations(lambda note: note["type"].startswith("container")))
mutant("answers/many-citations", note=dedupe)
mutant("answers/file-citation-sent-back", remember=uncited("file_citation"))
mutant("answers/url-citation-sent-back", remember=uncited("url_citation"))
mutant("answers/incomplete-by-length", text_of=cut_text("max_output_tokens"))
mutant("answers/incomplete-by-filter", text_of=cut_text("content_filter"))
mutant(
    "answers/told-cut-by-length",
    ending_of=silent(lambda response: parts(response) and reason_of(response) != "content_filter"),
)
mutant("answers/told-cut-by-filter", ending_of=silent(lambda response: reason_of(response) == "content_filter"))
mutant("answers/told-cut-before-text", ending_of=silent(lambda response: not messages(response)))
mutant(
    "answers/incomplete-call",
    answer=lambda self, item: R.answer(self, {**item, "status": "completed"}),
    parse_arguments=lenient,
)
mutant("answers/failed", "stream,replay", **swallow("server_error"))
mutant("answers/failed-by-limit", "stream,replay", **swallow("rate_limit_exceeded"))
mutant("answers/reasoning-first", remember=forgets("message", beside="reasoning"))
mutant(
    "answers/reasoning-summary", note=lambda self, response: (R.note(self, response), self.shown.update(reasoning=[]))
)
mutant("answers/reasoning-with-a-call", remember=forgets("reasoning", beside="function_call"))
mutant("answers/reasoning-ciphertext", "plain,stateless", remember=unseal_after_outputs)
mutant("answers/model-without-reasoning", state_of=seals_always)
dies("answers/web-search", lambda response: searched(response) and not cites(response))
mutant(
    "answers/web-search-without-action", answer=answer_hosted("web_search_call", lambda item: not item.get("action"))
)
dies("answers/file-search", lambda response: of_type("file_search_call")(response) and not cites(response))
mutant("answers/code-interpreter", answer=answer_hosted("code_interpreter_call"))
mutant("answers/image-generation", answer=answer_hosted("image_generation_call"))
mutant("answers/mcp-call", answer=answer_hosted("mcp_call", lambda item: not item["error"]))
mutant("answers/mcp-call-failed", answer=answer_hosted("mcp_call", lambda item: item["error"]))
mutant("answers/hosted-shell", answer=answer_hosted("shell_call"))
dies("answers/unknown-members", lambda response: any("hologram" in item for item in response["output"]))
dies("answers/unknown-item", lambda response: response["output"][0]["type"] == "hologram_call")
dies("answers/unknown-item-last", lambda response: response["output"][-1]["type"] == "hologram_call")
mutant(
    "answers/unknown-event",
    "stream,replay",
    show=lambda self, event: R.show(
        self, {**event, "type": "response.output_text.delta"} if isinstance(event.get("delta"), str) else event
    ),
)
dies("answers/unknown-value", lambda response: response["service_tier"] == "hyper")
dies(
    "answers/unknown-members-of-a-call",
    lambda response: any("hologram" in item for item in response["output"] if item["type"] == "function_call"),
    "plain,chain",
)
