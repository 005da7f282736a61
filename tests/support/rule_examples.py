"""The examples of all rules, and requests made of their bodies."""

import orjson

import harness.server.mock_api  # noqa: F401  (registers the rules)
from harness.contract.rule import RULES
from harness.contract.rules.example_requests import VALID_BODY
from harness.core.exchange import Json, Request
from harness.verify.examples import EXAMPLE_HEADERS

CASES = [case for declared in RULES.values() for case in (*declared.rejects.values(), *declared.accepts)]
BODIES: list[Json] = [case.body for case in CASES if isinstance(case.body, dict) and not (case.on or case.before)]
"""The bodies of examples about `POST /responses` that need no earlier request."""


def request_for(*bodies: Json, dialect: str = "openai") -> Request:
    """Return a request to `POST /responses` with the members of all these bodies; the last one of each name counts."""
    body = {name: value for members in (VALID_BODY, *bodies) for name, value in members.items()}
    return Request(
        *("POST", "/responses", EXAMPLE_HEADERS, {}, body, orjson.dumps(body)),
        operation="POST /responses",
        schema="CreateResponse",
        dialect=dialect,
    )
