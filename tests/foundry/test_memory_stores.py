"""Memory stores of a project: made of messages by updates, found by the words that they share with a question."""

from typing import Any

import pytest

from harness.core.exchange import Json
from harness.foundry.memory_stores import MEMORY_STORES
from tests.support.foundry import ProjectClient
from tests.support.foundry import said as message_of

DEFINITION: Json = {"kind": "default", "chat_model": "gpt-4.1", "embedding_model": "embed"}
SCOPE = {"scope": "user_1"}
STORE = "/memory_stores/m"


def user(text: str) -> Json:
    return {"type": "message", "role": "user", "content": text}


@pytest.fixture
def project() -> ProjectClient:
    made = ProjectClient()
    made.ask("POST /memory_stores", {"name": "m", "definition": DEFINITION, "description": "Mine"})
    return made


def contents(found: Json) -> list[str]:
    return [memory["memory_item"]["content"] for memory in found["memories"]]


class TestAStore:
    def test_a_store_is_answered_as_recorded(self, project: ProjectClient) -> None:
        shown = project.get(STORE)
        assert shown.pop("id").startswith("memstore_")
        assert shown.pop("created_at") == shown.pop("updated_at")
        options = {"user_profile_enabled": True, "chat_summary_enabled": True}
        assert list(shown.items()) == [
            *[("object", "memory_store"), ("name", "m"), ("description", "Mine"), ("metadata", {})],
            ("definition", {**DEFINITION, "options": options}),
        ]

    def test_a_store_changes_by_a_post(self, project: ProjectClient) -> None:
        before = project.get("/memory_stores/m")
        after = project.ask("POST /memory_stores/m", {"description": "Other", "name": "x"}).body
        assert (after["description"], after["name"], after["id"]) == ("Other", "m", before["id"])
        assert after["updated_at"] > before["updated_at"]

    def test_a_store_that_is_made_again_keeps_its_memories(self, project: ProjectClient) -> None:
        project.ask(f"POST {STORE}/items", {**SCOPE, "content": "Likes tea."})
        again = project.ask("POST /memory_stores", {"name": "m", "definition": DEFINITION}).body
        assert (again["id"], again["description"]) == (project.get("/memory_stores/m")["id"], "")
        assert len(project.ask(f"POST {STORE}/items:list", SCOPE).body["data"]) == 1

    def test_a_store_is_listed_in_pages_newest_first(self, project: ProjectClient) -> None:
        project.mock.memory_store("n")
        first = project.get("/memory_stores", limit="1")
        assert ([entry["name"] for entry in first["data"]], first["has_more"]) == (["n"], True)
        assert list(first) == ["data", "first_id", "last_id", "has_more", "object"]
        rest = project.get("/memory_stores", after=first["last_id"])
        assert [entry["name"] for entry in rest["data"]] == ["m"]
        end = project.get("/memory_stores", after=rest["last_id"])
        assert end == {"data": [], "first_id": "", "last_id": "", "has_more": False, "object": "list"}

    def test_a_deleted_store_is_answered_as_recorded(self, project: ProjectClient) -> None:
        deleted = {"object": "memory_store.deleted", "name": "m", "deleted": True}
        assert project.ask("DELETE /memory_stores/m").body == deleted
        for call in ("DELETE /memory_stores/m", "GET /memory_stores/m", "POST /memory_stores/m:search_memories"):
            answer = project.ask(call, None if call.startswith(("GET", "DELETE")) else SCOPE)
            assert (answer.status, answer.rule) == (404, "memory_store_not_found")
        assert message_of(answer) == "MemoryStore 'm' not found"
        assert list(answer.body["error"]) == ["code", "message", "type", "details", "additionalInfo"]


class TestAnUpdate:
    def begin(self, project: ProjectClient, **body: Any) -> str:
        answer = project.ask("POST /memory_stores/m:update_memories", {**SCOPE, "update_delay": 0, **body})
        assert (answer.status, answer.body["status"]) == (202, "queued")
        id: str = answer.body["update_id"]
        path = f"/api/projects/p/memory_stores/m/updates/{id}?api-version=2025-11-15-preview"
        assert answer.headers["operation-location"] == f"http://harness.test{path}"
        return id

    def test_an_update_is_queued_at_first_then_completed(self, project: ProjectClient) -> None:
        id = self.begin(project, items=[user("I like tea."), {"type": "InputItem"}])
        assert project.get(f"/memory_stores/m/updates/{id}") == {"update_id": id, "status": "queued"}
        done = project.get(f"/memory_stores/m/updates/{id}")
        (operation,) = done["result"]["memory_operations"]
        assert (done["status"], operation["kind"]) == ("completed", "create")
        assert operation["memory_item"] == {
            "memory_id": operation["memory_item"]["memory_id"],
            "updated_at": operation["memory_item"]["updated_at"],
            "scope": "user_1",
            "content": "I like tea.",
            "kind": "user_profile",
        }
        assert project.get(f"/memory_stores/m/updates/{id}") == done

    @pytest.mark.parametrize(("delay", "continues"), [(0, True), (300, False)])
    def test_supersedes_the_one_that_it_continues_or_that_waits(
        self, project: ProjectClient, delay: int, continues: bool
    ) -> None:
        first = self.begin(project, items="I like tea.", update_delay=delay)
        named = {"previous_update_id": first} if continues else {}
        second = self.begin(project, items="I like coffee.", **named)
        superseded = {"update_id": first, "status": "superseded", "superseded_by": second}
        assert project.get(f"/memory_stores/m/updates/{first}") == superseded
        project.get(f"/memory_stores/m/updates/{second}")
        made = project.get(f"/memory_stores/m/updates/{second}")["result"]["memory_operations"]
        assert [entry["memory_item"]["content"] for entry in made] == ["I like tea.", "I like coffee."]

    def test_an_update_makes_nothing_twice_and_a_summary_of_a_conversation(self, project: ProjectClient) -> None:
        items = [user("I like tea."), {"type": "message", "role": "assistant", "content": [{"text": "Noted."}]}]
        for _ in range(2):
            self.begin(project, items=items)
        listed = project.ask(f"POST {STORE}/items:list", SCOPE, order="asc").body["data"]
        summary = ("chat_summary", "user: I like tea.\nassistant: Noted.")
        assert [(entry["kind"], entry["content"]) for entry in listed] == [("user_profile", "I like tea."), summary]

    def test_an_update_makes_only_what_the_definition_enables(self, project: ProjectClient) -> None:
        options = {"user_profile_enabled": False}
        project.ask("POST /memory_stores", {"name": "m", "definition": {**DEFINITION, "options": options}})
        self.begin(project, items="I like tea.")
        assert project.ask(f"POST {STORE}/items:list", SCOPE).body["data"] == []

    def test_an_unknown_update_is_refused(self, project: ProjectClient) -> None:
        assert project.ask("GET /memory_stores/m/updates/x").rule == "project_object_not_found"


class TestASearch:
    def search(self, project: ProjectClient, **body: Any) -> Json:
        return project.ask("POST /memory_stores/s:search_memories", {**SCOPE, **body}).body

    @pytest.fixture(autouse=True)
    def memories(self, project: ProjectClient) -> None:
        project.mock.memory_store(
            "s",
            scope="user_1",
            memories=[
                "I prefer dark roast coffee.",
                "I like cappuccino in the afternoon.",
                {"content": "Asked for coffee in the morning.", "kind": "chat_summary"},
                {"content": "Likes coffee.", "scope": "user_2"},
            ],
        )

    def test_a_search_finds_what_shares_most_words_first(self, project: ProjectClient) -> None:
        found = self.search(project, items=[user("Which roast of coffee do I prefer?")])
        assert contents(found) == ["I prefer dark roast coffee.", "Asked for coffee in the morning."]
        assert list(found) == ["search_id", "memories", "usage", "error"]
        assert found["usage"]["total_tokens"] == found["usage"]["embedding_tokens"] > 0

    def test_a_search_is_limited_and_may_find_nothing(self, project: ProjectClient) -> None:
        assert len(self.search(project, items="coffee", options={"max_memories": 1})["memories"]) == 1
        assert self.search(project, items="What is the weather?")["memories"] == []
        assert self.search(project, items="coffee", scope="user_3")["memories"] == []

    def test_a_search_goes_on_from_the_one_before(self, project: ProjectClient) -> None:
        first = self.search(project, items="coffee")
        follow = self.search(project, items="What about the afternoon?", previous_search_id=first["search_id"])
        assert {"I like cappuccino in the afternoon.", "I prefer dark roast coffee."} <= set(contents(follow))

    def test_a_search_without_a_question_finds_the_profile(self, project: ProjectClient) -> None:
        assert contents(self.search(project)) == ["I prefer dark roast coffee.", "I like cappuccino in the afternoon."]

    def test_a_search_comes_after_updates_that_nobody_polled(self, project: ProjectClient) -> None:
        project.ask("POST /memory_stores/s:update_memories", {**SCOPE, "items": "My cat is called Mio."})
        assert contents(self.search(project, items="cat")) == ["My cat is called Mio."]

    def test_a_search_finds_nothing_in_a_scope_that_was_deleted(self, project: ProjectClient) -> None:
        for deleted in (True, False):
            said = {"object": "memory_store.scope.deleted", "name": "s", "scope": "user_1", "deleted": deleted}
            assert project.ask("POST /memory_stores/s:delete_scope", SCOPE).body == said
        assert self.search(project, items="coffee")["memories"] == []
        assert contents(self.search(project, items="coffee", scope="user_2")) == ["Likes coffee."]


class TestAMemory:
    def test_a_memory_is_made_read_changed_and_forgotten(self, project: ProjectClient) -> None:
        made = project.ask(f"POST {STORE}/items", {**SCOPE, "content": "Short.", "kind": "procedural"}).body
        path = f"/memory_stores/m/items/{made['memory_id']}"
        assert project.get(path) == made
        changed = project.ask(f"POST {path}", {"content": "Long."}).body
        assert (changed["content"], changed["kind"], changed["scope"]) == ("Long.", "procedural", "user_1")
        deleted = {"object": "memory_store.item.deleted", "memory_id": made["memory_id"], "deleted": True}
        assert project.ask(f"DELETE {path}").body == deleted
        for call in (f"GET {path}", f"DELETE {path}"):
            assert project.ask(call).rule == "project_object_not_found"

    def test_a_memory_is_listed_by_scope_and_kind(self, project: ProjectClient) -> None:
        for content, kind in (("a", "user_profile"), ("b", "chat_summary"), ("c", "user_profile")):
            project.ask(f"POST {STORE}/items", {**SCOPE, "content": content, "kind": kind})
        first = project.ask(f"POST {STORE}/items:list", SCOPE, limit="2").body
        assert first["has_more"]
        for scope, query, expected in (
            ("user_1", {}, ["c", "b", "a"]),
            ("user_1", {"kind": "user_profile"}, ["c", "a"]),
            ("user_1", {"after": first["last_id"]}, ["a"]),
            ("other", {}, []),
        ):
            page = project.ask(f"POST {STORE}/items:list", {"scope": scope}, **query).body
            assert [entry["content"] for entry in page["data"]] == expected


@pytest.mark.parametrize(
    ("call", "body", "said", "param"),
    [
        ("POST /memory_stores", {}, 'required: Required properties ["name"] are not present', "/"),
        ("POST /memory_stores", None, 'required: Required properties ["name"] are not present', "/"),
        ("POST /memory_stores", {"name": 5}, 'type: Value is "integer" but should be "string"', "/name"),
        ("POST /memory_stores/m:update_memories", {}, 'required: Required properties ["scope"] are not present', "/"),
        (f"POST {STORE}/items", SCOPE, 'required: Required properties ["content"] are not present', "/"),
    ],
)
def test_what_says_too_little_is_refused(project: ProjectClient, call: str, body: Any, said: str, param: str) -> None:
    answer = project.ask(call, body)
    assert (answer.status, answer.rule) == (400, "resource_incomplete")
    assert (message_of(answer), answer.body["error"]["param"]) == (said, param)


@pytest.mark.parametrize("odd", [5, "x", [], {}, None, [5, None, {"type": "message", "content": 7}]])
def test_odd_members_do_no_harm(project: ProjectClient, odd: Any) -> None:
    for action, status in (("update_memories", 202), ("search_memories", 200)):
        body = {**SCOPE, "items": odd, "options": odd, "update_delay": odd, "previous_search_id": odd}
        assert project.ask(f"POST /memory_stores/m:{action}", body).status == status
    made = project.ask(f"POST {STORE}/items", {**SCOPE, "content": "a", "kind": odd})
    assert made.body["kind"] == (odd if isinstance(odd, str) else "user_profile")
    definition = {"kind": odd, "options": odd}
    assert project.ask("POST /memory_stores", {"name": "n", "definition": definition}).status == 200
    project.ask("POST /memory_stores/n:update_memories", {**SCOPE, "items": "a", "previous_update_id": odd})
    assert project.ask("POST /memory_stores/n:search_memories", {**SCOPE, "items": "a"}).status == 200
    assert project.mock.world.problems == []


def test_old_updates_and_searches_are_forgotten(project: ProjectClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.foundry.memory_stores.MOST_KEPT", 20)
    for number in range(50):
        project.ask("POST /memory_stores/m:update_memories", {**SCOPE, "items": f"fact {number}", "update_delay": 0})
        project.ask("POST /memory_stores/m:search_memories", {**SCOPE, "items": "fact"})
    store = project.mock.world.store.table(MEMORY_STORES)["m"]
    assert max(len(store.updates), len(store.searches)) <= 20
    assert len(store.items) == 50
