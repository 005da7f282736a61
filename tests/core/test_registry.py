"""Registering by name: once each, in order, found with a hint."""

import re
from typing import Any

import pytest

import harness.analysis.losses
import harness.contract.rules
import harness.foundry  # noqa: F401  (each registers what it declares)
from harness.analysis.loss import LOSSES
from harness.api.operations import OPERATIONS
from harness.contract.rule import RULES
from harness.core.errors import RegistrationError, ScriptError
from harness.core.registry import MAX_KNOWN_LISTED, Registry, import_modules, suggest_name
from harness.ending import ENDINGS, completed, incomplete, usage
from harness.faults import FAULTS, cut, framing, http_error, pause, rate_limit
from harness.items import function_call, message, url_citation
from harness.items.kind import ITEMS
from harness.world.mock import Mock


def test_keeps_declarations_in_order():
    cheeses: Registry[int] = Registry("cheese", {"brie": 1})
    assert cheeses.add("edam", 2) == 2
    assert list(cheeses.items()) == [("brie", 1), ("edam", 2)]
    assert cheeses.find("edam") == 2


def test_a_name_is_declared_once():
    cheeses: Registry[int] = Registry("cheese", {"brie": 1})
    with pytest.raises(RegistrationError, match=r"^cheese brie in dairy.soft is declared twice$"):
        cheeses.add("brie", 2, "dairy.soft")
    assert cheeses == {"brie": 1}


def test_an_unknown_name_is_an_error_with_the_nearest():
    cheeses: Registry[int] = Registry("cheese", {"edam": 2, "brie": 1})
    with pytest.raises(RegistrationError, match=r"^No cheese 'bree'. Did you mean 'brie'[?]$"):
        cheeses.find("bree")
    with pytest.raises(RegistrationError, match=r"^No cheese 'wine'. Known: brie, edam.$"):
        cheeses.find("wine")


def test_a_hint_is_the_nearest_name_or_all():
    assert suggest_name("bree", iter(["brie", "edam"])) == "Did you mean 'brie'?"
    assert suggest_name(7, ["brie", "edam"]) == "Known: brie, edam."


def test_modules_are_imported_by_name():
    import_modules("harness.core", ["ids", "errors"])
    with pytest.raises(ModuleNotFoundError, match=r"harness.core.cheese"):
        import_modules("harness.core", ["cheese"])


@pytest.mark.parametrize("registry", [RULES, ITEMS, LOSSES, OPERATIONS, ENDINGS, FAULTS], ids=lambda each: each.noun)
def test_everything_declared_is_registered_one_way(registry):
    assert isinstance(registry, Registry)
    name = next(iter(registry))
    with pytest.raises(RegistrationError, match="declared twice"):
        registry.add(name, registry[name])


def test_only_the_nearest_of_many_names_are_suggested() -> None:
    many = [f"cheese_{number}" for number in range(41)]
    assert suggest_name("wine", many).startswith("The nearest of 41 are 'cheese_")
    assert suggest_name("e_40", many) == "Did you mean 'cheese_40'?"
    assert suggest_name("wine", many[:MAX_KNOWN_LISTED]).startswith("Known: cheese_0, cheese_1, ")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Mock().when(inputs="x"), "when(inputs=…): no argument 'inputs'. Did you mean 'input'?"),
        (lambda: Mock().script("x", repeats=True), "Did you mean 'repeat'?"),
        (lambda: Mock().when(input="x").script("x", repeats=True), "Did you mean 'repeat'?"),
        (lambda: Mock().route("POST", "/embeddings", {}, header={}), "Did you mean 'headers'?"),
        (lambda: Mock().file("a", purposes="x"), "Did you mean 'purpose'?"),
        (lambda: Mock().explore(lambda mock: 1, case="*"), "Did you mean 'cases'?"),
        (lambda: Mock().organization(models_={"a"}), "Did you mean 'models'?"),
        (lambda: cut("x", aftr=4), "cut(aftr=…): no argument 'aftr'. Did you mean 'after'?"),
        (lambda: pause("x", second=4), "Did you mean 'seconds'?"),
        (lambda: framing("x", lineend="cr"), "framing(lineend=…): no argument 'lineend'. Did you mean 'line_end'?"),
        (lambda: rate_limit(aft=4), "Did you mean 'after'?"),
        (lambda: http_error(409, "x", cod="a"), "Did you mean 'code'?"),
        (lambda: usage("x", input_token=4), "Did you mean 'input_tokens'?"),
        (lambda: incomplete(reasn="x"), "Did you mean 'reason'?"),
        (lambda: completed(offschema=True), "Did you mean 'off_schema'?"),
        (lambda: message("x", annotation=[]), "Did you mean 'annotations'?"),
        (lambda: url_citation("u", "t", cites="x"), "Did you mean 'cite'?"),
        (lambda: function_call("f", argumens={}), "Did you mean 'arguments'?"),
    ],
)
def test_a_wrong_name_is_reported_with_the_nearest(call: Any, says: str) -> None:
    with pytest.raises(Exception, match=re.escape(says)):
        call()


@pytest.mark.parametrize(
    ("name", "wanted", "fix"),
    [
        *(
            ("input", wanted, "a text, a compiled pattern, or a")
            for wanted in (5, b"x", re.compile(b"x"), ["a"], {"a": 1})
        ),
        *(("tools", wanted, "a text or a list of names, a compiled pattern") for wanted in (5, [5], ["a", None])),
    ],
    ids=repr,
)
def test_what_no_condition_can_look_for_is_refused_when_it_is_scripted(name: Any, wanted: Any, fix: str) -> None:
    with pytest.raises(ScriptError, match=rf"^when\({name}=.*\): pass {fix}"):
        Mock().when(**{name: wanted})
