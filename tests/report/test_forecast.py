"""What becomes of requests later: models that will be gone, and what another model would say, in the API's words."""

from typing import Any

import pytest

import harness.foundry  # noqa: F401  (registers every operation and rule)
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.core.errors import ConfigError
from harness.explain.cause import ReportFinding
from harness.report.forecast import Outlook, outlook_lines
from harness.world.world import World
from tests.support.checked import request

EFFORTS = "is not supported with the '{}' model. Supported values are: "
SAMPLING = "Unsupported parameter: '{}' is not supported with this model."
LOGPROBS = "logprobs are not supported with reasoning models."
NO_TOOL = "Tool '{}' is not supported with {}."
SHELL = {"type": "shell", "environment": {"type": "local"}}
PICTURE = {"role": "user", "content": [{"type": "input_image", "image_url": "https://example.com/a.png"}]}
UPDATE = {"type": "configuration_update", "reasoning": {"effort": "low"}}
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
FORMAT = {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA}}

MIGRATIONS: list[tuple[str, str, dict[str, Any], str]] = [
    ("gpt-4o", "gpt-5", {"temperature": 0.3}, SAMPLING.format("temperature")),
    ("gpt-4.1", "gpt-6.2-sol", {"temperature": 0.2}, SAMPLING.format("temperature")),
    ("gpt-4.1", "gpt-6.1-sol", {"top_p": 0.5}, SAMPLING.format("top_p")),
    ("gpt-4.1", "gpt-6-sol", {"temperature": 1.5}, SAMPLING.format("temperature")),
    ("gpt-4.1", "gpt-5", {"top_logprobs": 3}, LOGPROBS),
    ("gpt-4.1", "gpt-6.2-sol", {"include": ["message.output_text.logprobs"]}, LOGPROBS),
    (
        *("gpt-5.1", "gpt-5", {"reasoning": {"effort": "none"}}),
        f"Unsupported value: 'none' {EFFORTS.format('gpt-5')}'minimal', 'low', 'medium', and 'high'.",
    ),
    (
        *("gpt-5", "gpt-6.1-sol", {"reasoning": {"effort": "minimal"}}),
        f"Unsupported value: 'minimal' {EFFORTS.format('gpt-6.1-sol')}'low', 'medium', 'high', 'xhigh', and 'max'.",
    ),
    (
        *("gpt-6-sol", "gpt-6.2-sol", {"reasoning": {"effort": "none"}}),
        f"Unsupported value: 'none' {EFFORTS.format('gpt-6.2-sol')}'low', 'medium', 'high', 'xhigh', and 'max'.",
    ),
    (
        *("gpt-5.6-sol", "gpt-5.4", {"reasoning": {"effort": "max"}}),
        f"Unsupported value: 'max' {EFFORTS.format('gpt-5.4')}'none', 'low', 'medium', 'high', and 'xhigh'.",
    ),
    ("gpt-5", "gpt-4.1", {"reasoning": {"effort": "low"}}, SAMPLING.format("reasoning.effort")),
    ("gpt-5.6-sol", "gpt-5.4", {"reasoning": {"mode": "pro"}}, "`reasoning.mode` is not supported with this model."),
    ("gpt-6-sol", "gpt-6.2-astra", {"service_tier": "flex"}, "Flex is not available for this model."),
    ("o3", "gpt-4.1", {"service_tier": "flex"}, "Invalid service_tier argument"),
    (
        *("gpt-5", "gpt-4.1", {"include": ["reasoning.encrypted_content"]}),
        "Encrypted content is not supported with this model.",
    ),
    (
        *("gpt-5", "gpt-4.1", {"text": {"verbosity": "low"}}),
        f"Unsupported value: 'low' {EFFORTS.format('gpt-4.1')}'medium'.",
    ),
    (
        *("gpt-4.1", "gpt-4-turbo", {"text": FORMAT}),
        "Invalid parameter: 'text.format' of type 'json_schema' is not supported with model version `gpt-4-turbo`.",
    ),
    ("gpt-5.4", "gpt-4.1", {"tools": [SHELL]}, NO_TOOL.format("shell", "gpt-4.1-2025-04-14")),
    ("gpt-5.1", "gpt-4.1", {"tools": [{"type": "apply_patch"}]}, NO_TOOL.format("apply_patch", "gpt-4.1-2025-04-14")),
    (
        *("gpt-4.1", "gpt-4.1-nano", {"tools": [{"type": "web_search"}]}),
        NO_TOOL.format("web_search", "gpt-4.1-nano-2025-04-14"),
    ),
    (
        *("gpt-6-sol", "gpt-5.5", {"prompt_cache_options": {"mode": "explicit"}}),
        "prompt_cache_options is not supported on this model",
    ),
    (
        *("gpt-5.4", "gpt-5.6-sol", {"prompt_cache_retention": "in_memory"}),
        "This model is compatible only with 24h extended prompt caching",
    ),
    (
        *("gpt-6-sol", "gpt-5.5", {"input": [{"role": "user", "content": "hi"}, UPDATE]}),
        "The 'configuration_update' item type is not supported with this model.",
    ),
    ("gpt-5", "o3-deep-research", {}, "Model not found o3-deep-research"),
    (
        "gpt-4.1",
        "gpt-4o-transcribe",
        {},
        "The requested model 'gpt-4o-transcribe' is not supported with the Responses API.",
    ),
]


def judge(present: str, later: str, **members: Any) -> list[ReportFinding]:
    return list(Outlook(model=later).findings(request({"model": present, **members}), World(), 1))


@pytest.mark.parametrize(("present", "later", "members", "words"), MIGRATIONS)
def test_another_model_refuses_in_the_words_of_the_api(
    present: str, later: str, members: dict[str, Any], words: str
) -> None:
    assert check(WorldCall(request({"model": present, **members}), World())).violation is None
    (finding,) = judge(present, later, **members)
    assert (finding.kind, finding.expected, bool(finding.fix)) == ("migration", False, True)
    assert finding.message.partition(f"{later} refuses this request: ")[2].partition(" ")[2] == words


def test_another_model_has_other_defaults() -> None:
    (finding,) = judge("gpt-5", "gpt-6.2-sol")
    assert finding.expected
    assert finding.message == (
        "gpt-6.2-sol takes this request otherwise: prompt_cache_retention in_memory becomes 24h; "
        "reasoning.context current_turn becomes all_turns; top_p 1.0 becomes 0.98."
    )


def test_another_model_may_not_read_the_reasoning() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAA"}
    call = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    (finding,) = judge("gpt-6-sol", "gpt-6-luna", input=[{"role": "user", "content": "hi"}, thought, call, output])
    assert "reasoning of gpt-6-sol in the input: gpt-6-luna may not read it" in finding.message


def test_nothing_becomes_of_a_request_that_two_models_take_alike() -> None:
    assert judge("gpt-4o", "gpt-4o-mini") == judge("gpt-4o", "gpt-4o") == []


def test_a_model_of_which_nothing_is_known_is_named() -> None:
    (finding,) = judge("gpt-4o", "gpt-6-rosalind")
    assert finding.expected
    assert "nothing is known of gpt-6-rosalind, so nothing was refused for it" in finding.message


def test_what_the_present_model_refuses_too_says_nothing_about_another() -> None:
    assert judge("gpt-4o", "gpt-6.2-sol", temperature=9) == []


@pytest.mark.parametrize(
    ("model", "by", "message", "fix"),
    [
        ("gpt-4o", "all", '"gpt-4o" shuts down on 2027-01-14.', "Use gpt-6-luna, which OpenAI recommends."),
        ("gpt-4o", "2027-01", '"gpt-4o" shuts down on 2027-01-14.', "Use gpt-6-luna, which OpenAI recommends."),
        ("gpt-5.4-nano", "2027-04", '"gpt-5.4-nano" shuts down on 2027-04-01.', ""),
        ("ft:gpt-4.1:acme::9aBc", "all", '"ft:gpt-4.1:acme::9aBc" shuts down on 2027-01-14.', None),
    ],
)
def test_a_model_will_be_gone(model: str, by: str, message: str, fix: str | None) -> None:
    (finding,) = Outlook.parse(by, "", "--forecast").findings(request({"model": model}), World(), 1)
    assert (finding.kind, finding.message, finding.at) == ("shutdown", message, "model")
    assert fix is None or finding.fix == fix


@pytest.mark.parametrize(("model", "by"), [("gpt-4o", "2027-01-13"), ("gpt-6-sol", "all")])
def test_a_model_is_still_there(model: str, by: str) -> None:
    assert list(Outlook(by=by).findings(request({"model": model}), World(), 1)) == []


def test_deployments_of_azure_have_no_forecast() -> None:
    sent = request({"model": "gpt-4o"})._replace(dialect="azure")
    assert list(Outlook("all", "gpt-6.2-sol").findings(sent, World(), 1)) == []


def test_nothing_is_asked_without_a_day_and_a_model() -> None:
    assert [bool(asked) for asked in (Outlook(), Outlook(by="all"), Outlook(model="o3"))] == [False, True, True]


def test_a_day_has_to_be_one() -> None:
    with pytest.raises(ConfigError, match=r"--forecast: 'soon' is not a date"):
        Outlook.parse("soon", "", "--forecast")


def test_lines_group_what_is_alike() -> None:
    gone = ReportFinding("shutdown", False, "gone.", fix="Use b.")
    cases = [(f"test_{number}", [gone, gone]) for number in range(7)]
    assert outlook_lines(cases) == ["gone. Use b. 7 cases: test_0, test_1, test_2, test_3, test_4, …"]
