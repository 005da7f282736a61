"""Outputs that no tool returned: texts that replace the execution of a call."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from itertools import combinations

from harness.analysis.history.history import History
from harness.analysis.history.items import client_call_id, describe_item, is_assistant, message_text
from harness.analysis.history.request import HistoryRequest, OutputItem, PlacedItem, facts_about
from harness.analysis.history.text_index import parse_literal
from harness.analysis.history.tool_results import arguments_of, describe_result, output_text
from harness.analysis.loss import NEXT, LossFacts, ask, chained, loss, output
from harness.analysis.losses.calls import content_of
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in, strings_in
from harness.core.text import quote, shorten
from harness.items import function_call

_NOT_RUN = r"not (?:been )?(?:executed|run)|never (?:executed|ran)"
_NOT_EXECUTED = re.compile(rf"\b(?:skipped|interrupted|{_NOT_RUN}|cancell?ed|aborted)\b", re.I)
_REASON_GIVEN = re.compile(
    r"\b(?:not allowed|final result|(?:un|dis)?approv|den(?:y|ied)|reject|declin|refus|permission|error|invalid)", re.I
)
"""Words that explain why a call was not executed: the user refused it, or its arguments were wrong."""
_TOLD_MESSAGE = re.compile(
    r"\bfollow-?up message|\b(?:new|another|further) (?:user )?message"
    r"|\buser (?:has )?(?:sent|provided) (?:an? |another )?(?:new |follow-?up )?(?:message|input|prompt)\b",
    re.I,
)
"""Words that announce a user message, which must then follow."""
_TOOL_NOT_EXECUTED = re.compile(
    rf"\b(?:tool|function|execution)\b.*\b(?:skipped|interrupted|{_NOT_RUN})\b", re.I | re.S
)
_NOTHING_BUT_THAT = re.compile(
    r"(?:(?:the )?(?:call|request|it) (?:was |has been )?)?(?:interrupted(?: by (?:the )?user)?)"
    rf"|(?:(?:the )?(?:call|it) (?:was |has )?)?(?:{_NOT_RUN})"
    r"|no (?:tool )?(?:result|output|response)s? (?:was |were )?(?:provided|received|recorded)",
    re.I,
)
"""Matches a whole output that says only that there is none."""
_EXPLAINED = re.compile(
    r"[:(;]|\b(?:user|because|since|as|due|after|until|dry|mode|limit|budget|quota|max\w*|exceed\w*|too|only|time\w*|"
    r"already|duplicate\w*|another|parallel|concurrent\w*|fail\w*)\b",
    re.I,
)
"""Words that give any reason for which a call was not executed."""
_WORD, _SHORT_NUMBER = re.compile(r"\w+"), re.compile(r" \d{1,3} ")
_RELATION = re.compile(
    r"(?:\b|_)(?:next|prev|near|clos|neighbou?r|oppo|other|partner|spouse|sibling|pair|peer|mate|match|rival|relat|similar"
    r"|alternat|repla|counter|inver|revers|conver|translat|[a-z]+onym|link|connect|compar|friend|contact|swap)",
    re.I,
)
"""What words begin with in the name of a tool that returns another thing of the same kind as its argument."""
_COMPARED = re.compile(r" (?:than|as|like|unlike|versus|vs) .*")
"""Matches words that compare with another thing, and what follows."""
_NamedValue = tuple[str, str]
"""The name of an argument, and its words."""
LONGEST_PLACEHOLDER = 200
"""The maximum length in characters of a placeholder; a longer text has more to say."""
_SKIPPED = output(value="Tool skipped: the assistant went on.")
_ANSWERED_AHEAD = ask("P > A C", ["P C", _SKIPPED, "A"])
_SAID_ON_PURPOSE = ask("P > C", ["P C", _SKIPPED, "N"])


def _both_answered(text: str, *then: Json) -> Case:
    return ask("P > C C2", ["P C C2", output(value=text), output("call_2", text), *then])


def _both_weathers(first: str, second: str, tool: str = "weather") -> Case:
    cities = [function_call(tool, {"city": city}, call_id=city, off_schema=True) for city in ("Paris", "Rome")]
    return ask(["P >", *cities], chained(output("Paris", first), output("Rome", second)))


MESSAGE = "{what} from exchange {said} was answered with {answer}: {now}{instead}"
FIX = "Send what the tool returned as the output of its call; if the call was refused or abandoned, say why."


@loss(
    message=MESSAGE,
    fix=FIX,
    loses=[
        _ANSWERED_AHEAD,
        _both_answered("Tool execution skipped - user provided follow-up message"),
        _both_answered("Tool execution skipped."),
        _both_answered('{"status": "not_executed"}'),
        _both_weathers("Rome: 22 °C", "Paris: 18 °C"),
        _both_weathers('{"city": "Rome", "sun": true}', '{"city": "Paris", "sun": false}'),
    ],
    keeps=[
        _both_weathers("Paris: 18 °C", "Rome: 22 °C"),
        _both_weathers("Rome", "Paris"),
        _both_weathers("Paris, then Rome", "Rome, then Paris"),
        _both_weathers("twinned with Rome since 1956", "twinned with Paris, its only twin"),
        _both_weathers("Married in Rome", "Married in Paris"),
        _both_weathers("Rome: 2 min", "Paris: 3 min", "next_stop"),
        _both_answered("Tool execution skipped - user provided follow-up message", NEXT),
        _both_answered("Tool execution was not approved."),
        _both_answered("ok"),
        ask("P > A C", ["P A C", _SKIPPED]),
        ask("P > C A", ["P C", _SKIPPED, "A"]),
        _SAID_ON_PURPOSE,
    ],
)
def output_invented(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Calls were answered, but not with what their tools returned.

    If the test wraps the tool in `counted`, the output must contain its result or a part of it. A call that was not
    executed may be answered with the reason, for example that the user refused it. Without `counted`, an output that
    reports that the call was not executed counts if it precedes text that the model produced before the call, because
    the client mistook that text for a continuation. It also counts if no user message follows, and the output announces
    one, or several calls of one response got the same text without a reason. So do the outputs of two calls that are
    each about an argument of the other call, and name none of their own.
    """
    ahead = dict(_find_answered_ahead(request, history))
    unexplained, swapped = _find_unexplained(request, history), dict(_find_swapped(request, history))
    for place, id, item in request.outputs:
        if not (originals := history.by_call.get(id)):
            continue
        original, text = originals[-1], output_text(item)
        run, misrun = history.tool_results.find_replaced(id, text), history.tool_results.misrun.get(id)
        if misrun:
            given = shorten(", ".join(f"{name}={value!r}" for name, value in misrun.arguments.items()), 60)
            instead = f", which {misrun.name}({given}) returned"
            yield _facts(f"{place}.output", original, text, instead, "the result of other arguments")
        elif id in swapped:
            instead = f", which names the arguments of {swapped[id]}"
            yield _facts(f"{place}.output", original, text, instead, "the output of another call")
        elif (
            run
            or {id} & (ahead.keys() | unexplained)
            or (id in history.tool_results.unexecuted and is_placeholder(text))
        ):
            instead = f", but {run.name} returned {describe_result(run.returned)}" if run else ""
            where = ", placed before text that preceded the call" if id in ahead else unexplained.get(id, "")
            yield _facts(f"{place}.output", original, text, instead or where)


@loss(
    message=MESSAGE,
    fix=FIX,
    strict=True,
    unless=["output-invented"],
    loses=[_SAID_ON_PURPOSE],
    keeps=[ask("P > C", "P C O N"), ask("P > C", ["P C", output(value="Not executed: the user denied it."), "N"])],
)
def output_placeholder(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Outputs state that their call was not executed, but not why; a client may have given up the call on purpose."""
    for place, id, item in request.outputs:
        text = output_text(item)
        if (originals := history.by_call.get(id)) and is_placeholder(text):
            yield _facts(f"{place}.output", originals[-1], text, "")


@loss(
    message="{what} from exchange {said} was answered with the output of {others}, although it is another call: {now}",
    fix="Send what each call returned; wrap the tools in `counted` if they do return the same.",
    strict=True,
    unless=["output-invented", "output-placeholder", "output-altered", "output-replaced"],
    loses=[_both_answered("ok"), _both_answered("")],
    keeps=[ask("P > C C2", ["P C C2 O", output("call_2", "ops were told")])],
)
def outputs_equal(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Different calls of one response got the same output, as tools that only report success do.

    Recorded: 10 of 307 requests with several outputs have equal ones, and all are what the tools returned.
    """
    same: dict[tuple[int, str], list[tuple[str, OutputItem]]] = defaultdict(list)
    for place, id, item in request.outputs:
        original = history.find_call(id)
        if original and id not in history.tool_results.confirmed:
            same[original.number, output_text(item)].append((f"{place}.output", original))
    for (number, text), answered in same.items():
        first = answered[0][1]
        for place, original in answered[1:]:
            if content_of(original.item) != content_of(first.item):
                yield facts_about(
                    place, number, original.item, others=describe_item(first.item), now=quote(" ".join(text.split()))
                )


def _facts(
    place: str, original: OutputItem, text: str, instead: str, answer: str = "a text that no tool returned"
) -> LossFacts:
    return original.lost(place, now=quote(" ".join(text.split())), instead=instead, answer=answer)


def _find_swapped(request: HistoryRequest, history: History) -> Iterator[tuple[str, str]]:
    """Find the pairs of calls in one response that were answered with the output of the other, each with the other.

    A tool that relates things names another one than its argument, in the same words for both: "married to Rome".
    """
    answered: dict[tuple[int, str], list[tuple[OutputItem, str]]] = defaultdict(list)
    for _, id, item in request.outputs:
        original, text = history.find_call(id), output_text(item)
        is_known = id in history.call_outputs or id in history.tool_results.confirmed
        name = as_string(original.item.get("name")) if original else ""
        if original and not is_known and len(text) <= LONGEST_PLACEHOLDER and not _RELATION.search(name):
            answered[original.number, name].append((original, text))
    for calls in answered.values():
        for (first, first_text), (second, second_text) in combinations(calls, 2):
            of_first, of_second = _named_by(first.item), _named_by(second.item)
            own, theirs = of_first - of_second, of_second - of_first
            rests = {_rest_of(text, of_first | of_second) for text in (first_text, second_text)}
            if len(rests) == 2 and _names(first_text, theirs, own) and _names(second_text, own, theirs):
                for call, instead in ((first, second), (second, first)):
                    yield client_call_id(call.item), describe_item(instead.item)


def _named_by(call: Json) -> Set[_NamedValue]:
    """Return the arguments of a call by which its output is recognized: strings, and numbers that are not short."""
    values = {(name, _spaced(value)) for name, value in arguments_of(call).items() if isinstance(value, str | int)}
    return {(name, value) for name, value in values if len(value) > 3 and not _SHORT_NUMBER.fullmatch(value)}


def _names(text: str, theirs: Set[_NamedValue], own: Set[_NamedValue]) -> bool:
    """Return whether an output is about arguments of another call, and names none of its own.

    It is about a member of the same name, a label before a colon, the subject of a sentence, what "in" or "for" precedes.
    """
    if text.lstrip()[:1] == "{":
        members = {(name, _spaced(value)) for name, value in _members_of(parse_literal(text))}
        return not members.isdisjoint(theirs) and members.isdisjoint(own)
    words, label = _spaced(text), _spaced(text.partition(":")[0]) if ":" in text else ""
    said = _COMPARED.sub(" ", words)
    is_about = any(
        value == label
        or said.startswith(tuple(f"{value}{verb} " for verb in ("is", "was", "has")))
        or any(f" {place}{value}" in said for place in ("in", "for", "at", "on"))
        for _, value in theirs
    )
    return is_about and not any(value in words for _, value in own)


def _rest_of(text: str, named: Set[_NamedValue]) -> str:
    """Return the words of an output without the arguments that it names."""
    words = _spaced(text)
    for _, value in named:
        words = words.replace(value, " ")
    return words


def _members_of(value: object) -> Iterator[tuple[str, object]]:
    for name, member in value.items() if isinstance(value, dict) else ():
        yield str(name), member
        yield from _members_of(member)


def _spaced(value: object) -> str:
    """Return the words of a value in lower case, each between spaces."""
    return f" {' '.join(_WORD.findall(str(value).casefold()))} "


def _find_answered_ahead(request: HistoryRequest, history: History) -> Iterator[PlacedItem]:
    """Find the calls that were answered ahead of earlier text, and only with the note that they were not executed."""
    outputs: dict[str, PlacedItem] = {}
    executed = {id for _, id, item in request.outputs if not is_not_executed(item)}
    answered = {place: id for place, id, _ in request.outputs}
    if len(executed) == len(set(answered.values())):
        return
    for place, item in request.placed_items:
        if id := answered.get(place):
            outputs[id] = (place, item)
        elif outputs and is_assistant(item) and (words := history.find_original(item)):
            for later in words.reply.output[words.index + 1 :]:
                id = client_call_id(later)
                if outputs.pop(id, None) and id not in executed:
                    yield id, later


def _find_unexplained(request: HistoryRequest, history: History) -> Mapping[str, str]:
    """Find the calls that were answered instead of executed, each with the evidence; not if the user spoke after it."""
    answers = {
        id: (history.by_call[id][-1], _words_of(text))
        for _, id, item in request.outputs
        if id in history.by_call
        and id not in history.tool_results.confirmed
        and is_placeholder(text := output_text(item))
    }
    if not answers:
        return {}
    items = request.transcript.items
    calls = {client_call_id(item): place for place, item in enumerate(items)}
    spoken = max((place for place, item in enumerate(items) if _is_said_by_user(item)), default=-1)
    found = dict[str, str]()
    same: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
    for id, (original, words) in answers.items():
        if spoken > calls.get(id, -1):
            continue
        if _TOLD_MESSAGE.search(words):
            found[id] = ", although no user message follows"
        elif _NOTHING_BUT_THAT.fullmatch(words) or (_TOOL_NOT_EXECUTED.search(words) and not _EXPLAINED.search(words)):
            same[original.number, words][id] = content_of(original.item)
    for contents in same.values():
        if len(set(contents.values())) > 1:
            found |= dict.fromkeys(contents, f", as were {len(contents)} calls in all, without a reason")
    return found


def _words_of(text: str) -> str:
    """Return the words of an output: of a short JSON value its strings, without brackets and underscores."""
    words = text.strip()
    if words[:1] in ("{", "[") and len(words) <= LONGEST_PLACEHOLDER:
        with suppress(ValueError):
            words = " ".join(strings_in(json.loads(words)))
    return words.strip(" .()[]").replace("_", " ")


def _is_said_by_user(item: Json) -> bool:
    pictures = any("text" not in part for part in objects_in(item.get("content")))
    return item.get("role") == "user" and (pictures or bool(message_text(item).strip()))


def is_placeholder(text: str) -> bool:
    """Return whether an output states in a few words that its call was not executed, and gives no reason."""
    words = _words_of(text)
    if len(text) > LONGEST_PLACEHOLDER or _REASON_GIVEN.search(words):
        return False
    return bool(_NOT_EXECUTED.search(words) or _NOTHING_BUT_THAT.fullmatch(words))


def is_not_executed(item: Json) -> bool:
    """Return whether an output states that its call was not executed."""
    return bool(_NOT_EXECUTED.search(as_string(item.get("output"))))
