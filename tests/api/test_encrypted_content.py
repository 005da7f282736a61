"""Encrypted content: bound to an organization and an item, and whoever changes it is found out."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.api.encrypted_content import (
    OTHER_ITEM,
    OTHER_ORGANIZATION,
    UNREADABLE,
    ContentOwner,
    make_encrypted_content,
    owner_of_content,
    rejection_reason,
)

MINE = ContentOwner("org-mine", "rs_1")
SEALED = make_encrypted_content(MINE, 1_790_000_000)

names = st.text(st.characters(exclude_characters="\0"), max_size=20)


@given(st.builds(ContentOwner, names, names), st.integers(0, 2**63))
def test_a_ciphertext_says_to_whom_it_belongs(bond: ContentOwner, now: int) -> None:
    assert owner_of_content(make_encrypted_content(bond, now)) == bond


def test_it_has_the_form_of_the_api_s() -> None:
    assert re.fullmatch(r"gAAAAA[A-Za-z0-9_\-=]+", SEALED)


@given(st.data())
def test_a_change_of_one_character_makes_it_unreadable(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(SEALED.rstrip("=")) - 2))
    other = data.draw(st.sampled_from([c for c in "ABab01-_" if c != SEALED[at]]))
    changed = SEALED[:at] + other + SEALED[at + 1 :]
    assert owner_of_content(changed) is None


@pytest.mark.parametrize("text", [SEALED[:-1], SEALED[:-8], SEALED[:50], SEALED[:-2] + "é="])
def test_what_is_cut_or_spoilt_is_unreadable(text: str) -> None:
    assert rejection_reason(text, "rs_1", "org-mine") == UNREADABLE


@pytest.mark.parametrize(
    ("item", "organization", "reason"),
    [
        ("rs_1", "org-mine", None),
        (None, "org-mine", None),
        ("rs_2", "org-mine", OTHER_ITEM),
        ("rs_1", "org-other", OTHER_ORGANIZATION),
        ("rs_2", "org-other", OTHER_ORGANIZATION),
    ],
)
def test_a_ciphertext_is_accepted_for_its_item_from_its_organization(item: Any, organization: str, reason: Any) -> None:
    assert rejection_reason(SEALED, item, organization) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gAAAAABpZm9yZWlnbg==", None),
        ("gAAAAA+/", None),
        ("gAAAAAB" + "x" * 64 + " a space far behind", None),
        ("gAAAAAB with a space", UNREADABLE),
        ("garbage", UNREADABLE),
        ("sig_from_another_vendor", UNREADABLE),
        ("encrypted_content_REDACTED_1", None),
        ("<ciphertext>", None),
        ("gAAAAABo…[cut 2048 chars]", None),
    ],
)
def test_encrypted_content_from_elsewhere_is_judged_by_its_form_alone(text: str, reason: str | None) -> None:
    assert rejection_reason(text, "rs_1", "org-mine") == reason
