"""A name that a function of a script does not take is told with the nearest one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from harness.core.errors import ScriptError
from harness.ending import completed, incomplete, usage
from harness.faults import cut, framing, http_error, pause, rate_limit
from harness.items import function_call, message, url_citation
from harness.world.mock import Mock


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
def test_a_wrong_name_is_told_with_the_nearest(call: Any, says: str) -> None:
    with pytest.raises(Exception, match=re.escape(says)):
        call()


@pytest.mark.parametrize("wanted", [5, b"x", re.compile(b"x"), ["a"], {"a": 1}], ids=repr)
def test_what_no_condition_can_look_for_is_refused_when_it_is_scripted(wanted: Any) -> None:
    with pytest.raises(ScriptError, match=r"^when\(input=.*\): pass a text, a compiled pattern, or a function\.$"):
        Mock().when(input=wanted)


@pytest.mark.parametrize("wanted", [5, [5], ["a", None]], ids=repr)
def test_tools_are_names(wanted: Any) -> None:
    with pytest.raises(ScriptError, match=r"^when\(tools=.*\): pass a text or a list of names, a compiled pattern"):
        Mock().when(tools=wanted)
