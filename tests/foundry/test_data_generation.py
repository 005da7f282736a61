"""Jobs of a project that generate data: polled until they have made a dataset, or files to tune with."""

from typing import Any

import pytest

from harness.core.exchange import Json
from tests.support.foundry import ProjectClient

JOBS = "/data_generation_jobs"
PROMPT: Json = {"type": "prompt", "prompt": "Refunds within 30 days."}
EVALUATION: Json = {
    "name": "refunds",
    "scenario": "evaluation",
    "sources": [PROMPT],
    "generation_configuration": {"type": "simple_qna", "max_samples": 3},
    "output_configuration": {"name": "made", "description": "Refunds"},
}
TUNING: Json = {**EVALUATION, "scenario": "supervised_finetuning_preview"}


def begun(project: ProjectClient, body: Json = EVALUATION) -> str:
    answer = project.ask(f"POST {JOBS}", body)
    assert answer.status == 201, answer.body
    return str(answer.body["id"])


def result_of(project: ProjectClient, body: Json) -> Any:
    id = begun(project, body)
    states = [project.get(f"{JOBS}/{id}") for _ in range(3)]
    assert [state["status"] for state in states] == ["in_progress", "succeeded", "succeeded"]
    assert states[1] == states[2]
    return states[2]["result"]


def test_a_job_is_shown_as_requested_with_the_address_to_poll(project: ProjectClient) -> None:
    answer = project.ask(f"POST {JOBS}", EVALUATION)
    assert answer.body["status"] == "queued"
    assert {name: answer.body[name] for name in EVALUATION} == EVALUATION
    address = f"http://harness.test/api/projects/p{JOBS}/{answer.body['id']}?api-version=v1"
    assert answer.headers["operation-location"] == answer.headers["location"] == address


def test_an_evaluation_gets_a_version_of_a_dataset(project: ProjectClient) -> None:
    made = result_of(project, EVALUATION)
    assert made["generated_samples"] == 3
    (output,) = made["outputs"]
    dataset = project.get("/datasets/made/versions/1")
    assert output == {"type": "dataset", "id": dataset["id"], "name": "made", "version": "1", "description": "Refunds"}
    assert result_of(project, EVALUATION)["outputs"][0]["version"] == "2"


def test_tuning_gets_files_one_for_each_part(project: ProjectClient) -> None:
    (whole,) = result_of(project, TUNING)["outputs"]
    assert whole["filename"] == "made.jsonl"
    split = {**TUNING, "generation_configuration": {"type": "simple_qna", "max_samples": 10, "train_split": 0.8}}
    train, validation = result_of(project, split)["outputs"]
    lines = [project.ask(f"GET /openai/v1/files/{file['id']}/content").body for file in (train, validation)]
    assert [content.count(b"\n") for content in lines] == [8, 2]
    assert lines[0].startswith(b'{"query": "Question 1", "response": "Answer 1"}')


def test_a_job_under_way_is_cancelled_and_a_finished_one_is_not(project: ProjectClient) -> None:
    id = begun(project)
    assert project.ask(f"POST {JOBS}/{id}:cancel").body["status"] == "cancelled"
    assert project.get(f"{JOBS}/{id}")["status"] == "cancelled"
    other = begun(project)
    for _ in range(2):
        project.get(f"{JOBS}/{other}")
    assert project.ask(f"POST {JOBS}/{other}:cancel").body["status"] == "succeeded"


def test_jobs_are_listed_newest_first_until_they_are_deleted(project: ProjectClient) -> None:
    first, second = begun(project), begun(project)
    assert project.names(JOBS, "id") == [second, first]
    assert project.ask(f"DELETE {JOBS}/{second}").status == 204
    assert project.names(JOBS, "id") == [first]
    assert project.ask(f"GET {JOBS}/{second}").status == 404


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({**EVALUATION, "sources": "all"}, "/sources"),
        ({**EVALUATION, "generation_configuration": None}, "/generation_configuration"),
        ({"name": 5}, "/name"),
        (b"{", None),
        ([], None),
    ],
)
def test_what_is_no_job_is_refused(project: ProjectClient, body: Any, place: str | None) -> None:
    answer = project.ask(f"POST {JOBS}", body)
    assert (answer.status, answer.body["error"]["param"]) == (400, place)


@pytest.mark.parametrize(
    "configuration", [{}, {"max_samples": "many"}, {"max_samples": -1}, {"max_samples": True, "train_split": "half"}]
)
def test_a_configuration_that_says_nothing_useful_makes_one_sample(project: ProjectClient, configuration: Json) -> None:
    told = {**TUNING, "generation_configuration": configuration, "output_configuration": "made"}
    assert result_of(project, told)["generated_samples"] == 1
