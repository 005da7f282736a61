"""Judges a recorded exchange by the contract: is the request accepted or refused as recorded, does the answer conform?

A request whose outcome depends on something that is not recorded is `unverifiable`, never wrong.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import harness.foundry  # noqa: F401  (registers every operation and rule)
from harness.api.http.dialects import user_of
from harness.api.operations import Operation
from harness.api.project_types import AGENT_KINDS, PROMPT
from harness.cassettes.format.recorded import Recorded
from harness.contract.call import WorldCall
from harness.contract.check import Violation, check, check_answer, conforms_to_schema
from harness.contract.ordered_validator import find_unknown_members
from harness.contract.overrides import Entry
from harness.contract.rules.http.beta import is_assistants_operation
from harness.contract.schema import RESPONSE_EVENT_SCHEMA
from harness.core.exchange import Finding, Json, Request
from harness.core.json_values import as_object
from harness.core.registry import TableKind
from harness.core.secret_prefixes import redact, secrets_in_headers
from harness.foundry.agent_sessions import AGENT_SESSIONS, new_session, session_key
from harness.foundry.agent_versions import AGENTS
from harness.foundry.resources import Versioned
from harness.foundry.skills import SKILLS
from harness.foundry.toolboxes import TOOLBOXES
from harness.verify.compare import differing_error_members, select_error_members
from harness.verify.judging.circumstances import enter_day, locate, rebuild_request
from harness.verify.judging.streams import judge_response_stream, judge_run_stream
from harness.verify.judging.unverifiable import (
    explain_edited,
    explain_unverifiable_error,
    explain_unverifiable_violation,
)
from harness.verify.judging.verdict import Verdict, VerdictKind
from harness.verify.remember import remember
from harness.world.resources import make_resource
from harness.world.world import World

MISSING_FILE_RULES = (
    *("file_not_found", "input_file_not_found", "files_not_found", "vector_store_not_found"),
    *("file_search_store_not_found", "vector_store_file_not_found"),
)
"""Rules about missing files and vector stores; their facts have the `missing` ids, and the `store` of a file in one."""
MISSING_AGENT_RULES = ("agent_unknown", "agent_not_there", "agent_not_found")
"""Rules about a missing agent; their facts have its `name` and the requested `version`, if any."""
RESOURCE_OF_RULE = {
    "connection_not_found": "connection",
    "project_deployment_not_found": "deployment",
    "memory_store_not_found": "memory_store",
    "toolbox_not_found": "toolbox",
    "skill_not_found": "skill",
    "asset_not_found": "asset",
}
"""The kind of project resource that a rule reports as missing; its name is in the path."""
_REFUSED_EXTENSION = re.compile(r"extensions \[(\.\w+)\]")
KINDS = {kind.id_prefix: kind.name for kind in AGENT_KINDS.values() if kind is not PROMPT}


def presume(world: World, request: Request, violation: Violation) -> bool:
    """Presume what this violation reports as missing, since the API accepted it; return whether the World changed."""
    if violation.rule.id in MISSING_FILE_RULES:
        return _presume_files(world, violation)
    if kind := RESOURCE_OF_RULE.get(violation.rule.id):
        _presume_resource(world, request, kind)
        return True
    if violation.rule.id == "session_not_found":
        _presume_session(world, request)
        return True
    if violation.rule.id not in MISSING_AGENT_RULES:
        return False
    version = str(violation.facts.get("version") or "").strip() or "1"
    return _presume_version(world, violation.facts["name"], version, {})


def presume_agent(world: World, response: Json) -> None:
    """Presume the agent and version that answered according to a Foundry response, unless the agent is known."""
    agent = as_object(response.get("agent_reference") or response.get("agent"))
    if not isinstance(agent.get("name"), str) or agent["name"] in world.store.table(AGENTS):
        return
    kind = KINDS.get(str(response.get("id")).partition("_")[0], PROMPT.name)
    shown = {name: response[name] for name in ("model", "tools") if response.get(name)}
    _presume_version(world, agent["name"], str(agent.get("version")), {"kind": kind, **shown})


_VERSIONED: Mapping[str, TableKind[Versioned]] = {"toolbox": TOOLBOXES, "skill": SKILLS}
"""The tables of resources with versions that the service numbers."""


def _presume_resource(world: World, request: Request, kind: str) -> None:
    """Presume a resource by its name in the path, in the version that the path or the body requests."""
    name, version = (
        request.params["name"],
        request.params.get("version", as_object(request.body).get("default_version")),
    )
    if kind == "asset":
        asset = "dataset" if request.path.startswith("/datasets/") else "index"
        make_resource(world, asset, name, {"version": version})
        return
    table = world.store.table(_VERSIONED[kind]) if kind in _VERSIONED else {}
    if name not in table:
        make_resource(world, kind, name, {})
    # The recording may have begun after the first version.
    if name in table and isinstance(version, str):
        known = table[name]
        known.versions.setdefault(version, {**known.latest, "version": version})
        known.packages.setdefault(version, b"")


def presume_type_of_file(world: World, violation: Violation, error: Mapping[str, Any]) -> bool:
    """Presume a missing file with the extension for which the API refused it; return whether the World changed."""
    found = _REFUSED_EXTENSION.search(str(error.get("message"))) if error.get("code") == "unsupported_file" else None
    if violation.rule.id not in MISSING_FILE_RULES or not found:
        return False
    for id in violation.facts["missing"]:
        world.uploads.presume(id, name=f"{id}{found[1]}")
    return True


def _presume_session(world: World, request: Request) -> None:
    name, id = request.params["agent_name"], request.params["session_id"]
    session = new_session(id, request.params.get("agent_version", "1"), world.now, user_of(request))
    world.store.table(AGENT_SESSIONS)[session_key(name, id)] = session


def _presume_files(world: World, violation: Violation) -> bool:
    uploads, store = world.uploads, violation.facts.get("store", "")
    missing = [id for id in violation.facts["missing"] if not uploads.has_id(id, store)]
    for id in missing:
        uploads.presume(id, store)
    return bool(missing)


def _presume_version(world: World, name: str, version: str, definition: Json) -> bool:
    """Presume a version of an agent, older than the known ones; return whether the World changed."""
    known = world.store.table(AGENTS).get(name, ())
    if any(agent_version["version"] == version for agent_version in known):
        return False
    made = {"object": "agent.version", "name": name, "version": version, "definition": definition}
    world.store.table(AGENTS)[name] = [made, *known]
    return True


def judge(recorded: Recorded, world: World) -> Iterator[Verdict]:
    """Judge an exchange by the contract of its day; `world` remembers the earlier exchanges of the file."""
    enter_day(world, recorded)
    operation, request = rebuild_request(recorded)
    if operation is None:
        yield Verdict(VerdictKind.SKIPPED, {"why": explain_skip(recorded)})
        return
    for verdict in _judge_parts(recorded, world, operation, request):
        if verdict.entry is None:
            yield verdict
            continue
        secrets = secrets_in_headers(recorded.headers) | secrets_in_headers(recorded.answer_headers)
        yield replace(verdict, entry=redact({"id": recorded.id, **verdict.entry}, secrets))


def predict_violation(recorded: Recorded, world: World) -> Violation | None:
    """Predict why the mock will refuse a request, before its answer is known; None if it will not, or may not."""
    enter_day(world, recorded)
    operation, request = rebuild_request(recorded)
    if operation is None or (operation.is_form and not request.body):
        return None
    violation = check(WorldCall(request, world)).violation
    is_sure = violation and not explain_unverifiable_violation(violation, recorded, request, world)
    return violation if is_sure else None


def explain_skip(recorded: Recorded) -> str:
    """Explain why an exchange is not judged."""
    place = locate(recorded)
    if not recorded.provider and recorded.host:
        return f"another service: {recorded.host}"
    if place is None:
        return "another service"
    first, _, rest = place.endpoint_path.lstrip("/").partition("/")
    name = f"{first}/completions" if rest.startswith("completions") else first
    return f"not judged: /{name}"


def _judge_parts(recorded: Recorded, world: World, operation: Operation, request: Request) -> Iterator[Verdict]:
    accepted = 200 <= recorded.status < 300
    absent = "no_request" in recorded.flags or (operation.is_form and not request.body)
    answer = answer_object(recorded) if accepted else None
    if isinstance(answer, dict):
        presume_agent(world, answer)
    violation, applied = (None, ()) if absent else _check(request, world)
    while accepted and violation and presume(world, request, violation):
        violation, more = _check(request, world)
        applied += more
    if violation and not accepted and presume_type_of_file(world, violation, recorded_error(recorded)):
        violation, more = _check(request, world)
        applied += more
    if applied:
        yield Verdict(VerdictKind.OVERRULED, applied=applied)
    if absent:
        yield Verdict(VerdictKind.REQUEST_ABSENT)
    elif accepted:
        yield from _judge_accepted(recorded, world, request, violation)
    elif 400 <= recorded.status < 500:
        yield from _judge_refused(recorded, world, request, violation)
    if recorded.events is None:
        yield from _judge_answer(recorded, operation, world)
    elif not operation.is_project:
        yield from _judge_stream(recorded, world, request)
    if accepted and not absent and conforms_to_schema(WorldCall(request, world), violation):
        if "socket" in recorded.flags and isinstance(answer, dict) and isinstance(request.body, dict):
            # over a WebSocket, a response that is not stored can be continued, too
            request, answer = request._replace(body={**request.body, "store": True}), {**answer, "store": True}
        remember(world, request, answer, recorded.events)


def _check(request: Request, world: World) -> tuple[Violation | None, tuple[Entry, ...]]:
    """Return the violation of a request, and the user's overrides that took effect."""
    checked = check(WorldCall(request, world))
    return checked.violation, checked.applied


def _judge_accepted(
    recorded: Recorded, world: World, request: Request, violation: Violation | None
) -> Iterator[Verdict]:
    if violation is None:
        yield Verdict(VerdictKind.REQUEST_ACCEPTED, request=request)
    elif why := explain_unverifiable_violation(violation, recorded, request, world):
        yield Verdict(VerdictKind.REQUEST_UNVERIFIABLE, {"why": why}, request, violation)
    else:
        entry: Json = {"rule": violation.rule.id, "error": violation.error.members()}
        yield Verdict(VerdictKind.REQUEST_REFUSED, entry, request, violation)


def recorded_error(recorded: Recorded) -> Json:
    """Return the members of a recorded error object; empty if the answer is not one."""
    return select_error_members(as_object(recorded.answer).get("error"))


def compare_refusals(recorded: Recorded, violation: Violation) -> list[str]:
    """List the members in which the recorded error differs from the mock's, as `differing_error_members` does."""
    mock = {"status": violation.error.status, **violation.error.members()}
    return differing_error_members({"status": recorded.status, **recorded_error(recorded)}, mock)


def _judge_refused(
    recorded: Recorded, world: World, request: Request, violation: Violation | None
) -> Iterator[Verdict]:
    if not (error := recorded_error(recorded)):
        why = "the answer is not an error object"
        yield Verdict(VerdictKind.REFUSAL_UNVERIFIABLE, {"why": why}, request, violation)
        return
    entry: Json = {"recorded": {"status": recorded.status, **error}}
    if violation:
        entry["mock"] = {"status": violation.error.status, **violation.error.members(), "rule": violation.rule.id}
    different = compare_refusals(recorded, violation) if violation else ["all"]
    if not different:
        yield Verdict(VerdictKind.REFUSAL_SAME, None, request, violation)
    # It is the same refusal, but the list of supported values has changed, which is drift.
    elif different == ["list"]:
        yield Verdict(VerdictKind.REFUSAL_SAME, None, request, violation)
        yield Verdict(VerdictKind.REFUSAL_DRIFT, entry, request, violation)
    elif why := explain_unverifiable_error(error, violation, recorded, request, world):
        yield Verdict(VerdictKind.REFUSAL_UNVERIFIABLE, {"why": why, **entry}, request, violation)
    else:
        kind = VerdictKind.REFUSAL_DIFFERENT if violation else VerdictKind.REFUSAL_MISSED
        yield Verdict(kind, entry, request, violation)


def answer_root(recorded: Recorded, answer_schema: str | None) -> str | None:
    """Return the schema of a recorded answer: `Error` for a refusal, else the one of its operation."""
    answer = recorded.answer
    failed = recorded.status >= 300 or (not recorded.status and isinstance(answer, dict) and "object" not in answer)
    return "Error" if failed else answer_schema


def _judge_member(kind: VerdictKind, finding: Finding, world: World, root: str, at: str) -> Verdict:
    """Judge a member that no schema has: it is drift, unless the user's overrides declare it."""
    member = world.overrides.find_member(root, at) if world.overrides else None
    return Verdict(VerdictKind.OVERRULED, applied=(member,)) if member else Verdict(kind, _finding_json(finding))


def _judge_answer(recorded: Recorded, operation: Operation, world: World) -> Iterator[Verdict]:
    root = answer_root(recorded, operation.answer_schema)
    if root is None or "transcribed" in recorded.flags:
        return
    if recorded.answer is None:
        yield from _judge_unread(recorded)
        return
    if "unread-answer" in recorded.flags:
        return
    finding = check_answer(root, recorded.answer, world.as_of, recorded.provider)
    yield from _finding_verdicts(_ANSWER_KINDS, recorded, [finding] if finding else [])
    # Unknown members of an edited answer prove nothing about the API.
    if finding and explain_edited(recorded):
        return
    for finding in find_unknown_members(root, recorded.answer, world.as_of):
        yield _judge_member(VerdictKind.ANSWER_DRIFT, finding, world, root, finding.at)


def _judge_unread(recorded: Recorded) -> Iterator[Verdict]:
    """Judge an answer that is not recorded as JSON, although the API answers accepted requests with an object."""
    if not 200 <= recorded.status < 300:
        return
    if "encoded-answer" in recorded.flags:
        yield Verdict(VerdictKind.ANSWER_UNVERIFIABLE, {"why": "the answer is in an encoding that cannot be undone"})
    elif "unread-answer" in recorded.flags:
        yield Verdict(VerdictKind.ANSWER_FINDING, {"at": "", "message": "The answer is not JSON, or breaks off."})
    else:
        yield Verdict(VerdictKind.ANSWER_UNVERIFIABLE, {"why": "the recording has no body of the answer"})


_ANSWER_KINDS = (VerdictKind.ANSWER_CONFORMS, VerdictKind.ANSWER_UNVERIFIABLE, VerdictKind.ANSWER_FINDING)
_STREAM_KINDS = (VerdictKind.STREAM_CONFORMS, VerdictKind.STREAM_UNVERIFIABLE, VerdictKind.STREAM_FINDING)


def _finding_verdicts(
    kinds: tuple[VerdictKind, VerdictKind, VerdictKind], recorded: Recorded, findings: list[Finding]
) -> Iterator[Verdict]:
    conforms, unverifiable, wrong = kinds
    if not findings:
        yield Verdict(conforms)
    elif why := explain_edited(recorded):
        yield Verdict(unverifiable, {"why": why})
    else:
        yield from (Verdict(wrong, _finding_json(finding)) for finding in findings)


def _finding_json(finding: Finding) -> Json:
    return {"at": finding.at, "message": finding.message}


def _judge_stream(recorded: Recorded, world: World, request: Request) -> Iterator[Verdict]:
    if is_assistants_operation(request.operation):
        judgment = judge_run_stream(recorded, world.as_of)
    else:
        stored = world.store.responses.get(request.params.get("response_id", ""))
        judgment = judge_response_stream(recorded, stored.events if stored else None, world.as_of)
    yield Verdict(VerdictKind.STREAM_EVENTS, {"times": len(recorded.events or ())})
    # A stream that broke off can be proven wrong, but not right.
    if judgment.findings or "broken-off" not in recorded.flags:
        yield from _finding_verdicts(_STREAM_KINDS, recorded, judgment.findings)
    else:
        why = "the stream breaks off within an event" if recorded.events else "the recording has no event of the stream"
        yield Verdict(VerdictKind.STREAM_UNVERIFIABLE, {"why": why})
    for finding in judgment.drift:
        at = finding.at.partition("].")[2]
        yield _judge_member(VerdictKind.STREAM_DRIFT, finding, world, RESPONSE_EVENT_SCHEMA, at)


def answer_object(recorded: Recorded) -> Any:
    """Return the object in a recorded answer; for a stream, the one in the last event that has one."""
    if recorded.events is None:
        return recorded.answer
    for event in map(as_object, reversed(recorded.events)):
        run = as_object(event.get("data"))
        found = run if run.get("object") == "thread.run" else event.get("response")
        if isinstance(found, dict):
            return found
    return None
