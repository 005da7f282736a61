"""What fits is played, once and in order; what does not is told with the closest recording and a diff."""

import json

import pytest

from harness.cassettes.format.interaction import Interaction
from harness.cassettes.recording.matching import NoMatch, Replay, api_root
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from tests.support.recordings import JSON, URI, compact, over_http, socket

ID = "resp_bea7c4bf3d44bdfb006ab13b81a94602014275b3ca7edf822c"


def asking(body, **members):
    return over_http(body, status=0, **members)


def played(replay, body, **members):
    found = replay.play(asking(body, **members))
    return json.loads(found.answer) if isinstance(found, Interaction) else found


def test_requests_are_compared_as_json_and_not_as_bytes():
    replay = Replay([over_http({"a": 1, "b": [1.0]}, "yes")])
    sent = Interaction("POST", "http://127.0.0.1:8000/v1/responses", JSON, b'{ "b": [1.0], "a": 1 }')
    assert replay.play(sent) == replay.interactions[0]


@pytest.mark.parametrize(
    "other",
    [
        asking({"a": 2}),
        asking({"a": 1}, uri=f"{URI}/compact"),
        asking({"a": 1}, uri=f"{URI}?stream=true"),
        Interaction("GET", URI, JSON, compact({"a": 1})),
        Interaction("POST", URI, JSON, b"{broken"),
        asking(None),
    ],
    ids=["body", "path", "query", "method", "no JSON", "no body"],
)
def test_another_request_is_a_miss(other):
    assert isinstance(Replay([over_http({"a": 1}, {})]).play(other), NoMatch)


def test_the_same_request_is_answered_in_order_and_once():
    replay = Replay([over_http({"a": 1}, 1), over_http({"b": 1}, 3), over_http({"a": 1}, 2)])
    assert [played(replay, {"a": 1}), played(replay, {"a": 1})] == [1, 2]
    assert str(played(replay, {"a": 1})) == "POST /v1/responses was recorded 2 times, and has been replayed as often"
    played(replay, {"b": 1})
    assert str(played(replay, {"b": 1})) == "POST /v1/responses was recorded once, and has been replayed as often"


def test_again_repeats_the_last():
    replay = Replay([over_http({"a": 1}, 1), over_http({"a": 1}, 2)], repeat_last=True)
    assert [played(replay, {"a": 1}) for _ in range(4)] == [1, 2, 2, 2]


def test_secrets_do_not_distinguish_requests():
    recorded = scrub_interactions([over_http({"input": "mail jane@corp.com"}, {}, uri=f"{URI}?api-key=abcdefghi")])
    live = asking({"input": "mail jane@corp.com"}, uri=f"{URI}?api-key=123456789")
    assert isinstance(Replay(recorded).play(live), Interaction)


def test_ids_that_the_client_makes_are_distinguished_by_their_order():
    def sent(one, two):
        return [{"call_id": one}, {"call_id": two}, {"call_id": one}]

    first, second = "call_A1b2C3d4E5f6G7h8I9j0K1l2", "7f9c24e8-3b12-4fef-91e0-55a1c0ffee00"
    other = "call_Z1b2C3d4E5f6G7h8I9j0K1l2"
    replay = Replay([over_http({"input": sent(first, second)}, "yes")], repeat_last=True)
    assert played(replay, {"input": sent(other, second.replace("7", "8"))}) == "yes"
    assert isinstance(played(replay, {"input": sent(other, other)}), NoMatch)


def test_ids_that_an_answer_gave_must_be_those():
    interactions = scrub_interactions([over_http({"a": 1}, {"id": ID}), over_http({"previous_response_id": ID}, "yes")])
    replay = Replay(interactions)
    first_id = played(replay, {"a": 1})["id"]
    assert isinstance(played(replay, {"previous_response_id": ID.replace("b", "c")}), NoMatch)
    assert played(replay, {"previous_response_id": first_id}) == "yes"
    assert replay.recorded_id_in(asking({"previous_response_id": first_id})) == first_id
    assert replay.recorded_id_in(asking({"previous_response_id": ID})) == ""


def test_an_id_that_an_answer_only_repeats_is_the_clients():
    uuid = "7f9c24e8-3b12-4fef-91e0-55a1c0ffee00"
    replay = Replay([over_http({"metadata": {"run": uuid}}, {"metadata": {"run": uuid}})])
    assert isinstance(replay.play(asking({"metadata": {"run": uuid.replace("7", "8")}})), Interaction)


def test_the_boundary_of_a_form_is_chance():
    def form(boundary):
        kind, body = f"multipart/form-data; boundary={boundary}", f"--{boundary}\r\n\r\nx\r\n--{boundary}--"
        return Interaction("POST", "https://api.openai.com/v1/files", {"content-type": kind}, body.encode(), 200)

    assert isinstance(Replay([form("abc")]).play(form("xyz")), Interaction)


def test_a_miss_shows_the_closest_recording_with_a_diff():
    replay = Replay(
        [
            over_http({"model": "gpt-4.1", "input": "Weather in Paris?", "store": False}, {}),
            over_http({"input": "something else"}, {}),
            over_http({"model": "gpt-4.1"}, {}, uri="https://api.openai.com/v1/conversations"),
        ]
    )
    miss = replay.play(asking({"model": "gpt-4.1", "input": "Weather in Rome?", "store": False}))
    assert str(miss).splitlines() == [
        "the closest recording, POST /v1/responses, differs:",
        "--- recorded",
        "+++ asked",
        "@@ -1,5 +1,5 @@",
        " POST /v1/responses",
        " {",
        '-  "input": "Weather in Paris?",',
        '+  "input": "Weather in Rome?",',
        '   "model": "gpt-4.1",',
        '   "store": false',
    ]


def test_of_equally_close_recordings_a_miss_shows_the_first_that_was_not_replayed():
    replay = Replay([over_http({"input": text}, text) for text in "ab"])
    assert '-  "input": "a"' in played(replay, {"input": "c"}).diff
    played(replay, {"input": "a"})
    assert '-  "input": "b"' in played(replay, {"input": "c"}).diff


def test_a_long_diff_is_cut():
    miss = Replay([over_http(list(range(200)), {})]).play(asking(list(range(200, 400))))
    assert miss.diff[-1].startswith("… ")
    assert len(miss.diff) == 41


def test_an_empty_cassette_says_so():
    assert str(Replay([]).play(asking({}))) == "POST /v1/responses was not recorded: the cassette is empty"


def test_websockets_stand_apart_and_what_has_no_answer_is_not_played():
    replay = Replay([socket(("client", {})), over_http({}, {}), asking({})])
    assert len(replay.interactions) == len(replay.sockets) == 1


def test_a_query_is_shown():
    miss = Replay([over_http({}, {}, uri=f"{URI}?a=1")]).play(asking({}, uri=f"{URI}?a=2"))
    assert {"-  a=1", "+  a=2"} <= {*miss.diff}


@pytest.mark.parametrize(
    ("path", "begins"),
    [
        ("/v1/responses", "/v1"),
        ("/openai/v1/responses", "/openai/v1"),
        ("/openai/deployments/gpt/responses", "/openai/deployments/gpt"),
        ("/api/projects/moon/openai/v1/responses", "/api/projects/moon/openai/v1"),
        ("/llm/api/v1/conversations/conv_1", "/llm/api/v1"),
        ("/llm/responses/resp_1", "/llm"),
        ("/elsewhere", "/v1"),
    ],
)
def test_where_the_api_begins_is_read_from_the_first_address_that_has_it(path, begins):
    one, elsewhere = Interaction("POST", f"https://host{path}"), Interaction("GET", "https://host/elsewhere")
    assert (api_root([one]), api_root([elsewhere, one]), api_root([])) == (begins, begins, "/v1")
